//! What is behind a key: an object, and when it ends.

use tickmark_stats::hll::Hll;

use super::codec::{Malformed, Reader, put_atom, put_signed, put_varint};
use super::collection::{Collection, Large, List, Payload, Small};
use crate::{Atom, Kind};

#[derive(Clone, Debug)]
pub(crate) enum Object {
    String(Atom),
    Hash(Collection<Atom>),
    Set(Collection<()>),
    Sorted(Collection<f64>),
    List(List),
    Hll(Box<Hll>),
}

impl Object {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::String(_) => Kind::String,
            Self::Hash(_) => Kind::Hash,
            Self::Set(_) => Kind::Set,
            Self::Sorted(_) => Kind::SortedSet,
            Self::List(_) => Kind::List,
            Self::Hll(_) => Kind::HyperLogLog,
        }
    }

    /// The part that is kept in pages, where there is one.
    pub(crate) fn large(&self) -> Option<&Large> {
        match self {
            Self::Hash(Collection::Large(large))
            | Self::Set(Collection::Large(large))
            | Self::Sorted(Collection::Large(large))
            | Self::List(List::Large { large, .. }) => Some(large),
            _ => None,
        }
    }

    pub(crate) fn large_mut(&mut self) -> Option<&mut Large> {
        match self {
            Self::Hash(Collection::Large(large))
            | Self::Set(Collection::Large(large))
            | Self::Sorted(Collection::Large(large))
            | Self::List(List::Large { large, .. }) => Some(large),
            _ => None,
        }
    }

    /// A collection without elements is no collection.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Hash(fields) => fields.len() == 0,
            Self::Set(members) => members.len() == 0,
            Self::Sorted(members) => members.len() == 0,
            Self::List(values) => values.len() == 0,
            Self::String(_) | Self::Hll(_) => false,
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::String(value) => value.heap_bytes(),
            Self::Hash(fields) => fields.bytes(),
            Self::Set(members) => members.bytes(),
            Self::Sorted(members) => members.bytes(),
            Self::List(values) => values.bytes(),
            Self::Hll(hll) => hll.memory_bytes(),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) object: Object,
    pub(crate) expires_at_ms: Option<u64>,
    /// The earliest time at which the records have a hint to look here for expiry.
    pub(crate) hinted_at_ms: Option<u64>,
}

const EXPIRES: u8 = 0x80;
const LARGE: u8 = 0x40;

impl Entry {
    pub(crate) fn new(object: Object) -> Self {
        Self { object, expires_at_ms: None, hinted_at_ms: None }
    }

    pub(crate) fn is_live(&self, now_ms: u64) -> bool {
        self.expires_at_ms.is_none_or(|at_ms| at_ms > now_ms)
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.object.heap_bytes()
    }

    /// Bytes that a checkpoint would write, once something here was changed.
    pub(crate) fn dirty_bytes(&self) -> usize {
        self.object.large().map_or_else(|| self.bytes(), Large::dirty_bytes)
    }

    /// The record of this entry. Of a large collection it holds only where its elements are.
    pub(crate) fn pack(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        let kind = match self.object.kind() {
            Kind::String => 1,
            Kind::Hash => 2,
            Kind::Set => 3,
            Kind::SortedSet => 4,
            Kind::List => 5,
            Kind::HyperLogLog => 6,
        };
        let expires = if self.expires_at_ms.is_some() { EXPIRES } else { 0 };
        let large = if self.object.large().is_some() { LARGE } else { 0 };
        out.push(kind | expires | large);
        if let Some(at_ms) = self.expires_at_ms {
            put_varint(&mut out, at_ms);
            put_varint(&mut out, self.hinted_at_ms.unwrap_or(0));
        }
        if let Some(large) = self.object.large() {
            put_varint(&mut out, large.id());
            put_varint(&mut out, large.len());
        }
        match &self.object {
            Object::String(value) => put_atom(&mut out, value),
            Object::Hash(Collection::Small(fields)) => fields.pack(&mut out),
            Object::Set(Collection::Small(members)) => members.pack(&mut out),
            Object::Sorted(Collection::Small(members)) => members.pack(&mut out),
            Object::List(List::Large { first, .. }) => put_signed(&mut out, *first),
            Object::List(values @ List::Small { .. }) => values.pack(&mut out),
            Object::Hll(hll) => out.extend_from_slice(&hll.to_compact()),
            Object::Hash(_) | Object::Set(_) | Object::Sorted(_) => {}
        }
        out
    }

    pub(crate) fn unpack(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let tag = reader.byte()?;
        let (mut expires_at_ms, mut hinted_at_ms) = (None, None);
        if tag & EXPIRES != 0 {
            expires_at_ms = Some(reader.varint()?);
            hinted_at_ms = Some(reader.varint()?).filter(|at_ms| *at_ms > 0);
        }
        let large = match tag & LARGE {
            0 => None,
            _ => Some(Box::new(Large::stored(reader.varint()?, reader.varint()?))),
        };
        let object = match tag & !(EXPIRES | LARGE) {
            1 => Object::String(reader.atom()?),
            2 => Object::Hash(unpack_collection(large, &mut reader)?),
            3 => Object::Set(unpack_collection(large, &mut reader)?),
            4 => Object::Sorted(unpack_collection(large, &mut reader)?),
            5 => Object::List(match large {
                Some(large) => List::Large { large, first: reader.signed()? },
                None => List::unpack(&mut reader)?,
            }),
            6 => Object::Hll(Box::new(Hll::from_compact(reader.clone().rest()).map_err(|_| Malformed)?)),
            _ => return Err(Malformed),
        };
        Ok(Self { object, expires_at_ms, hinted_at_ms })
    }

    /// When a packed entry expires, without reading the rest of it.
    pub(crate) fn expiry_of(bytes: &[u8]) -> Result<Option<u64>, Malformed> {
        let mut reader = Reader::new(bytes);
        match reader.byte()? & EXPIRES {
            0 => Ok(None),
            _ => reader.varint().map(Some),
        }
    }
}

fn unpack_collection<V: Payload>(
    large: Option<Box<Large>>,
    reader: &mut Reader<'_>,
) -> Result<Collection<V>, Malformed> {
    match large {
        Some(large) => Ok(Collection::Large(large)),
        None => Small::unpack(reader).map(Collection::Small),
    }
}
