//! The stores that every promise holds on.

use std::collections::BTreeMap;
use std::sync::Arc;

use tickmark_rig::{Cluster, Redis};
use tickmark_store::{Account, Key, Kind, Order, Query, Reply, ScoreRange, Store};

use crate::running::{Running, memory, open, redis};

/// Runs a test on a server over each kind of store.
pub(crate) async fn on_each<F: AsyncFn(&Running)>(test: F) {
    test(&Running::start(open(), memory()).await).await;
    let single = Redis::start().unwrap();
    test(&Running::start(open(), redis(&single.url()).await).await).await;
    let cluster = Cluster::start().unwrap();
    test(&Running::start(open(), redis(&cluster.url()).await).await).await;
}

/// Every key with what is in it.
pub(crate) async fn dump(store: &Arc<dyn Store>) -> BTreeMap<Key, Reply> {
    let (mut contents, mut cursor) = (BTreeMap::new(), None);
    loop {
        let page = store.scan(Account(0), Key::from(""), cursor, 1_000).await.unwrap();
        for key in page.keys {
            let kind = store.read(Account(0), vec![Query::Kind { key: key.clone() }]).await.unwrap().remove(0);
            // Gone since the scan saw it.
            let Some(kind) = kind.kind().unwrap() else { continue };
            let query = match kind {
                Kind::String => Query::Get { key: key.clone() },
                Kind::Hash => Query::HashAll { key: key.clone() },
                Kind::SortedSet => {
                    let (order, offset, limit) = (Order::Ascending, 0, 1_000_000);
                    Query::SortedRange { key: key.clone(), range: ScoreRange::ALL, order, offset, limit }
                }
                Kind::Set => Query::SetAll { key: key.clone() },
                other => panic!("{key} is a {other}, which nothing here is"),
            };
            let reply = match store.read(Account(0), vec![query]).await.unwrap().remove(0) {
                Reply::Fields(mut fields) => {
                    fields.sort_by_key(|(field, _)| field.to_string());
                    Reply::Fields(fields)
                }
                Reply::Members(mut members) => {
                    members.sort_by_key(ToString::to_string);
                    Reply::Members(members)
                }
                other => other,
            };
            contents.insert(key, reply);
        }
        cursor = page.next;
        if cursor.is_none() {
            return contents;
        }
    }
}
