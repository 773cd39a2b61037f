//! The engine on a Redis or Valkey that the user runs, single or Cluster.
//!
//! A batch is one call of one script, which checks everything and then writes everything. A read is a transaction. An
//! account is a database of a single Redis, and a prefix on a Cluster. Redis 7.0 or newer is needed (or Valkey), for
//! scripts that are refused before they start rather than stopped half-way.
//!
//! What is acknowledged is as durable as that Redis is configured to make it: with `appendfsync everysec` a crash may
//! lose the last second, and a failover what the replica did not have yet. Nothing here can change that.

mod client;
mod cluster;
mod commit;
mod cursor;
mod encode;
mod layout;
mod link;
mod listener;
mod names;
mod options;
mod pack;
mod plan;
mod problem;
mod pubsub;
mod query;
mod read;
mod scan;
mod script;
mod server;
mod slot;
mod url;
mod value;
mod wire;

use std::sync::Arc;

use async_trait::async_trait;

pub use options::Options;

use crate::{Account, Batch, Cursor, Key, KeyPage, Placement, Query, Reply, Result, Store, Subscription, limits};
use plan::Place;
use pubsub::Hub;
use url::Address;
use wire::Wire;

/// A [`Store`] on Redis.
#[derive(Debug)]
pub struct RedisStore {
    wire: Arc<Wire>,
    hub: Hub,
}

impl RedisStore {
    /// Connects to `redis://…`, `rediss://…`, `redis+cluster://h1:p1,h2:p2` or `rediss+cluster://…`, and checks that
    /// the server is one this engine can rely on.
    pub async fn connect(url: &str, options: Options) -> Result<Self> {
        let address = Address::parse(url)?;
        let wire = Arc::new(Wire::new(address, options));
        if wire.is_cluster() {
            wire.first_layout().await?;
        }
        server::check(&wire).await?;
        Ok(Self { hub: Hub::new(Arc::clone(&wire)), wire })
    }

    fn place(&self, account: Account) -> Place {
        Place::new(account, self.wire.is_cluster())
    }
}

#[async_trait]
impl Store for RedisStore {
    fn placement(&self) -> Placement {
        if self.wire.is_cluster() { Placement::ByTag } else { Placement::Together }
    }

    fn is_shared(&self) -> bool {
        true
    }

    async fn commit(&self, account: Account, batch: Batch) -> Result<Vec<Reply>> {
        limits::check_batch(&batch)?;
        commit::commit(&self.wire, &self.place(account), &batch).await
    }

    async fn read(&self, account: Account, queries: Vec<Query>) -> Result<Vec<Reply>> {
        limits::check_queries(&queries)?;
        read::read(&self.wire, &self.place(account), &queries).await
    }

    async fn scan(&self, account: Account, prefix: Key, cursor: Option<Cursor>, limit: u32) -> Result<KeyPage> {
        scan::scan(&self.wire, &self.place(account), &prefix, cursor.as_ref(), limit).await
    }

    async fn subscribe(&self, account: Account, channel: Key) -> Result<Subscription> {
        self.wire.check_open()?;
        self.hub.subscribe(self.place(account).channels.outer(channel.as_bytes())).await
    }

    async fn ping(&self) -> Result<()> {
        server::ping(&self.wire).await
    }

    async fn close(&self) -> Result<()> {
        self.wire.close();
        self.hub.close();
        Ok(())
    }
}
