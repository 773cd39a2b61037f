//! What a token allows. Scopes do not imply each other: a token that only writes cannot read.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Read,
    Write,
    /// Making and revoking tokens of the account.
    Admin,
    /// Sending heartbeats, and nothing else: for tokens that a web page shows to everyone.
    Heartbeat,
}

impl Scope {
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Admin, Self::Heartbeat];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
            Self::Heartbeat => "heartbeat",
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of scopes, spelled `read,write`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes(u8);

impl Scopes {
    pub fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }

    pub fn contains(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.contains(*scope))
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a scope; allowed are read, write, admin and heartbeat, joined by commas")]
pub struct UnknownScope(String);

impl FromStr for Scopes {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        text.split(',')
            .map(|word| {
                let word = word.trim();
                Scope::ALL.into_iter().find(|scope| scope.as_str() == word).ok_or_else(|| UnknownScope(word.to_owned()))
            })
            .collect()
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, scope) in self.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{}", scope.as_str())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling() {
        for (text, expected) in [
            ("read", Ok("read")),
            ("admin,read", Ok("read,admin")),
            (" read , write ", Ok("read,write")),
            ("", Err(UnknownScope(String::new()))),
            ("read,root", Err(UnknownScope("root".into()))),
        ] {
            let scopes = text.parse::<Scopes>().map(|scopes| scopes.to_string());
            assert_eq!(scopes.as_deref().map_err(Clone::clone), expected, "{text:?}");
        }
    }
}
