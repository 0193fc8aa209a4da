//! Parses a block in one pass, in the encoding of BIP144.

use super::{Block, Error, Input, MAX_BLOCK_BYTES, Output, Transaction};
use crate::header::HEADER_BYTES;
use blockmill_verdict::Span;

/// Minimum size of a transaction: version, two counts, lock time.
const LEAST_TRANSACTION: usize = 10;
/// Minimum size of an input: outpoint, length of the script, sequence number.
const LEAST_INPUT: usize = 41;
/// Minimum size of an output: value, length of the script.
const LEAST_OUTPUT: usize = 9;
/// Minimum size of a witness, and of an item of one.
const LEAST_ITEM: usize = 1;

/// The bytes left to read.
struct Reader<'a> {
    rest: &'a [u8],
    /// Size of the whole block.
    total: usize,
}

/// Parses the block. Returns its length.
pub(super) fn block(block: &mut Block) -> Result<usize, Error> {
    let Block { raw, transactions, inputs, outputs, .. } = block;
    transactions.clear();
    inputs.clear();
    outputs.clear();
    if raw.len() > MAX_BLOCK_BYTES {
        return Err(Error::TooLong { expected: MAX_BLOCK_BYTES, found: raw.len() });
    }
    let mut reader = Reader { rest: raw, total: raw.len() };
    reader.array::<HEADER_BYTES>()?;
    let count = reader.count(LEAST_TRANSACTION)?;
    transactions.reserve(count);
    for _ in 0..count {
        transactions.push(reader.transaction(inputs, outputs)?);
    }
    Ok(reader.total - reader.rest.len())
}

impl<'a> Reader<'a> {
    fn position(&self) -> u32 {
        (self.total - self.rest.len()) as u32
    }

    #[cold]
    #[inline(never)]
    fn truncated(&self, expected: u64) -> Error {
        Error::Truncated { at: self.position(), expected, found: self.rest.len() as u32 }
    }

    #[inline(always)]
    fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Error> {
        match self.rest.split_first_chunk() {
            Some((array, rest)) => {
                self.rest = rest;
                Ok(array)
            }
            None => Err(self.truncated(N as u64)),
        }
    }

    /// A number of 1, 3, 5 or 9 bytes.
    #[inline(always)]
    fn number(&mut self) -> Result<u64, Error> {
        match self.rest {
            [first @ ..0xfd, rest @ ..] => {
                self.rest = rest;
                Ok(u64::from(*first))
            }
            _ => self.long_number(),
        }
    }

    #[inline(never)]
    fn long_number(&mut self) -> Result<u64, Error> {
        let at = self.position();
        let (expected, found) = match self.array()? {
            [0xfd] => (0xfd, u64::from(u16::from_le_bytes(*self.array()?))),
            [0xfe] => (0x1_0000, u64::from(u32::from_le_bytes(*self.array()?))),
            [0xff] => (0x1_0000_0000, u64::from_le_bytes(*self.array()?)),
            [small] => (0, u64::from(*small)),
        };
        if found < expected {
            return Err(Error::NotCanonical { at, expected, found });
        }
        Ok(found)
    }

    /// Reads a count of items of at least `least` bytes. It is bounded by the remaining bytes,
    /// which limits the memory for the items.
    #[inline(always)]
    fn count(&mut self, least: usize) -> Result<usize, Error> {
        let at = self.position();
        let found = self.number()?;
        let most = self.rest.len() / least;
        if found > most as u64 {
            return Err(Error::Count { at, expected: most as u32, found });
        }
        Ok(found as usize)
    }

    /// Reads a number and as many bytes.
    #[inline(always)]
    fn string(&mut self) -> Result<Span, Error> {
        let length = self.number()?;
        let start = self.position();
        match usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length)) {
            Some((_, rest)) => {
                self.rest = rest;
                Ok(Span { start, end: self.position() })
            }
            None => Err(self.truncated(length)),
        }
    }

    #[inline]
    fn transaction(
        &mut self,
        inputs: &mut Vec<Input>,
        outputs: &mut Vec<Output>,
    ) -> Result<Transaction, Error> {
        let start = self.position();
        let version = i32::from_le_bytes(*self.array()?);
        let first_input = inputs.len() as u32;
        let first_output = outputs.len() as u32;
        // a count of zero inputs is the marker, unless a count of zero outputs follows
        let has_witness = match self.rest {
            [0, 0, ..] => false,
            [0, 1, rest @ ..] => {
                self.rest = rest;
                true
            }
            [0, flag, ..] => return Err(Error::Flag { at: self.position() + 1, found: *flag }),
            _ => false,
        };
        let inputs_start = self.position();
        self.inputs(inputs)?;
        let outputs_start = self.position();
        self.outputs(outputs)?;
        let outputs_end = self.position();
        if has_witness {
            self.witnesses(&mut inputs[first_input as usize..])?;
        }
        let lock_time = u32::from_le_bytes(*self.array()?);
        Ok(Transaction {
            span: Span { start, end: self.position() },
            inputs: first_input..inputs.len() as u32,
            outputs: first_output..outputs.len() as u32,
            inputs_span: Span { start: inputs_start, end: outputs_start },
            outputs_span: Span { start: outputs_start, end: outputs_end },
            version,
            lock_time,
            has_witness,
        })
    }

    #[inline(always)]
    fn inputs(&mut self, inputs: &mut Vec<Input>) -> Result<(), Error> {
        let count = self.count(LEAST_INPUT)?;
        inputs.reserve(count);
        for _ in 0..count {
            let outpoint = self.position();
            self.array::<36>()?;
            let script = self.string()?;
            let sequence = u32::from_le_bytes(*self.array()?);
            inputs.push(Input { outpoint, script, sequence, witness: Span::default() });
        }
        Ok(())
    }

    #[inline(always)]
    fn outputs(&mut self, outputs: &mut Vec<Output>) -> Result<(), Error> {
        let count = self.count(LEAST_OUTPUT)?;
        outputs.reserve(count);
        for _ in 0..count {
            let value = i64::from_le_bytes(*self.array()?);
            outputs.push(Output { value, script: self.string()? });
        }
        Ok(())
    }

    #[inline(always)]
    fn witnesses(&mut self, inputs: &mut [Input]) -> Result<(), Error> {
        let at = self.position();
        let mut items = 0;
        for input in inputs {
            let start = self.position();
            let count = self.count(LEAST_ITEM)?;
            for _ in 0..count {
                self.string()?;
            }
            items += count;
            input.witness = Span { start, end: self.position() };
        }
        if items == 0 { Err(Error::SuperfluousWitness { at }) } else { Ok(()) }
    }
}
