//! Names of projects, dimensions and keys.
//!
//! Keys of the store join them with colons (`hash:P:D:K:values`), so a name with a colon in it could be taken for two.

use std::fmt;

use crate::{Name, NameError};

/// A name without a colon.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartName(Name);

impl PartName {
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if text.contains(':') {
            return Err(NameError::Colon { name: text.chars().take(crate::NAME_BYTES_MAX).collect() });
        }
        Ok(Self(Name::parse(text)?))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for PartName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A dimension of a project.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DimensionPath {
    pub project: PartName,
    pub dimension: PartName,
}

/// A key of a dimension of a project.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyPath {
    pub project: PartName,
    pub dimension: PartName,
    pub key: PartName,
}

impl DimensionPath {
    pub fn key(&self, key: PartName) -> KeyPath {
        KeyPath { project: self.project.clone(), dimension: self.dimension.clone(), key }
    }
}

impl KeyPath {
    /// `P:D:K`
    pub(super) fn joined(&self) -> String {
        [self.project.as_str(), self.dimension.as_str(), self.key.as_str()].join(":")
    }

    pub fn dimension(&self) -> DimensionPath {
        DimensionPath { project: self.project.clone(), dimension: self.dimension.clone() }
    }
}

impl fmt::Display for DimensionPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.project, self.dimension)
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.project, self.dimension, self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (text, allowed) in [
            ("job-skills", true),
            ("C++ / träger", true),
            ("values", true),
            ("set", true),
            ("a:b", false),
            (":", false),
            ("", false),
            ("a{b}", false),
            ("a\nb", false),
        ] {
            assert_eq!(PartName::parse(text).is_ok(), allowed, "{text:?}");
        }
    }
}
