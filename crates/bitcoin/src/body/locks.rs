//! Lock times: the height or time from which on a block may include a transaction.

/// Lock times below this are heights, others are times in seconds.
const THRESHOLD: u32 = 500_000_000;
/// The sequence number of an input that disables the lock time.
const FINAL: u32 = 0xffff_ffff;
/// This bit of a sequence number disables the relative lock (BIP68).
const NO_LOCK: u32 = 1 << 31;
/// With this bit, a relative lock counts time, otherwise blocks.
const TIME_LOCK: u32 = 1 << 22;
/// Mask of the distance.
const DISTANCE: u32 = 0xffff;
/// A unit of time is 512 seconds.
const UNIT_BITS: u32 = 9;

/// Returns whether a block at this height may include a transaction with these sequence numbers.
/// `time` is that of the block, or under BIP113 the median time past of its parent.
#[must_use]
pub fn is_final(
    lock_time: u32,
    mut sequences: impl Iterator<Item = u32>,
    height: u32,
    time: u32,
) -> bool {
    let reached = if lock_time < THRESHOLD { height } else { time };
    lock_time == 0 || lock_time < reached || sequences.all(|sequence| sequence == FINAL)
}

/// The combined relative locks of a transaction (BIP68): the last height and the last median time
/// past that are too early; -1 without a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceLock {
    /// The block must be higher.
    pub height: i64,
    /// The median time past of its parent must be later.
    pub time: i64,
}

impl SequenceLock {
    /// No lock.
    pub const NONE: Self = Self { height: -1, time: -1 };

    /// The locks of a transaction. `inputs` are the sequence number of each input, and the height
    /// of the coin that it spends. `median_time_past` returns that of the block at a height; it is
    /// called for time locks only, for the parent of the block that created the coin.
    ///
    /// # Errors
    /// Returns the errors of `median_time_past`.
    pub fn new<E>(
        version: i32,
        inputs: impl Iterator<Item = (u32, u32)>,
        mut median_time_past: impl FnMut(u32) -> Result<u32, E>,
    ) -> Result<Self, E> {
        let mut lock = Self::NONE;
        // versions are compared as unsigned numbers
        if (version as u32) < 2 {
            return Ok(lock);
        }
        for (sequence, height) in inputs.filter(|(sequence, _)| sequence & NO_LOCK == 0) {
            let distance = i64::from(sequence & DISTANCE);
            if sequence & TIME_LOCK == 0 {
                lock.height = lock.height.max(i64::from(height) + distance - 1);
            } else {
                let since = i64::from(median_time_past(height.saturating_sub(1))?);
                lock.time = lock.time.max(since + (distance << UNIT_BITS) - 1);
            }
        }
        Ok(lock)
    }

    /// Returns whether a block at this height, with this median time past of its parent, may
    /// include the transaction.
    #[must_use]
    pub fn allows(&self, height: u32, median_time_past: u32) -> bool {
        self.height < i64::from(height) && self.time < i64::from(median_time_past)
    }
}
