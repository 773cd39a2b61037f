//! Slots of a Cluster: which of 16,384 a key is in.

use std::sync::OnceLock;

pub(super) const SLOTS: u16 = 16_384;

/// CRC-16/XMODEM of the key, or of its hash tag: what is between the first `{` and the next `}`, unless that is nothing.
pub(super) fn of(key: &[u8]) -> u16 {
    let tag = key.iter().position(|&byte| byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let close = rest.iter().position(|&byte| byte == b'}')?;
        (close > 0).then(|| &rest[..close])
    });
    crc16(tag.unwrap_or(key)) % SLOTS
}

/// A hash tag for each slot, to name keys of our own beside any key of a user.
pub(super) fn tag(slot: u16) -> u32 {
    static TAGS: OnceLock<Vec<u32>> = OnceLock::new();
    let tags = TAGS.get_or_init(|| {
        let mut tags = vec![None; usize::from(SLOTS)];
        let mut missing = tags.len();
        for tag in 0_u32.. {
            let slot = usize::from(of(tag.to_string().as_bytes()));
            if tags[slot].is_none() {
                tags[slot] = Some(tag);
                missing -= 1;
            }
            if missing == 0 {
                break;
            }
        }
        tags.into_iter().flatten().collect()
    });
    tags[usize::from(slot)]
}

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, &byte| {
        (0..8)
            .fold(crc ^ (u16::from(byte) << 8), |crc, _| if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_redis() {
        for (key, slot) in [
            ("123456789", 12_739),
            ("foo", 12_182),
            ("{foo}bar", 12_182),
            ("a{foo}b{c}", 12_182),
            ("foo{}{bar}", of(b"foo{}{bar}")),
            ("{foo", of(b"{foo")),
        ] {
            assert_eq!(of(key.as_bytes()), slot, "{key}");
        }
        assert_ne!(of(b"foo{}{bar}"), of(b"bar"));
        assert_ne!(of(b"{foo"), of(b"foo"));
    }

    #[test]
    fn every_slot_has_a_tag() {
        for slot in 0..SLOTS {
            assert_eq!(of(format!("tm:{{{}}}", tag(slot)).as_bytes()), slot);
        }
    }
}
