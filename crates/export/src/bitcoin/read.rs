//! Tables back to the bytes of blocks.

use super::rows::shown;
use super::tables::{BLOCKS, INPUTS, OUTPUTS, TRANSACTIONS};
use crate::error::Error;
use crate::read::{Cells, Cursor};
use std::path::Path;

/// The files of one partition.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// That of blocks.
    pub blocks: &'a Path,
    /// That of transactions.
    pub transactions: &'a Path,
    /// That of inputs.
    pub inputs: &'a Path,
    /// That of outputs.
    pub outputs: &'a Path,
}

/// Passes each block of a partition to `each`: height, hash in byte order, and bytes. The hash and
/// the transaction ids are checked against the rows.
///
/// # Errors
/// When a file cannot be read, or a row is not of what it has the hash of.
pub fn blocks(
    files: Files<'_>,
    mut each: impl FnMut(u64, [u8; 32], Vec<u8>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut blocks = Cursor::open(files.blocks, &BLOCKS)?;
    let mut parts = Parts {
        transactions: Cursor::open(files.transactions, &TRANSACTIONS)?,
        inputs: Cursor::open(files.inputs, &INPUTS)?,
        outputs: Cursor::open(files.outputs, &OUTPUTS)?,
    };
    while blocks.advance()? {
        let (cells, row) = blocks.row();
        let mut bytes = header(cells, row)?;
        let hash = blockmill_hashes::sha256d(&bytes);
        if shown(hash) != cells.fixed("hash", row)? {
            return Err(cells.wrong(row, "a header of the hash that the row has", "another"));
        }
        let count = cells.int("transaction_count", row)?;
        write_number(count, &mut bytes);
        for _ in 0..count {
            parts.transaction(&mut bytes)?;
        }
        each(cells.int("number", row)?, hash, bytes)?;
    }
    Ok(())
}

fn header(cells: &Cells, row: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::with_capacity(80);
    bytes.extend(low(cells.signed("version", row)?));
    bytes.extend(shown(cells.fixed("previous_block_hash", row)?));
    bytes.extend(shown(cells.fixed("merkle_root", row)?));
    bytes.extend(low(cells.time("timestamp", row, 1_000_000)? as i64));
    bytes.extend(low(cells.signed("bits", row)?));
    bytes.extend(low(cells.signed("nonce", row)?));
    Ok(bytes)
}

/// The four bytes of a number of 32 bits, with a sign or without.
fn low(number: i64) -> [u8; 4] {
    (number as u32).to_le_bytes()
}

/// A number as counts and lengths are written.
fn write_number(number: u64, to: &mut Vec<u8>) {
    match number {
        0..0xfd => to.push(number as u8),
        0xfd..=0xffff => {
            to.push(0xfd);
            to.extend((number as u16).to_le_bytes());
        }
        0x1_0000..=0xffff_ffff => {
            to.push(0xfe);
            to.extend((number as u32).to_le_bytes());
        }
        _ => {
            to.push(0xff);
            to.extend(number.to_le_bytes());
        }
    }
}

fn write_string(bytes: &[u8], to: &mut Vec<u8>) {
    write_number(bytes.len() as u64, to);
    to.extend(bytes);
}

/// Where the parts of blocks come from.
struct Parts {
    transactions: Cursor,
    inputs: Cursor,
    outputs: Cursor,
}

impl Parts {
    /// Appends the next transaction.
    fn transaction(&mut self, to: &mut Vec<u8>) -> Result<(), Error> {
        let (cells, row) = self.transactions.expect()?;
        let version = low(cells.signed("version", row)?);
        let lock_time = low(cells.signed("lock_time", row)?);
        let has_witness = cells.is("has_witness", row)?;
        // what an id is the hash of, and the witnesses
        let (mut plain, mut witnesses) = (version.to_vec(), vec![]);
        let inputs = cells.int("input_count", row)?;
        write_number(inputs, &mut plain);
        for _ in 0..inputs {
            let (cells, row) = self.inputs.expect()?;
            let spent = cells.maybe_fixed("spent_transaction_hash", row)?;
            plain.extend(spent.map_or([0; 32], shown));
            let index = cells.maybe_int("spent_output_index", row)?;
            plain.extend(index.map_or([0xff; 4], |index| low(index as i64)));
            write_string(&cells.bytes("script", row)?, &mut plain);
            plain.extend(low(cells.signed("sequence", row)?));
            let items = cells.list("witness", row)?.unwrap_or_default();
            write_number(items.len() as u64, &mut witnesses);
            items.iter().for_each(|item| write_string(item, &mut witnesses));
        }
        let outputs = cells.int("output_count", row)?;
        write_number(outputs, &mut plain);
        for _ in 0..outputs {
            let (cells, row) = self.outputs.expect()?;
            plain.extend(cells.signed("value", row)?.to_le_bytes());
            write_string(&cells.bytes("script", row)?, &mut plain);
        }
        let lists = plain.len();
        plain.extend(lock_time);
        if shown(blockmill_hashes::sha256d(&plain)) != cells.fixed("hash", row)? {
            return Err(cells.wrong(row, "a transaction of the id that the row has", "another"));
        }
        if !has_witness {
            to.append(&mut plain);
            return Ok(());
        }
        to.extend(version);
        to.extend([0, 1]);
        to.extend(&plain[4..lists]);
        to.append(&mut witnesses);
        to.extend(lock_time);
        Ok(())
    }
}
