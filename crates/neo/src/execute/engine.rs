//! One execution: a machine, its state and its results (`interop.Context`).

mod calls;
mod contracts;
mod outcome;
mod satisfy;

use hashbrown::HashMap;
use std::sync::Arc;

use super::{
    chain_view::ChainView,
    contract::{Contract, Method, ParamType},
    interop::{self, syscalls},
    native::{self, Natives},
    vm::{Entries, Fault, Item, Load, PICO, Pause, Rules, Script, Vm, serialize},
};
use crate::{
    params::{Hardfork, Protocol},
    state::{State, Value},
    types::{Block, Transaction, UInt160},
};

pub use calls::CallOptions;
pub use contracts::Contracts;
pub use outcome::{Event, Execution, Notification, Trigger, flags};
pub use satisfy::{SharedContext, WitnessError};

/// Limit of notifications of a transaction, since Echidna.
const MAX_NOTIFICATIONS: usize = 512;

/// Runs after a contract that a native contract called has returned.
pub type Continuation = Box<dyn FnOnce(&mut Engine<'_>) -> Result<(), Fault>>;

/// What the host does when the script of a call is unloaded.
struct Call {
    /// The call has its own layer of the state, for a rollback; the number of notifications at its
    /// start.
    wrapped: Option<usize>,
    continuation: Option<Continuation>,
    /// The caller is a native contract.
    from_native: bool,
}

/// What all executions of a chain share.
pub struct Chain {
    /// The network.
    pub protocol: Protocol,
    /// The native contracts as of each hardfork.
    pub natives: Natives,
    /// Lookups of earlier blocks.
    pub view: ChainView,
}

/// What the executions of a block share.
pub struct Shared<'a> {
    /// The chain.
    pub chain: &'a Chain,
    /// The state.
    pub state: &'a mut State,
    /// The cache of contracts.
    pub contracts: &'a mut Contracts,
    /// The block.
    pub block: &'a Block,
}

/// One execution.
pub struct Engine<'a> {
    /// The machine.
    pub vm: &'a mut Vm,
    /// The chain.
    pub chain: &'a Chain,
    /// The state.
    pub state: &'a mut State,
    contracts: &'a mut Contracts,
    /// The executed block; during verification of a witness, the last executed one.
    pub block: &'a Block,
    /// The transaction, if one is executed or verified.
    pub transaction: Option<Transaction<'a>>,
    /// The trigger.
    pub trigger: Trigger,
    /// Notifications so far.
    pub events: Vec<Event>,
    /// Number of calls of each contract.
    pub invocations: HashMap<[u8; 20], u32>,
    /// The fee of a byte of storage, in units of 10^-12.
    pub storage_fee: u64,
    /// The block counts as stored.
    pub persisted: bool,
    /// Number of random numbers so far.
    pub random_count: u32,
    /// The seed of random numbers.
    pub nonce: [u8; 16],
    /// The transaction with the signers in effect, during an oracle response.
    pub other_signers: Option<Arc<crate::types::SingleTransaction>>,
    calls: Vec<Option<Call>>,
    /// Called contracts, as of their calls.
    loaded: Vec<Arc<Contract>>,
    /// Layers of the state that belong to this execution.
    layers: usize,
}

impl<'a> Engine<'a> {
    /// Creates an execution with a gas limit in units of 10^-8. It opens a layer of the state.
    pub fn new(
        vm: &'a mut Vm,
        shared: Shared<'a>,
        trigger: Trigger,
        transaction: Option<Transaction<'a>>,
        gas: Option<u64>,
    ) -> Self {
        let Shared { chain, state, contracts, block } = shared;
        let verifies = trigger == Trigger::Verification;
        // a witness is verified over the state after the block
        let genesis = block.header.index == 0 && !verifies;
        let fee_factor = native::policy::exec_fee_factor(state, genesis);
        let storage_fee = native::policy::storage_fee(state, genesis);
        let next = block.header.index + u32::from(verifies);
        let gorgon = chain.protocol.hardforks.holds(Hardfork::Gorgon, next);
        let gas_limit = gas.map(|gas| u128::from(gas) * PICO);
        vm.reset(Rules { fee_factor, gas_limit, gorgon });
        state.begin();
        let mut nonce = [0; 16];
        if let Some(transaction) = transaction {
            nonce.copy_from_slice(&transaction.hash().0[..16]);
        }
        if !verifies {
            for (byte, other) in nonce.iter_mut().zip(block.header.nonce.to_le_bytes()) {
                *byte ^= other;
            }
        }
        Self {
            vm,
            chain,
            state,
            contracts,
            block,
            transaction,
            trigger,
            events: Vec::new(),
            invocations: HashMap::new(),
            storage_fee,
            persisted: false,
            random_count: 0,
            nonce,
            other_signers: None,
            calls: Vec::new(),
            loaded: Vec::new(),
            layers: 1,
        }
    }

    /// Reports whether a hardfork is active in the block.
    #[must_use]
    pub fn is_active(&self, hardfork: Hardfork) -> bool {
        self.chain.protocol.hardforks.holds(hardfork, self.next_height())
    }

    /// The height of the rules (`Context.persistingBlockHeight`): the height of the block; during
    /// verification of a witness, the height after the last block.
    #[must_use]
    pub fn next_height(&self) -> u32 {
        let verifies = self.trigger == Trigger::Verification;
        self.block.header.index.saturating_add(verifies.into())
    }

    /// The newest hardfork that is active.
    pub(super) fn latest_hardfork(&self) -> Option<Hardfork> {
        self.chain.protocol.hardforks.latest(self.next_height())
    }

    /// The height of the last block that counts as stored; `u32::MAX` before the genesis block.
    #[must_use]
    pub fn height(&self) -> u32 {
        let index = self.block.header.index;
        if self.persisted { index } else { index.wrapping_sub(1) }
    }

    /// Loads an entry script.
    ///
    /// # Errors
    ///
    /// Never fails for the first script.
    pub fn load_entry(&mut self, code: &[u8]) -> Result<(), Fault> {
        let hash = UInt160::of_script(code).0;
        self.load_script(code, hash, flags::ALL, -1, false)
    }

    /// Loads the script of a transaction.
    ///
    /// # Errors
    ///
    /// Never fails for the first script.
    pub fn load_transaction(&mut self, transaction: Transaction<'_>) -> Result<(), Fault> {
        let hash = transaction.script_hash().0;
        self.load_script(transaction.script(), hash, flags::ALL, -1, false)
    }

    /// Loads a script outside of a contract. `dynamic`: a contract built it.
    ///
    /// # Errors
    ///
    /// Returns a fault if there are too many frames.
    pub fn load_script(
        &mut self,
        code: &[u8],
        hash: [u8; 20],
        flags: u8,
        results: i32,
        dynamic: bool,
    ) -> Result<(), Fault> {
        let script = Arc::new(Script { code: code.into(), hash });
        self.load_prepared(script, flags, results, dynamic)
    }

    /// Loads a prepared script.
    ///
    /// # Errors
    ///
    /// Returns a fault if there are too many frames.
    pub(super) fn load_prepared(
        &mut self,
        script: Arc<Script>,
        flags: u8,
        results: i32,
        dynamic: bool,
    ) -> Result<(), Fault> {
        let caller = self.vm.current_hash();
        self.vm.load(Load {
            script,
            offset: 0,
            results,
            caller,
            flags,
            whitelisted: false,
            dynamic,
            tag: None,
            contract: None,
        })
    }

    /// Runs to the end. Commits the changes if it succeeds, rolls them back otherwise.
    pub fn run(mut self) -> Execution {
        let fault = self.run_machine();
        while self.layers > 1 {
            self.state.rollback();
            self.layers -= 1;
        }
        match fault {
            None => self.state.commit(),
            Some(_) => self.state.rollback(),
        }
        self.into_execution(fault)
    }

    /// Runs the machine to the end. Returns the fault message if it fails.
    pub fn run_machine(&mut self) -> Option<String> {
        loop {
            let result = match self.vm.run() {
                Pause::Halt => return None,
                Pause::Fault(text) => return Some(text),
                Pause::Syscall(number) => syscalls::call(self, number),
                Pause::Token(number) => self.call_token(number),
                Pause::Unloaded => self.unloaded(),
            };
            if let Err(fault) = result
                && let Pause::Fault(text) = self.vm.fail(&fault)
            {
                return Some(text);
            }
        }
    }

    fn into_execution(self, fault: Option<String>) -> Execution {
        let heap = &self.vm.heap;
        let stack = self.vm.stack().iter();
        let events = self.events.into_iter().map(|event| Notification {
            contract: UInt160(event.contract),
            name: event.name,
            state: serialize::serialize(heap, &event.state).unwrap_or_default(),
        });
        Execution {
            container: self.transaction.map_or(self.block.hash, Transaction::hash),
            trigger: self.trigger,
            gas: self.vm.gas_consumed(),
            stack: stack.map(|item| serialize::protected(heap, item)).collect(),
            notifications: events.collect(),
            fault,
        }
    }

    /// Consumes gas: `units` times the fee of an opcode with coefficient 1.
    ///
    /// # Errors
    ///
    /// Returns a fault if the gas limit is exceeded.
    pub fn charge(&mut self, units: u64) -> Result<(), Fault> {
        let fee = u128::from(units) * u128::from(self.vm.fee_factor());
        self.vm.add_gas(fee)
    }

    /// Consumes gas in units of 10^-8.
    ///
    /// # Errors
    ///
    /// Returns a fault if the gas limit is exceeded.
    pub fn charge_gas(&mut self, gas: u64) -> Result<(), Fault> {
        self.vm.add_gas(u128::from(gas) * PICO)
    }

    /// Sends a notification.
    ///
    /// # Errors
    ///
    /// Returns a fault if there are too many notifications.
    pub fn notify(
        &mut self,
        contract: [u8; 20],
        name: &'static str,
        items: Vec<Item>,
    ) -> Result<(), Fault> {
        let state = self.vm.heap.new_array(items);
        self.add_event(Event { contract, name: name.into(), state })
    }

    /// Sends a notification with an existing array.
    ///
    /// # Errors
    ///
    /// Returns a fault if there are too many notifications.
    pub fn add_event(&mut self, event: Event) -> Result<(), Fault> {
        if self.is_active(Hardfork::Echidna)
            && self.trigger == Trigger::Application
            && self.events.len() == MAX_NOTIFICATIONS
        {
            return Err(Fault::Rule("notification count shouldn't exceed 512"));
        }
        let mut places = Vec::new();
        let mut next = event.state.place();
        while let Some(place) = next {
            self.vm.heap.pin(place);
            places.extend(self.vm.heap.list(place).iter().filter_map(Item::place));
            next = places.pop();
        }
        self.events.push(event);
        Ok(())
    }

    /// An array of byte strings.
    pub fn array_of<T: AsRef<[u8]>>(&mut self, list: &[T]) -> Item {
        let items = list.iter().map(|each| Item::bytes(each.as_ref())).collect();
        self.vm.heap.new_array(items)
    }

    /// An empty map.
    pub fn new_map(&mut self) -> Item {
        self.vm.heap.new_map(Entries::new())
    }
}
