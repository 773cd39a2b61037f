//! A single Redis keeps every promise of the vocabulary.

use std::sync::Arc;

use tickmark_rig::Redis;
use tickmark_store::conformance;
use tickmark_store::redis::{Options, RedisStore};

#[tokio::test(flavor = "multi_thread")]
async fn a_single_redis_conforms() {
    let redis = Redis::start().unwrap();
    let store = RedisStore::connect(&redis.url(), Options::default()).await.unwrap();
    conformance::run(Arc::new(store)).await;
}
