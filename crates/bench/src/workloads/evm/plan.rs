//! A plan: programs, and how the times of operations follow from the times of programs.
//!
//! Everything is linear. The time of an operation is the time of its program minus the time of the
//! program without it, which has as many rounds and pops the operands of the operation; so as many
//! POPs are added as these are more. A POP is what `1 pop` takes more than a push, and a push what
//! a contract of a thousand of them takes more than one that stops.

use super::accounts::{self, FILLED, FILLS, LARGEST_CODE, STOPS};
use super::machine::{Call, Machine};
use super::program::{AROUND, Body};
use super::unit::{Counted, Unit};
use anyhow::{Context, Result, bail, ensure};
use blockmill_ethereum::Address;
use blockmill_ethereum::params::Fork;
use blockmill_ethereum::params::genesis::GenesisAccount;
use blockmill_generate::ethereum::assembly::POP;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Call data without a meaning: bytes of it.
const INPUT: usize = 256;
/// Gas of a POP.
const POP_GAS: f64 = 2.0;

/// What may be spent on a program.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Gas of its transaction.
    pub gas: u64,
    /// Bytes of its code.
    pub code: usize,
}

/// See the module's text.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Plan {
    /// Each is run by itself.
    pub programs: Vec<Program>,
    /// The operations to measure.
    pub operations: Vec<Operation>,
}

/// A contract that is called.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Program {
    /// The address of its code, in hexadecimal.
    pub to: String,
    /// Call data, in hexadecimal.
    pub input: String,
    /// Blobs of the transaction.
    pub blobs: u8,
    /// What the transaction uses.
    pub gas_used: u64,
}

/// An operation whose time is measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Operation {
    /// Such as `SLOAD cold`; a sequence is `ADD + MUL`.
    pub name: String,
    /// The program that executes it.
    pub program: usize,
    /// The one that does all else of it; none of several operations.
    pub baseline: Option<usize>,
    /// How often the program executes it.
    pub times: u64,
    /// Gas of one.
    pub gas: f64,
    /// Programs, and what the time of one operation has of the time of each.
    pub terms: Vec<(usize, f64)>,
    /// What is executed: an instruction's byte, or the address of a contract; of the first one of
    /// several.
    pub executes: String,
}

impl Operation {
    /// Its time, from the times of the programs.
    pub fn time(&self, of: impl Fn(usize) -> f64) -> f64 {
        self.terms.iter().map(|(program, share)| of(*program) * share).sum()
    }
}

/// Builds a plan.
pub struct Planner {
    machine: Machine,
    limits: Limits,
    slots: u64,
    plan: Plan,
    /// The accounts that the machine and the peers begin with.
    pub accounts: Vec<GenesisAccount>,
    known: HashMap<(Body, usize, u32), usize>,
    /// Gas of one round of a loop without a body.
    round: u64,
    /// What a POP takes.
    pop: Vec<(usize, f64)>,
}

/// A program of a body, with what one repetition of the body uses.
struct Made {
    program: usize,
    times: usize,
    rounds: u32,
    gas: u64,
}

impl Made {
    fn executions(&self) -> f64 {
        self.times as f64 * f64::from(self.rounds)
    }
}

impl Planner {
    /// Under the rules of a fork.
    ///
    /// # Errors
    /// A fork that the machine does not know.
    pub fn new(fork: Fork, limits: Limits) -> Result<Self> {
        // a slot that is warm costs less, but before Berlin no program goes through them
        let slots = if fork >= Fork::Berlin { limits.gas / 2_100 } else { 8 };
        let contracts = if fork >= Fork::Berlin { limits.gas / 2_600 + 16 } else { 0 };
        let accounts = accounts::all(fork, contracts)?;
        let machine = Machine::new(fork, &accounts)?;
        let (plan, known, pop) = (Plan::default(), HashMap::new(), vec![]);
        let mut planner = Self { machine, limits, slots, plan, accounts, known, round: 0, pop };
        let empty = Body::empty();
        planner.round = planner.gas_of(&empty, 0, 2)? - planner.gas_of(&empty, 0, 1)?;
        Ok(planner)
    }

    /// The plan, and the accounts.
    pub fn finish(self) -> (Plan, Vec<GenesisAccount>) {
        (self.plan, self.accounts)
    }

    /// Adds an operation and its baseline, which is subtracted.
    ///
    /// # Errors
    /// Returns an error if a program fails, or its gas differs between rounds.
    pub fn add(&mut self, unit: &Unit) -> Result<()> {
        self.try_add(unit).with_context(|| unit.name.clone())
    }

    fn try_add(&mut self, unit: &Unit) -> Result<()> {
        let pop = self.pop()?;
        let ours = self.fitted(&Body::of(&[unit]))?;
        let without = Body::of_baseline(unit);
        let gas = self.gas(&without)? as i64;
        let baseline = self.program(&without, ours.times, ours.rounds)?;
        let each = 1.0 / ours.executions();
        let pops = f64::from(unit.pops);
        let own = [(ours.program, each), (baseline, -each)].into_iter();
        let pushes = pop.iter().map(|(program, share)| (*program, share * pops));
        let (terms, gas) = match unit.counted {
            Counted::Instruction(POP) => (pop, POP_GAS),
            _ => (own.chain(pushes).collect(), (ours.gas as i64 - gas) as f64 + POP_GAS * pops),
        };
        self.plan.operations.push(Operation {
            name: unit.name.clone(),
            program: ours.program,
            baseline: Some(baseline),
            times: ours.executions() as u64,
            gas,
            terms: together(terms),
            executes: executes(unit),
        });
        Ok(())
    }

    /// Adds a sequence of operations, with everything that they need.
    ///
    /// # Errors
    /// As [`Planner::add`].
    pub fn add_all(&mut self, units: &[&Unit]) -> Result<()> {
        let names: Vec<&str> = units.iter().map(|unit| unit.name.as_str()).collect();
        let name = names.join(" + ");
        let made = self.fitted(&Body::of(units)).with_context(|| name.clone())?;
        self.plan.operations.push(Operation {
            name,
            program: made.program,
            baseline: None,
            times: made.executions() as u64,
            gas: made.gas as f64,
            terms: vec![(made.program, 1.0 / made.executions())],
            executes: units.first().map_or_else(String::new, |unit| executes(unit)),
        });
        Ok(())
    }

    /// What a POP takes: see the module's text.
    fn pop(&mut self) -> Result<Vec<(usize, f64)>> {
        if self.pop.is_empty() {
            let both = self.fitted(&Body::of(&[&Unit::new("", "POP", "1 pop", "", 0)?]))?;
            let call = |to: Address| {
                let to = accounts::number(&to);
                Unit::new("", "CALL", &format!("0 0 0 0 0 {to} 0xffff call pop"), "", 0)
            };
            let fills = self.fitted(&Body::of(&[&call(FILLS)?]))?;
            let stops = Body::of(&[&call(STOPS)?]);
            let stops = self.program(&stops, fills.times, fills.rounds)?;
            let push = 1.0 / fills.executions() / f64::from(FILLED + 1);
            self.pop = vec![
                (both.program, 1.0 / both.executions()),
                (fills.program, -push),
                (stops, push),
            ];
        }
        Ok(self.pop.clone())
    }

    /// The program of a body that uses as much gas as it may.
    fn fitted(&mut self, body: &Body) -> Result<Made> {
        let gas = self.gas(body)?;
        let fixed = self.gas_of(body, body.step, 1)? - gas * body.step as u64;
        let left = self.limits.gas.saturating_sub(fixed);
        let room = self.limits.code.min(LARGEST_CODE).saturating_sub(AROUND);
        let most = (room / body.len().max(1)).min((left / gas.max(1)) as usize);
        let times = (most / body.step).max(1) * body.step;
        let rounds = left / (gas * times as u64 + self.round);
        let rounds = u32::try_from(rounds).unwrap_or(u32::MAX).max(1);
        let program = self.program(body, times, rounds)?;
        Ok(Made { program, times, rounds, gas })
    }

    /// What a body uses each time.
    fn gas(&mut self, body: &Body) -> Result<u64> {
        // a refund, or the least that call data costs (EIP-7623, EIP-7976), may hide the first
        // rounds; of costly ones a transaction has room for few
        let mut found = vec![];
        for scale in [1u32, 64, 1_024, 4, 2] {
            let mut gas = |rounds| self.gas_of(body, body.step, rounds * scale);
            let (Ok(one), Ok(two), Ok(three)) = (gas(1), gas(2), gas(3)) else { continue };
            if two > one && three - two == two - one {
                let round = (two - one) / u64::from(scale);
                let all = round.checked_sub(self.round).context("a round without gas")?;
                return Ok(all / body.step as u64);
            }
            found = vec![one, two, three];
        }
        bail!("rounds cost {found:?} gas: not the same each time")
    }

    /// Gas of a program that is not kept.
    fn gas_of(&mut self, body: &Body, times: usize, rounds: u32) -> Result<u64> {
        const ASIDE: Address = [0xa5; 20];
        let account = accounts::program(ASIDE, body.program(times, rounds)?, self.slots_of(body));
        self.machine.put(&account)?;
        self.run(body, ASIDE)
    }

    /// Gas of a program that is there.
    fn run(&mut self, body: &Body, to: Address) -> Result<u64> {
        let input = input(body);
        let call = Call { to, input: &input, blobs: body.setup.blobs };
        let (outcome, _) = self.machine.execute(&call.transaction())?;
        ensure!(outcome.success, "the program fails");
        Ok(outcome.gas_used)
    }

    fn slots_of(&self, body: &Body) -> u64 {
        if body.setup.slots { self.slots } else { 0 }
    }

    /// A program that is kept: its index.
    fn program(&mut self, body: &Body, times: usize, rounds: u32) -> Result<usize> {
        let key = (body.clone(), times, rounds);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let index = self.plan.programs.len();
        let to = accounts::of_program(index);
        let account = accounts::program(to, body.program(times, rounds)?, self.slots_of(body));
        self.machine.put(&account)?;
        let gas_used = self.run(body, to)?;
        self.accounts.push(account);
        self.plan.programs.push(Program {
            to: hex(&to),
            input: hex(&input(body)),
            blobs: body.setup.blobs,
            gas_used,
        });
        self.known.insert(key, index);
        Ok(index)
    }
}

/// Terms of one program added up.
fn together(terms: Vec<(usize, f64)>) -> Vec<(usize, f64)> {
    let mut all: Vec<(usize, f64)> = vec![];
    for (program, share) in terms {
        match all.iter_mut().find(|(known, _)| *known == program) {
            Some((_, sum)) => *sum += share,
            None => all.push((program, share)),
        }
    }
    all.retain(|(_, share)| *share != 0.0);
    all
}

/// What a body is called with.
fn input(body: &Body) -> Vec<u8> {
    let words = |at: u8| blockmill_hashes::keccak256(&[at]);
    let any = || (0..INPUT / 32).flat_map(|at| words(at as u8)).collect();
    body.setup.input.clone().unwrap_or_else(any)
}

fn executes(unit: &Unit) -> String {
    match unit.counted {
        Counted::Instruction(byte) => hex(&[byte]),
        Counted::Contract(address) => hex(&address),
    }
}

/// Bytes in hexadecimal.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
