//! The hashes of many values, several at once.
#![allow(unsafe_code)]

use crate::Encode;
use crate::encoder::{hash, measured, write_exactly};
use crate::flat::write_flat;
use blockmill_hashes::ManyKeccak;
use core::mem::MaybeUninit;
use core::ops::Range;

/// Number of values that are hashed together: enough for eight lanes to work eight times each, so
/// that few are idle at the end.
const BATCH: usize = 64;
/// Bytes of a batch, on the stack; 64 headers fit.
const BATCH_BYTES: usize = BATCH * 576;
/// A longer value is hashed alone: it would fill the batch.
const LONG: usize = BATCH_BYTES / 8;

/// Encodings that wait to be hashed.
struct Batch {
    bytes: [MaybeUninit<u8>; BATCH_BYTES],
    filled: usize,
    /// The range of each encoding.
    places: [Range<usize>; BATCH],
    count: usize,
}

impl Batch {
    /// Appends the encoding of `value` if it is a flat list and there is room for it.
    #[inline(always)]
    fn push_flat<T: Encode + ?Sized>(&mut self, value: &T) -> bool {
        match write_flat(value, &mut self.bytes[self.filled..]) {
            Some(place) if self.count < BATCH => {
                self.took(place);
                true
            }
            _ => false,
        }
    }

    /// Appends the encoding of `value`, which has `len` bytes; false if there is no room for it.
    #[inline(always)]
    fn push<T: Encode + ?Sized>(
        &mut self,
        value: &T,
        len: usize,
        lengths: Option<&[usize]>,
    ) -> bool {
        if self.count == BATCH || len > BATCH_BYTES - self.filled {
            return false;
        }
        let written = write_exactly(value, len, lengths, &mut self.bytes[self.filled..]);
        self.took(0..written);
        true
    }

    /// Records an encoding at `place` after the bytes that are filled.
    #[inline(always)]
    fn took(&mut self, place: Range<usize>) {
        self.places[self.count] = self.filled + place.start..self.filled + place.end;
        self.filled += place.end;
        self.count += 1;
    }

    /// Hashes the pending encodings into `out`, starting at `done`; returns the new number of
    /// finished values.
    fn flush(&mut self, hasher: &ManyKeccak, out: &mut [[u8; 32]], done: usize) -> usize {
        let mut messages = [&[][..]; BATCH];
        for (message, place) in messages.iter_mut().zip(&self.places[..self.count]) {
            // SAFETY: the encoding was written there.
            *message = unsafe { self.bytes[place.clone()].assume_init_ref() };
        }
        let end = done + self.count;
        hasher.keccak256(&messages[..self.count], &mut out[done..end]);
        (self.filled, self.count) = (0, 0);
        end
    }
}

/// Writes the Keccak-256 of the encoding of each value to the same place in `out`, hashing as many
/// at once as `hasher` can. Uses no heap memory.
///
/// ```
/// use blockmill_rlp::{Encode, hash_each};
///
/// let values = [vec![1u64, 2], vec![], vec![3]];
/// let mut hashes = [[0; 32]; 3];
/// hash_each(&values, &blockmill_hashes::ManyKeccak::detect(), &mut hashes);
/// assert_eq!(hashes, [values[0].hash(), values[1].hash(), values[2].hash()]);
/// ```
///
/// # Panics
/// When `out` has not as many places as there are values.
pub fn hash_each<T: Encode>(
    values: impl IntoIterator<Item = T>,
    hasher: &ManyKeccak,
    out: &mut [[u8; 32]],
) {
    let mut batch = Batch {
        bytes: [MaybeUninit::uninit(); BATCH_BYTES],
        filled: 0,
        places: [const { 0..0 }; BATCH],
        count: 0,
    };
    let mut done = 0;
    // most lists of values are of one kind, so the first one that is not flat is taken as a sign
    let mut flat = true;
    for value in values {
        if batch.count == BATCH {
            done = batch.flush(hasher, out, done);
        }
        if flat && batch.push_flat(&value) {
            continue;
        }
        measured(&value, |len, lengths| {
            flat &= lengths.is_some_and(|lengths| lengths.len() == 1);
            if len > LONG {
                done = batch.flush(hasher, out, done);
                out[done] = hash(&value);
                done += 1;
            } else if !batch.push(&value, len, lengths) {
                done = batch.flush(hasher, out, done);
                batch.push(&value, len, lengths);
            }
        });
    }
    done = batch.flush(hasher, out, done);
    assert_eq!(done, out.len(), "as many values as places for their hashes");
}
