//! What a heartbeat says besides who and when: `LOCATION#COUNTRY#GROUP#GROUP…`, as one text.
//!
//! Most viewers share a few of them, so a request's are numbered, and counted by number.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::AudienceError;
use super::name::{AudienceName, is_plain};

pub const GROUPS_MAX: usize = 32;
pub const GROUP_BYTES_MAX: usize = 100;
/// Where a heartbeat that does not say its location is from.
pub const LOCATION_DEFAULT: &str = "unknown";

/// Appends the text of a label.
pub(super) fn write(
    text: &mut String,
    location: Option<&str>,
    country: Option<&str>,
    groups: &mut Vec<&str>,
) -> Result<(), AudienceError> {
    if let Some(location) = location {
        AudienceName::parse(location)?;
    }
    if groups.len() > GROUPS_MAX {
        return Err(AudienceError::TooManyGroups { found: groups.len() });
    }
    if let Some(group) = groups.iter().find(|group| !is_plain(group, GROUP_BYTES_MAX)) {
        return Err(AudienceError::Group { group: (*group).to_owned() });
    }
    groups.sort_unstable();
    groups.dedup();
    text.push_str(location.unwrap_or(LOCATION_DEFAULT));
    text.push('#');
    if let Some(country) = country {
        if country.len() != 2 || !country.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            return Err(AudienceError::Country { country: country.to_owned() });
        }
        text.extend(country.chars().map(|letter| letter.to_ascii_uppercase()));
    }
    for group in groups {
        text.push('#');
        text.push_str(group);
    }
    Ok(())
}

/// The location that a label says.
pub(super) fn location(text: &str) -> &str {
    text.split('#').next().unwrap_or(LOCATION_DEFAULT)
}

pub(super) fn country(text: &str) -> Option<&str> {
    text.split('#').nth(1).filter(|country| !country.is_empty())
}

pub(super) fn groups(text: &str) -> impl Iterator<Item = &str> {
    text.split('#').skip(2)
}

/// The fields under which a viewer with this label is counted: `c:COUNTRY`, and `g:GROUP` for each group.
pub(super) fn fields(text: &str) -> impl Iterator<Item = String> {
    let country = country(text).map(|country| format!("c:{country}"));
    country.into_iter().chain(groups(text).map(|group| format!("g:{group}")))
}

/// Labels by number.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels {
    texts: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32, RandomState>,
}

impl Labels {
    pub(super) fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.push(text.into());
        self.numbers.insert(text.into(), number);
        number
    }

    pub(super) fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }

    /// In the order of their numbers.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(|text| &**text)
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let many: Vec<String> = (0..=GROUPS_MAX).map(|number| number.to_string()).collect();
        let long = "g".repeat(GROUP_BYTES_MAX + 1);
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for (location, country, groups, expected) in [
            (None, None, vec![], Some("unknown#")),
            (Some("web"), Some("hk"), vec!["vip", "staff", "vip"], Some("web#HK#staff#vip")),
            (Some("we#b"), None, vec![], None),
            (Some("{web}"), None, vec![], None),
            (None, Some("HKG"), vec![], None),
            (None, Some(""), vec![], None),
            (None, Some("4U"), vec![], None),
            (None, None, vec![""], None),
            (None, None, vec!["a#b"], None),
            (None, None, vec![long.as_str()], None),
            (None, None, many[1..].to_vec(), Some("")),
            (None, None, many, None),
        ] {
            let (mut text, mut groups) = (String::new(), groups);
            let written = write(&mut text, location, country, &mut groups);
            assert_eq!(written.is_ok(), expected.is_some(), "{location:?} {country:?}");
            if let Some(expected) = expected.filter(|expected| !expected.is_empty()) {
                assert_eq!(text, expected);
            }
        }
        let text = "web#HK#staff#vip";
        assert_eq!((location(text), country(text)), ("web", Some("HK")));
        assert_eq!(fields(text).collect::<Vec<_>>(), ["c:HK", "g:staff", "g:vip"]);
        assert_eq!(fields("unknown#").count(), 0);
    }
}
