//! Programs: a loop over as many units in sequence as fit into a code.

use super::accounts::{self, WARM};
use super::instructions::AT;
use super::unit::{Counted, Setup, Unit};
use anyhow::{Context, Result};
use blockmill_generate::ethereum::assembly::{JUMPDEST, assemble};
use std::fmt::Write;

/// Words below the loop counter: as many as SWAP16 and DUP16 reach.
const WORDS: usize = 17;
/// After so many turns of three SWAPs a stack is as it was: the order of each product of up to
/// three transpositions divides it.
const TURNS: usize = 12;
/// Bytes of the loop, and of what is before it without what units add.
pub const AROUND: usize = 512;

/// Parts of a program that are repeated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Body {
    /// What is before the loop.
    pub setup: Setup,
    /// Codes, each with the position of an address that is relative to its start.
    pub parts: Vec<(Vec<u8>, Option<usize>)>,
    /// How often the parts must be repeated at least.
    pub step: usize,
}

impl Body {
    /// The sequence of units.
    pub fn of(units: &[&Unit]) -> Self {
        let turns = units.iter().any(|unit| unit.turns());
        let parts = units.iter().map(|unit| (unit.body.clone(), unit.jump)).collect();
        Self { setup: setup(units), parts, step: if turns { TURNS } else { 1 } }
    }

    /// Of their baselines.
    pub fn of_baseline(unit: &Unit) -> Self {
        let mut body = Self::of(&[unit]);
        body.parts = vec![(unit.baseline.clone(), unit.jump)];
        if matches!(unit.counted, Counted::Contract(_)) {
            // nobody reads it, and it may cost more than all the rounds (EIP-7623)
            body.setup.input = None;
        }
        body
    }

    /// Nothing but a loop.
    pub fn empty() -> Self {
        Self { setup: Setup::default(), parts: vec![], step: 1 }
    }

    /// Bytes of the parts.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|(code, _)| code.len()).sum()
    }

    /// A program with this many repetitions of the parts, in a loop of this many rounds.
    ///
    /// # Errors
    /// Returns an error if the code is too long for two-byte positions.
    pub fn program(&self, times: usize, rounds: u32) -> Result<Vec<u8>> {
        let mut text = String::new();
        for address in WARM {
            // writing into a string cannot fail
            let _ = write!(text, "{} balance pop ", accounts::number(&address));
        }
        let _ = write!(text, "0 {AT} mstore calldatasize 0 0 calldatacopy ");
        let mut code = assemble(&text)?;
        code.extend(&self.setup.before);
        let words: Vec<String> = (1..=WORDS).map(|word| word.to_string()).collect();
        code.extend(assemble(&words.join(" "))?);
        // of four bytes, so that all programs of a body are as long
        code.push(0x63);
        code.extend(rounds.to_be_bytes());
        let start = u16::try_from(code.len()).context("a code before the loop")?;
        code.push(JUMPDEST);
        for _ in 0..times {
            for (part, jump) in &self.parts {
                let begin = code.len();
                code.extend(part);
                let Some(at) = jump.map(|jump| begin + jump) else { continue };
                let place = usize::from(u16::from_be_bytes([code[at], code[at + 1]]));
                let place = u16::try_from(place + begin).context("a place to jump to")?;
                code[at..at + 2].copy_from_slice(&place.to_be_bytes());
            }
        }
        code.extend(assemble("1 swap1 sub dup1")?);
        code.push(0x61);
        code.extend(start.to_be_bytes());
        code.extend(assemble("jumpi stop")?);
        Ok(code)
    }
}

/// What all the units need together; of several that need something, what the last one needs.
fn setup(units: &[&Unit]) -> Setup {
    let mut all = Setup::default();
    for Setup { before, input, slots, blobs } in units.iter().map(|unit| &unit.setup) {
        all.before.extend(before);
        all.input = input.clone().or(all.input);
        all.slots |= slots;
        all.blobs = all.blobs.max(*blobs);
    }
    all
}
