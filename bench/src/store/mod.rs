//! The embedded engine on its own, without HTTP.

pub mod commits;
pub mod increments;
pub mod memory;
pub mod open;

use std::path::Path;

use tickmark_store::embedded::{EmbeddedStore, Options};

pub fn open_store(directory: &Path) -> EmbeddedStore {
    EmbeddedStore::open(directory, &Options::default()).expect("a store")
}

/// Beside the program rather than in a temporary directory, which may be in memory.
pub fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a directory")
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}
