//! Deleting an event with its sessions.
//!
//! First the event's record goes, and a mark is left in its place: from then on the event is not there, and nobody can
//! write to it, because every write is guarded by that record. Then everything else goes, in batches of bounded size, and
//! the mark last. Cut off half-way, it is finished by whoever next deletes or creates an event of that name; until then
//! nothing of it is seen.

use tickmark_store::{Account, Atom, Batch, Guard, Key, Op, Order, Placement, Presence, Query, ScoreRange};

use super::keys::{self, EventKeys, ScopeKeys, Stem};
use super::registry::{Audience, Claim};
use super::{AudienceError, AudienceName, Scope};
use crate::Result;

/// Keys in one batch.
const KEYS_MAX: usize = 1_000;

impl Audience {
    /// What deletes an event. To be followed by [`Audience::finish_removal`].
    pub async fn removal(&self, account: Account, event: &AudienceName) -> Result<Batch> {
        let declared = self.declared(account, event).await?;
        let record = declared.record.ok_or_else(|| AudienceError::UnknownEvent { event: event.to_string() })?;
        let keys = EventKeys::of(self.placement(), event);
        let mut batch = Batch::new()
            .guard(Guard::Value { key: keys.event(), is: Some(record) })
            .op(Op::Delete { key: keys.event() })
            .op(Op::Set { key: keys.gone(), value: Atom::from(1) });
        if self.placement() == Placement::Together {
            batch.ops.push(unlist(Placement::Together, event));
        }
        let whole = Scope { event: event.clone(), session: None };
        batch.ops.push(Op::Publish { channel: self.channel(&whole), message: Box::default() });
        Ok(batch)
    }

    /// Deletes what a deleted event left.
    pub async fn finish_removal(&self, account: Account, event: &AudienceName) -> Result<()> {
        let keys = EventKeys::of(self.placement(), event);
        if self.one(account, Query::Get { key: keys.gone() }).await?.value()?.is_none() {
            return Ok(());
        }
        let sessions = self.claims(account, event).await?;
        let whole = Scope { event: event.clone(), session: None };
        self.remove_scope(account, &keys, &self.scope_keys(&whole, Stem::Seed)).await?;
        let mut last = vec![Op::Delete { key: keys.sessions() }, Op::Delete { key: keys.gone() }];
        for (name, Claim { stem, .. }) in sessions {
            let Ok(session) = AudienceName::parse(&name) else { continue };
            let scope = Scope { session: Some(session), ..whole.clone() };
            self.remove_scope(account, &keys, &self.scope_keys(&scope, stem)).await?;
            if self.placement() == Placement::Together && stem == Stem::Seed {
                last.push(Op::Delete { key: keys::owner(&name) });
            }
        }
        if self.placement() == Placement::ByTag {
            self.store.commit(account, Batch::new().op(unlist(Placement::ByTag, event))).await?;
        }
        self.remove(account, &keys, last).await?;
        *self.held(account, event).times() = None;
        Ok(())
    }

    async fn remove_scope(&self, account: Account, event: &EventKeys, keys: &ScopeKeys) -> Result<()> {
        self.remove_listed(account, event, keys.records(), |at_ms| keys.record(at_ms)).await?;
        self.remove_listed(account, event, keys.stretches(), |stretch| keys.joins(stretch)).await?;
        let locations = self.one(account, Query::SetAll { key: keys.locations() }).await?.members()?;
        let locations = locations.iter().filter_map(Atom::as_str);
        let mut ops: Vec<Op> = locations
            .flat_map(|location| [keys.viewing_start(&location), keys.viewing_end(&location)])
            .map(delete)
            .collect();
        ops.extend(
            [
                keys.heartbeat(),
                keys.statistics(),
                keys.attended(),
                keys.ahead(),
                keys.ended(),
                keys.live(),
                keys.totals(),
                keys.unsettled(),
                keys.purged(),
                keys.records(),
                keys.stretches(),
            ]
            .map(delete),
        );
        // The locations last: they say what else there is.
        ops.push(delete(keys.locations()));
        self.remove(account, event, ops).await
    }

    /// Deletes keys that a sorted set lists, and empties it.
    async fn remove_listed(
        &self,
        account: Account,
        event: &EventKeys,
        list: Key,
        named: impl Fn(i64) -> Key,
    ) -> Result<()> {
        loop {
            let (range, order) = (ScoreRange::ALL, Order::Ascending);
            let query = Query::SortedRange { key: list.clone(), range, order, offset: 0, limit: KEYS_MAX as u64 };
            let listed = self.one(account, query).await?.scored()?;
            if listed.is_empty() {
                return Ok(());
            }
            let members: Vec<Atom> = listed.into_iter().map(|(member, _)| member).collect();
            let mut ops: Vec<Op> = members.iter().filter_map(Atom::as_int).map(|n| delete(named(n))).collect();
            ops.push(Op::SortedRemove { key: list.clone(), members });
            self.remove(account, event, ops).await?;
        }
    }

    /// Only as long as the event is still being deleted: finished by another, it may be there anew.
    async fn remove(&self, account: Account, keys: &EventKeys, ops: Vec<Op>) -> Result<()> {
        let guard = Guard::Key { key: keys.gone(), is: Presence::Present };
        match self.store.commit(account, Batch { guards: vec![guard], ops }).await {
            Ok(_) | Err(tickmark_store::Error::GuardFailed { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn delete(key: Key) -> Op {
    Op::Delete { key }
}

fn unlist(placement: Placement, event: &AudienceName) -> Op {
    Op::SortedRemove { key: keys::index(placement), members: vec![Atom::from(event.as_str())] }
}
