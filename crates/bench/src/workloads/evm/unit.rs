//! Units: pieces of straight code that execute one operation and leave the stack as they found it,
//! so that any of them can follow any other, as long as there is room.

use super::accounts;
use anyhow::{Context, Result};
use blockmill_ethereum::Address;
use blockmill_ethereum::params::Fork;
use blockmill_generate::ethereum::assembly::{INSTRUCTIONS, Instruction, assemble};

/// What a unit executes, and is counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// The instruction of this byte.
    Instruction(u8),
    /// The precompiled contract at this address, which must succeed.
    Contract(Address),
}

/// What a program needs before its loop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Setup {
    /// Code that runs once.
    pub before: Vec<u8>,
    /// Call data, in memory from 0 on; `None` if its bytes do not matter.
    pub input: Option<Vec<u8>>,
    /// Whether the contract has slots that are not 0.
    pub slots: bool,
    /// Blobs of the transaction.
    pub blobs: u8,
}

/// See the module's text.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Such as `SLOAD cold`.
    pub name: String,
    /// The operation, once.
    pub counted: Counted,
    /// Its code.
    pub body: Vec<u8>,
    /// The same without the operation: what else is in the unit.
    pub baseline: Vec<u8>,
    /// How many POPs more than the unit the baseline has.
    pub pops: i32,
    /// Position in both codes of a two-byte address that is relative to their start.
    pub jump: Option<usize>,
    /// What must run before it.
    pub setup: Setup,
}

impl Unit {
    /// A unit of an instruction from two texts in assembly.
    ///
    /// # Errors
    /// Words that mean nothing.
    pub fn new(name: &str, of: &str, body: &str, baseline: &str, pops: i32) -> Result<Self> {
        let known = INSTRUCTIONS.iter().find(|one| one.name() == of);
        let known = known.with_context(|| format!("no instruction {of}"))?;
        Ok(Self {
            name: name.to_owned(),
            counted: Counted::Instruction(known.byte),
            body: assemble(body).with_context(|| name.to_owned())?,
            baseline: assemble(baseline).with_context(|| name.to_owned())?,
            pops,
            jump: None,
            setup: Setup::default(),
        })
    }

    /// The unit of an instruction with these operands, the one on top of the stack last: they are
    /// pushed, and its results are popped. Without the instruction all pushed words are popped.
    ///
    /// # Errors
    /// Words that mean nothing.
    pub fn of(name: &str, instruction: &Instruction, operands: &str) -> Result<Self> {
        let (takes, gives) = (usize::from(instruction.takes), usize::from(instruction.gives));
        let pops = |count| " pop".repeat(count);
        let of = instruction.name();
        let body = format!("{operands} {}{}", of.to_lowercase(), pops(gives));
        let baseline = format!("{operands}{}", pops(takes));
        let pops = i32::from(instruction.takes) - i32::from(instruction.gives);
        Self::new(name, &of, &body, &baseline, pops)
    }

    /// The call of a precompiled contract with the first `size` bytes of the memory; the baseline
    /// calls an account without code.
    ///
    /// # Errors
    /// None that these texts could cause.
    pub fn of_contract(
        name: String,
        contract: Address,
        size: usize,
        fork: Fork,
        input: Option<Vec<u8>>,
    ) -> Result<Self> {
        let (value, call, gas) = match fork {
            _ if fork >= Fork::Byzantium => ("", "staticcall", "0xffffff"),
            // before EIP-150 no more gas can be given than there is
            _ => ("0 ", "call", "0x7a120"),
        };
        let text = |to: Address| {
            let to = accounts::number(&to);
            assemble(&format!("0 0 {size} 0 {value}{to} {gas} {call} pop"))
        };
        Ok(Self {
            name,
            counted: Counted::Contract(contract),
            body: text(contract)?,
            baseline: text(accounts::EMPTY)?,
            pops: 0,
            jump: None,
            setup: Setup { input, ..Setup::default() },
        })
    }

    /// The same with what is to be done before, in assembly.
    ///
    /// # Errors
    /// Words that mean nothing.
    pub fn after(mut self, before: &str) -> Result<Self> {
        self.setup.before = assemble(before)?;
        Ok(self)
    }

    /// Whether the stack returns to its state only after several of it, as with SWAP.
    pub fn turns(&self) -> bool {
        matches!(self.counted, Counted::Instruction(0x90..=0x9f | 0xe7 | 0xe8))
    }
}
