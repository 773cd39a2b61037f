//! A disk that fills up, made of a small tmpfs. Needs the right to mount; says so and passes where there is none.

use std::path::{Path, PathBuf};
use std::process::Command;

use tickmark_store::embedded::{EmbeddedStore, MEMORY_BYTES_MIN, Options};
use tickmark_store::{Account, Atom, Batch, Error, Key, Op, Query, Store};

/// fjall lays out its journal ahead of need, as a file with holes; only what is written counts against the size.
const DISK: &str = "24m";

struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    fn mount(path: &Path) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={DISK}"), "tmpfs"])
            .arg(path)
            .output()
            .is_ok_and(|output| output.status.success());
        mounted.then(|| Self { path: path.into() })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.path).status();
    }
}

fn options() -> Options {
    Options { memory_bytes: MEMORY_BYTES_MIN, ..Options::default() }
}

fn key(number: u32) -> Key {
    Key::from(format!("value:{number}"))
}

#[tokio::test]
async fn a_full_disk_loses_nothing_and_works_again_when_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(directory.path()) else {
        eprintln!("skipped: mounting a tmpfs needs root");
        return;
    };
    let path = disk.path.join("store");
    let ballast = disk.path.join("ballast");
    std::fs::write(&ballast, vec![1; 8 * 1_024 * 1_024]).unwrap();
    let store = EmbeddedStore::open(&path, &options()).unwrap();
    let value = |number: u32| Atom::from(format!("{number}:{}", "x".repeat(20_000)));

    let mut acknowledged = 0;
    let error = loop {
        let batch = Batch::new().op(Op::Set { key: key(acknowledged), value: value(acknowledged) });
        match store.commit(Account(0), batch).await {
            Ok(_) => acknowledged += 1,
            Err(error) => break error,
        }
        assert!(acknowledged < 100_000, "the disk never filled up");
    };
    assert!(acknowledged > 10, "the disk was full from the start");
    let said = error.to_string();
    assert!(matches!(error, Error::Poisoned(_) | Error::FateUnknown(_)), "{said}");
    assert!(said.contains("No space left on device") || said.contains("earlier write"), "{said}");

    let again = store.commit(Account(0), Batch::new().op(Op::Delete { key: key(0) })).await;
    assert!(matches!(again, Err(Error::Poisoned(_))), "{again:?}");
    assert!(matches!(store.ping().await, Err(Error::Poisoned(_))));
    let read = store.read(Account(0), vec![Query::Get { key: key(acknowledged - 1) }]).await.unwrap();
    assert_eq!(read[0].clone().value().unwrap(), Some(value(acknowledged - 1)), "reading goes on");
    let refused = store.read(Account(0), vec![Query::Get { key: key(acknowledged) }]).await.unwrap();
    assert_eq!(refused[0].clone().value().unwrap(), None, "what was refused is not seen");
    assert!(matches!(store.close().await, Err(Error::Poisoned(_))));
    drop(store);

    std::fs::remove_file(&ballast).unwrap();
    let store = EmbeddedStore::open(&path, &options()).unwrap();
    for number in 0..acknowledged {
        let read = store.read(Account(0), vec![Query::Get { key: key(number) }]).await.unwrap().remove(0);
        assert_eq!(read.value().unwrap(), Some(value(number)), "{number} of {acknowledged}");
    }
    store.commit(Account(0), Batch::new().op(Op::Set { key: key(0), value: Atom::from("new") })).await.unwrap();
    store.close().await.unwrap();
}
