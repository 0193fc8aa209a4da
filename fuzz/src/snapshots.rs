//! Flat snapshots of a state.

use blockmill_ethereum::snapshot::{SnapshotError, verify_from};
use blockmill_pipeline::Cancel;
use std::path::Path;

/// Bytes of the head of a snapshot and of a frame, each with its sum at the end.
const HEAD: usize = 124;
const FRAME: usize = 140;

/// A snapshot is verified, or rejected with a location. Its checksums are corrected before, as far
/// as there are frames, so that the content is reached.
pub fn snapshot(data: &[u8]) -> bool {
    let mut bytes = data.to_vec();
    set_sums(&mut bytes);
    let found = verify_from(Path::new("snapshot"), &bytes[..], 0, &Cancel::default(), |_| ());
    match found {
        Ok(found) => {
            assert_eq!(found.bytes, bytes.len() as u64);
            let most = found.bytes;
            let counts = found.counts;
            assert!([counts.codes, counts.accounts, counts.slots].iter().all(|n| *n < most));
            true
        }
        Err(SnapshotError::Corrupt { offset, .. }) => {
            assert!(offset <= bytes.len() as u64, "{offset}");
            false
        }
        Err(other) => panic!("{other}"),
    }
}

fn set_sums(bytes: &mut [u8]) {
    let Some((head, mut frames)) = bytes.split_at_mut_checked(HEAD) else { return };
    set_sum(head, &[]);
    while let Some((head, rest)) = frames.split_at_mut_checked(FRAME) {
        let length = head[4..8].iter().rev().fold(0, |all, byte| all << 8 | usize::from(*byte));
        let Some((payload, rest)) = rest.split_at_mut_checked(length) else { return };
        set_sum(head, payload);
        frames = rest;
    }
}

fn set_sum(head: &mut [u8], payload: &[u8]) {
    let at = head.len() - 4;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&head[..at]);
    hasher.update(payload);
    head[at..].copy_from_slice(&hasher.finalize().to_le_bytes());
}
