//! Random programs that use every feature of a fork. Every result of an instruction goes to memory,
//! which ends in storage, a log or the return data.

use super::instructions::{CREATIONS, FUNCTIONS, OF_ADDRESSES, OF_BLOCKS, OF_MEMORY, OF_SLOTS};
use crate::ethereum::assembly::{self, push};
use crate::random::Random;
use blockmill_ethereum::params::Fork;
use blockmill_ethereum::{Address, U256};

/// Bytes of memory that programs use for values.
const MEMORY: u64 = 0x400;
/// Offset of call inputs, after the values.
const INPUTS: u64 = 0x400;
/// Instructions of Amsterdam (EIP-7843, EIP-8024).
const SLOTNUM: u8 = 0x4b;
const DUPN: u8 = 0xe6;
const SWAPN: u8 = 0xe7;
const EXCHANGE: u8 = 0xe8;
/// Gas of a call that does not get all gas.
const CALL_GAS: u64 = 150_000;

/// A program under construction.
pub struct Program<'p> {
    code: Vec<u8>,
    fork: Fork,
    random: &'p mut Random,
    /// Accounts that it may use.
    targets: &'p [Address],
    /// Inputs of precompiled contracts, by their number.
    inputs: &'p [(u16, Vec<u8>)],
}

impl<'p> Program<'p> {
    /// An empty program.
    pub fn new(
        fork: Fork,
        random: &'p mut Random,
        targets: &'p [Address],
        inputs: &'p [(u16, Vec<u8>)],
    ) -> Self {
        Self { code: vec![], fork, random, targets, inputs }
    }

    /// Creation code that runs random instructions and deploys `runtime`.
    pub fn creation(mut self, runtime: &[u8]) -> Vec<u8> {
        let steps = self.random.below(6);
        (0..steps).for_each(|_| self.step());
        // the copied code begins after the next six instructions
        const COPY: usize = 15;
        let (length, start) = (runtime.len() as u16, (self.code.len() + COPY) as u16);
        for (instruction, word) in [(0x61, length), (0x61, start)] {
            self.code.push(instruction);
            self.code.extend(word.to_be_bytes());
        }
        self.code.extend([0x60, 0, 0x39, 0x61]);
        self.code.extend(length.to_be_bytes());
        self.code.extend([0x60, 0, 0xf3]);
        debug_assert_eq!(self.code.len(), usize::from(start));
        self.code.extend(runtime);
        self.code
    }

    /// The code of a contract.
    pub fn runtime(mut self) -> Vec<u8> {
        let steps = 3 + self.random.below(16);
        (0..steps).for_each(|_| self.step());
        self.end();
        self.code
    }

    fn step(&mut self) {
        match self.random.below(if self.fork >= Fork::Amsterdam { 18 } else { 16 }) {
            16 => self.exchange(),
            17 => {
                self.code.push(SLOTNUM);
                self.store_word();
            }
            0..6 => self.function(),
            6..9 => self.slot(),
            9 => self.copy(),
            10 => self.log(),
            11..13 => self.call(),
            13 => self.precompiled(),
            14 => self.create(),
            _ => self.repeat(),
        }
    }

    fn push(&mut self, number: impl Into<u64>) {
        push(&mut self.code, U256::from(number.into()));
    }

    /// A word that is likely to find errors: small, at a boundary, or random.
    fn word(&mut self) {
        let word = match self.random.below(8) {
            0 => U256::ZERO,
            1 => U256::ONE,
            2 => U256::MAX,
            3 => U256::ONE << 255,
            4 => U256::MAX >> 1,
            5 => U256::from(self.random.below(300)),
            6 => U256::from(self.random.draw()),
            _ => {
                let mut bytes = [0; 32];
                self.random.fill(&mut bytes);
                U256::from_be_bytes(bytes)
            }
        };
        push(&mut self.code, word);
    }

    fn target(&mut self) -> Address {
        match self.random.below(12) {
            0 => {
                let mut address = [0; 20];
                self.random.fill(&mut address);
                address
            }
            1 => {
                let mut address = [0; 20];
                address[19] = self.random.below(20) as u8;
                address
            }
            _ => self.targets[self.random.below(self.targets.len() as u64) as usize],
        }
    }

    fn push_target(&mut self) {
        let target = self.target();
        push(&mut self.code, U256::from_be_slice(&target));
    }

    /// Stores the top word in memory.
    fn store_word(&mut self) {
        let place = self.random.below(MEMORY - 32);
        self.push(place);
        self.code.push(0x52);
    }

    /// A random instruction that pushes a word.
    fn function(&mut self) {
        let at = self.random.below(FUNCTIONS.len() as u64) as usize;
        let assembly::Instruction { byte: instruction, takes: words, since, .. } = FUNCTIONS[at];
        if self.fork < since {
            return self.keep_gas();
        }
        if OF_ADDRESSES.contains(&instruction) {
            self.push_target();
        } else if instruction == OF_BLOCKS {
            let back = self.random.below(300);
            self.push(back);
            self.code.extend([0x43, 0x03]); // number less that
        } else if instruction == OF_MEMORY {
            let place = self.random.below(MEMORY);
            self.push(place);
        } else if OF_SLOTS.contains(&instruction) {
            let slot = self.random.below(8);
            self.push(slot);
        } else {
            (0..words).for_each(|_| self.word());
        }
        self.code.push(instruction);
        self.store_word();
    }

    /// Copies or exchanges words that are deep in the stack (EIP-8024), and stores the top one.
    fn exchange(&mut self) {
        const WORDS: u64 = 20;
        (0..WORDS).for_each(|word| self.push(word));
        // the 17th word to the 19th; or the second word and one of the third to the 17th
        let (instruction, immediate) = match self.random.below(3) {
            0 => (DUPN, 0x80 + self.random.below(3)),
            1 => (SWAPN, 0x80 + self.random.below(3)),
            _ => (EXCHANGE, 0x80 + self.random.below(15)),
        };
        self.code.extend([instruction, immediate as u8]);
        self.store_word();
        let left = WORDS - u64::from(instruction != DUPN);
        self.code.extend((0..left).map(|_| assembly::POP));
    }

    fn keep_gas(&mut self) {
        self.code.push(0x5a);
        self.store_word();
    }

    /// Changes a slot, or a transient one: to 0, to a word, or to the hash of memory.
    fn slot(&mut self) {
        match self.random.below(4) {
            0 => self.push(0u8),
            1 => self.word(),
            _ => self.hash(),
        }
        let slot = self.random.below(8);
        self.push(slot);
        let transient = self.fork >= Fork::Cancun && self.random.below(4) == 0;
        self.code.push(if transient { 0x5d } else { 0x55 });
    }

    fn hash(&mut self) {
        let bytes = self.random.below(MEMORY);
        self.push(bytes);
        self.push(0u8);
        self.code.push(0x20);
    }

    /// Copies input, code, another account's code, or memory; or sets one byte.
    fn copy(&mut self) {
        let numbers = [(); 3].map(|()| self.random.below(200));
        let kind = self.random.below(5);
        if kind == 4 {
            self.word();
            self.push(numbers[0]);
            return self.code.push(0x53);
        }
        numbers.iter().for_each(|number| self.push(*number));
        match kind {
            0 => self.code.push(0x37),
            1 => self.code.push(0x39),
            2 if self.fork >= Fork::Cancun => self.code.push(0x5e),
            _ => {
                self.push_target();
                self.code.push(0x3c);
            }
        }
    }

    fn log(&mut self) {
        let topics = self.random.below(5) as u8;
        (0..topics).for_each(|_| self.word());
        let bytes = self.random.below(100);
        self.push(bytes);
        self.push(0u8);
        self.code.push(0xa0 + topics);
    }

    /// Calls an account with a random call instruction.
    fn call(&mut self) {
        let target = self.target();
        let bytes = self.random.below(100);
        self.call_of(U256::from_be_slice(&target), bytes);
    }

    /// Calls a precompiled contract with a valid input.
    fn precompiled(&mut self) {
        let at = self.random.below(self.inputs.len() as u64) as usize;
        let (number, input) = &self.inputs[at];
        for (i, chunk) in input.chunks(32).enumerate() {
            let mut word = [0; 32];
            word[..chunk.len()].copy_from_slice(chunk);
            push(&mut self.code, U256::from_be_bytes(word));
            push(&mut self.code, U256::from(INPUTS + 32 * i as u64));
            self.code.push(0x52);
        }
        self.call_of(U256::from(*number), input.len() as u64);
    }

    fn call_of(&mut self, target: U256, bytes: u64) {
        let instruction = match self.random.below(6) {
            0 => 0xf2,
            1 if self.fork >= Fork::Homestead => 0xf4,
            2 if self.fork >= Fork::Byzantium => 0xfa,
            _ => 0xf1,
        };
        let place = self.random.below(MEMORY);
        self.push(64u8); // bytes of the answer
        self.push(place);
        self.push(bytes);
        self.push(INPUTS);
        if matches!(instruction, 0xf1 | 0xf2) {
            let value = self.random.below(8).saturating_sub(5);
            self.push(value);
        }
        push(&mut self.code, target);
        // before EIP-150 a call cannot get all gas
        if self.fork >= Fork::TangerineWhistle && self.random.below(2) == 0 {
            self.code.push(0x5a);
        } else {
            self.push(CALL_GAS);
        }
        self.code.push(instruction);
        self.store_word();
        if self.fork >= Fork::Byzantium && self.random.below(3) == 0 {
            // copy the return data to memory
            self.code.extend([0x3d, 0x60, 0, 0x60, 0x40, 0x3e]);
        }
    }

    /// Creates a contract with a short code and calls it.
    fn create(&mut self) {
        let code = CREATIONS[self.random.below(CREATIONS.len() as u64) as usize];
        let mut word = [0; 32];
        word[..code.len()].copy_from_slice(code);
        push(&mut self.code, U256::from_be_bytes(word));
        self.push(INPUTS);
        self.code.push(0x52);
        let salted = self.fork >= Fork::Petersburg && self.random.below(2) == 0;
        if salted {
            let salt = self.random.below(3);
            self.push(salt);
        }
        let value = self.random.below(8).saturating_sub(6);
        self.push(code.len() as u64);
        self.push(INPUTS);
        self.push(value);
        self.code.push(if salted { 0xf5 } else { 0xf0 });
        self.code.push(0x80);
        self.store_word();
        // call(CALL_GAS, address, 0, 0, 0, 0, 0)
        (0..5).for_each(|_| self.push(0u8));
        self.code.push(0x85);
        self.push(CALL_GAS);
        self.code.extend([0xf1, 0x50, 0x50]);
    }

    /// Repeats an instruction a few times.
    fn repeat(&mut self) {
        let times = 1 + self.random.below(4);
        self.push(times);
        let place = self.code.len() as u16;
        self.code.push(0x5b);
        self.function();
        self.slot();
        // decrement, and repeat unless zero
        self.code.extend([0x60, 1, 0x90, 0x03, 0x80, 0x61]);
        self.code.extend(place.to_be_bytes());
        self.code.extend([0x57, 0x50]);
    }

    /// Stops, returns, fails, or destroys the contract.
    fn end(&mut self) {
        match self.random.below(12) {
            0 => self.code.push(0xfe),
            1 => {
                self.push_target();
                self.code.push(0xff);
            }
            2 => self.code.extend([0x30, 0xff]), // what it owns goes to itself
            3..5 => {
                self.push(64u8);
                self.push(0u8);
                self.code.push(0xfd);
            }
            5 => self.code.extend([0x60, 3, 0x56]), // mostly no place to jump to
            6..9 => {
                self.hash();
                self.push(0u8);
                self.code.extend([0x55, 0x00]);
            }
            _ => {
                self.push(96u8);
                self.push(0u8);
                self.code.push(0xf3);
            }
        }
    }
}
