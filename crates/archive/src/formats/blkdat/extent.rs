//! Measures a block by its own counts and lengths, for records with an untrusted size.

/// The most bytes that a count or a length takes.
const LOOK: usize = 9;

/// Number of bytes of the header.
const HEADER: u64 = 80;

/// Finds the length of a block. `look` returns its bytes from an offset on, fewer than nine only at
/// the end of the data. `steps` is the number of counts and lengths that may be read before giving
/// up, where 256 bytes between two of them count as one; the remainder is written back.
///
/// Follows the encoding of blocks (BIP144 for witnesses), not the consensus rules. Returns
/// `Ok(None)` if this is no block or longer than `limit`.
pub fn block_length<E>(
    limit: u64,
    steps: &mut u64,
    look: impl FnMut(u64) -> Result<Tiny, E>,
) -> Result<Option<u64>, E> {
    let mut walk = BlockCursor { at: HEADER, looked: HEADER, limit, steps, look };
    Ok(match walk.block() {
        Ok(()) => Some(walk.at),
        Err(Stop::NoBlock) => None,
        Err(Stop::Failed(error)) => return Err(error),
    })
}

/// A few bytes of a block.
#[derive(Clone, Copy)]
pub struct Tiny {
    bytes: [u8; LOOK],
    length: usize,
}

impl Tiny {
    /// Copies the bytes that fit.
    pub fn new(bytes: &[u8]) -> Self {
        let length = bytes.len().min(LOOK);
        let mut tiny = Self { bytes: [0; LOOK], length };
        tiny.bytes[..length].copy_from_slice(&bytes[..length]);
        tiny
    }

    /// The bytes, to be changed in place.
    pub fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.length]
    }
}

enum Stop<E> {
    NoBlock,
    Failed(E),
}

struct BlockCursor<'a, F> {
    at: u64,
    /// Offset of the last number.
    looked: u64,
    limit: u64,
    steps: &'a mut u64,
    look: F,
}

impl<E, F: FnMut(u64) -> Result<Tiny, E>> BlockCursor<'_, F> {
    fn block(&mut self) -> Result<(), Stop<E>> {
        let transactions = self.number()?;
        if transactions == 0 {
            return Err(Stop::NoBlock);
        }
        (0..transactions).try_for_each(|_| self.transaction())
    }

    fn transaction(&mut self) -> Result<(), Stop<E>> {
        self.skip(4)?;
        let mut inputs = self.number()?;
        // a transaction has inputs, so a count of zero marks the encoding with witnesses
        let witness = inputs == 0;
        if witness {
            if self.number()? != 1 {
                return Err(Stop::NoBlock);
            }
            inputs = self.number()?;
        }
        if inputs == 0 {
            return Err(Stop::NoBlock);
        }
        for _ in 0..inputs {
            self.skip(36)?;
            self.bytes()?;
            self.skip(4)?;
        }
        for _ in 0..self.number()? {
            self.skip(8)?;
            self.bytes()?;
        }
        if witness {
            for _ in 0..inputs {
                for _ in 0..self.number()? {
                    self.bytes()?;
                }
            }
        }
        self.skip(4)
    }

    /// Skips a length and as many bytes.
    fn bytes(&mut self) -> Result<(), Stop<E>> {
        let length = self.number()?;
        self.skip(length)
    }

    fn skip(&mut self, length: u64) -> Result<(), Stop<E>> {
        self.at =
            self.at.checked_add(length).filter(|at| *at <= self.limit).ok_or(Stop::NoBlock)?;
        Ok(())
    }

    /// A count or length of one, three, five or nine bytes, in the shortest form.
    fn number(&mut self) -> Result<u64, Stop<E>> {
        // a distant number has to be read from disk with the bytes around it
        let cost = 1 + (self.at - self.looked) / 256;
        *self.steps = self.steps.checked_sub(cost).ok_or(Stop::NoBlock)?;
        self.looked = self.at;
        let tiny = (self.look)(self.at).map_err(Stop::Failed)?;
        let bytes = &tiny.bytes[..tiny.length];
        let first = *bytes.first().ok_or(Stop::NoBlock)?;
        let (length, least) = match first {
            0xff => (8, 1 << 32),
            0xfe => (4, 1 << 16),
            0xfd => (2, 0xfd),
            _ => (0, 0),
        };
        self.skip(1 + length as u64)?;
        if length == 0 {
            return Ok(u64::from(first));
        }
        let mut wide = [0; 8];
        wide[..length].copy_from_slice(bytes.get(1..=length).ok_or(Stop::NoBlock)?);
        let number = u64::from_le_bytes(wide);
        if number < least { Err(Stop::NoBlock) } else { Ok(number) }
    }
}
