//! What is known of a token, apart from the token.

use std::fmt;

use tickmark_store::{Account, Atom};

use super::{Digest, Scopes};
use crate::{Error, Result, Seconds};

/// How a token is named in lists and when it is revoked: the first 16 digits of its digest.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenId(String);

const ID_DIGITS: usize = 16;
const NAME_BYTES_MAX: usize = 200;
/// A hundred years: more would leave the range of times.
const LIFETIME_S_MAX: u64 = 100 * 366 * 86_400;
const REQUESTS_PER_SECOND_MAX: u32 = 1_000_000;
const BYTES_PER_DAY_MAX: u64 = 1_000_000_000_000_000;

impl TokenId {
    pub fn of(digest: &Digest) -> Self {
        Self(digest.hexadecimal()[..ID_DIGITS].to_owned())
    }

    /// `None` for what cannot be an id, so that nothing a user sends becomes part of a key.
    pub fn parse(text: &str) -> Option<Self> {
        let shaped = text.len() == ID_DIGITS && text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        shaped.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How much a bearer may ask of one server; nothing set is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    pub requests_per_second: Option<u32>,
    pub bytes_per_day: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub id: TokenId,
    pub account: Account,
    /// Whom it was made for. Bearers are this user where a user is asked for.
    pub name: String,
    pub scopes: Scopes,
    pub created_at: Seconds,
    pub expires_at: Option<Seconds>,
    pub limits: Limits,
}

impl Token {
    /// Whether it is one that may be made.
    pub(super) fn check(&self) -> Result<()> {
        let Limits { requests_per_second, bytes_per_day } = self.limits;
        let refused = |why: String| Err(Error::BadToken(why));
        if self.name.is_empty() || self.name.len() > NAME_BYTES_MAX || self.name.chars().any(char::is_control) {
            return refused(format!("a token's name has 1 to {NAME_BYTES_MAX} bytes and no control characters"));
        }
        if self.scopes.is_empty() {
            return refused("a token needs at least one scope: read, write or admin".into());
        }
        let lifetime_s = self.expires_at.map(|at| at.0.saturating_sub(self.created_at.0));
        if !lifetime_s.is_none_or(|seconds| (1..=LIFETIME_S_MAX).contains(&seconds)) {
            return refused(format!("a token expires after 1 to {LIFETIME_S_MAX} seconds, or never"));
        }
        if !requests_per_second.is_none_or(|limit| (1..=REQUESTS_PER_SECOND_MAX).contains(&limit)) {
            return refused(format!(
                "a token's requests a second are 1 to {REQUESTS_PER_SECOND_MAX}, or without limit"
            ));
        }
        if !bytes_per_day.is_none_or(|limit| (1..=BYTES_PER_DAY_MAX).contains(&limit)) {
            return refused(format!("a token's bytes a day are 1 to {BYTES_PER_DAY_MAX}, or without limit"));
        }
        Ok(())
    }

    /// Valid up to, not including, the second it expires in.
    pub fn is_expired(&self, now: Seconds) -> bool {
        self.expires_at.is_some_and(|expires_at| now >= expires_at)
    }

    /// As fields of a hash; what is not set has no field.
    pub(super) fn to_fields(&self, digest: &Digest) -> Vec<(Atom, Atom)> {
        let mut fields = vec![
            ("digest", digest.hexadecimal()),
            ("account", self.account.0.to_string()),
            ("name", self.name.clone()),
            ("scopes", self.scopes.to_string()),
            ("created_at", self.created_at.to_string()),
        ];
        fields.extend(self.expires_at.map(|at| ("expires_at", at.to_string())));
        fields.extend(self.limits.requests_per_second.map(|limit| ("requests_per_second", limit.to_string())));
        fields.extend(self.limits.bytes_per_day.map(|limit| ("bytes_per_day", limit.to_string())));
        fields.into_iter().map(|(field, value)| (Atom::from(field), Atom::from(value))).collect()
    }

    pub(super) fn from_fields(id: &TokenId, fields: &[(Atom, Atom)]) -> Result<Self> {
        let record = Record { id, fields };
        Ok(Self {
            id: id.clone(),
            account: Account(record.required("account")?),
            name: record.required("name")?,
            scopes: record.required("scopes")?,
            created_at: Seconds(record.required("created_at")?),
            expires_at: record.optional("expires_at")?.map(Seconds),
            limits: Limits {
                requests_per_second: record.optional("requests_per_second")?,
                bytes_per_day: record.optional("bytes_per_day")?,
            },
        })
    }
}

struct Record<'a> {
    id: &'a TokenId,
    fields: &'a [(Atom, Atom)],
}

impl Record<'_> {
    fn required<T: std::str::FromStr>(&self, field: &str) -> Result<T> {
        self.optional(field)?.ok_or_else(|| self.broken(format!("it has no {field}")))
    }

    fn optional<T: std::str::FromStr>(&self, field: &str) -> Result<Option<T>> {
        let wanted = Atom::from(field);
        let Some((_, value)) = self.fields.iter().find(|(name, _)| *name == wanted) else { return Ok(None) };
        let parsed = value.as_str().and_then(|text| text.parse().ok());
        parsed.map(Some).ok_or_else(|| self.broken(format!("its {field} is {value}")))
    }

    fn broken(&self, why: String) -> Error {
        Error::Record { key: format!("token {}", self.id), why }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Scope, Secret};
    use super::*;

    fn token() -> Token {
        let digest = Secret::from_random([3; 32]).digest();
        Token {
            id: TokenId::of(&digest),
            account: Account(7),
            name: "build server".into(),
            scopes: [Scope::Read, Scope::Write].into_iter().collect(),
            created_at: Seconds(100),
            expires_at: Some(Seconds(200)),
            limits: Limits { requests_per_second: Some(5), bytes_per_day: None },
        }
    }

    #[test]
    fn comes_back_from_its_fields() {
        let token = token();
        let fields = token.to_fields(&Secret::from_random([3; 32]).digest());
        assert_eq!(Token::from_fields(&token.id, &fields).unwrap(), token);
        assert!(Token::from_fields(&token.id, &fields[1..2]).is_err());
    }

    #[test]
    fn what_may_be_made() {
        let named = |name: &str| Token { name: name.into(), ..token() };
        let limited = |requests_per_second, bytes_per_day| Token {
            limits: Limits { requests_per_second, bytes_per_day },
            ..token()
        };
        assert!(token().check().is_ok() && limited(None, None).check().is_ok());
        for (token, said) in [
            (named(""), "name"),
            (named("a\nb"), "name"),
            (named(&"n".repeat(201)), "name"),
            (Token { scopes: Scopes::default(), ..token() }, "scope"),
            (Token { expires_at: Some(token().created_at), ..token() }, "expires"),
            (limited(Some(0), None), "requests"),
            (limited(None, Some(0)), "bytes"),
        ] {
            let why = token.check().unwrap_err().to_string();
            assert!(why.contains(said), "{said}: {why}");
        }
    }

    #[test]
    fn expires_with_its_second() {
        for (now, expired) in [(199, false), (200, true), (u64::MAX, true)] {
            assert_eq!(token().is_expired(Seconds(now)), expired, "{now}");
        }
    }
}
