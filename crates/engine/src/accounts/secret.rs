//! The token as its bearer holds it, and the digest that stands for it in the store.

use std::fmt;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;

const PREFIX: &str = "tm_";
const RANDOM_BYTES: usize = 32;

/// `tm_` and 64 hexadecimal digits. Has no `Display`, so that it does not slip into a log.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// From bytes that nobody can guess.
    pub fn from_random(random: [u8; RANDOM_BYTES]) -> Self {
        Self(format!("{PREFIX}{}", hexadecimal(&random)))
    }

    /// Whether this is the shape of a token at all; says nothing about whether it is one.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        let shaped =
            digits.len() == RANDOM_BYTES * 2 && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        shaped.then(|| Self(text.to_owned()))
    }

    pub fn digest(&self) -> Digest {
        Digest(Sha256::digest(self.0.as_bytes()).into())
    }

    /// For the one moment in which it is shown.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// SHA-256 of a secret. The secret is random, so there is nothing to gain from a slow hash or a salt.
#[derive(Clone, Debug)]
pub struct Digest([u8; 32]);

impl Digest {
    pub fn hexadecimal(&self) -> String {
        hexadecimal(&self.0)
    }

    /// Takes as long for a near miss as for a far one.
    pub fn is_spelled(&self, text: &[u8]) -> bool {
        self.hexadecimal().as_bytes().ct_eq(text).into()
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]])
        .map(char::from)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_we_make_has_the_shape() {
        let secret = Secret::from_random([0xa7; 32]);
        assert!(Secret::parse(secret.reveal()).is_some());
        for text in ["", "tm_", "tm_a7", &secret.reveal()[3..], &secret.reveal().to_uppercase()] {
            assert!(Secret::parse(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn a_digest_knows_its_spelling() {
        let digest = Secret::from_random([1; 32]).digest();
        assert!(digest.is_spelled(digest.hexadecimal().as_bytes()));
        assert!(!digest.is_spelled(Secret::from_random([2; 32]).digest().hexadecimal().as_bytes()));
        assert!(!digest.is_spelled(b""));
    }

    #[test]
    fn never_shown_by_accident() {
        assert_eq!(format!("{:?}", Secret::from_random([1; 32])), "Secret(…)");
    }
}
