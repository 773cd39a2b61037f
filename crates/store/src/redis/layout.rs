//! Who serves which slot of a Cluster, as the Cluster last told.

use std::hash::{DefaultHasher, Hash, Hasher};

use redis::Value;

use super::slot::SLOTS;
use super::url::Node;

/// A server of a Cluster. The id stays the same when the address changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Member {
    pub(super) id: String,
    pub(super) node: Node,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// Ranges of slots with their masters, ascending.
    ranges: Vec<(u16, u16, Member)>,
    /// Every server, masters first.
    pub(super) members: Vec<Member>,
}

impl Layout {
    /// Reads an answer to `CLUSTER SLOTS`. A server that does not know its own name is at the address that was asked.
    pub(super) fn parse(answer: &Value, asked: &Node) -> Option<Self> {
        let mut layout = Self::default();
        let mut replicas = Vec::new();
        for range in array(answer)? {
            let [from, to, servers @ ..] = array(range)? else { return None };
            let mut servers = servers.iter().filter_map(|server| member(server, asked));
            let master = servers.next()?;
            if !layout.members.contains(&master) {
                layout.members.push(master.clone());
            }
            replicas.extend(servers);
            layout.ranges.push((int(from)?, int(to)?, master));
        }
        layout.ranges.sort_by_key(|(from, ..)| *from);
        for replica in replicas {
            if !layout.members.contains(&replica) {
                layout.members.push(replica);
            }
        }
        Some(layout)
    }

    pub(super) fn master(&self, slot: u16) -> Option<&Member> {
        let range = self.ranges.partition_point(|(_, to, _)| *to < slot);
        self.ranges.get(range).filter(|(from, ..)| *from <= slot).map(|(_, _, master)| master)
    }

    /// The masters in order of their first slot, with that slot. The same shards in the same order as long as no slots
    /// move, also when a replica takes over.
    pub(super) fn shards(&self) -> Vec<(u16, &Member)> {
        let mut shards: Vec<(u16, &Member)> = Vec::new();
        for (from, _, master) in &self.ranges {
            if !shards.iter().any(|(_, known)| *known == master) {
                shards.push((*from, master));
            }
        }
        shards
    }

    /// Tells layouts with different ranges apart, whoever serves them.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for (from, to, master) in &self.ranges {
            let shard = self.shards().iter().position(|(_, known)| *known == master);
            (from, to, shard).hash(&mut hasher);
        }
        hasher.finish()
    }

    pub(super) fn covers_everything(&self) -> bool {
        let mut next = 0;
        for (from, to, _) in &self.ranges {
            if *from != next {
                return false;
            }
            next = to + 1;
        }
        next == SLOTS
    }
}

fn member(server: &Value, asked: &Node) -> Option<Member> {
    let [host, port, id, ..] = array(server)? else { return None };
    let host = match text(host) {
        Some(host) if !host.is_empty() && host != "?" => host,
        _ => asked.host.clone(),
    };
    Some(Member { id: text(id)?, node: Node { host, port: int(port)? } })
}

fn array(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Array(values) => Some(values),
        _ => None,
    }
}

fn int(value: &Value) -> Option<u16> {
    match value {
        Value::Int(int) => u16::try_from(*int).ok(),
        _ => None,
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes.clone()).ok(),
        Value::SimpleString(text) => Some(text.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(host: &str, port: i64, id: &str) -> Value {
        Value::Array(vec![
            Value::BulkString(host.into()),
            Value::Int(port),
            Value::BulkString(id.into()),
            Value::Array(vec![]),
        ])
    }

    fn layout(ranges: &[(i64, i64, &str)]) -> Layout {
        let ranges = ranges.iter().map(|(from, to, id)| {
            Value::Array(vec![Value::Int(*from), Value::Int(*to), server("", 7000, id), server("h", 7001, "replica")])
        });
        Layout::parse(&Value::Array(ranges.collect()), &Node { host: "asked".to_owned(), port: 1 }).unwrap()
    }

    #[test]
    fn slots_find_their_masters() {
        let layout = layout(&[(100, 16_383, "b"), (0, 9, "a"), (20, 99, "a")]);
        for (slot, id) in [(0, Some("a")), (9, Some("a")), (10, None), (20, Some("a")), (16_383, Some("b"))] {
            assert_eq!(layout.master(slot).map(|master| master.id.as_str()), id, "{slot}");
        }
        assert!(!layout.covers_everything());
        assert_eq!(layout.shards().iter().map(|(slot, _)| *slot).collect::<Vec<_>>(), [0, 100]);
        assert_eq!(layout.master(0).unwrap().node.to_string(), "asked:7000");
        assert_eq!(layout.members.len(), 3);
    }

    #[test]
    fn a_failover_leaves_the_fingerprint_and_a_move_of_slots_does_not() {
        let before = layout(&[(0, 99, "a"), (100, 16_383, "b")]);
        assert!(before.covers_everything());
        assert_eq!(before.fingerprint(), layout(&[(0, 99, "c"), (100, 16_383, "b")]).fingerprint());
        assert_ne!(before.fingerprint(), layout(&[(0, 98, "a"), (99, 16_383, "b")]).fingerprint());
    }
}
