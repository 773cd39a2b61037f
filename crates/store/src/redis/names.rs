//! What an account's keys and channels are called on the server.
//!
//! On a single Redis an account has a database of its own, so its keys keep their names. A Cluster has one database,
//! and channels are shared by all databases everywhere: there account `n` puts `@n:` in front, and account 0 nothing,
//! so that its data has the documented names. A name of account 0 that itself looks like `@7:…` gets `@0:` in front;
//! so no two accounts ever share a name, whatever they call things.

use crate::Account;

#[derive(Clone, Debug)]
pub(super) enum Names {
    /// As they are.
    Plain,
    /// Account 0 where others have a prefix.
    Unprefixed,
    Prefixed(Vec<u8>),
}

const ESCAPE: &[u8] = b"@0:";

impl Names {
    pub(super) fn prefixed(account: Account) -> Self {
        match account.0 {
            0 => Self::Unprefixed,
            n => Self::Prefixed(format!("@{n}:").into_bytes()),
        }
    }

    /// The name on the server.
    pub(super) fn outer(&self, name: &[u8]) -> Vec<u8> {
        match self {
            Self::Unprefixed if is_reserved(name) => [ESCAPE, name].concat(),
            Self::Plain | Self::Unprefixed => name.to_vec(),
            Self::Prefixed(prefix) => [prefix, name].concat(),
        }
    }

    /// The account's own name for one on the server, unless it is another account's.
    pub(super) fn inner<'a>(&self, name: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            Self::Plain => Some(name),
            Self::Prefixed(prefix) => name.strip_prefix(prefix.as_slice()),
            Self::Unprefixed if !is_reserved(name) => Some(name),
            Self::Unprefixed => name.strip_prefix(ESCAPE).filter(|rest| is_reserved(rest)),
        }
    }

    /// A glob that matches at least every name on the server whose inner name starts with the prefix.
    pub(super) fn pattern(&self, prefix: &[u8]) -> Vec<u8> {
        match self {
            Self::Unprefixed if prefix.is_empty() => b"*".to_vec(),
            Self::Unprefixed if prefix.starts_with(b"@") => b"@*".to_vec(),
            Self::Plain | Self::Unprefixed => escape(prefix),
            Self::Prefixed(own) => escape(&[own, prefix].concat()),
        }
    }
}

/// Whether a name starts like another account's: `@`, digits, `:`.
fn is_reserved(name: &[u8]) -> bool {
    let Some(rest) = name.strip_prefix(b"@") else { return false };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && rest.get(digits) == Some(&b':')
}

fn escape(prefix: &[u8]) -> Vec<u8> {
    let mut pattern = Vec::with_capacity(prefix.len() + 1);
    for &byte in prefix {
        if matches!(byte, b'*' | b'?' | b'[' | b']' | b'\\' | b'^' | b'-') {
            pattern.push(b'\\');
        }
        pattern.push(byte);
    }
    pattern.push(b'*');
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_comes_back_and_no_two_accounts_share_one() {
        let accounts = [0, 1, 12].map(|n| Names::prefixed(Account(n)));
        let mut seen = std::collections::HashSet::new();
        for names in &accounts {
            for name in ["a", "@", "@a:b", "@1", "@1:a", "@12:a", "@0:a", "@0:@1:a", ""] {
                let outer = names.outer(name.as_bytes());
                assert_eq!(names.inner(&outer), Some(name.as_bytes()), "{name}");
                for other in accounts.iter().filter(|other| !std::ptr::eq(*other, names)) {
                    assert_eq!(other.inner(&outer), None, "{name}");
                }
                assert!(seen.insert(outer), "{name}");
            }
        }
    }

    #[test]
    fn patterns_escape_what_globs_mean() {
        assert_eq!(Names::Plain.pattern(b"a*[b]?\\"), br"a\*\[b\]\?\\*");
        assert_eq!(Names::prefixed(Account(7)).pattern(b"a"), b"@7:a*");
        assert_eq!(Names::prefixed(Account(0)).pattern(b"@1"), b"@*");
    }
}
