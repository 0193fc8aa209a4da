//! The command line: `-case CASE -op OP [-samples N] [-min-ms M]`.

use std::str::FromStr;
use std::time::Duration;

use crate::measure::Sampling;

/// Most objects in a list, so that a mistyped number cannot fill the memory.
const MOST_OBJECTS: usize = 1_000_000;
/// Most samples of a run.
const MOST_SAMPLES: usize = 100_000;
/// Longest sample in milliseconds.
const LONGEST_SAMPLE: u64 = 60_000;

/// What is encoded or hashed.
#[derive(Clone, Copy)]
pub enum Case {
    /// The reference transaction.
    Transaction,
    /// The reference header.
    Header,
    /// The list of so many transactions.
    Transactions(usize),
    /// A block of so many transactions.
    Block(usize),
    /// So many headers; they are hashed one by one only.
    Headers(usize),
}

/// What is done with it.
#[derive(Clone, Copy)]
pub enum Op {
    /// Something with the object as a whole.
    Whole(Whole),
    /// Hash every object of a list.
    HashEach,
}

/// What is done with an object as a whole.
#[derive(Clone, Copy)]
pub enum Whole {
    /// Encode into a fresh buffer.
    Encode,
    /// Encode into a buffer that is kept.
    EncodeReused,
    /// Encode into a fresh buffer and hash it.
    Hash,
    /// Encode into a buffer that is kept and hash it.
    HashReused,
}

/// What a run does.
pub struct Arguments {
    /// The case as it was written.
    pub case_name: String,
    pub case: Case,
    pub op: Op,
    pub sampling: Sampling,
}

impl Arguments {
    /// Reads the arguments that follow the program's name.
    ///
    /// # Errors
    /// A sentence that names the argument and says what is wrong with it.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut case_name, mut op_name, mut samples, mut min_ms) = (None, None, 21, 5);
        while let Some(flag) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{flag}: a value must follow"));
            match &*flag {
                "-case" => case_name = Some(value()?),
                "-op" => op_name = Some(value()?),
                "-samples" => samples = number(&flag, &value()?, 1, MOST_SAMPLES)?,
                "-min-ms" => min_ms = number(&flag, &value()?, 0, LONGEST_SAMPLE)?,
                _ => return Err(format!("{flag}: no such flag")),
            }
        }
        let case_name = case_name.ok_or("-case is missing")?;
        let op_name = op_name.ok_or("-op is missing")?;
        let case = parse_case(&case_name)?;
        let op = parse_op(&op_name)?;
        let sampling = Sampling { samples, at_least: Duration::from_millis(min_ms) };
        Ok(Self { case_name, case, op, sampling })
    }
}

fn parse_case(name: &str) -> Result<Case, String> {
    let count = |digits| number("-case", digits, 1, MOST_OBJECTS);
    match name.split_once('-') {
        None if name == "transaction" => Ok(Case::Transaction),
        None if name == "header" => Ok(Case::Header),
        Some(("transactions", digits)) => Ok(Case::Transactions(count(digits)?)),
        Some(("block", digits)) => Ok(Case::Block(count(digits)?)),
        Some(("headers", digits)) => Ok(Case::Headers(count(digits)?)),
        _ => Err(format!(
            "-case {name}: one of transaction, header, transactions-N, block-N, headers-N expected"
        )),
    }
}

fn parse_op(name: &str) -> Result<Op, String> {
    match name {
        "encode" => Ok(Op::Whole(Whole::Encode)),
        "encode-reused" => Ok(Op::Whole(Whole::EncodeReused)),
        "hash" => Ok(Op::Whole(Whole::Hash)),
        "hash-reused" => Ok(Op::Whole(Whole::HashReused)),
        "hash-each" => Ok(Op::HashEach),
        _ => Err(format!(
            "-op {name}: one of encode, encode-reused, hash, hash-reused, hash-each expected"
        )),
    }
}

fn number<N: FromStr + PartialOrd + std::fmt::Display>(
    flag: &str,
    digits: &str,
    least: N,
    most: N,
) -> Result<N, String> {
    match digits.parse() {
        Ok(n) if least <= n && n <= most => Ok(n),
        _ => Err(format!("{flag}: {digits}: a number from {least} to {most} expected")),
    }
}
