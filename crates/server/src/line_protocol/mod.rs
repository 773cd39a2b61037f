//! The InfluxDB line protocol: `measurement,tag=value field=3i,other=0.5 1700000000000000000`.
//!
//! A field is a series, named `measurement:tag=value:field` with the tags in the order given. Writers send the same few
//! names over and over, so what a line begins with is looked up as it is; names are unescaped, joined and checked only when
//! they are first seen. Nothing is allocated for a line.

mod cursor;
mod heads;
mod value;

use tickmark_engine::series::{Event, Tally, What};
use tickmark_stats::Timestamp;
use tickmark_store::Number;

use crate::problem::{Place, Problem, Result, Word};
use cursor::Cursor;
use heads::Heads;
use value::Value;

pub use value::{Strings, whole_or_decimal};

/// The unit of timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
}

impl Precision {
    /// As version 1 and version 2 of the protocol's servers name it.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "n" | "ns" => Some(Self::Nanoseconds),
            "u" | "us" => Some(Self::Microseconds),
            "ms" => Some(Self::Milliseconds),
            "s" => Some(Self::Seconds),
            _ => None,
        }
    }

    fn seconds(self, timestamp: i64) -> i64 {
        match self {
            Self::Nanoseconds => timestamp.div_euclid(1_000_000_000),
            Self::Microseconds => timestamp.div_euclid(1_000_000),
            Self::Milliseconds => timestamp.div_euclid(1_000),
            Self::Seconds => timestamp,
        }
    }
}

/// What lines do not say.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    pub precision: Precision,
    /// When a line without a timestamp was, in seconds since 1970.
    pub now: i64,
    pub strings: Strings,
}

/// Adds every field of every line to a tally, or refuses the first line that is wrong.
pub fn tally(text: &str, defaults: Defaults) -> Result<Tally> {
    let mut lines = Lines { heads: Heads::default(), tally: Tally::new(), fields: Vec::new(), defaults };
    let mut cursor = Cursor::new(text.as_bytes());
    while cursor.skip_to_line() {
        let number = cursor.line();
        lines.read(&mut cursor, number).map_err(|problem| problem.at(Place::Line(number)))?;
    }
    Ok(lines.tally)
}

struct Lines<'text> {
    heads: Heads<'text>,
    tally: Tally,
    /// The fields of the line being read: its timestamp comes last.
    fields: Vec<(tickmark_engine::series::Slot, Number)>,
    defaults: Defaults,
}

impl<'text> Lines<'text> {
    fn read(&mut self, cursor: &mut Cursor<'text>, number: u64) -> Result<()> {
        let head = self.heads.find(cursor.head()?)?;
        self.fields.clear();
        for position in 0.. {
            let name = cursor.field_name()?;
            let slot = self.heads.field(head, name, position, &mut self.tally)?;
            match (cursor.value()?, self.defaults.strings) {
                (Value::Number(number), _) => self.fields.push((slot, number)),
                (Value::Text, Strings::Count) => self.fields.push((slot, Number::Int(1))),
                (Value::Text, Strings::Skip) => {}
            }
            if !cursor.skip_comma() {
                break;
            }
        }
        let at = match cursor.timestamp()? {
            Some(timestamp) => self.defaults.precision.seconds(timestamp),
            None => self.defaults.now,
        };
        if !(0..=Timestamp::MAX.as_seconds()).contains(&at) {
            return Err(Problem::new(Word::RuleBroken, "Times before 1970 or after 9999 are refused."));
        }
        for (slot, n) in self.fields.drain(..) {
            match n {
                Number::Int(n) => self.tally.add_int(slot, at, n, number),
                decimal @ Number::Decimal(_) => {
                    self.tally.add(slot, Event { at, what: What::Count(decimal), number })?;
                }
            }
        }
        Ok(())
    }
}

fn malformed(why: impl Into<String>) -> Problem {
    Problem::new(Word::MalformedLine, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, precision: Precision) -> Result<Tally> {
        tally(text, Defaults { precision, now: 7, strings: Strings::Count })
    }

    /// Every sum a second, by series, in a form that is easy to write down.
    fn sums(text: &str, precision: Precision) -> Vec<String> {
        read(text, precision).unwrap().close().unwrap().sums()
    }

    #[test]
    #[rustfmt::skip] // a case a line
    fn lines() {
        use Precision::{Microseconds, Milliseconds, Nanoseconds, Seconds};
        for (text, precision, expected) in [
            ("ev,s=item1 n=3 1700000000000000000", Nanoseconds, &["ev:s=item1:n 1700000000=3"][..]),
            ("ev n=3i", Nanoseconds, &["ev:n 7=3"]),
            ("ev n=3u 61999", Milliseconds, &["ev:n 61=3"]),
            ("ev n=1 61000000", Microseconds, &["ev:n 61=1"]),
            ("ev n=1 61", Seconds, &["ev:n 61=1"]),
            ("ev n=0.5 1\nev n=0.25 1", Seconds, &["ev:n 1=0.75"]),
            ("ev a=1,b=t,c=F,d=\"x, y = z\" 1", Seconds, &["ev:a 1=1", "ev:b 1=1", "ev:c 1=0", "ev:d 1=1"]),
            ("ev,b=1,a=2 n=1 1", Seconds, &["ev:b=1:a=2:n 1=1"]),
            ("# comment\n\n  \r\nev n=1 1\r\nev n=1 1  \n", Seconds, &["ev:n 1=2"]),
            ("my\\ ev\\,x,t\\=\\ \\,=a\\=b\\ c f\\,\\=\\ g=1 1", Seconds, &["my ev,x:t= ,=a=b c:f,= g 1=1"]),
            ("a\\b n=1 1", Seconds, &["a\\b:n 1=1"]),
            ("ev s=\"two\nlines \\\" \\\\\" 1\nev n=1 1", Seconds, &["ev:s 1=1", "ev:n 1=1"]),
            ("ev  n=1   1", Seconds, &["ev:n 1=1"]),
            ("日本,都=東京 値=2 1", Seconds, &["日本:都=東京:値 1=2"]),
            ("ev a=1,b=2 1\nev b=3,a=4 1\nev c=1,a=1,c=1 2", Seconds, &["ev:a 1=5 2=1", "ev:b 1=5", "ev:c 2=2"]),
            ("", Seconds, &[]),
        ] {
            assert_eq!(sums(text, precision), expected, "{text:?}");
        }
    }

    #[test]
    fn refusals_say_which_line() {
        for (text, word, line) in [
            ("ev", Word::MalformedLine, 1),
            ("ev n=1 1\nev n", Word::MalformedLine, 2),
            ("ev n= 1", Word::MalformedLine, 1),
            ("ev =1 1", Word::MalformedLine, 1),
            (" ,a=b n=1 1", Word::MalformedLine, 1),
            ("ev,a n=1 1", Word::MalformedLine, 1),
            ("ev,a= n=1 1", Word::MalformedLine, 1),
            ("ev,a=b=c n=1 1", Word::MalformedLine, 1),
            ("ev n=1, 1", Word::MalformedLine, 1),
            ("ev n=1 x", Word::MalformedLine, 1),
            ("ev n=1 1 1", Word::MalformedLine, 1),
            ("ev n=\"x", Word::MalformedLine, 1),
            ("ev n=\"x\"y 1", Word::MalformedLine, 1),
            ("\n\n#\nev n=nan 1", Word::MalformedLine, 4),
            ("ev n=\"a\nb\" 1\nev n=x 1", Word::MalformedLine, 3),
            ("ev n=9223372036854775808i 1", Word::Overflow, 1),
            ("ev n=1 -1", Word::RuleBroken, 1),
            ("ev n=1 253402300800", Word::RuleBroken, 1),
            ("ev n=1 1\ntm,a=b n=1 1", Word::BadName, 2),
            ("e{v n=1 1", Word::BadName, 1),
        ] {
            let problem = read(text, Precision::Seconds).unwrap_err();
            assert_eq!((problem.word(), problem.place()), (word, Some(Place::Line(line))), "{text:?}");
        }
    }
}
