//! A collection small enough to be held whole: a sorted vector.
//!
//! Buckets of a series arrive in order of time, so an insertion is nearly always at the end, and a lookup is a binary
//! search over integers. The order (integers by value, then bytes) is this vector's own affair.

use std::cmp::Ordering;

use super::payload::Payload;
use crate::Atom;
use crate::embedded::codec::{Malformed, Reader, put_column, put_varint};

#[derive(Clone, Debug)]
pub(crate) struct Small<V> {
    elements: Vec<(Atom, V)>,
    heap_bytes: usize,
}

impl<V> Default for Small<V> {
    fn default() -> Self {
        Self { elements: Vec::new(), heap_bytes: 0 }
    }
}

impl<V: Payload> Small<V> {
    pub(crate) fn len(&self) -> usize {
        self.elements.len()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, (Atom, V)> {
        self.elements.iter()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.elements.capacity() * size_of::<(Atom, V)>() + self.heap_bytes
    }

    pub(crate) fn get(&self, element: &Atom) -> Option<&V> {
        self.find(element).ok().map(|at| &self.elements[at].1)
    }

    pub(crate) fn update<E>(
        &mut self,
        element: &Atom,
        change: impl FnOnce(Option<&V>) -> Result<Option<V>, E>,
    ) -> Result<Option<V>, E> {
        let found = self.find(element);
        let held = found.ok().map(|at| &self.elements[at].1);
        let Some(payload) = change(held)? else { return Ok(held.cloned()) };
        self.heap_bytes += payload.heap_bytes();
        match found {
            Ok(at) => {
                let previous = std::mem::replace(&mut self.elements[at].1, payload);
                self.heap_bytes -= previous.heap_bytes();
                Ok(Some(previous))
            }
            Err(at) => {
                self.heap_bytes += element.heap_bytes();
                self.elements.insert(at, (element.clone(), payload));
                Ok(None)
            }
        }
    }

    pub(crate) fn remove(&mut self, element: &Atom) -> Option<V> {
        let at = self.find(element).ok()?;
        let (element, payload) = self.elements.remove(at);
        self.heap_bytes -= element.heap_bytes() + payload.heap_bytes();
        Some(payload)
    }

    pub(crate) fn pack(&self, out: &mut Vec<u8>) {
        put_varint(out, self.elements.len() as u64);
        put_column(out, self.elements.iter().map(|(element, _)| element));
        V::put_all(out, self.elements.iter().map(|(_, payload)| payload));
    }

    pub(crate) fn unpack(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let count = reader.count()?;
        let elements: Vec<_> = reader.column(count)?.into_iter().zip(V::read_all(reader, count)?).collect();
        if !elements.is_sorted_by(|(a, _), (b, _)| order(a, b) == Ordering::Less) {
            return Err(Malformed);
        }
        let heap_bytes = elements.iter().map(|(element, payload)| element.heap_bytes() + payload.heap_bytes()).sum();
        Ok(Self { elements, heap_bytes })
    }

    /// Where the element is, or would go. Looks at the end first: that is where time adds.
    fn find(&self, element: &Atom) -> Result<usize, usize> {
        match self.elements.last() {
            Some((last, _)) => match order(last, element) {
                Ordering::Less => Err(self.elements.len()),
                Ordering::Equal => Ok(self.elements.len() - 1),
                Ordering::Greater => self.elements.binary_search_by(|(other, _)| order(other, element)),
            },
            None => Err(0),
        }
    }
}

fn order(a: &Atom, b: &Atom) -> Ordering {
    match (a, b) {
        (Atom::Int(a), Atom::Int(b)) => a.cmp(b),
        (Atom::Bytes(a), Atom::Bytes(b)) => a[..].cmp(&b[..]),
        (Atom::Int(_), Atom::Bytes(_)) => Ordering::Less,
        (Atom::Bytes(_), Atom::Int(_)) => Ordering::Greater,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put<V: Payload>(small: &mut Small<V>, element: impl Into<Atom>, payload: V) -> Option<V> {
        small.update(&element.into(), |_| Ok::<_, ()>(Some(payload))).unwrap()
    }

    #[test]
    fn packs_and_unpacks() {
        let mut small = Small::default();
        for (element, payload) in [("61", "3"), ("0", "1"), ("name", "x"), ("", "1.5"), ("60", "-7")] {
            assert_eq!(put(&mut small, element, Atom::from(payload)), None);
        }
        assert_eq!(put(&mut small, "0", Atom::from("2")), Some(Atom::from("1")));
        assert_eq!(small.remove(&Atom::from("name")), Some(Atom::from("x")));
        let mut packed = Vec::new();
        small.pack(&mut packed);
        let read = Small::<Atom>::unpack(&mut Reader::new(&packed)).unwrap();
        assert_eq!(read.elements, small.elements);
        assert_eq!(read.heap_bytes, small.heap_bytes);
    }

    #[test]
    fn scores_survive_packing_to_the_bit() {
        for scores in [vec![1.0, 2.0, 1e15], vec![0.5, -0.0], vec![f64::INFINITY, 1e300], vec![-0.0]] {
            let mut small = Small::default();
            for (member, score) in (0..).zip(&scores) {
                put(&mut small, member, *score);
            }
            let mut packed = Vec::new();
            small.pack(&mut packed);
            let read = Small::<f64>::unpack(&mut Reader::new(&packed)).unwrap();
            let bits = |small: &Small<f64>| small.iter().map(|(_, score)| score.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&read), bits(&small));
        }
    }
}
