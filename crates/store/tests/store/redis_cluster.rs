//! A Redis Cluster keeps every promise of the vocabulary.

use std::sync::Arc;

use tickmark_rig::Cluster;
use tickmark_store::conformance;
use tickmark_store::redis::{Options, RedisStore};

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_conforms() {
    let cluster = Cluster::start().unwrap();
    let store = RedisStore::connect(&cluster.url(), Options::default()).await.unwrap();
    conformance::run(Arc::new(store)).await;
}
