use std::fmt::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use tickmark_store::Store;
use tickmark_store::embedded::{Durability, EmbeddedStore, Options};

use crate::client::send;
use crate::running::{Running, open};

const SERIES: u64 = 20;
const SERIES_BYTES_MAX: u64 = 100 * 1_024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_of_one_event_a_second_takes_under_100_kib_of_disk() {
    let folder = tempfile::tempdir().unwrap();
    // Opened and closed twice, so that what a store has on disk when it is new is not mistaken for data.
    count_days(folder.path(), 0..1).await;
    let before = bytes_in(folder.path());
    count_days(folder.path(), 1..SERIES + 1).await;
    let growth = bytes_in(folder.path()).saturating_sub(before) / SERIES;
    assert!((1_000..SERIES_BYTES_MAX).contains(&growth), "{growth} bytes a series");
}

async fn count_days(folder: &Path, series: std::ops::Range<u64>) {
    let options = Options { durability: Durability::Os, ..Options::default() };
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(folder, &options).unwrap());
    let server = Running::start(open(), Arc::clone(&store)).await;
    for name in series {
        let mut lines = String::new();
        for second in 0..86_400 {
            let _ = writeln!(lines, "day,s={name} n=1i {}", 1_699_920_000 + second);
        }
        let request = server.client().request("POST", "/write?precision=s").body(lines);
        assert_eq!(send(request).await.status, 204);
    }
    server.stop().await;
    store.close().await.unwrap();
}

fn bytes_in(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| {
            let metadata = entry.metadata().unwrap();
            // What is on disk: the log's next file is made long beforehand, with nothing in it.
            if metadata.is_dir() { bytes_in(&entry.path()) } else { metadata.blocks() * 512 }
        })
        .sum()
}
