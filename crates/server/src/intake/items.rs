//! The items of a body: the lines of NDJSON, or the elements of a JSON array.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, SeqAccess, Visitor};

use super::{Body, Format};
use crate::problem::{Place, Problem, Result, Word};

/// Calls `take` with each item of a text and its place, in order, and stops at the first that is refused.
///
/// A JSON text is an array of items, or a single one. Items may borrow from the text.
pub fn each<'text, T, F>(text: &'text str, format: Format, mut take: F) -> Result<()>
where
    T: Deserialize<'text>,
    F: FnMut(Place, T) -> Result<()>,
{
    match format {
        Format::Ndjson => each_line(text, &mut take),
        Format::Json if text.trim_start().starts_with('[') => each_element(text, &mut take),
        Format::Json => take(Place::Item(1), parse(text)?),
    }
}

impl Body {
    /// Calls `take` with each item of the body; see [`each`].
    pub fn each<'body, T, F>(&'body self, take: F) -> Result<()>
    where
        T: Deserialize<'body>,
        F: FnMut(Place, T) -> Result<()>,
    {
        each(self.text(), self.format(), take)
    }

    /// All items, where a handler needs them at once.
    pub fn items<'body, T: Deserialize<'body>>(&'body self) -> Result<Vec<(Place, T)>> {
        let mut items = Vec::new();
        self.each(|place, item| {
            items.push((place, item));
            Ok(())
        })?;
        Ok(items)
    }

    /// The body as one JSON value.
    pub fn value<T: DeserializeOwned>(&self) -> Result<T> {
        match self.format() {
            Format::Json => parse(self.text()),
            Format::Ndjson => Err(Problem::new(
                Word::UnsupportedMediaType,
                "This route takes one JSON object: send application/json.",
            )),
        }
    }
}

fn each_line<'body, T, F>(text: &'body str, take: &mut F) -> Result<()>
where
    T: Deserialize<'body>,
    F: FnMut(Place, T) -> Result<()>,
{
    let mut start = 0;
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).chain(std::iter::once(text.len()));
    for (index, end) in ends.enumerate() {
        let line = &text[start..end];
        start = end + 1;
        if line.bytes().all(|byte| byte.is_ascii_whitespace()) {
            continue;
        }
        let place = Place::Line(index as u64 + 1);
        let item = serde_json::from_str(line).map_err(|error| refuse(&error).at(place))?;
        take(place, item)?;
    }
    Ok(())
}

fn each_element<'body, T, F>(text: &'body str, take: &mut F) -> Result<()>
where
    T: Deserialize<'body>,
    F: FnMut(Place, T) -> Result<()>,
{
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let mut elements = Elements { take, count: 0, refused: None, item: PhantomData };
    let parsed = (&mut elements).deserialize(&mut deserializer).and_then(|()| deserializer.end());
    match (elements.refused, parsed) {
        (Some(problem), _) => Err(problem),
        (None, Err(error)) => Err(refuse(&error).at(Place::Item(elements.count.max(1)))),
        (None, Ok(())) => Ok(()),
    }
}

/// Visits an array without holding it.
struct Elements<'take, T, F> {
    take: &'take mut F,
    /// Elements begun.
    count: u64,
    refused: Option<Problem>,
    item: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>, F: FnMut(Place, T) -> Result<()>> DeserializeSeed<'de> for &mut Elements<'_, T, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(Place, T) -> Result<()>> Visitor<'de> for &mut Elements<'_, T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        loop {
            self.count += 1;
            let Some(item) = array.next_element()? else { return Ok(()) };
            if let Err(problem) = (self.take)(Place::Item(self.count), item) {
                self.refused = Some(problem);
                return Err(serde::de::Error::custom("refused"));
            }
        }
    }
}

fn parse<'body, T: Deserialize<'body>>(text: &'body str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| refuse(&error))
}

/// Text that is not JSON is malformed; JSON that is not what was asked for breaks a rule.
fn refuse(error: &serde_json::Error) -> Problem {
    let spelled = error.to_string();
    let what = spelled.rsplit_once(" at line ").map_or(spelled.as_str(), |(what, _)| what);
    let word = if error.is_data() { Word::RuleBroken } else { Word::MalformedJson };
    let place = if error.line() > 1 {
        format!("line {}, column {}", error.line(), error.column())
    } else {
        format!("column {}", error.column())
    };
    Problem::new(word, format!("{what} ({place})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Event<'a> {
        at: u64,
        #[serde(borrow)]
        member: Option<std::borrow::Cow<'a, str>>,
    }

    fn check(format: Format, text: &str, expected: Result<&[u64], (Word, Option<Place>)>) {
        let mut seen = Vec::new();
        let outcome = each(text, format, |place, event: Event<'_>| {
            if event.at == 13 {
                return Err(Problem::new(Word::RuleBroken, "unlucky").at(place));
            }
            assert!(event.member.is_none_or(|member| !member.is_empty()));
            seen.push(event.at);
            Ok(())
        });
        match expected {
            Ok(expected) => assert_eq!((outcome, &seen[..]), (Ok(()), expected), "{text:?}"),
            Err((word, place)) => {
                let problem = outcome.unwrap_err();
                assert_eq!((problem.word(), problem.place()), (word, place), "{text:?}: {}", problem.detail());
            }
        }
    }

    #[test]
    fn lines() {
        use Format::Ndjson;
        check(Ndjson, "", Ok(&[]));
        check(Ndjson, "{\"at\":1}\n{\"at\":2,\"member\":\"a\\u0062\"}\n", Ok(&[1, 2]));
        check(Ndjson, "\r\n{\"at\":1}\r\n\n  \n{\"at\":2}", Ok(&[1, 2]));
        check(Ndjson, "{\"at\":1}\n\n{\"at\":", Err((Word::MalformedJson, Some(Place::Line(3)))));
        check(Ndjson, "{\"at\":1} {\"at\":2}", Err((Word::MalformedJson, Some(Place::Line(1)))));
        check(Ndjson, "{\"at\":1}\n{\"at\":-1}", Err((Word::RuleBroken, Some(Place::Line(2)))));
        check(Ndjson, "{\"at\":1,\"att\":1}", Err((Word::RuleBroken, Some(Place::Line(1)))));
        check(Ndjson, "{\"at\":1}\n{\"at\":13}", Err((Word::RuleBroken, Some(Place::Line(2)))));
    }

    #[test]
    fn arrays_and_single_objects() {
        use Format::Json;
        check(Json, "[]", Ok(&[]));
        check(Json, " [{\"at\":1},\n{\"at\":2}] ", Ok(&[1, 2]));
        check(Json, "{\"at\":5}", Ok(&[5]));
        check(Json, "", Err((Word::MalformedJson, None)));
        check(Json, "7", Err((Word::RuleBroken, None)));
        check(Json, "[{\"at\":1},{\"at\":\"x\"}]", Err((Word::RuleBroken, Some(Place::Item(2)))));
        check(Json, "[{\"at\":1},{\"at\":13}]", Err((Word::RuleBroken, Some(Place::Item(2)))));
        check(Json, "[{\"at\":1}", Err((Word::MalformedJson, Some(Place::Item(2)))));
        check(Json, "[{\"at\":1}] x", Err((Word::MalformedJson, Some(Place::Item(2)))));
    }

    #[test]
    fn deep_nesting_is_refused_not_followed() {
        let deep = "[".repeat(100_000);
        let problem = each(&deep, Format::Json, |_, _: serde_json::Value| Ok(())).unwrap_err();
        assert_eq!(problem.word(), Word::MalformedJson);
    }
}
