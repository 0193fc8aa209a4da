//! Verifies the solution of a signet block (BIP325): it spends a coin of the challenge script.

use super::library::Library;
use super::pushes::Operations;
use super::spend::{compact_size, compact_size_length};
use super::{Flags, Reason};
use crate::Hash;
use crate::body::merkle::Merkle;
use crate::types::Block;
use blockmill_hashes::{ManySha256, sha256d};
use blockmill_verdict::Span;
use std::{fmt, iter};

/// Prefix of the solution in its push.
const HEADER: [u8; 4] = [0xec, 0xc7, 0xda, 0xa2];
/// Prefix of the output script with the witness commitment (BIP141).
const COMMITMENT: [u8; 6] = [0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed];
const COMMITMENT_LENGTH: usize = 38;
/// The rules of BIP325, which do not depend on the height.
const FLAGS: Flags = Flags::P2SH.with(Flags::WITNESS).with(Flags::DERSIG).with(Flags::NULLDUMMY);

/// The reason why the solution of a block is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolutionFault {
    /// The coinbase has no witness commitment, which contains the solution.
    NoCommitment,
    /// The solution is not exactly an input script and a witness.
    Form,
    /// It does not satisfy the challenge.
    Script(Reason),
}

impl fmt::Display for SolutionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCommitment => {
                f.write_str("expected a witness commitment with the signet solution, found none")
            }
            Self::Form => f.write_str(
                "expected a signet solution of an input script and a witness, found another form",
            ),
            Self::Script(reason) => write!(f, "signet solution: {reason}"),
        }
    }
}

impl std::error::Error for SolutionFault {}

/// Checks the solution in `block` against the `challenge` of the network. Not for the genesis
/// block, which has no solution.
///
/// # Errors
/// Returns [`SolutionFault`] if the solution is missing or invalid.
pub fn check_solution(block: &Block, challenge: &[u8]) -> Result<(), SolutionFault> {
    let (to_spend, solution) = to_spend(block, challenge).ok_or(SolutionFault::NoCommitment)?;
    let to_sign = to_sign(&sha256d(&to_spend), &solution).ok_or(SolutionFault::Form)?;
    Library::read_encoding(&to_sign, iter::once((0, challenge)))
        .and_then(|library| library.verify(0, FLAGS))
        .map_err(SolutionFault::Script)
}

/// The transaction that creates the coin of the challenge, from the block without its solution; and
/// the solution. `None` if the coinbase has no witness commitment.
fn to_spend(block: &Block, challenge: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let coinbase = block.transactions.first()?;
    let all = coinbase.outputs.start as usize..coinbase.outputs.end as usize;
    let outputs = block.outputs.get(all)?;
    let bytes = |span: Span| block.raw.get(span.start as usize..span.end as usize);
    let commitment = outputs.iter().rev().map(|output| output.script).find(|script| {
        bytes(*script).is_some_and(|script| {
            script.len() >= COMMITMENT_LENGTH && script.starts_with(&COMMITMENT)
        })
    })?;
    let (script, solution) = without_solution(bytes(commitment)?);

    let length = u64::from(commitment.end - commitment.start);
    let before = commitment.start.checked_sub(compact_size_length(length) as u32)?;
    let mut stripped = coinbase.version.to_le_bytes().to_vec();
    stripped.extend_from_slice(bytes(coinbase.inputs_span)?);
    stripped.extend_from_slice(bytes(Span { end: before, ..coinbase.outputs_span })?);
    add_sized(&mut stripped, &script);
    stripped.extend_from_slice(bytes(Span { start: commitment.end, ..coinbase.outputs_span })?);
    stripped.extend_from_slice(&coinbase.lock_time.to_le_bytes());
    let mut txids = vec![sha256d(&stripped)];
    txids.extend_from_slice(block.txids.get(1..)?);
    let root = Merkle::new(ManySha256::detect()).root(&txids).hash;

    // version 0, one input without an outpoint
    let mut out = vec![0, 0, 0, 0, 1];
    out.extend_from_slice(&[0; 32]);
    out.extend_from_slice(&[0xff; 4]);
    // its script: OP_0 and a push of 72 bytes, the block's version, parent, root and time
    out.extend_from_slice(&[74, 0, 72]);
    out.extend_from_slice(block.raw.get(..36)?);
    out.extend_from_slice(&root);
    out.extend_from_slice(block.raw.get(68..72)?);
    // sequence 0, one output, amount 0, the challenge, lock time 0
    out.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    add_sized(&mut out, challenge);
    out.extend_from_slice(&[0; 4]);
    Some((out, solution))
}

/// The transaction that spends the coin: `solution` is its input script and its witness. `None` if
/// it is malformed.
fn to_sign(to_spend: &Hash, solution: &[u8]) -> Option<Vec<u8>> {
    let mut rest = solution;
    let script = sized(&mut rest)?;
    let witness = rest;
    for _ in 0..number(&mut rest)? {
        sized(&mut rest)?;
    }
    rest.is_empty().then_some(())?;
    let has_witness = witness != [0];
    let mut out = vec![0; 4];
    out.extend_from_slice(if has_witness { &[0, 1, 1][..] } else { &[1] });
    out.extend_from_slice(to_spend);
    out.extend_from_slice(&[0; 4]);
    add_sized(&mut out, script);
    // sequence 0; one output of nothing to OP_RETURN
    out.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x6a]);
    if has_witness {
        out.extend_from_slice(witness);
    }
    out.extend_from_slice(&[0; 4]);
    Some(out)
}

/// The script of the commitment with the push of the solution truncated to its prefix, and the
/// solution: an empty input script and witness if there is none.
fn without_solution(script: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut replaced, mut solution) = (Vec::new(), None);
    for (opcode, pushed) in Operations(script) {
        let mut kept = pushed;
        if solution.is_none() && pushed.len() > HEADER.len() && pushed.starts_with(&HEADER) {
            solution = Some(pushed[HEADER.len()..].to_vec());
            kept = &pushed[..HEADER.len()];
        }
        match kept.len() {
            0 => replaced.push(opcode),
            length @ 1..76 => replaced.push(length as u8),
            length @ 76..0x100 => replaced.extend_from_slice(&[76, length as u8]),
            length @ 0x100..0x1_0000 => {
                replaced.push(77);
                replaced.extend_from_slice(&(length as u16).to_le_bytes());
            }
            length => {
                replaced.push(78);
                replaced.extend_from_slice(&(length as u32).to_le_bytes());
            }
        }
        replaced.extend_from_slice(kept);
    }
    match solution {
        Some(solution) => (replaced, solution),
        None => (script.to_vec(), vec![0, 0]),
    }
}

fn add_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    let (length, count) = compact_size(bytes.len() as u64);
    out.extend_from_slice(&length[..count]);
    out.extend_from_slice(bytes);
}

/// Reads a number in its shortest encoding.
fn number(bytes: &mut &[u8]) -> Option<usize> {
    let first = *bytes.split_off_first()?;
    let width = match first {
        0xfd => 2,
        0xfe => 4,
        0xff => return None,
        small => return Some(small.into()),
    };
    let mut wide = [0; 8];
    wide[..width].copy_from_slice(bytes.split_off(..width)?);
    let number = u64::from_le_bytes(wide);
    (compact_size_length(number) == 1 + width).then_some(number as usize)
}

fn sized<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = number(bytes)?;
    bytes.split_off(..length)
}
