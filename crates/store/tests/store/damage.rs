//! Files that were cut short or flipped. A store never answers wrongly: it says what it acknowledged, or that it cannot.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tickmark_store::embedded::{EmbeddedStore, MEMORY_BYTES_MIN, Options};
use tickmark_store::{Account, AddWhen, Atom, Batch, Error, Key, Number, Op, Query, Result, Store};

const BATCHES: i64 = 300;

fn options() -> Options {
    Options { memory_bytes: MEMORY_BYTES_MIN, ..Options::default() }
}

async fn fill(store: &EmbeddedStore, from: i64, to: i64) {
    for number in from..to {
        let batch = Batch::new()
            .op(Op::HashIncrement {
                key: Key::from(format!("hash:{}", number % 7)),
                fields: vec![(Atom::Int(number), Number::Int(number))],
            })
            .op(Op::SortedAdd {
                key: Key::from("sorted"),
                when: AddWhen::Always,
                members: (0..4).map(|extra| (Atom::from(format!("m{number}:{extra}")), number as f64)).collect(),
            });
        store.commit(Account(0), batch).await.unwrap();
    }
}

/// Everything that `fill` wrote, read back; an error where the store says that it cannot.
async fn verify(store: &EmbeddedStore) -> Result<()> {
    for number in 0..BATCHES {
        let key = Key::from(format!("hash:{}", number % 7));
        let value =
            store.read(Account(0), vec![Query::HashGet { key, field: Atom::Int(number) }]).await?.remove(0).value()?;
        assert_eq!(value, Some(Atom::Int(number)), "batch {number}");
    }
    let members = (0..BATCHES).flat_map(|number| (0..4).map(move |extra| Atom::from(format!("m{number}:{extra}"))));
    let query = Query::SortedScores { key: Key::from("sorted"), members: members.collect() };
    let scores = store.read(Account(0), vec![query]).await?.remove(0).scores()?;
    let expected = (0..BATCHES).flat_map(|number| [Some(number as f64); 4]).collect::<Vec<_>>();
    assert_eq!(scores, expected);
    Ok(())
}

/// A store with a checkpoint and a log after it, as a crash would leave it.
async fn crashed_store(directory: &Path) {
    let store = EmbeddedStore::open(directory, &options()).unwrap();
    fill(&store, 0, BATCHES / 2).await;
    store.close().await.unwrap();
    let store = EmbeddedStore::open(directory, &options()).unwrap();
    fill(&store, BATCHES / 2, BATCHES).await;
    store.abandon();
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    for path in files(from) {
        let target = to.join(path.strip_prefix(from).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(path, target).unwrap();
    }
}

/// Opens a damaged store and reads all of it. Right answers or an error; a wrong answer panics in `verify`.
async fn open_and_verify(directory: &Path) -> Result<()> {
    let store = EmbeddedStore::open(directory, &options())?;
    verify(&store).await
}

fn last_segment(directory: &Path) -> PathBuf {
    let segments = files(&directory.join("log"));
    segments.into_iter().rfind(|path| path.extension().is_some_and(|extension| extension == "log")).unwrap()
}

/// Where the last whole record of a segment ends: behind it are zeros, written ahead of need.
fn end_of_records(segment: &Path) -> u64 {
    let bytes = std::fs::read(segment).unwrap();
    let mut end = 16;
    while let Some(header) = bytes.get(end..end + 20)
        && header.iter().any(|byte| *byte != 0)
    {
        end += 20 + u32::from_le_bytes(header[..4].try_into().unwrap()) as usize;
    }
    end as u64
}

#[tokio::test]
async fn a_log_cut_short_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let whole = directory.path().join("whole");
    crashed_store(&whole).await;
    let length = end_of_records(&last_segment(&whole));
    for (round, cut) in
        [1, 19, 20, 21, 100, length / 2, length - 17, length - 16, length - 1, length].into_iter().enumerate()
    {
        let copied = directory.path().join(format!("cut{round}"));
        copy(&whole, &copied);
        OpenOptions::new().write(true).open(last_segment(&copied)).unwrap().set_len(length - cut).unwrap();
        let outcome = open_and_verify(&copied).await;
        assert!(matches!(outcome, Err(Error::Corrupt(_))), "cut by {cut}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_tail_that_was_never_acknowledged_is_cut_off() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    crashed_store(&path).await;
    for tail in [&b"\x01"[..], &[0; 64], &[0xff; 64]] {
        let segment = last_segment(&path);
        let length = end_of_records(&segment);
        OpenOptions::new().write(true).open(&segment).unwrap().write_all_at(tail, length).unwrap();
        open_and_verify(&path).await.unwrap();
    }
}

#[tokio::test]
async fn flipped_bytes_never_give_a_wrong_answer() {
    let mut rng = fastrand::Rng::with_seed(crate::seed());
    let directory = tempfile::tempdir().unwrap();
    let whole = directory.path().join("whole");
    crashed_store(&whole).await;
    open_and_verify(&whole).await.unwrap();
    // Opening moved things along; what is flipped is a fresh crash.
    std::fs::remove_dir_all(&whole).unwrap();
    crashed_store(&whole).await;
    let mut detected = 0;
    for round in 0..150 {
        let copied = directory.path().join(format!("flip{round}"));
        copy(&whole, &copied);
        let files = files(&copied);
        let path = &files[rng.usize(..files.len())];
        let length = written_length(path);
        if length == 0 {
            continue;
        }
        let at = rng.u64(..length);
        let mut byte = [0];
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ (1 << rng.u8(..8))], at).unwrap();
        let name = path.strip_prefix(&copied).unwrap().display().to_string();
        let outcome = open_and_verify(&copied).await;
        eprintln!("{name} at {at} of {length}: {outcome:?}");
        detected += u32::from(outcome.is_err());
        std::fs::remove_dir_all(&copied).unwrap();
    }
    assert!(detected > 30, "only {detected} of the flips were detected");
}

#[tokio::test]
async fn every_flipped_byte_of_the_log_is_reported() {
    let mut rng = fastrand::Rng::with_seed(crate::seed());
    let directory = tempfile::tempdir().unwrap();
    let whole = directory.path().join("whole");
    crashed_store(&whole).await;
    for round in 0..60 {
        let copied = directory.path().join(format!("flip{round}"));
        copy(&whole, &copied);
        let path = last_segment(&copied);
        let at = rng.u64(..end_of_records(&path));
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ (1 << rng.u8(..8))], at).unwrap();
        let outcome = open_and_verify(&copied).await;
        assert!(matches!(outcome, Err(Error::Corrupt(_))), "flipped at {at}: {outcome:?}");
        std::fs::remove_dir_all(&copied).unwrap();
    }
}

/// Files are made longer than what is in them; flipping the padding proves nothing.
fn written_length(path: &Path) -> u64 {
    let bytes = std::fs::read(path).unwrap();
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1)
}

#[tokio::test]
async fn a_directory_is_one_process_and_one_format() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = EmbeddedStore::open(&path, &options()).unwrap();
    let second = EmbeddedStore::open(&path, &options());
    assert!(matches!(second, Err(Error::Locked(locked)) if locked == path));
    store.close().await.unwrap();
    drop(store);

    std::fs::write(path.join("FORMAT"), "tickmark embedded store, format 2\n").unwrap();
    assert!(matches!(EmbeddedStore::open(&path, &options()), Err(Error::Format { found: 2, wanted: 3, .. })));

    let other = directory.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("notes.txt"), "mine").unwrap();
    assert!(matches!(EmbeddedStore::open(&other, &options()), Err(Error::Corrupt(_))));
    assert_eq!(std::fs::read_dir(&other).unwrap().count(), 1, "a directory that is not ours stays as it is");
}
