//! The store under test, as one case sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::{Account, Atom, Batch, Cursor, Error, Expiry, Key, Kind, Op, Query, Reply, Result, Store};

/// How long a case waits for what must happen soon.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) store: Arc<dyn Store>,
    pub(super) account: Account,
    tag: String,
}

impl Subject {
    pub(super) fn new(store: Arc<dyn Store>, case: &str) -> Self {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        Self { store, account: Account(0), tag: format!("{case}:{}:{run}", now_ms()) }
    }

    /// The same case as another account.
    pub(super) fn of(&self, account: u32) -> Self {
        Self { account: Account(account), ..self.clone() }
    }

    /// A key of this case; all of them may be in one batch.
    pub(super) fn key(&self, name: &str) -> Key {
        Key::from(format!("{{{}}}{name}", self.tag))
    }

    /// A key of this case that may not be in a batch with the others.
    pub(super) fn distant_key(&self, name: &str) -> Key {
        Key::from(format!("{{{}:{name}}}", self.tag))
    }

    pub(super) async fn commit(&self, batch: impl Into<Batch>) -> Result<Vec<Reply>> {
        self.store.commit(self.account, batch.into()).await
    }

    /// Writes, which must succeed.
    pub(super) async fn write(&self, ops: impl Into<Vec<Op>>) -> Vec<Reply> {
        self.commit(ops.into()).await.expect("a write")
    }

    /// Writes one operation and returns its reply.
    pub(super) async fn op(&self, op: Op) -> Reply {
        let mut replies = self.write([op]).await;
        assert_eq!(replies.len(), 1);
        replies.remove(0)
    }

    pub(super) async fn try_read(&self, query: Query) -> Result<Reply> {
        let mut replies = self.store.read(self.account, vec![query]).await?;
        assert_eq!(replies.len(), 1);
        Ok(replies.remove(0))
    }

    pub(super) async fn read(&self, query: Query) -> Reply {
        self.try_read(query).await.expect("a read")
    }

    pub(super) async fn count(&self, query: Query) -> u64 {
        self.read(query).await.count().expect("a count")
    }

    pub(super) async fn get(&self, key: &Key) -> Option<Atom> {
        self.read(Query::Get { key: key.clone() }).await.value().expect("a value")
    }

    pub(super) async fn field(&self, key: &Key, field: impl Into<Atom>) -> Option<Atom> {
        let query = Query::HashGet { key: key.clone(), field: field.into() };
        self.read(query).await.value().expect("a value")
    }

    pub(super) async fn kind(&self, key: &Key) -> Option<Kind> {
        self.read(Query::Kind { key: key.clone() }).await.kind().expect("a kind")
    }

    pub(super) async fn expiry(&self, key: &Key) -> Expiry {
        self.read(Query::Expiry { key: key.clone() }).await.expiry().expect("an expiry")
    }

    pub(super) async fn members(&self, query: Query) -> Vec<Atom> {
        self.read(query).await.members().expect("members")
    }

    /// Everything there is to know about a key, to be compared with later.
    pub(super) async fn contents(&self, key: &Key) -> String {
        let key = key.clone();
        let kind = self.kind(&key).await;
        let expiry = self.expiry(&key).await;
        let mut lines: Vec<String> = match kind {
            None => Vec::new(),
            Some(Kind::String) => vec![format!("{:?}", self.get(&key).await)],
            Some(Kind::HyperLogLog) => vec![format!("{:?}", self.read(Query::HllDump { key }).await)],
            Some(Kind::Hash) => {
                let fields = self.read(Query::HashAll { key }).await.fields().expect("fields");
                fields.iter().map(|field| format!("{field:?}")).collect()
            }
            Some(Kind::Set) => self.members(Query::SetAll { key }).await.iter().map(ToString::to_string).collect(),
            Some(Kind::SortedSet) => vec![format!("{:?}", self.scored(&key).await)],
            Some(Kind::List) => {
                vec![format!("{:?}", self.members(Query::ListRange { key, start: 0, limit: u64::MAX }).await)]
            }
        };
        lines.sort();
        format!("{kind:?} {expiry:?} {lines:?}")
    }

    /// A whole sorted set, in order.
    pub(super) async fn scored(&self, key: &Key) -> Vec<(Atom, f64)> {
        let range = crate::ScoreRange::ALL;
        let order = crate::Order::Ascending;
        let query = Query::SortedRange { key: key.clone(), range, order, offset: 0, limit: u64::MAX };
        self.read(query).await.scored().expect("members with scores")
    }

    /// Commits a batch that must fail, checks that it left every key as it was, and returns the error.
    pub(super) async fn refused(&self, batch: impl Into<Batch>) -> Error {
        let batch = batch.into();
        let in_guards = batch.guards.iter().map(crate::Guard::key);
        let mut keys: Vec<Key> = in_guards.chain(batch.ops.iter().filter_map(Op::key)).cloned().collect();
        keys.retain(|key| !key.as_bytes().is_empty() && key.as_bytes().len() <= crate::limits::KEY_BYTES_MAX);
        keys.sort();
        keys.dedup();
        let mut before = Vec::new();
        for key in &keys {
            before.push(self.contents(key).await);
        }
        let error = match self.commit(batch.clone()).await {
            Err(error) => error,
            Ok(replies) => panic!("{batch:?} was written, with {replies:?}"),
        };
        for (key, before) in keys.iter().zip(before) {
            assert_eq!(self.contents(key).await, before, "{key} changed, though {error}");
        }
        error
    }

    /// Asks again until the answer is yes.
    pub(super) async fn eventually(&self, what: &str, done: impl AsyncFn() -> bool) {
        let start = Instant::now();
        while !done().await {
            assert!(start.elapsed() < PATIENCE, "waited {PATIENCE:?} for {what}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Walks through all pages of a scan: `page` asks for one and says what is next.
    pub(super) async fn walk(&self, mut page: impl AsyncFnMut(Option<Cursor>) -> Option<Cursor>) {
        let mut cursor = None;
        for _ in 0..1_000_000 {
            cursor = page(cursor).await;
            if cursor.is_none() {
                return;
            }
        }
        panic!("a scan does not end");
    }
}

pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    u64::try_from(since.as_millis()).expect("a clock before the year 500,000,000")
}

/// Atoms from texts and integers, for short lists.
pub(super) fn atoms<T: Into<Atom>>(list: impl IntoIterator<Item = T>) -> Vec<Atom> {
    list.into_iter().map(Into::into).collect()
}
