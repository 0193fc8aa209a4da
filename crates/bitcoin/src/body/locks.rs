//! Lock times: from which height or time on a transaction may stand in a block.

/// A lock time below is a height, from here on a time in seconds.
const THRESHOLD: u32 = 500_000_000;
/// The sequence number of an input that does not ask for the lock time.
const FINAL: u32 = 0xffff_ffff;
/// A sequence number with this bit is no relative lock (BIP68).
const NO_LOCK: u32 = 1 << 31;
/// A relative lock with this bit counts time, else blocks.
const TIME_LOCK: u32 = 1 << 22;
/// The bits of the distance.
const DISTANCE: u32 = 0xffff;
/// A unit of time is 512 seconds.
const UNIT_BITS: u32 = 9;

/// May a transaction with these sequence numbers stand in the block of this height? `time` is the
/// block's, or under BIP113 the median time past of the block before.
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

/// What all relative locks of a transaction together ask for (BIP68): the last height and the last
/// median time past that are too early; -1 where nothing is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceLock {
    /// The block must be higher.
    pub height: i64,
    /// The median time past of the block before it must be later.
    pub time: i64,
}

impl SequenceLock {
    /// Asks for nothing.
    pub const NONE: Self = Self { height: -1, time: -1 };

    /// Of a transaction of this version whose inputs have these sequence numbers and spend coins
    /// created at these heights. `median_time_past` gives that of the block of a height; it is
    /// asked only for inputs that count time, for the block before the one that created the coin.
    ///
    /// # Errors
    /// Those of `median_time_past`.
    pub fn of<E>(
        version: i32,
        inputs: impl Iterator<Item = (u32, u32)>,
        mut median_time_past: impl FnMut(u32) -> Result<u32, E>,
    ) -> Result<Self, E> {
        let mut lock = Self::NONE;
        // compared without a sign
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

    /// Does it let the transaction into the block of this height, with the median time past of the
    /// block before?
    #[must_use]
    pub fn allows(&self, height: u32, median_time_past: u32) -> bool {
        self.height < i64::from(height) && self.time < i64::from(median_time_past)
    }
}
