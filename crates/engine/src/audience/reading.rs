//! What is asked about viewers: who came, how long they watched, and one viewer's history.

use tickmark_store::{Account, Atom, Cursor, Query, Reply};

use super::label::{self, Labels};
use super::record::Person;
use super::registry::{Audience, Known, next, unexpected};
use super::sums::{ATTENDED, DURATION_MS, SESSIONS};
use super::{AudienceError, Scope, Stretch, name};
use crate::Result;

/// Pages of an event's viewers that are looked through for some who were in a session.
const PAGES_MAX: usize = 20;

/// How long viewers watched.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Viewing {
    pub viewers: u64,
    pub viewing_sessions: u64,
    pub duration_ms: u64,
    /// Of the durations of viewing sessions; none where there are none.
    pub median_ms: Option<f64>,
}

/// What is known of a viewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub first_ms: i64,
    pub last_ms: i64,
    pub is_active: bool,
    pub location: String,
    pub country: Option<String>,
    pub groups: Vec<String>,
    /// In order; the last is the latest.
    pub viewing_sessions: Vec<Stretch>,
}

impl Audience {
    /// How many were last seen within another time than the threshold.
    pub async fn active_within(&self, account: Account, scope: &Scope, within_ms: i64, now_ms: i64) -> Result<u64> {
        let known = self.known(account, scope).await?;
        if within_ms == known.threshold_ms {
            return self.active(account, scope, now_ms).await;
        }
        self.touch(account, &scope.event, now_ms);
        let range = now_ms - within_ms..now_ms + 1;
        let seen = self.seen_in(account, &scope.event, &known, std::slice::from_ref(&range)).await?;
        Ok(seen.iter().sum())
    }

    /// How many were ever seen.
    pub async fn attended(&self, account: Account, scope: &Scope) -> Result<u64> {
        let known = self.known(account, scope).await?;
        attended(self.one(account, attended_query(&known)).await?)
    }

    /// Who was ever seen: about so many of them, in no order, and where to go on.
    pub async fn attendees(
        &self,
        account: Account,
        scope: &Scope,
        cursor: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<String>, Option<Cursor>)> {
        let known = self.known(account, scope).await?;
        if known.is_shared {
            let query = Query::SetScan { key: known.keys.attended(), cursor, limit };
            return match self.one(account, query).await? {
                Reply::MemberPage { members, next } => Ok((texts(members.iter()), next)),
                other => Err(unexpected("MemberPage", &other)),
            };
        }
        let (mut users, mut cursor, mut labels) = (Vec::new(), cursor, Labels::default());
        // Many of the event's viewers may not have been in the session.
        for _ in 0..PAGES_MAX {
            let (fields, next) = self.page(account, known.keys.statistics(), cursor, limit).await?;
            cursor = next;
            let attended = fields.iter().filter(|(_, record)| {
                Person::read(record, &mut labels).is_some_and(|person| person.has_attended(known.number))
            });
            users.extend(texts(attended.map(|(user, _)| user)));
            if users.len() >= limit as usize || cursor.is_none() {
                break;
            }
        }
        Ok((users, cursor))
    }

    pub async fn viewing(&self, account: Account, scope: &Scope, now_ms: i64) -> Result<Viewing> {
        let known = self.known(account, scope).await?;
        let fields = [SESSIONS, DURATION_MS].map(Atom::from).to_vec();
        let queries = vec![attended_query(&known), Query::HashGetMany { key: known.keys.totals(), fields }];
        let mut replies = self.store.read(account, queries).await?.into_iter();
        let viewers = attended(next(&mut replies)?)?;
        let totals = next(&mut replies)?.values()?;
        let total = |index: usize| totals.get(index).and_then(|total| total.as_ref()?.as_int()).unwrap_or(0);
        let [viewing_sessions, duration_ms] = [0, 1].map(|index| u64::try_from(total(index)).unwrap_or(0));
        let mut viewing = Viewing { viewers, viewing_sessions, duration_ms, median_ms: None };
        viewing.median_ms = self.median_ms(account, scope, &known, &viewing, now_ms).await?;
        Ok(viewing)
    }

    pub async fn viewer(&self, account: Account, scope: &Scope, user: &str, now_ms: i64) -> Result<Seen> {
        name::check_user(user)?;
        let known = self.known(account, scope).await?;
        let query = Query::HashGet { key: known.keys.statistics(), field: Atom::from(user) };
        let mut labels = Labels::default();
        let person = self.one(account, query).await?.value()?.and_then(|record| Person::read(&record, &mut labels));
        let viewer = person.and_then(|mut person| person.forget(known.number));
        let viewer = viewer.ok_or_else(|| AudienceError::UnknownViewer { user: user.to_owned() })?;
        let text = labels.text(viewer.label);
        Ok(Seen {
            first_ms: viewer.first_ms,
            last_ms: viewer.last_ms(),
            is_active: viewer.is_active(now_ms, known.threshold_ms),
            location: label::location(text).to_owned(),
            country: label::country(text).map(str::to_owned),
            groups: label::groups(text).map(str::to_owned).collect(),
            viewing_sessions: viewer.stretches().collect(),
        })
    }
}

/// Others who write the same keys count too, where there are any.
fn attended_query(known: &Known) -> Query {
    if known.is_shared {
        Query::SetLen { key: known.keys.attended() }
    } else {
        Query::HashGet { key: known.keys.totals(), field: Atom::from(ATTENDED) }
    }
}

fn attended(reply: Reply) -> Result<u64> {
    match reply {
        Reply::Count(count) => Ok(count),
        other => Ok(other.value()?.and_then(|count| u64::try_from(count.as_int()?).ok()).unwrap_or(0)),
    }
}

fn texts<'a>(atoms: impl Iterator<Item = &'a Atom>) -> Vec<String> {
    atoms.filter_map(|atom| Some(atom.as_str()?.into_owned())).collect()
}
