//! The one place where keys of audiences are named.
//!
//! | key | on Cluster | |
//! |---|---|---|
//! | `E#Event#Heartbeat` · `S#Session#Heartbeat` | `{E}#Event#Heartbeat` · `{E}#S#Session#Heartbeat` | user → last seen |
//! | `E#Event#Statistics` | `{E}#Event#Statistics` | user → what is known of them, in the event and its sessions |
//! | `E#EventAttendedUsers` · `S#SessionAttendedUsers` | likewise | users |
//! | `E#LOCATION#ViewingSessionStart` · `E#S#LOCATION#…` | `{E}#LOCATION#…` · `{E}#S#LOCATION#…` | user → start (or end) |
//! | `tm:audience:KIND:E` · `tm:audience:KIND:E#S` | `tm:audience:KIND:{E}` · `tm:audience:KIND:{E}#S` | our own records |
//! | `tm:audience` | `{tm:audience}` | the names of all events |
//!
//! The seed's names of sessions do not say the event. The first event that uses a session's name gets the seed's keys; the
//! same session of another event has `E#S` in place of `S`. Which of the two it is (its [`Stem`]) is decided once and kept.
//! On Cluster everything of an event shares the tag `{E}`, so the event is in all its names and no choice is needed.

use tickmark_store::{Key, Placement};

use super::{AudienceName, Scope};

/// The tag of what is not one event's.
const TAG: &str = "tm:audience";

/// How the keys of a session begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stem {
    /// `S`, as the seed has it.
    Seed,
    /// `E#S`, where another event has the seed's.
    Joined,
}

/// The keys of an event that are not of one scope.
#[derive(Clone, Debug)]
pub(super) struct EventKeys {
    placement: Placement,
    event: AudienceName,
}

impl EventKeys {
    pub(super) fn of(placement: Placement, event: &AudienceName) -> Self {
        Self { placement, event: event.clone() }
    }

    /// What the event is declared to be: a string.
    pub(super) fn event(&self) -> Key {
        self.own("event")
    }

    /// Its sessions: a hash from name to number and stem.
    pub(super) fn sessions(&self) -> Key {
        self.own("sessions")
    }

    /// There while something of a deleted event is left.
    pub(super) fn gone(&self) -> Key {
        self.own("gone")
    }

    fn own(&self, kind: &str) -> Key {
        self.placement.key(&format!("{TAG}:{kind}"), self.event.as_str(), "")
    }
}

/// The keys of a scope.
#[derive(Clone, Debug)]
pub(super) struct ScopeKeys {
    /// `E` or `E#S`, with braces where they are needed.
    place: String,
    /// What the seed's keys begin with.
    seed: String,
    /// The event, with braces where they are needed.
    event: String,
}

impl ScopeKeys {
    pub(super) fn of(placement: Placement, scope: &Scope, stem: Stem) -> Self {
        let event = match placement {
            Placement::Together => scope.event.to_string(),
            Placement::ByTag => format!("{{{}}}", scope.event),
        };
        let Some(session) = &scope.session else {
            return Self { seed: format!("{event}#Event"), place: event.clone(), event };
        };
        let place = format!("{event}#{session}");
        let seed = match (placement, stem) {
            (Placement::Together, Stem::Seed) => format!("{session}#Session"),
            _ => format!("{place}#Session"),
        };
        Self { place, seed, event }
    }

    pub(super) fn heartbeat(&self) -> Key {
        Key::from(format!("{}#Heartbeat", self.seed))
    }

    /// The same for the event and all its sessions.
    pub(super) fn statistics(&self) -> Key {
        Key::from(format!("{}#Event#Statistics", self.event))
    }

    pub(super) fn attended(&self) -> Key {
        Key::from(format!("{}AttendedUsers", self.seed))
    }

    pub(super) fn viewing_start(&self, location: &str) -> Key {
        Key::from(format!("{}#{location}#ViewingSessionStart", self.place))
    }

    pub(super) fn viewing_end(&self, location: &str) -> Key {
        Key::from(format!("{}#{location}#ViewingSessionEnd", self.place))
    }

    /// How many viewing sessions began in each second and at each millisecond of a stretch of five minutes: a hash.
    pub(super) fn joins(&self, stretch: i64) -> Key {
        Key::from(format!("{TAG}:joins:{}:{stretch}", self.place))
    }

    /// The stretches in which viewing sessions began: a sorted set.
    pub(super) fn stretches(&self) -> Key {
        self.own("stretches")
    }

    /// Who began to watch later than it was, by their own clock: a sorted set of users by that time.
    pub(super) fn ahead(&self) -> Key {
        self.own("ahead")
    }

    /// When viewing sessions before the latest ended: a sorted set of `user#START`.
    pub(super) fn ended(&self) -> Key {
        self.own("ended")
    }

    /// Who is counted as active, by country and group, and as of when: a hash.
    pub(super) fn live(&self) -> Key {
        self.own("live")
    }

    /// Totals and the peak: a hash.
    pub(super) fn totals(&self) -> Key {
        self.own("totals")
    }

    /// Stretches of five minutes in which the peak is to be looked for again: a hash.
    pub(super) fn unsettled(&self) -> Key {
        self.own("unsettled")
    }

    /// Locations: a set.
    pub(super) fn locations(&self) -> Key {
        self.own("locations")
    }

    /// The times of the records: a sorted set.
    pub(super) fn records(&self) -> Key {
        self.own("records")
    }

    /// The record of one time: a hash.
    pub(super) fn record(&self, at_ms: i64) -> Key {
        Key::from(format!("{TAG}:record:{}:{}", self.place, at_ms.div_euclid(1_000)))
    }

    /// Durations of purged viewing sessions, and how often each: a hash.
    pub(super) fn purged(&self) -> Key {
        self.own("purged")
    }

    /// The channel that tells of every change.
    pub(super) fn channel(&self) -> Key {
        self.own("live")
    }

    fn own(&self, kind: &str) -> Key {
        Key::from(format!("{TAG}:{kind}:{}", self.place))
    }
}

/// Which event has the seed's keys of a session's name: a string. Only where keys are plain.
pub(super) fn owner(session: &str) -> Key {
    Key::from(format!("{TAG}:owner:{session}"))
}

/// A sorted set of the names of all events, all with score 0.
pub(super) fn index(placement: Placement) -> Key {
    placement.key("", TAG, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_keys() {
        use {Placement::ByTag, Placement::Together, Stem::Joined, Stem::Seed};
        let name = |text| AudienceName::parse(text).unwrap();
        let event = Scope { event: name("expo"), session: None };
        let session = Scope { session: Some(name("keynote")), ..event.clone() };
        for (placement, scope, stem, heartbeat, attended, start, own) in [
            (
                Together,
                &event,
                Seed,
                "expo#Event#Heartbeat",
                "expo#EventAttendedUsers",
                "expo#web#ViewingSessionStart",
                "tm:audience:live:expo",
            ),
            (
                Together,
                &session,
                Seed,
                "keynote#Session#Heartbeat",
                "keynote#SessionAttendedUsers",
                "expo#keynote#web#ViewingSessionStart",
                "tm:audience:live:expo#keynote",
            ),
            (
                Together,
                &session,
                Joined,
                "expo#keynote#Session#Heartbeat",
                "expo#keynote#SessionAttendedUsers",
                "expo#keynote#web#ViewingSessionStart",
                "tm:audience:live:expo#keynote",
            ),
            (
                ByTag,
                &event,
                Seed,
                "{expo}#Event#Heartbeat",
                "{expo}#EventAttendedUsers",
                "{expo}#web#ViewingSessionStart",
                "tm:audience:live:{expo}",
            ),
            (
                ByTag,
                &session,
                Seed,
                "{expo}#keynote#Session#Heartbeat",
                "{expo}#keynote#SessionAttendedUsers",
                "{expo}#keynote#web#ViewingSessionStart",
                "tm:audience:live:{expo}#keynote",
            ),
        ] {
            let keys = ScopeKeys::of(placement, scope, stem);
            let made = [keys.heartbeat(), keys.attended(), keys.viewing_start("web"), keys.live()];
            assert_eq!(made, [heartbeat, attended, start, own].map(Key::from));
        }
    }
}
