//! A request's heartbeats: checked one by one, then put in order by viewer and time.
//!
//! Users, sessions and labels are numbered, so that a heartbeat is a few numbers and a million of them need no allocation
//! each.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use tickmark_store::Atom;

use super::label::{self, Labels};
use super::viewer::Beat;
use super::{AudienceError, AudienceName, name};

/// Heartbeats in one request: what comes of them fits one batch of a store.
pub const HEARTBEATS_MAX: usize = 100_000;
/// How far ahead a viewer's clock may be.
pub const AHEAD_MS_MAX: i64 = 300_000;

/// A heartbeat as it was sent.
#[derive(Debug, Default)]
pub struct Heartbeat<'a> {
    pub user: &'a str,
    pub session: Option<&'a str>,
    pub location: Option<&'a str>,
    pub country: Option<&'a str>,
    pub groups: Vec<&'a str>,
    pub at_ms: i64,
}

/// The heartbeats of a request.
#[derive(Debug)]
pub struct Roll {
    now_ms: i64,
    pub(super) users: Vec<Atom>,
    pub(super) sessions: Vec<AudienceName>,
    pub(super) labels: Labels,
    beats: Vec<Entry>,
    user_numbers: HashMap<Atom, u32, RandomState>,
    session_numbers: HashMap<Box<str>, u32, RandomState>,
    scratch: String,
}

/// Ordered as heartbeats are taken: the one that came first at an instant comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    user: u32,
    at_ms: i64,
    order: u32,
    /// The number of the session in the request; 0 is the event itself.
    scope: u32,
    label: u32,
}

/// Whom a request saw: users in the order of their bytes, because a store finds the next one beside the last, and the
/// heartbeats of each in order of time.
#[derive(Debug)]
pub(super) struct Attendance<'a> {
    users: Vec<&'a Atom>,
    sights: Vec<Sight>,
    /// Where those of each user end.
    ends: Vec<usize>,
}

/// A heartbeat of a user.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    /// The number of the session in the request; 0 where none is named.
    pub(super) scope: u32,
    pub(super) beat: Beat,
}

impl<'a> Attendance<'a> {
    pub(super) fn users(&self) -> &[&'a Atom] {
        &self.users
    }

    /// Each user with their heartbeats.
    pub(super) fn viewers(&self) -> impl Iterator<Item = (&'a Atom, &[Sight])> {
        let mut start = 0;
        let ends = self.users.iter().zip(&self.ends);
        ends.map(move |(user, end)| (*user, &self.sights[std::mem::replace(&mut start, *end)..*end]))
    }
}

impl Roll {
    pub fn new(now_ms: i64) -> Self {
        Self {
            now_ms,
            users: Vec::new(),
            sessions: Vec::new(),
            labels: Labels::default(),
            beats: Vec::new(),
            user_numbers: HashMap::default(),
            session_numbers: HashMap::default(),
            scratch: String::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.beats.len()
    }

    pub fn is_empty(&self) -> bool {
        self.beats.is_empty()
    }

    pub fn now_ms(&self) -> i64 {
        self.now_ms
    }

    pub fn add(&mut self, mut heartbeat: Heartbeat<'_>) -> Result<(), AudienceError> {
        if self.beats.len() >= HEARTBEATS_MAX {
            return Err(AudienceError::TooManyHeartbeats);
        }
        let ahead_ms = heartbeat.at_ms.saturating_sub(self.now_ms);
        if ahead_ms > AHEAD_MS_MAX {
            return Err(AudienceError::Future { ahead_ms, max_ms: AHEAD_MS_MAX });
        }
        self.scratch.clear();
        label::write(&mut self.scratch, heartbeat.location, heartbeat.country, &mut heartbeat.groups)?;
        let label = self.labels.number(&self.scratch);
        let scope = match heartbeat.session {
            Some(session) => self.session(session)?,
            None => 0,
        };
        let user = self.user(heartbeat.user)?;
        let order = u32::try_from(self.beats.len()).unwrap_or(u32::MAX);
        self.beats.push(Entry { user, at_ms: heartbeat.at_ms, order, scope, label });
        Ok(())
    }

    pub(super) fn attendance(&self) -> Attendance<'_> {
        let (users, ranks) = self.ranked();
        let ranked = self.beats.iter().map(|entry| Entry { user: ranks[entry.user as usize], ..*entry });
        let mut entries: Vec<Entry> = ranked.collect();
        entries.sort_unstable();
        let mut end = 0;
        let ends = entries.chunk_by(|a, b| a.user == b.user).map(|of_user| {
            end += of_user.len();
            end
        });
        let ends = ends.collect();
        let sight = |entry: &Entry| Sight { scope: entry.scope, beat: Beat { at_ms: entry.at_ms, label: entry.label } };
        Attendance { users, sights: entries.iter().map(sight).collect(), ends }
    }

    /// The users in the order of their bytes, and the place of each.
    fn ranked(&self) -> (Vec<&Atom>, Vec<u32>) {
        let count = u32::try_from(self.users.len()).unwrap_or(u32::MAX);
        let user = |number: u32| &self.users[number as usize];
        let mut order: Vec<(u128, u32)> =
            (0..count).map(|number| (beginning(&user(number).as_bytes()), number)).collect();
        order.sort_unstable_by(|(a, one), (b, other)| {
            a.cmp(b).then_with(|| user(*one).as_bytes().cmp(&user(*other).as_bytes()))
        });
        let mut ranks = vec![0; self.users.len()];
        for (rank, (_, number)) in (0..).zip(&order) {
            ranks[*number as usize] = rank;
        }
        (order.into_iter().map(|(_, number)| user(number)).collect(), ranks)
    }

    fn user(&mut self, user: &str) -> Result<u32, AudienceError> {
        let atom = Atom::from(user);
        if let Some(number) = self.user_numbers.get(&atom) {
            return Ok(*number);
        }
        name::check_user(user)?;
        let number = u32::try_from(self.users.len()).unwrap_or(u32::MAX);
        self.users.push(atom.clone());
        self.user_numbers.insert(atom, number);
        Ok(number)
    }

    fn session(&mut self, session: &str) -> Result<u32, AudienceError> {
        if let Some(number) = self.session_numbers.get(session) {
            return Ok(*number);
        }
        self.sessions.push(AudienceName::parse(session)?);
        let number = u32::try_from(self.sessions.len()).unwrap_or(u32::MAX);
        self.session_numbers.insert(session.into(), number);
        Ok(number)
    }
}

/// The first bytes as a number that sorts as they do.
fn beginning(bytes: &[u8]) -> u128 {
    let mut first = [0; size_of::<u128>()];
    let length = bytes.len().min(first.len());
    first[..length].copy_from_slice(&bytes[..length]);
    u128::from_be_bytes(first)
}
