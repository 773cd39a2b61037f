//! The stores that every promise holds on.

use std::sync::Arc;

use tickmark_rig::{Cluster, Redis};
use tickmark_store::Store;
use tickmark_store::embedded::{EmbeddedStore, Options};
use tickmark_store::redis::{Options as RedisOptions, RedisStore};

/// A store, and what must be kept for as long as it is used.
pub(crate) struct Kept {
    pub(crate) store: Arc<dyn Store>,
    _keeper: Box<dyn std::any::Any + Send>,
}

pub(crate) fn memory() -> Kept {
    Kept { store: Arc::new(EmbeddedStore::in_memory(&Options::default()).unwrap()), _keeper: Box::new(()) }
}

pub(crate) fn directory() -> Kept {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(directory.path(), &Options::default()).unwrap();
    Kept { store: Arc::new(store), _keeper: Box::new(directory) }
}

pub(crate) async fn redis() -> Kept {
    let redis = Redis::start().unwrap();
    let store = RedisStore::connect(&redis.url(), RedisOptions::default()).await.unwrap();
    Kept { store: Arc::new(store), _keeper: Box::new(redis) }
}

pub(crate) async fn cluster() -> Kept {
    let cluster = Cluster::start().unwrap();
    let store = RedisStore::connect(&cluster.url(), RedisOptions::default()).await.unwrap();
    Kept { store: Arc::new(store), _keeper: Box::new(cluster) }
}
