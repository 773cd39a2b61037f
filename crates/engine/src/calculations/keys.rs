//! The one place where keys of calculations are named.
//!
//! | key | on Cluster | |
//! |---|---|---|
//! | `set:projects` | the same | the projects there are |
//! | `set:P:dimensions` | `set:{P}:dimensions` | the dimensions of a project |
//! | `set:P:D:keys` | `set:{P:D}:keys` | the keys of a dimension |
//! | `set:P:D:K:calculations`, `set:P:D:K:C:intervals` | `set:{P:D:K}:…` | what is calculated for a key |
//! | `hash:P:D:K:values`, `hash:P:D:K:C:INTERVAL` | `hash:{P:D:K}:…` | the values, and the results |
//! | `tm:calc:WORD:P…` | `tm:calc:WORD:{P…}` | what only Tickmark reads; the words are below |
//!
//! No name has a colon in it, so keys with a different number of parts never meet.

use tickmark_stats::Interval;
use tickmark_store::{Key, Placement};

use super::{Calculation, DimensionPath, KeyPath, PartName};

/// The projects there are, wherever the store is.
pub(super) const PROJECTS: &str = "set:projects";

/// Keys of the whole account.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccountKeys(pub(super) Placement);

impl AccountKeys {
    /// The same as [`PROJECTS`], in order.
    pub(super) fn project_index(self) -> Key {
        self.own("projects")
    }

    /// Keys whose results are older than their values, scored by when they became so.
    pub(super) fn pending(self) -> Key {
        self.own("pending")
    }

    /// What is to be built or brought up to date, scored by when it may be taken up.
    pub(super) fn work(self) -> Key {
        self.own("work")
    }

    /// Alerts to be posted, scored by when.
    pub(super) fn outbox(self) -> Key {
        self.own("outbox")
    }

    /// The accounts that have projects; only in the first.
    pub(super) fn accounts(self) -> Key {
        self.own("accounts")
    }

    fn own(self, word: &str) -> Key {
        self.0.key("", &format!("tm:calc:{word}"), "")
    }
}

/// Keys of one project.
#[derive(Clone, Debug)]
pub(super) struct ProjectKeys<'a>(pub(super) Placement, pub(super) &'a PartName);

impl ProjectKeys<'_> {
    pub(super) fn record(&self) -> Key {
        self.own("project")
    }

    pub(super) fn dimensions(&self) -> Key {
        self.0.key("set", self.1.as_str(), "dimensions")
    }

    pub(super) fn dimension_index(&self) -> Key {
        self.own("dimensions")
    }

    pub(super) fn rules(&self) -> Key {
        self.own("rules")
    }

    /// Alerts by when they were, and each with what it says.
    pub(super) fn alert_index(&self) -> Key {
        self.own("alerts")
    }

    pub(super) fn alerts(&self) -> Key {
        self.own("alert")
    }

    /// How posting each alert went.
    pub(super) fn deliveries(&self) -> Key {
        self.own("deliveries")
    }

    fn own(&self, word: &str) -> Key {
        self.0.key(&format!("tm:calc:{word}"), self.1.as_str(), "")
    }
}

/// Keys of one dimension.
#[derive(Clone, Debug)]
pub(super) struct DimensionKeys {
    placement: Placement,
    tag: String,
}

impl DimensionKeys {
    pub(super) fn of(placement: Placement, path: &DimensionPath) -> Self {
        Self { placement, tag: path.to_string() }
    }

    pub(super) fn record(&self) -> Key {
        self.own("dimension")
    }

    pub(super) fn keys(&self) -> Key {
        self.placement.key("set", &self.tag, "keys")
    }

    pub(super) fn key_index(&self) -> Key {
        self.own("keys")
    }

    /// How far a change of the declaration has come.
    pub(super) fn building(&self) -> Key {
        self.own("spreading")
    }

    fn own(&self, word: &str) -> Key {
        self.placement.key(&format!("tm:calc:{word}"), &self.tag, "")
    }
}

/// Keys of one key.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    placement: Placement,
    tag: String,
}

impl Keys {
    pub(super) fn of(placement: Placement, path: &KeyPath) -> Self {
        Self { placement, tag: path.joined() }
    }

    pub(super) fn record(&self) -> Key {
        self.own("key", "")
    }

    /// Count and sum of each interval, by the interval's number.
    pub(super) fn totals(&self, interval: Interval) -> Key {
        self.own("totals", interval.as_str())
    }

    /// Instants that changed while something is being built.
    pub(super) fn touched(&self) -> Key {
        self.own("touched", "")
    }

    pub(super) fn building(&self) -> Key {
        self.own("building", "")
    }

    /// The version of the values that the results are of.
    pub(super) fn refreshed(&self) -> Key {
        self.own("refreshed", "")
    }

    /// On which side of each rule the key is.
    pub(super) fn sides(&self) -> Key {
        self.own("sides", "")
    }

    /// Alerts that are decided but not listed yet.
    pub(super) fn fired(&self) -> Key {
        self.own("fired", "")
    }

    pub(super) fn values(&self) -> Key {
        self.joined(&["hash"], &["values"])
    }

    pub(super) fn results(&self, calculation: Calculation, interval: Interval) -> Key {
        self.joined(&["hash"], &[calculation.as_str(), interval.as_str()])
    }

    pub(super) fn calculations(&self) -> Key {
        self.joined(&["set"], &["calculations"])
    }

    pub(super) fn intervals(&self, calculation: Calculation) -> Key {
        self.joined(&["set"], &[calculation.as_str(), "intervals"])
    }

    /// `P:D:K`
    pub(super) fn tag(&self) -> &str {
        &self.tag
    }

    /// Every key there may be, to be deleted.
    pub(super) fn all(&self) -> Vec<Key> {
        let mut all = vec![
            self.record(),
            self.touched(),
            self.building(),
            self.refreshed(),
            self.sides(),
            self.fired(),
            self.values(),
            self.calculations(),
        ];
        all.extend(Interval::ALL.map(|interval| self.totals(interval)));
        for calculation in Calculation::ALL {
            all.push(self.intervals(calculation));
            all.extend(Interval::ALL.map(|interval| self.results(calculation, interval)));
        }
        all
    }

    fn own(&self, word: &str, rest: &str) -> Key {
        let after = [rest];
        self.joined(&["tm:calc", word], if rest.is_empty() { &[] } else { &after })
    }

    /// As [`Placement::key`] has it, in one piece: a request may need ten thousand.
    fn joined(&self, before: &[&str], after: &[&str]) -> Key {
        let parts = before.iter().chain(after);
        let mut key = Vec::with_capacity(self.tag.len() + 2 + parts.map(|part| part.len() + 1).sum::<usize>());
        for part in before {
            key.extend_from_slice(part.as_bytes());
            key.push(b':');
        }
        let braces: [&[u8]; 2] = match self.placement {
            Placement::Together => [b"", b""],
            Placement::ByTag => [b"{", b"}"],
        };
        key.extend_from_slice(braces[0]);
        key.extend_from_slice(self.tag.as_bytes());
        key.extend_from_slice(braces[1]);
        for part in after {
            key.push(b':');
            key.extend_from_slice(part.as_bytes());
        }
        Key::from(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_keys() {
        let part = |text| PartName::parse(text).unwrap();
        let path = KeyPath { project: part("2"), dimension: part("job-skills"), key: part("python") };
        for (placement, values, months, intervals) in [
            (
                Placement::Together,
                "hash:2:job-skills:python:values",
                "hash:2:job-skills:python:count:months",
                "set:2:job-skills:python:sum:intervals",
            ),
            (
                Placement::ByTag,
                "hash:{2:job-skills:python}:values",
                "hash:{2:job-skills:python}:count:months",
                "set:{2:job-skills:python}:sum:intervals",
            ),
        ] {
            let keys = Keys::of(placement, &path);
            assert_eq!(keys.values(), Key::from(values));
            assert_eq!(keys.results(Calculation::Count, Interval::Months), Key::from(months));
            assert_eq!(keys.intervals(Calculation::Sum), Key::from(intervals));
            assert_eq!(keys.record(), placement.key("tm:calc:key", "2:job-skills:python", ""));
            assert_eq!(keys.totals(Interval::Days), placement.key("tm:calc:totals", "2:job-skills:python", "days"));
            let mut all = keys.all();
            let len = all.len();
            all.sort();
            all.dedup();
            assert_eq!(all.len(), len);
        }
    }
}
