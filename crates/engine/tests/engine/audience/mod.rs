//! Audiences beside a slow, obviously right model of them.

mod crowd;
mod evening;
mod laws;
mod model;
mod ways;

use std::sync::Arc;

use tickmark_engine::Result;
use tickmark_engine::audience::{Audience, AudienceName, Heartbeat, Roll, Scope, Turn, Viewing};
use tickmark_store::{Account, Batch, Error as StoreError, Store};

use model::Sent;

const ACCOUNT: Account = Account(0);

pub(super) struct Stage {
    pub(super) audience: Audience,
    pub(super) store: Arc<dyn Store>,
    pub(super) event: AudienceName,
}

impl Stage {
    pub(super) fn new(store: &Arc<dyn Store>, event: &str) -> Self {
        let event = AudienceName::parse(event).unwrap();
        Self { audience: Audience::new(Arc::clone(store)), store: Arc::clone(store), event }
    }

    pub(super) fn scope(&self, session: Option<&str>) -> Scope {
        Scope { event: self.event.clone(), session: session.map(|name| AudienceName::parse(name).unwrap()) }
    }

    pub(super) async fn declare(&self, threshold_seconds: u64) -> Result<bool> {
        let (batch, is_new) = self.audience.declare(ACCOUNT, &self.event, threshold_seconds).await?;
        self.store.commit(ACCOUNT, batch).await?;
        Ok(is_new)
    }

    /// Sends heartbeats as a server does: planned again until the guards hold.
    async fn send(&self, sent: &[Sent], now_ms: i64) -> Result<()> {
        self.write(sent, now_ms).await?.written();
        Ok(())
    }

    /// The same, without saying so afterwards.
    async fn write(&self, sent: &[Sent], now_ms: i64) -> Result<Turn> {
        let roll = Self::roll(sent, now_ms)?;
        let turn = self.audience.turn(ACCOUNT, &self.event, now_ms);
        loop {
            turn.attempt().await;
            let planned = self.audience.count(ACCOUNT, &self.event, &roll).await?;
            turn.planned(planned.moved);
            match self.store.commit(ACCOUNT, planned.batch).await {
                Ok(_) => return Ok(turn),
                Err(StoreError::GuardFailed { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn roll(sent: &[Sent], now_ms: i64) -> Result<Roll> {
        let mut roll = Roll::new(now_ms);
        for sent in sent {
            roll.add(Heartbeat {
                user: &sent.user,
                session: sent.session.as_deref(),
                location: Some("web"),
                country: sent.country.as_deref(),
                groups: sent.groups.iter().map(String::as_str).collect(),
                at_ms: sent.at_ms,
            })?;
        }
        Ok(roll)
    }

    async fn commit(&self, batch: Batch) {
        self.store.commit(ACCOUNT, batch).await.unwrap();
    }

    pub(super) async fn viewing(&self, scope: &Scope, now_ms: i64) -> Viewing {
        self.audience.viewing(ACCOUNT, scope, now_ms).await.unwrap()
    }
}
