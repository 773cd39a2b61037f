//! The median duration of viewing sessions, exactly.
//!
//! Durations of sessions under way change with every heartbeat, so keeping them in order would cost each heartbeat as much
//! again. The median is therefore worked out when it is asked for, from everyone's record, and remembered for as long as the
//! totals are the same; for a large audience, where that takes a while, for some seconds even when they are not.

use std::sync::{Mutex, PoisonError};

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use tickmark_store::{Account, Atom, Cursor, Query};

use super::Scope;
use super::label::Labels;
use super::reading::Viewing;
use super::record::Person;
use super::registry::{Audience, Known};
use super::sightings::Sightings;
use super::viewer::Viewer;
use crate::Result;

/// Up to so many viewing sessions, or viewers to look through, the median is always of now.
const FRESH_MAX: u64 = 20_000;
/// Above that it is at most so old.
const REUSED_MS: i64 = 10_000;
/// Medians remembered. When there are more, all are forgotten.
const REMEMBERED_MAX: usize = 1_000;
const PAGE: u32 = 10_000;

#[derive(Debug, Default)]
pub(super) struct Medians {
    remembered: Mutex<HashMap<(Account, Scope), Remembered, RandomState>>,
}

#[derive(Clone, Copy, Debug)]
struct Remembered {
    at_ms: i64,
    of: Viewing,
}

impl Audience {
    pub(super) async fn median_ms(
        &self,
        account: Account,
        scope: &Scope,
        known: &Known,
        viewing: &Viewing,
        now_ms: i64,
    ) -> Result<Option<f64>> {
        let name = (account, scope.clone());
        let old = self.medians.remembered.lock().unwrap_or_else(PoisonError::into_inner).get(&name).copied();
        if let Some(old) = old {
            let totals = |viewing: &Viewing| (viewing.viewing_sessions, viewing.duration_ms);
            let is_recent = (0..REUSED_MS).contains(&(now_ms - old.at_ms));
            if totals(&old.of) == totals(viewing) || (is_recent && self.is_large(account, known, viewing).await?) {
                return Ok(old.of.median_ms);
            }
        }
        let mut durations = self.durations(account, known).await?;
        let median_ms = middle(&mut durations);
        let mut remembered = self.medians.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= REMEMBERED_MAX {
            remembered.clear();
        }
        remembered.insert(name, Remembered { at_ms: now_ms, of: Viewing { median_ms, ..*viewing } });
        Ok(median_ms)
    }

    /// Whether there is much to look at.
    async fn is_large(&self, account: Account, known: &Known, viewing: &Viewing) -> Result<bool> {
        let of_scope = viewing.viewing_sessions;
        // Where nothing says who was in a session, everyone in the event is looked at.
        let records = Query::HashLen { key: known.keys.statistics() };
        Ok(of_scope > FRESH_MAX || (!known.is_shared && self.one(account, records).await?.count()? > FRESH_MAX))
    }

    /// Every viewing session's duration, and how many have it.
    async fn durations(&self, account: Account, known: &Known) -> Result<Vec<(i64, u64)>> {
        let (mut durations, mut labels) = (Vec::new(), Labels::default());
        // A scan may show somebody twice.
        let mut shown: HashSet<Atom, RandomState> = HashSet::default();
        let mut cursor = None;
        loop {
            let (records, next_cursor) = self.some_records(account, known, cursor).await?;
            for (_, record) in records.into_iter().filter(|(user, _)| shown.insert(user.clone())) {
                let person = Person::read(&record, &mut labels);
                let viewer = person.as_ref().and_then(|person| person.get(known.number));
                let stretches = viewer.into_iter().flat_map(Viewer::stretches);
                durations.extend(stretches.map(|stretch| (stretch.end_ms - stretch.start_ms, 1)));
            }
            cursor = next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        let mut purged: HashMap<i64, u64, RandomState> = HashMap::default();
        loop {
            let (fields, next_cursor) = self.page(account, known.keys.purged(), cursor, PAGE).await?;
            purged.extend(
                fields
                    .iter()
                    .filter_map(|(duration, count)| Some((duration.as_int()?, u64::try_from(count.as_int()?).ok()?))),
            );
            cursor = next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        durations.extend(purged);
        Ok(durations)
    }

    /// Records that those of a scope are among, and where to go on.
    async fn some_records(
        &self,
        account: Account,
        known: &Known,
        cursor: Option<Cursor>,
    ) -> Result<(Vec<(Atom, Atom)>, Option<Cursor>)> {
        if !known.is_shared {
            return self.page(account, known.keys.statistics(), cursor, PAGE).await;
        }
        let (users, next) = Sightings::read_page(self.one(account, known.sightings().scan(cursor, PAGE)).await?)?;
        let query = Query::HashGetMany { key: known.keys.statistics(), fields: users.clone() };
        let records = self.one(account, query).await?.values()?;
        Ok((users.into_iter().zip(records).filter_map(|(user, record)| Some((user, record?))).collect(), next))
    }
}

/// The median of values that occur so many times each: of an even number, the mean of the two in the middle.
fn middle(durations: &mut [(i64, u64)]) -> Option<f64> {
    durations.sort_unstable();
    let total: u64 = durations.iter().map(|(_, count)| count).sum();
    let nth = |rank: u64| {
        let mut seen = 0;
        durations.iter().find(|(_, count)| {
            seen += count;
            seen > rank
        })
    };
    let (low, high) = (nth(total.checked_sub(1)? / 2)?.0, nth(total / 2)?.0);
    Some(f64::midpoint(low as f64, high as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        for (durations, expected) in [
            (vec![], None),
            (vec![(5, 1)], Some(5.0)),
            (vec![(5, 1), (1, 1)], Some(3.0)),
            (vec![(5, 1), (1, 1), (9, 1)], Some(5.0)),
            (vec![(5, 3), (1, 1)], Some(5.0)),
            (vec![(5, 1), (1, 3)], Some(1.0)),
            (vec![(5, 2), (1, 2)], Some(3.0)),
        ] {
            assert_eq!(middle(&mut durations.clone()), expected, "{durations:?}");
        }
    }
}
