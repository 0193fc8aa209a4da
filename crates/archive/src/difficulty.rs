//! Number and difficulty of a header, and the total difficulty of a chain, for writers of formats
//! that store it.

use std::path::Path;

use crate::{Chunk, Error};

/// Fields of a header before its difficulty (Yellow Paper, 4.3): parent, ommers, beneficiary,
/// state, transactions, receipts, bloom. The number follows the difficulty.
const FIELDS_BEFORE: usize = 7;

/// The number and the difficulty (big-endian) in the RLP of a header.
pub(crate) fn number_and_difficulty(
    header: &[u8],
) -> Result<(u64, [u8; 32]), blockmill_rlp::Error> {
    let mut fields = blockmill_rlp::Reader::new(header).list()?;
    for _ in 0..FIELDS_BEFORE {
        fields.item()?;
    }
    let difficulty = fields.u256()?.to_be_bytes();
    Ok((fields.u64()?, difficulty))
}

/// Follows a chain: checks that numbers ascend by one and adds up difficulties.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChainTotals {
    next: Option<u64>,
    total: Option<[u8; 32]>,
    /// Whether the last block has a difficulty.
    has_work: bool,
}

impl ChainTotals {
    /// The number of block `i` of `chunk`, which must follow the block of the call before.
    pub fn follow(&mut self, path: &Path, chunk: &Chunk, i: usize) -> Result<u64, Error> {
        let unwritable = |expected: String, found: String| Error::Unwritable {
            path: path.to_path_buf(),
            expected,
            found,
        };
        let (number, difficulty) = number_and_difficulty(chunk.headers.get(i))
            .map_err(|error| unwritable("a header".into(), error.to_string()))?;
        if let Some(next) = self.next.filter(|next| *next != number) {
            return Err(unwritable(format!("block {next}"), format!("block {number}")));
        }
        self.next = number.checked_add(1);
        self.has_work = difficulty != [0; 32];
        self.total = match (chunk.total_difficulties.get(i), &self.total) {
            (Some(given), _) => Some(*given),
            (None, Some(total)) => add(total, &difficulty),
            (None, None) if number == 0 => Some(difficulty),
            (None, None) => None,
        };
        Ok(number)
    }

    /// Whether the last block is from before the merge: whether it has a difficulty.
    pub fn has_work(&self) -> bool {
        self.has_work
    }

    /// The total difficulty after the last block. Known when the chain was followed from block 0
    /// or from a block that came with it.
    pub fn total(&self, path: &Path) -> Result<[u8; 32], Error> {
        self.total.ok_or_else(|| Error::Unwritable {
            path: path.to_path_buf(),
            expected: "total difficulties, or a chain from block 0".into(),
            found: "neither".into(),
        })
    }
}

/// The sum of two big-endian numbers; none when it has more than 256 bits.
fn add(a: &[u8; 32], b: &[u8; 32]) -> Option<[u8; 32]> {
    let mut sum = [0; 32];
    let mut carry = 0;
    for i in (0..32).rev() {
        let digit = u16::from(a[i]) + u16::from(b[i]) + carry;
        sum[i] = digit as u8;
        carry = digit >> 8;
    }
    (carry == 0).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_rlp::{OnePass, Write};

    /// A header with seven empty fields, then difficulty and number.
    fn header(number: u64, difficulty: u64) -> Vec<u8> {
        let mut out = OnePass::default();
        out.list(|out| {
            out.raw(&[0x80; FIELDS_BEFORE]);
            out.u64(difficulty);
            out.u64(number);
        });
        out.into_bytes()
    }

    fn chunk(headers: &[(u64, u64)]) -> Chunk {
        let mut chunk = Chunk::new();
        headers.iter().for_each(|(n, d)| chunk.headers.push(&header(*n, *d)));
        chunk
    }

    fn word(n: u64) -> [u8; 32] {
        let mut word = [0; 32];
        word[24..].copy_from_slice(&n.to_be_bytes());
        word
    }

    #[test]
    fn totals_are_sums_from_block_0_or_from_a_given_total() {
        let path = Path::new("x");
        let mut totals = ChainTotals::default();
        let mut blocks = chunk(&[(0, 200), (1, 100)]);
        assert_eq!(totals.follow(path, &blocks, 0).unwrap(), 0);
        assert_eq!(totals.follow(path, &blocks, 1).unwrap(), 1);
        assert_eq!(totals.total(path).unwrap(), word(300));

        blocks.total_difficulties = vec![word(1000)];
        let mut totals = ChainTotals::default();
        totals.follow(path, &blocks, 0).unwrap();
        totals.follow(path, &blocks, 1).unwrap();
        assert_eq!(totals.total(path).unwrap(), word(1100));
    }

    #[test]
    fn a_chain_from_the_middle_without_totals_has_none() {
        let mut totals = ChainTotals::default();
        totals.follow(Path::new("x"), &chunk(&[(5, 1)]), 0).unwrap();
        assert!(matches!(totals.total(Path::new("x")), Err(Error::Unwritable { .. })));
    }

    #[test]
    fn rejects_blocks_out_of_order_and_headers_without_a_number() {
        let mut totals = ChainTotals::default();
        let mut blocks = chunk(&[(5, 1), (7, 1)]);
        blocks.headers.push(&[0xc1, 0x80]);
        totals.follow(Path::new("x"), &blocks, 0).unwrap();
        let error = totals.clone().follow(Path::new("x"), &blocks, 1).unwrap_err();
        assert_eq!(error.to_string(), "x: expected block 6, found block 7");
        assert!(totals.follow(Path::new("x"), &blocks, 2).is_err());
    }

    #[test]
    fn sums_carry_and_do_not_overflow() {
        assert_eq!(add(&word(u64::MAX), &word(1)).map(|s| s[23]), Some(1));
        assert_eq!(add(&[0xff; 32], &word(1)), None);
    }
}
