//! Native contracts: their methods as of each hardfork, and how they are called.
//!
//! Their NEF and manifests are in contract storage, so the state root covers them.

pub mod base64;
mod crypto_lib;
pub mod gas;
pub mod ledger;
pub mod management;
pub mod neo;
mod notary;
mod oracle;
pub mod points;
mod points_arithmetic;
pub mod policy;
mod roles;
mod std_json;
mod std_lib;
mod std_text;
mod table;
mod token;
mod treasury;

pub use notary::deposit_of;
pub(crate) use oracle::{account as oracle_account, answer_script, gas_for_answer};
pub use table::{Native, Natives};

use num_bigint::BigInt;

use super::{
    contract::ParamType,
    encode::{integer_bytes, integer_of},
    engine::{Engine, Trigger, flags},
    vm::{Fault, Item},
};
use crate::{params::Hardfork, state::State};
use table::SCRIPT_OF_METHOD;

/// The implementation of a method. `None`: it finishes later, in a continuation that calls
/// [`Engine::finish_native`].
pub type NativeFn = fn(&mut Engine<'_>, &[Item]) -> Result<Option<Item>, Fault>;

/// A method of a native contract.
pub struct Method {
    name: &'static str,
    parameters: &'static [(&'static str, ParamType)],
    returns: ParamType,
    /// Its price: coefficients of the execution fee and the storage fee.
    price: u64,
    storage: u64,
    flags: u8,
    from: Option<Hardfork>,
    till: Option<Hardfork>,
    run: NativeFn,
}

impl Method {
    const fn new(
        name: &'static str,
        parameters: &'static [(&'static str, ParamType)],
        returns: ParamType,
        price: u64,
        flags: u8,
        run: NativeFn,
    ) -> Self {
        let (from, till) = (None, None);
        Self { name, parameters, returns, price, storage: 0, flags, from, till, run }
    }

    const fn from(mut self, hardfork: Hardfork) -> Self {
        self.from = Some(hardfork);
        self
    }

    const fn till(mut self, hardfork: Hardfork) -> Self {
        self.till = Some(hardfork);
        self
    }

    const fn storage(mut self, bytes: u64) -> Self {
        self.storage = bytes;
        self
    }
}

/// An event of a native contract.
pub struct Event {
    name: &'static str,
    parameters: &'static [(&'static str, ParamType)],
    from: Option<Hardfork>,
    till: Option<Hardfork>,
}

impl Event {
    const fn new(name: &'static str, parameters: &'static [(&'static str, ParamType)]) -> Self {
        Self { name, parameters, from: None, till: None }
    }

    const fn from(mut self, hardfork: Hardfork) -> Self {
        self.from = Some(hardfork);
        self
    }

    const fn till(mut self, hardfork: Hardfork) -> Self {
        self.till = Some(hardfork);
        self
    }
}

/// A native contract.
pub struct Definition {
    /// Its name.
    pub name: &'static str,
    /// Its id.
    pub id: i32,
    /// The hardfork that activates it; `None`: the genesis block.
    pub active_in: Option<Hardfork>,
    methods: &'static [&'static [Method]],
    events: &'static [&'static [Event]],
    /// Supported standards with their hardforks.
    standards: &'static [(&'static str, Option<Hardfork>)],
    /// Writes its initial state at deployment and at hardforks.
    initialize: fn(&mut Engine<'_>, Option<Hardfork>) -> Result<(), Fault>,
    on_persist: fn(&mut Engine<'_>) -> Result<(), Fault>,
    post_persist: fn(&mut Engine<'_>) -> Result<(), Fault>,
}

fn nothing(_: &mut Engine<'_>) -> Result<(), Fault> {
    Ok(())
}

fn no_state(_: &mut Engine<'_>, _: Option<Hardfork>) -> Result<(), Fault> {
    Ok(())
}

static DEFINITIONS: [&Definition; 11] = [
    &management::DEFINITION,
    &std_lib::DEFINITION,
    &crypto_lib::DEFINITION,
    &ledger::DEFINITION,
    &neo::DEFINITION,
    &gas::DEFINITION,
    &policy::DEFINITION,
    &roles::DEFINITION,
    &oracle::DEFINITION,
    &notary::DEFINITION,
    &treasury::DEFINITION,
];

/// `System.Contract.CallNative`: runs the method that belongs to the position in the native
/// contract's script.
pub fn call(engine: &mut Engine<'_>) -> Result<(), Fault> {
    if engine.vm.pop_integer()?.low_i64() != 0 {
        return Err(Fault::Rule("native contract of this version is not active"));
    }
    let hash = engine.vm.current_hash();
    let chain = engine.chain;
    let native = chain.natives.get(&hash).ok_or(Fault::Rule("native contract not found"))?;
    if let Some(hardfork) = native.definition.active_in {
        let first = chain.protocol.hardforks.height(hardfork);
        if first.is_none_or(|first| engine.height() < first) {
            return Err(Fault::Rule("native contract is not active yet"));
        }
    }
    let version = native.version(engine.latest_hardfork());
    // the instruction follows the push of the version
    let position = engine.vm.position().wrapping_sub(1);
    let method = position
        .is_multiple_of(SCRIPT_OF_METHOD)
        .then(|| version.methods.get(position / SCRIPT_OF_METHOD))
        .flatten();
    let method: &'static Method = method.ok_or(Fault::Rule("method not found"))?;
    let mut required = method.flags;
    let deploys = native.definition.id == management::ID
        && (method.name == "deploy" || method.name == "update");
    if deploys && !engine.is_active(Hardfork::Aspidochelone) {
        required &= flags::STATES | flags::NOTIFY;
    }
    if engine.vm.flags() & required != required {
        let (name, allowed) = (method.name, engine.vm.flags());
        return Err(Fault::Message(format!(
            "missing call flags for native 0 `{name}` operation call: \
             {allowed:05b} vs {required:05b}"
        )));
    }
    let offset = position as i64;
    let is_free = engine.is_active(Hardfork::Faun)
        && policy::whitelisted(engine.state, &hash, offset as u32).is_some();
    if !is_free {
        let storage = u128::from(method.storage) * u128::from(engine.storage_fee);
        let fee = u128::from(method.price) * u128::from(engine.vm.fee_factor());
        let (name, count) = (method.name, method.parameters.len());
        engine.vm.add_gas(fee + storage).map_err(|fault| {
            let contract = blockmill_verdict::Reversed(&hash);
            Fault::Message(format!("{fault} executing {contract}/{name}/{count}"))
        })?;
    }
    let arguments: Vec<Item> = (0..method.parameters.len())
        .map(|index| engine.vm.peek(index).cloned())
        .collect::<Result<_, _>>()?;
    let result = (method.run)(engine, &arguments);
    match result.map_err(|fault| Fault::Panicked(fault.to_string()))? {
        Some(result) => engine.finish(method.parameters.len(), method.returns, result),
        None => Ok(()),
    }
}

impl Engine<'_> {
    /// Ends a native method: replaces its arguments by its result.
    fn finish(&mut self, parameters: usize, returns: ParamType, result: Item) -> Result<(), Fault> {
        for _ in 0..parameters {
            self.vm.pop()?;
        }
        if returns != ParamType::Void {
            self.vm.push(result);
        }
        Ok(())
    }

    /// Ends a native method from its continuation. The running script is that of the contract.
    ///
    /// # Errors
    ///
    /// Returns a fault if the running script is not that of a native method.
    pub fn finish_native(&mut self, result: Item) -> Result<(), Fault> {
        let hash = self.vm.current_hash();
        let chain = self.chain;
        let native = chain.natives.get(&hash).ok_or(Fault::Rule("native contract not found"))?;
        let latest = self.latest_hardfork();
        let index = self.vm.position().wrapping_sub(1) / SCRIPT_OF_METHOD;
        let method = native.version(latest).methods.get(index);
        let method = method.ok_or(Fault::Rule("method not found"))?;
        self.finish(method.parameters.len(), method.returns, result)
    }

    /// The hash of a native contract.
    #[must_use]
    pub fn native_hash(&self, id: i32) -> [u8; 20] {
        self.chain.natives.list[(-1 - id) as usize].hash
    }

    /// An integer in the storage of a native contract; zero if absent.
    #[must_use]
    pub fn stored_integer(&self, id: i32, key: &[u8]) -> BigInt {
        stored_integer(self.state, id, key)
    }

    /// Puts an integer into the storage of a native contract.
    pub fn put_integer(&mut self, id: i32, key: &[u8], value: impl Into<BigInt>) {
        self.state.put(id, key, integer_bytes(&value.into()));
    }

    /// Checks the witness of the committee.
    ///
    /// # Errors
    ///
    /// Returns a fault if the committee has not signed.
    pub fn need_committee(&mut self) -> Result<(), Fault> {
        let committee = neo::committee_account(self.state)?;
        match self.check_witness(&committee)? {
            true => Ok(()),
            false => Err(Fault::Rule("invalid committee signature")),
        }
    }
}

/// An integer in the storage of a native contract; zero if absent.
fn stored_integer(state: &State, id: i32, key: &[u8]) -> BigInt {
    state.get(id, key).map_or(BigInt::ZERO, |value| integer_of(&value))
}

/// An integer of 64 bits in the storage of a native contract.
fn stored_i64(state: &State, id: i32, key: &[u8]) -> Option<i64> {
    state.get(id, key).and_then(|value| i64::try_from(integer_of(&value)).ok())
}

/// `System.Contract.NativeOnPersist`.
pub fn on_persist(engine: &mut Engine<'_>) -> Result<(), Fault> {
    if engine.trigger != Trigger::OnPersist {
        return Err(Fault::Rule("onPersist must be triggered by system"));
    }
    each_active(engine, |definition| definition.on_persist)
}

/// `System.Contract.NativePostPersist`.
pub fn post_persist(engine: &mut Engine<'_>) -> Result<(), Fault> {
    if engine.trigger != Trigger::PostPersist {
        return Err(Fault::Rule("postPersist must be triggered by system"));
    }
    each_active(engine, |definition| definition.post_persist)
}

type Step = fn(&mut Engine<'_>) -> Result<(), Fault>;

fn each_active(engine: &mut Engine<'_>, step: fn(&Definition) -> Step) -> Result<(), Fault> {
    for definition in DEFINITIONS {
        if definition.active_in.is_none_or(|hardfork| engine.is_active(hardfork)) {
            step(definition)(engine)?;
        }
    }
    Ok(())
}
