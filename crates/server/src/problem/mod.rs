//! Every answer that is a refusal: one shape, `application/problem+json` (RFC 9457), made here and nowhere else.

mod causes;
mod word;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

pub use word::Word;

pub type Result<T, E = Problem> = std::result::Result<T, E>;

/// Where in a body of many items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Of an NDJSON body, from 1.
    Line(u64),
    /// Of a JSON array, from 1.
    Item(u64),
}

/// A refusal: a word for programs, a sentence for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    word: Word,
    detail: String,
    place: Option<Place>,
    retry_after_s: Option<u32>,
}

impl Problem {
    /// The detail says what was wrong and what would be right.
    pub fn new(word: Word, detail: impl Into<String>) -> Self {
        Self { word, detail: detail.into(), place: None, retry_after_s: word.retry_after_s() }
    }

    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    #[must_use]
    pub fn retry_after_s(mut self, seconds: u32) -> Self {
        self.retry_after_s = Some(seconds.max(1));
        self
    }

    pub fn word(&self) -> Word {
        self.word
    }

    pub fn place(&self) -> Option<Place> {
        self.place
    }

    pub fn detail(&self) -> &str {
        &self.detail
    }
}

/// What went wrong, as RFC 9457 has it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemBody {
    /// A stable word for programs.
    #[schema(example = "malformed_json")]
    r#type: &'static str,
    title: &'static str,
    status: u16,
    /// What was wrong, and what would be right.
    detail: String,
    /// The line of an NDJSON body, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    /// The item of a JSON array, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<u64>,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.word.status();
        let (line, item) = match self.place {
            Some(Place::Line(line)) => (Some(line), None),
            Some(Place::Item(item)) => (None, Some(item)),
            None => (None, None),
        };
        let body = ProblemBody {
            r#type: self.word.as_str(),
            title: self.word.title(),
            status: status.as_u16(),
            detail: self.detail,
            line,
            item,
        };
        let json = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = (status, [(header::CONTENT_TYPE, "application/problem+json")], json).into_response();
        let mut set = |name: HeaderName, value: HeaderValue| response.headers_mut().insert(name, value);
        if let Some(seconds) = self.retry_after_s {
            set(header::RETRY_AFTER, seconds.into());
        }
        if status == StatusCode::UNAUTHORIZED {
            set(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(Refusal(self.word));
        response
    }
}

/// Left in a response for whoever counts refusals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refusal(pub(crate) Word);
