//! What is remembered of a write that happened: which request it was, and what it was answered.
//!
//! A string in the store: `CONTENT STATUS\nBODY`, where `CONTENT` is a digest of the request and `BODY` is JSON.

use axum::http::StatusCode;
use bytes::Bytes;
use tickmark_store::Atom;

use super::Answer;

pub(super) struct Record {
    pub(super) content: String,
    pub(super) answer: Answer,
}

impl Record {
    pub(super) fn to_atom(content: &str, answer: &Answer) -> Atom {
        let mut text = format!("{content} {}\n", answer.status.as_u16()).into_bytes();
        text.extend_from_slice(&answer.body);
        Atom::from(text)
    }

    /// `None` for what no server wrote.
    pub(super) fn from_atom(atom: &Atom) -> Option<Self> {
        let bytes = atom.as_bytes();
        let line_end = memchr::memchr(b'\n', &bytes)?;
        let (line, body) = (std::str::from_utf8(&bytes[..line_end]).ok()?, &bytes[line_end + 1..]);
        let (content, status) = line.split_once(' ')?;
        let status = StatusCode::from_u16(status.parse().ok()?).ok()?;
        Some(Self { content: content.to_owned(), answer: Answer { status, body: Bytes::copy_from_slice(body) } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_as_it_was() {
        for body in ["", "{}", "{\"a\":\"line\\nline\"}", "\n\n"] {
            let answer = Answer { status: StatusCode::CREATED, body: Bytes::from(body) };
            let record = Record::from_atom(&Record::to_atom("abc", &answer)).unwrap();
            assert_eq!((record.content.as_str(), record.answer), ("abc", answer));
        }
        for nonsense in ["", "7", "abc", "abc\n", "abc x\n", "abc 7\n"] {
            assert!(Record::from_atom(&Atom::from(nonsense)).is_none(), "{nonsense:?}");
        }
    }
}
