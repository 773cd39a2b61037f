//! One state of a topic, spelled once for everyone who listens.

use bytes::Bytes;

#[derive(Debug)]
pub(super) struct Frame {
    /// How many states of the topic came before.
    pub(super) sequence: u64,
    state: Bytes,
    /// The state as an event named for how it is meant.
    pub(super) snapshot: Bytes,
    pub(super) change: Bytes,
}

impl Frame {
    pub(super) fn new(sequence: u64, state: &Bytes) -> Self {
        debug_assert!(!state.contains(&b'\n'), "a line break would end the event early");
        let spell = |event: &str| {
            let head = format!("event: {event}\nid: {sequence}\ndata: ");
            Bytes::from([head.as_bytes(), state, b"\n\n"].concat())
        };
        Self { sequence, state: state.clone(), snapshot: spell("snapshot"), change: spell("change") }
    }

    pub(super) fn is(&self, state: &Bytes) -> bool {
        self.state == *state
    }
}
