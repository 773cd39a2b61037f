//! Random batches and queries over few keys and few elements, so that they collide, overlap, change types, grow large
//! and shrink again.

use std::ops::Bound;

use fastrand::Rng;
use tickmark_store::{AddWhen, Atom, Batch, End, Guard, Key, Number, Op, Order, Presence, Query, ScoreRange};

/// How many keys there are of each type. Every operation aims at a key of its own type, except now and then.
const KEYS_PER_KIND: usize = 5;
const KINDS: [&str; 6] = ["string", "hash", "set", "sorted", "list", "hll"];

#[derive(Debug)]
pub(crate) struct Random {
    pub(crate) rng: Rng,
    /// Whether batches may make keys expire a moment from now.
    pub(crate) expiring: bool,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: Rng::with_seed(seed), expiring: false }
    }

    pub(crate) fn batch(&mut self, now_ms: u64) -> Batch {
        let guards = if self.rng.u8(..) < 40 { 1 + self.rng.usize(..2) } else { 0 };
        let ops = match self.rng.u8(..) {
            0..200 => 1 + self.rng.usize(..4),
            200..250 => 5 + self.rng.usize(..20),
            _ => 60,
        };
        Batch { guards: (0..guards).map(|_| self.guard()).collect(), ops: (0..ops).map(|_| self.op(now_ms)).collect() }
    }

    fn key(&mut self, kind: &str) -> Key {
        // One in a hundred may be of the wrong type.
        let kind = if self.rng.u8(..) < 3 { KINDS[self.rng.usize(..KINDS.len())] } else { kind };
        Key::from(format!("{{k}}:{kind}:{}", self.rng.usize(..KEYS_PER_KIND)))
    }

    fn any_key(&mut self) -> Key {
        let kind = KINDS[self.rng.usize(..KINDS.len())];
        self.key(kind)
    }

    fn op(&mut self, now_ms: u64) -> Op {
        match self.rng.u8(..100) {
            0..4 => Op::Set { key: self.key("string"), value: self.value() },
            4..12 => Op::Increment { key: self.key("string"), by: self.number() },
            12..20 => {
                Op::HashSet { key: self.key("hash"), fields: self.many(|random| (random.element(), random.value())) }
            }
            20..36 => Op::HashIncrement {
                key: self.key("hash"),
                fields: self.many(|random| (random.element(), random.number())),
            },
            36..40 => Op::HashRemove { key: self.key("hash"), fields: self.many(Self::element) },
            40..47 => Op::SetAdd { key: self.key("set"), members: self.many(Self::element) },
            47..51 => Op::SetRemove { key: self.key("set"), members: self.many(Self::element) },
            51..64 => {
                let when = [AddWhen::Always, AddWhen::IfNew, AddWhen::IfGreater, AddWhen::IfLess][self.rng.usize(..4)];
                Op::SortedAdd {
                    key: self.key("sorted"),
                    when,
                    members: self.many(|random| (random.element(), random.score())),
                }
            }
            64..68 => Op::SortedRemove { key: self.key("sorted"), members: self.many(Self::element) },
            68..70 => Op::SortedRemoveByScore { key: self.key("sorted"), range: self.narrow_range() },
            70..77 => Op::ListPush { key: self.key("list"), end: self.end(), values: self.many(Self::value) },
            77..82 => Op::ListPop { key: self.key("list"), end: self.end(), count: self.rng.u64(..8) },
            82..90 => Op::HllAdd { key: self.key("hll"), members: self.many(Self::element) },
            90..95 => self.expiry(now_ms),
            95..97 => Op::Persist { key: self.any_key() },
            97..98 => Op::Publish { channel: Key::from("{k}:news"), message: b"hello".as_slice().into() },
            _ => Op::Delete { key: self.any_key() },
        }
    }

    fn expiry(&mut self, now_ms: u64) -> Op {
        let key = self.any_key();
        match self.rng.u8(..10) {
            0 => Op::ExpireAt { key, at_ms: now_ms - 1_000 },
            1 => Op::ExpireIn { key, ms: 0 },
            2..4 if self.expiring => Op::ExpireAt { key, at_ms: now_ms + SOON_MS },
            4..6 => Op::ExpireIn { key, ms: 3_600_000 },
            _ => Op::ExpireAt { key, at_ms: now_ms + 3_600_000 + self.rng.u64(..1_000) },
        }
    }

    fn guard(&mut self) -> Guard {
        let is = if self.rng.bool() { Presence::Present } else { Presence::Absent };
        match self.rng.u8(..7) {
            0 => Guard::Key { key: self.any_key(), is },
            6 => {
                let are = (0..self.rng.usize(..4)).map(|_| (self.element(), self.rng.bool().then(|| self.value())));
                let are = are.collect();
                Guard::Fields { key: self.key("hash"), are }
            }
            1 => Guard::Value { key: self.key("string"), is: self.rng.bool().then(|| self.value()) },
            2 => {
                Guard::Field { key: self.key("hash"), field: self.element(), is: self.rng.bool().then(|| self.value()) }
            }
            3 => Guard::Member { key: self.key("set"), member: self.element(), is },
            4 => Guard::Score {
                key: self.key("sorted"),
                member: self.element(),
                is: self.rng.bool().then(|| self.score()),
            },
            _ => Guard::Front { key: self.key("list"), is: self.rng.bool().then(|| self.value()) },
        }
    }

    pub(crate) fn query(&mut self) -> Query {
        match self.rng.u8(..18) {
            0 => Query::Kind { key: self.any_key() },
            1 => Query::Expiry { key: self.any_key() },
            2 => Query::Get { key: self.key("string") },
            3 => Query::HashGet { key: self.key("hash"), field: self.element() },
            4 => Query::HashGetMany { key: self.key("hash"), fields: self.many(Self::element) },
            5 => Query::HashAll { key: self.key("hash") },
            6 => Query::HashLen { key: self.key("hash") },
            7 => Query::SetContains { key: self.key("set"), member: self.element() },
            8 => Query::SetLen { key: self.key("set") },
            9 => Query::SetAll { key: self.key("set") },
            10 => Query::SortedScores { key: self.key("sorted"), members: self.many(Self::element) },
            11 => Query::SortedLen { key: self.key("sorted") },
            12 => Query::SortedCount { key: self.key("sorted"), range: self.range() },
            13 | 14 => {
                let order = if self.rng.bool() { Order::Ascending } else { Order::Descending };
                let (offset, limit) = (self.rng.u64(..20), self.rng.u64(..200));
                Query::SortedRange { key: self.key("sorted"), range: self.range(), order, offset, limit }
            }
            15 => Query::ListRange { key: self.key("list"), start: self.rng.u64(..50), limit: self.rng.u64(..200) },
            16 => Query::ListLen { key: self.key("list") },
            _ => Query::HllCount { keys: (0..=self.rng.usize(..3)).map(|_| self.key("hll")).collect() },
        }
    }

    fn many<T>(&mut self, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = match self.rng.u16(..1_000) {
            0..10 => 0,
            10..850 => 1 + self.rng.usize(..4),
            850..990 => 10 + self.rng.usize(..40),
            // Enough to make a collection large at once.
            _ => 700 + self.rng.usize(..2_500),
        };
        (0..count).map(|_| make(self)).collect()
    }

    fn element(&mut self) -> Atom {
        match self.rng.u8(..10) {
            0..4 => Atom::Int(i64::from(self.rng.u8(..60))),
            4..7 => Atom::Int(1_700_000_000 + i64::from(self.rng.u16(..4_000))),
            7..9 => Atom::from(format!("user:{}", self.rng.u16(..4_000))),
            _ => [
                Atom::from(""),
                Atom::from("007"),
                Atom::from(vec![0, 255, b'\r', b'\n']),
                Atom::from("-1"),
                Atom::from("é"),
            ][self.rng.usize(..5)]
            .clone(),
        }
    }

    fn value(&mut self) -> Atom {
        match self.rng.u8(..20) {
            0..10 => Atom::Int(i64::from(self.rng.u8(..10))),
            10 => Atom::Int(i64::MAX - i64::from(self.rng.u8(..3))),
            11 => Atom::from("1.5"),
            12..16 => Atom::from(format!("text {}", self.rng.u8(..10))),
            16 => Atom::from(""),
            17 => Atom::from(vec![0, 1, 2, 253, 254, 255]),
            _ => Atom::Int(i64::from(self.rng.i32(..))),
        }
    }

    fn number(&mut self) -> Number {
        match self.rng.u8(..20) {
            0..14 => Number::Int(i64::from(self.rng.u8(..5))),
            14..16 => Number::Int(-3),
            16 => Number::Int(i64::MAX),
            17 => Number::Int(i64::MIN),
            _ => Number::Decimal(f64::from(self.rng.i8(..)) / 4.0),
        }
    }

    fn score(&mut self) -> f64 {
        match self.rng.u8(..20) {
            0..8 => f64::from(self.rng.u8(..10)),
            8..14 => 1_700_000_000_000.0 + f64::from(self.rng.u16(..)),
            14..17 => f64::from(self.rng.i16(..)) / 8.0,
            17 => f64::INFINITY,
            18 => f64::NEG_INFINITY,
            _ => -0.0,
        }
    }

    fn range(&mut self) -> ScoreRange {
        if self.rng.u8(..) < 60 {
            return ScoreRange::ALL;
        }
        self.narrow_range()
    }

    fn narrow_range(&mut self) -> ScoreRange {
        ScoreRange { from: self.bound(), to: self.bound() }
    }

    fn bound(&mut self) -> Bound<f64> {
        match self.rng.u8(..10) {
            0 => Bound::Unbounded,
            1..6 => Bound::Included(self.score()),
            _ => Bound::Excluded(self.score()),
        }
    }

    fn end(&mut self) -> End {
        if self.rng.bool() { End::Front } else { End::Back }
    }
}

/// How soon "soon" is, for keys that are to expire while the test looks.
pub(crate) const SOON_MS: u64 = 40;
