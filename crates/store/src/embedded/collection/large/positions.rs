//! The values of a list by their positions.

use std::ops::Bound;

use super::Large;
use crate::embedded::collection::payload::Payload;
use crate::embedded::records::Records;
use crate::{Atom, Order, Result};

impl Large {
    /// Sets the value at a position of a list, which is new.
    pub(in crate::embedded::collection) fn put_at(
        &mut self,
        position: i64,
        value: &Atom,
        records: &Records,
    ) -> Result<()> {
        let key = position_key(position);
        let place = self.entries.locate(&key, records)?;
        self.value.clear();
        value.put(&mut self.value);
        self.entries.put(place, &key, &self.value);
        self.len += 1;
        Ok(())
    }

    pub(in crate::embedded::collection) fn take_at(&mut self, position: i64, records: &Records) -> Result<Atom> {
        let place = self.entries.locate(&position_key(position), records)?;
        let value = self.entries.value(place).ok_or_else(|| self.damaged())?;
        let value = self.decode(value)?;
        self.entries.remove(place);
        self.len -= 1;
        Ok(value)
    }

    pub(in crate::embedded::collection) fn values_from<'a>(
        &'a self,
        position: i64,
        records: &'a Records,
    ) -> impl Iterator<Item = Result<Atom>> + use<'a> {
        let from = Bound::Included(position_key(position).to_vec());
        let values = self.entries.range((from, Bound::Unbounded), Order::Ascending, records);
        values.map(|found| self.decode(&found?.1))
    }
}

/// The key of a place in a list. Flipping the sign bit makes the bytes sort as the positions do.
fn position_key(position: i64) -> [u8; 8] {
    (position.cast_unsigned() ^ (1 << 63)).to_be_bytes()
}
