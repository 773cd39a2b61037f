//! A project: whose clocks its intervals go by, and what a gap counts as.
//!
//! Kept as a line of text, `ZONE GAPS USE GENERATION`, so that a guard can compare it whole. The zone stays as it is once there
//! is a value, because every value is kept under the local time that its clocks showed.

use std::sync::Arc;

use tickmark_stats::Calendar;
use tickmark_store::Atom;

use super::CalculationError;

/// What an interval without a value counts as, between the first and the last that have one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gaps {
    /// As 0.
    #[default]
    Zero,
    /// As nothing: the intervals with values are next to each other.
    Skip,
}

#[derive(Clone, Debug)]
pub struct Project {
    pub(super) calendar: Arc<Calendar>,
    pub(super) gaps: Gaps,
    /// Whether there was ever a value.
    pub(super) used: Use,
    /// Changes whenever the settings do, and is never the same again.
    pub(super) generation: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Empty,
    Used,
}

impl Project {
    /// As a project is to be, before anything is kept.
    pub fn new(time_zone: Option<&str>, gaps: Gaps) -> Result<Self, CalculationError> {
        let calendar = time_zone.map_or_else(|| Ok(Calendar::utc()), Calendar::in_zone)?;
        Ok(Self { calendar: Arc::new(calendar), gaps, used: Use::Empty, generation: 0 })
    }

    /// What a project is that nobody declared.
    pub fn standard() -> Self {
        Self { calendar: Arc::new(Calendar::utc()), gaps: Gaps::default(), used: Use::Empty, generation: 0 }
    }

    pub fn calendar(&self) -> &Arc<Calendar> {
        &self.calendar
    }

    pub fn gaps(&self) -> Gaps {
        self.gaps
    }

    pub(super) fn write(&self) -> Atom {
        let gaps = match self.gaps {
            Gaps::Zero => "zero",
            Gaps::Skip => "skip",
        };
        let used = match self.used {
            Use::Empty => "empty",
            Use::Used => "used",
        };
        Atom::from(format!("{} {gaps} {used} {}", self.calendar.zone(), self.generation))
    }

    /// `None` for what no [`Project::write`] wrote.
    pub(super) fn read(atom: &Atom) -> Option<Self> {
        let text = atom.as_str()?;
        let words: Vec<_> = text.split(' ').collect();
        let [zone, gaps, used, generation] = words[..] else { return None };
        let gaps = match gaps {
            "zero" => Gaps::Zero,
            "skip" => Gaps::Skip,
            _ => return None,
        };
        let used = match used {
            "empty" => Use::Empty,
            "used" => Use::Used,
            _ => return None,
        };
        let calendar = Arc::new(Calendar::in_zone(zone).ok()?);
        Some(Self { calendar, gaps, used, generation: generation.parse().ok()? })
    }
}

/// A number that was not used before: later than the last, and later than any from before a deletion.
pub(super) fn next_generation(last: u64, now_ms: u64) -> u64 {
    now_ms.max(last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_as_it_was() {
        for text in ["UTC zero empty 1", "America/New_York skip used 1700000000000"] {
            assert_eq!(Project::read(&Atom::from(text)).unwrap().write(), Atom::from(text));
        }
        for nonsense in ["", "7", "UTC zero empty", "Mars zero empty 1", "UTC one empty 1", "UTC zero often 1"] {
            assert!(Project::read(&Atom::from(nonsense)).is_none(), "{nonsense:?}");
        }
    }
}
