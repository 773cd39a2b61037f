//! Which of the formats a body is in, from its `Content-Type`.

use axum::http::{HeaderMap, header};

use crate::problem::{Problem, Result, Word};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One value: an object, or an array of items.
    Json,
    /// An item a line.
    Ndjson,
}

impl Format {
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self> {
        let Some(value) = headers.get(header::CONTENT_TYPE) else {
            return Err(unsupported("The body has no Content-Type"));
        };
        let essence = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
        match essence.to_ascii_lowercase().as_str() {
            "application/json" => Ok(Self::Json),
            "application/x-ndjson" | "application/ndjson" | "application/jsonl" => Ok(Self::Ndjson),
            _ => Err(unsupported(&format!("The body has the Content-Type {value:?}"))),
        }
    }
}

fn unsupported(what: &str) -> Problem {
    let detail = format!("{what}; send application/x-ndjson (an item a line) or application/json.");
    Problem::new(Word::UnsupportedMediaType, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types() {
        for (value, expected) in [
            ("application/json", Some(Format::Json)),
            ("Application/JSON; charset=utf-8", Some(Format::Json)),
            ("application/x-ndjson", Some(Format::Ndjson)),
            ("text/plain", None),
            ("application/x-www-form-urlencoded", None),
            ("", None),
        ] {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, value.parse().unwrap())]);
            assert_eq!(Format::of(&headers).ok(), expected, "{value:?}");
        }
        assert_eq!(Format::of(&HeaderMap::new()).unwrap_err().word(), Word::UnsupportedMediaType);
    }
}
