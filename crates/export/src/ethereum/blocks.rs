//! Tables back to whole blocks.

use super::read::{header, transaction};
use super::tables::{BLOCKS, OMMERS, TRANSACTIONS, WITHDRAWALS};
use crate::error::Error;
use crate::read::{Cells, Cursor};
use crate::schema::Table;
use blockmill_ethereum::Hash;
use blockmill_ethereum::body::{BodyView, verify_body};
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::params::Fork;
use blockmill_rlp::ethereum::{Block, Header, Transaction, Withdrawal};
use blockmill_rlp::{Decode, Encode, List};
use blockmill_trie::RootBuilder;
use std::fmt::Display;
use std::path::Path;

/// The files of one partition.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// That of blocks.
    pub blocks: &'a Path,
    /// That of ommers.
    pub ommers: &'a Path,
    /// That of transactions.
    pub transactions: &'a Path,
    /// That of withdrawals.
    pub withdrawals: &'a Path,
}

/// Passes each block of a partition to `each`: number, hash and RLP. The hash is checked against
/// the row, the body against its header.
///
/// # Errors
/// When a file cannot be read, a header has not the hash of its row, or the rows of other tables
/// are not all those of the blocks.
pub fn blocks(
    files: Files<'_>,
    mut each: impl FnMut(u64, Hash, Vec<u8>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut blocks = Cursor::open(files.blocks, &BLOCKS)?;
    let mut transactions = Parts::open(files.transactions, &TRANSACTIONS)?;
    let mut ommers = Parts::open(files.ommers, &OMMERS)?;
    let mut withdrawals = Parts::open(files.withdrawals, &WITHDRAWALS)?;
    let mut roots = RootBuilder::new();
    while blocks.advance()? {
        let (cells, row) = blocks.row();
        let number = cells.int("number", row)?;
        let header = header(cells, row)?;
        let hash = blockmill_rlp::ethereum::block_hash(&header);
        if hash != cells.fixed("hash", row)? {
            return Err(cells.wrong(row, "a header of the hash that the row has", "another"));
        }
        let raw = RawBody {
            transactions: transactions.read_block(number, transaction)?,
            ommers: ommers
                .read_block(number, |cells, row| Ok(cells.bytes("header", row)?.into_owned()))?,
            withdrawals: withdrawals.read_block(number, withdrawal)?,
        };
        let block = raw.block(&header).map_err(|error| at(cells, row, &error))?;
        let view = HeaderView::decode(&header).map_err(|error| at(cells, row, &error))?;
        let (_, body) = BodyView::decode_block(&block).map_err(|error| at(cells, row, &error))?;
        // every type of transaction, and no limit of size, which is no matter of tables
        verify_body(Fork::Prague, &view, &body, &mut roots).map_err(|violation| {
            cells.wrong(
                row,
                &violation.expected,
                &format!("{}: {}", violation.rule, violation.found),
            )
        })?;
        each(number, hash, block)?;
    }
    [transactions, ommers, withdrawals].into_iter().try_for_each(Parts::end)
}

fn at(cells: &Cells, row: usize, error: &impl Display) -> Error {
    cells.wrong(row, "a block of Ethereum", &error.to_string())
}

/// A withdrawal as it stands in a body.
fn withdrawal(cells: &Cells, row: usize) -> Result<Vec<u8>, Error> {
    let withdrawal = Withdrawal {
        index: cells.int("index", row)?,
        validator: cells.int("validator_index", row)?,
        address: &cells.fixed("address", row)?,
        amount: cells.int("amount", row)?,
    };
    Ok(withdrawal.encode())
}

/// What a body holds, each encoded.
struct RawBody {
    transactions: Vec<Vec<u8>>,
    ommers: Vec<Vec<u8>>,
    withdrawals: Vec<Vec<u8>>,
}

impl RawBody {
    /// The block with this header.
    fn block(&self, header: &[u8]) -> Result<Vec<u8>, blockmill_rlp::Error> {
        let transactions = self.transactions.iter().map(|raw| Transaction::decode_canonical(raw));
        let ommers = self.ommers.iter().map(|raw| Header::decode(raw));
        let withdrawals = self.withdrawals.iter().map(|raw| Withdrawal::decode(raw));
        let transactions = transactions.collect::<Result<Vec<_>, _>>()?;
        let ommers = ommers.collect::<Result<Vec<_>, _>>()?;
        let withdrawals = withdrawals.collect::<Result<Vec<_>, _>>()?;
        let header = Header::decode(header)?;
        // a block of before has no list, and one of today may have an empty one
        let withdrawals = header.withdrawals_root.map(|_| List::Values(&withdrawals));
        let block = Block {
            header,
            transactions: List::Values(&transactions),
            ommers: List::Values(&ommers),
            withdrawals,
        };
        Ok(block.encode())
    }
}

/// Rows that belong to blocks, in the order of these.
struct Parts {
    rows: Cursor,
    /// Is there a row at hand that was not taken yet?
    waits: bool,
}

impl Parts {
    fn open(path: &Path, table: &'static Table) -> Result<Self, Error> {
        let mut rows = Cursor::open(path, table)?;
        let waits = rows.advance()?;
        Ok(Self { rows, waits })
    }

    /// The result of `read` for each row of a block.
    fn read_block<T>(
        &mut self,
        block: u64,
        read: impl Fn(&Cells, usize) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut found = vec![];
        while self.waits {
            let (cells, row) = self.rows.row();
            if cells.int("block_number", row)? != block {
                break;
            }
            found.push(read(cells, row)?);
            self.waits = self.rows.advance()?;
        }
        Ok(found)
    }

    /// Were all rows those of a block?
    fn end(self) -> Result<(), Error> {
        let (cells, row) = self.rows.row();
        match self.waits {
            true => Err(cells.wrong(
                row,
                "rows of the blocks of this partition",
                "one of another block",
            )),
            false => Ok(()),
        }
    }
}
