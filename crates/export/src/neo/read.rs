//! Tables back to the bytes of blocks.

use super::rows::shown;
use super::tables::{BLOCKS, TRANSACTIONS};
use crate::error::Error;
use crate::read::{Cells, Cursor};
use blockmill_neo::types::{Header, UInt160, UInt256, Witness, write};
use std::path::Path;

/// Passes each block of a partition to `each`: height, hash in byte order, and bytes. The hash is
/// checked against the row.
///
/// # Errors
/// When a file cannot be read, or a row is not of the block whose hash it has.
pub fn blocks(
    blocks: &Path,
    transactions: &Path,
    mut each: impl FnMut(u64, [u8; 32], Vec<u8>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut blocks = Cursor::open(blocks, &BLOCKS)?;
    let mut transactions = Cursor::open(transactions, &TRANSACTIONS)?;
    while blocks.advance()? {
        let (cells, row) = blocks.row();
        let header = header(cells, row)?;
        let mut bytes = vec![];
        header.write_signed(&mut bytes);
        let hash = blockmill_hashes::sha256(&bytes);
        if shown(hash) != cells.fixed("hash", row)? {
            return Err(cells.wrong(row, "a header of the hash that the row has", "another"));
        }
        bytes.push(1);
        let invocation = cells.bytes("invocation", row)?;
        let verification = cells.bytes("verification", row)?;
        Witness { invocation: &invocation, verification: &verification }.write(&mut bytes);
        let count = cells.int("transaction_count", row)?;
        write::number(&mut bytes, count);
        for _ in 0..count {
            let (cells, row) = transactions.expect()?;
            bytes.extend_from_slice(&cells.bytes("raw", row)?);
        }
        each(cells.int("number", row)?, hash, bytes)?;
    }
    Ok(())
}

fn header(cells: &Cells, row: usize) -> Result<Header, Error> {
    let small = |name: &str| {
        let number = cells.int(name, row)?;
        u32::try_from(number).map_err(|_| cells.wrong(row, name, "a number above 2^32"))
    };
    let root = cells.maybe_fixed("previous_state_root", row)?;
    Ok(Header {
        version: small("version")?,
        previous: UInt256(shown(cells.fixed("parent_hash", row)?)),
        merkle_root: UInt256(shown(cells.fixed("merkle_root", row)?)),
        timestamp: cells.time("timestamp", row, 1000)?,
        nonce: u64::from_be_bytes(cells.fixed("nonce", row)?),
        index: small("number")?,
        primary: small("primary_index")? as u8,
        next_consensus: UInt160(shown(cells.fixed("next_consensus", row)?)),
        previous_state_root: root.map(|root| UInt256(shown(root))),
        ..Header::default()
    })
}
