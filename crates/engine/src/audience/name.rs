//! Names in an audience: of events, sessions and locations, which become parts of keys, and of users, which do not.

use std::fmt;

use super::AudienceError;
use crate::{NAME_BYTES_MAX, Name};

pub const USER_BYTES_MAX: usize = NAME_BYTES_MAX;

/// The name of an event, a session or a location: a name without `#`, which separates the parts of keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AudienceName(Name);

impl AudienceName {
    pub fn parse(text: &str) -> Result<Self, AudienceError> {
        let name = Name::parse(text)?;
        if text.contains('#') {
            return Err(AudienceError::Hash { name: text.to_owned() });
        }
        Ok(Self(name))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for AudienceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Whether a text can be a user, or a group: anything short that does not look like two things.
pub(super) fn is_plain(text: &str, bytes_max: usize) -> bool {
    (1..=bytes_max).contains(&text.len()) && !text.chars().any(|found| found == '#' || found.is_control())
}

/// A user that is asked about.
pub(super) fn check_user(user: &str) -> Result<(), AudienceError> {
    if is_plain(user, USER_BYTES_MAX) { Ok(()) } else { Err(AudienceError::User { user: user.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (text, is_name, is_user) in [
            ("keynote", true, true),
            ("träger/ß 日本", true, true),
            ("a#b", false, false),
            ("#", false, false),
            ("", false, false),
            ("a\nb", false, false),
            ("{a}", false, true),
            ("tm:x", false, true),
        ] {
            assert_eq!(AudienceName::parse(text).is_ok(), is_name, "{text:?}");
            assert_eq!(check_user(text).is_ok(), is_user, "{text:?}");
        }
    }
}
