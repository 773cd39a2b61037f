//! Members of a sorted set that were given another score, and are yet to be moved in the order of scores.
//!
//! An operation names its members in their own order, which is no order of scores. Moved one by one each would be looked
//! for somewhere else; noted first and moved in the order of scores, each is found beside the last.

use std::ops::Range;

use super::tree::Tree;
use crate::Result;
use crate::embedded::records::Records;

/// What is kept for the next operation. Large ones are rare, and sets are many.
const KEPT_MOVES: usize = 64;

#[derive(Clone, Debug, Default)]
pub(super) struct Moves {
    /// The members' bytes, one after the other.
    members: Vec<u8>,
    moves: Vec<Move>,
}

#[derive(Clone, Debug)]
struct Move {
    member: Range<usize>,
    from: Option<u64>,
    to: Option<u64>,
}

/// One key of the tree to add or to remove.
struct Edit {
    place: u64,
    member: Range<usize>,
    is_added: bool,
}

impl Moves {
    pub(super) fn is_empty(&self) -> bool {
        self.moves.is_empty()
    }

    /// A member's place is another: none where it is not in the set.
    pub(super) fn note(&mut self, member: &[u8], from: Option<u64>, to: Option<u64>) {
        if from != to {
            let start = self.members.len();
            self.members.extend_from_slice(member);
            self.moves.push(Move { member: start..self.members.len(), from, to });
        }
    }

    /// Brings the order of scores up to date. All pages are in memory before the first changes: one that cannot be read
    /// leaves the order, and what is to be moved, as they were.
    pub(super) fn settle(&mut self, by_score: &mut Tree, records: &Records) -> Result<()> {
        if self.moves.is_empty() {
            return Ok(());
        }
        self.once_each();
        let edits = self.edits();
        let mut key = Vec::new();
        for edit in &edits {
            self.spell(edit, &mut key);
            by_score.fetch(&key, records)?;
        }
        for edit in &edits {
            self.spell(edit, &mut key);
            let place = by_score.locate(&key, records)?;
            if edit.is_added {
                by_score.put(place, &key, &[]);
            } else {
                by_score.remove(place);
            }
        }
        if self.moves.len() > KEPT_MOVES {
            *self = Self::default();
        }
        self.moves.clear();
        self.members.clear();
        Ok(())
    }

    /// Puts the members in order, each with where it was first and where it is last.
    fn once_each(&mut self) {
        let member = |moved: &Move| &self.members[moved.member.clone()];
        if self.moves.is_sorted_by(|a, b| member(a) < member(b)) {
            return;
        }
        self.moves.sort_by(|a, b| member(a).cmp(member(b)));
        self.moves.dedup_by(|later, earlier| {
            let is_same = member(later) == member(earlier);
            if is_same {
                earlier.to = later.to;
            }
            is_same
        });
    }

    /// In the order of the tree. A member is at two places at most, so among equal places the order of members will do.
    fn edits(&self) -> Vec<Edit> {
        let mut edits = Vec::with_capacity(self.moves.len() * 2);
        for Move { member, from, to } in self.moves.iter().filter(|moved| moved.from != moved.to) {
            let edit = |place: &u64, is_added| Edit { place: *place, member: member.clone(), is_added };
            edits.extend(from.iter().map(|place| edit(place, false)));
            edits.extend(to.iter().map(|place| edit(place, true)));
        }
        edits.sort_by_key(|edit| edit.place);
        edits
    }

    fn spell(&self, edit: &Edit, key: &mut Vec<u8>) {
        key.clear();
        key.extend_from_slice(&edit.place.to_be_bytes());
        key.extend_from_slice(&self.members[edit.member.clone()]);
    }
}
