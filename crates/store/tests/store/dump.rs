//! Everything a store holds, in a form in which two stores can be compared.

use std::collections::BTreeMap;

use tickmark_store::{Account, Atom, Expiry, Key, Kind, Order, Query, Reply, ScoreRange, Store};

pub(crate) async fn keys(store: &dyn Store, account: Account, prefix: &str) -> Vec<Key> {
    let (mut keys, mut cursor) = (Vec::new(), None);
    loop {
        let page = store.scan(account, Key::from(prefix), cursor, 7).await.unwrap();
        keys.extend(page.keys);
        cursor = page.next;
        if cursor.is_none() {
            keys.sort();
            keys.dedup();
            return keys;
        }
    }
}

/// Every key of the account, with its type, its expiry and its contents.
pub(crate) async fn dump(store: &dyn Store, account: Account) -> BTreeMap<Key, (Kind, Expiry, Reply)> {
    let mut contents = BTreeMap::new();
    for key in keys(store, account, "").await {
        let asked = vec![Query::Kind { key: key.clone() }, Query::Expiry { key: key.clone() }];
        let [kind, expiry] = store.read(account, asked).await.unwrap().try_into().unwrap();
        let Some(kind) = kind.kind().unwrap() else { continue };
        let query = match kind {
            Kind::String => Query::Get { key: key.clone() },
            Kind::Hash => Query::HashAll { key: key.clone() },
            Kind::Set => Query::SetAll { key: key.clone() },
            Kind::SortedSet => {
                let (order, offset, limit) = (Order::Ascending, 0, 1_000_000);
                Query::SortedRange { key: key.clone(), range: ScoreRange::ALL, order, offset, limit }
            }
            Kind::List => Query::ListRange { key: key.clone(), start: 0, limit: 1_000_000 },
            Kind::HyperLogLog => Query::HllDump { key: key.clone() },
        };
        let reply = store.read(account, vec![query]).await.unwrap().remove(0);
        contents.insert(key, (kind, expiry.expiry().unwrap(), sorted(reply)));
    }
    contents
}

/// Replies without an order of their own are put into one.
pub(crate) fn sorted(reply: Reply) -> Reply {
    let by_bytes = |a: &Atom, b: &Atom| a.as_bytes().cmp(&b.as_bytes());
    match reply {
        Reply::Fields(mut fields) => {
            fields.sort_by(|(a, _), (b, _)| by_bytes(a, b));
            Reply::Fields(fields)
        }
        other => other,
    }
}

/// Members of a set have no order either, but those of a list have: only the caller knows.
pub(crate) fn sorted_members(reply: Reply) -> Reply {
    match reply {
        Reply::Members(mut members) => {
            members.sort_by(|a, b| a.as_bytes().cmp(&b.as_bytes()));
            Reply::Members(members)
        }
        other => sorted(other),
    }
}
