//! The embedded engine keeps every promise of the vocabulary, with a directory and without.

use std::sync::Arc;

use tickmark_store::conformance;
use tickmark_store::embedded::{EmbeddedStore, MEMORY_BYTES_MIN, Options};

#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_memory_conforms() {
    conformance::run(Arc::new(EmbeddedStore::in_memory(&Options::default()).unwrap())).await;
}

/// With the least memory there is, so that objects leave and come back while the cases run.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_a_directory_conforms() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { memory_bytes: MEMORY_BYTES_MIN, ..Options::default() };
    conformance::run(Arc::new(EmbeddedStore::open(directory.path(), &options).unwrap())).await;
}
