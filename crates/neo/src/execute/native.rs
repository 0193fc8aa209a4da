//! Native contracts: what they offer as of each hardfork, and how they are called.
//!
//! Their NEF and manifests are state: they are part of the state root from the genesis block on.

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
mod token;
mod treasury;

use crate::params::{Hardfork, Protocol};
use std::{collections::HashMap, rc::Rc};

use super::{
    contract::{
        self, Contract, Manifest, Nef, ParamType, Parameter, Permission, WHO_ANY, native_hash,
    },
    encode::{integer_bytes, integer_of},
    engine::{Engine, Trigger, flags},
    interop::syscalls,
    vm::{Fault, Item, opcode},
};
use crate::state::State;
use num_bigint::BigInt;

/// What a method does. None: it goes on later, and then calls [`Engine::finish_native`].
pub type Run = fn(&mut Engine<'_>, &[Item]) -> Result<Option<Item>, Fault>;

/// A method of a native contract.
pub struct Method {
    name: &'static str,
    parameters: &'static [(&'static str, ParamType)],
    returns: ParamType,
    /// Its price: coefficient of the execution fee, and of the storage fee.
    price: u64,
    storage: u64,
    flags: u8,
    from: Option<Hardfork>,
    till: Option<Hardfork>,
    run: Run,
}

impl Method {
    const fn new(
        name: &'static str,
        parameters: &'static [(&'static str, ParamType)],
        returns: ParamType,
        price: u64,
        flags: u8,
        run: Run,
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
    /// Its number.
    pub id: i32,
    /// Since when it is there; none: since the genesis block.
    pub active_in: Option<Hardfork>,
    methods: &'static [&'static [Method]],
    events: &'static [&'static [Event]],
    /// Standards, and since when it names them.
    standards: &'static [(&'static str, Option<Hardfork>)],
    /// What it puts into the state when it is deployed, and at hardforks.
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

/// A native contract as of a hardfork.
struct Version {
    from: Option<Hardfork>,
    nef: Nef,
    manifest: Manifest,
    /// In the order of the manifest.
    methods: Vec<&'static Method>,
}

/// A native contract with all its versions.
pub struct Native {
    definition: &'static Definition,
    /// Its hash.
    pub hash: [u8; 20],
    /// Hardforks at which it changes.
    changes: Vec<Hardfork>,
    versions: Vec<Version>,
}

/// The native contracts, in the order of their numbers.
pub struct Natives {
    list: Vec<Native>,
    by_hash: HashMap<[u8; 20], usize>,
}

impl Default for Natives {
    fn default() -> Self {
        let list: Vec<Native> = DEFINITIONS.iter().map(|each| Native::new(each)).collect();
        let by_hash = list.iter().enumerate().map(|(index, each)| (each.hash, index)).collect();
        Self { list, by_hash }
    }
}

impl Natives {
    /// The native contract with a hash.
    #[must_use]
    pub fn get(&self, hash: &[u8; 20]) -> Option<&Native> {
        self.by_hash.get(hash).map(|index| &self.list[*index])
    }
}

const SCRIPT_OF_METHOD: usize = 7;

fn is_within(from: Option<Hardfork>, till: Option<Hardfork>, at: Option<Hardfork>) -> bool {
    from.is_none_or(|from| at.is_some_and(|at| at >= from))
        && till.is_none_or(|till| at.is_none_or(|at| at < till))
}

impl Native {
    fn new(definition: &'static Definition) -> Self {
        let methods = definition.methods.iter().copied().flatten();
        let events = definition.events.iter().copied().flatten();
        let mut changes: Vec<Hardfork> = methods
            .flat_map(|each| [each.from, each.till])
            .chain(events.flat_map(|each| [each.from, each.till]))
            .chain(definition.standards.iter().map(|(_, from)| *from))
            .flatten()
            .collect();
        changes.sort_unstable();
        changes.dedup();
        let later = changes.iter().copied().map(Some);
        let later = later.filter(|hardfork| *hardfork > definition.active_in);
        let versions = [definition.active_in].into_iter().chain(later);
        let versions = versions.map(|at| Version::new(definition, at)).collect();
        Self { definition, hash: native_hash(definition.name), changes, versions }
    }

    /// The version as of a hardfork.
    fn version(&self, at: Option<Hardfork>) -> &Version {
        let found = self.versions.iter().rev().find(|version| version.from <= at);
        found.unwrap_or(&self.versions[0])
    }

    /// Its number.
    #[must_use]
    pub fn id(&self) -> i32 {
        self.definition.id
    }
}

impl Version {
    fn new(definition: &'static Definition, at: Option<Hardfork>) -> Self {
        let methods = definition.methods.iter().copied().flatten();
        let mut methods: Vec<&Method> =
            methods.filter(|each| is_within(each.from, each.till, at)).collect();
        methods.sort_by_key(|each| (each.name, each.parameters.len()));
        let mut script = Vec::with_capacity(methods.len() * SCRIPT_OF_METHOD);
        let call = syscalls::number("System.Contract.CallNative").to_le_bytes();
        for _ in &methods {
            script.extend([opcode::PUSH0, opcode::SYSCALL]);
            script.extend_from_slice(&call);
            script.push(opcode::RET);
        }
        let events = definition.events.iter().copied().flatten();
        let manifest = Manifest {
            name: definition.name.into(),
            groups: Vec::new(),
            standards: definition
                .standards
                .iter()
                .filter(|(_, from)| is_within(*from, None, at))
                .map(|(name, _)| (*name).into())
                .collect(),
            methods: methods.iter().enumerate().map(|(index, each)| each.describe(index)).collect(),
            events: events
                .filter(|each| is_within(each.from, each.till, at))
                .map(|each| contract::Event {
                    name: each.name.into(),
                    parameters: parameters(each.parameters),
                })
                .collect(),
            permissions: vec![Permission { contract: WHO_ANY, methods: None }],
            trusts: Some(Vec::new()),
            extra: b"null".to_vec(),
        };
        Self { from: at, nef: Nef::new("neo-core-v3.0", script), manifest, methods }
    }
}

impl Method {
    fn describe(&self, index: usize) -> contract::Method {
        contract::Method {
            name: self.name.into(),
            parameters: parameters(self.parameters),
            returns: self.returns,
            offset: (index * SCRIPT_OF_METHOD) as i64,
            safe: self.flags & !flags::READ_ONLY == 0,
        }
    }
}

fn parameters(list: &[(&str, ParamType)]) -> Vec<Parameter> {
    list.iter().map(|(name, kind)| Parameter { name: (*name).into(), kind: *kind }).collect()
}

/// `System.Contract.CallNative`: the script of a native contract calls what stands behind it.
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
    let latest = chain.protocol.hardforks.latest(engine.block.header.index);
    let version = native.version(latest);
    // the call stands behind the number that it pops
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
        return Err(Fault::Rule("missing call flags for native operation"));
    }
    let offset = position as i64;
    let is_free = engine.is_active(Hardfork::Faun)
        && policy::whitelisted(engine.state, &hash, offset as u32).is_some();
    if !is_free {
        let storage = u128::from(method.storage) * u128::from(engine.storage_fee);
        let fee = u128::from(method.price) * u128::from(engine.vm.fee_factor());
        engine.vm.add_gas(fee + storage)?;
    }
    let arguments: Vec<Item> = (0..method.parameters.len())
        .map(|index| engine.vm.peek(index).cloned())
        .collect::<Result<_, _>>()?;
    match (method.run)(engine, &arguments)? {
        Some(result) => engine.finish(method.parameters.len(), method.returns, result),
        None => Ok(()),
    }
}

impl Engine<'_> {
    /// The end of a method of a native contract: its arguments go, its result comes.
    fn finish(&mut self, parameters: usize, returns: ParamType, result: Item) -> Result<(), Fault> {
        for _ in 0..parameters {
            self.vm.pop()?;
        }
        if returns != ParamType::Void {
            self.vm.push(result);
        }
        Ok(())
    }

    /// The end of a method of a native contract that went on later: the running script is that of
    /// the contract again.
    ///
    /// # Errors
    ///
    /// The script is none.
    pub fn finish_native(&mut self, result: Item) -> Result<(), Fault> {
        let hash = self.vm.current_hash();
        let chain = self.chain;
        let native = chain.natives.get(&hash).ok_or(Fault::Rule("native contract not found"))?;
        let latest = chain.protocol.hardforks.latest(self.block.header.index);
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

    /// An integer of a native contract's state; zero where there is none.
    #[must_use]
    pub fn stored_integer(&self, id: i32, key: &[u8]) -> BigInt {
        stored_integer(self.state, id, key)
    }

    /// Puts an integer into a native contract's state.
    pub fn put_integer(&mut self, id: i32, key: &[u8], value: impl Into<BigInt>) {
        self.state.put(id, key, integer_bytes(&value.into()));
    }

    /// Fails unless the committee agrees.
    ///
    /// # Errors
    ///
    /// It does not.
    pub fn need_committee(&mut self) -> Result<(), Fault> {
        let committee = neo::committee_account(self.state)?;
        match self.check_witness(&committee)? {
            true => Ok(()),
            false => Err(Fault::Rule("invalid committee signature")),
        }
    }
}

/// An integer of a native contract's state; zero where there is none.
fn stored_integer(state: &State, id: i32, key: &[u8]) -> BigInt {
    state.get(id, key).map_or(BigInt::ZERO, |value| integer_of(&value))
}

/// The same as 64 bits.
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

fn each_active(
    engine: &mut Engine<'_>,
    step: fn(&Definition) -> fn(&mut Engine<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    for definition in DEFINITIONS {
        if definition.active_in.is_none_or(|hardfork| engine.is_active(hardfork)) {
            step(definition)(engine)?;
        }
    }
    Ok(())
}

impl Native {
    /// What its deployment puts into the state, in a network at a height: none where
    /// nothing of it changes there.
    fn due(&self, protocol: &Protocol, height: u32) -> Option<Due> {
        let starts = |hardfork: Hardfork| protocol.hardforks.height(hardfork) == Some(height);
        let deploys = match self.definition.active_in {
            None => height == 0,
            Some(hardfork) => starts(hardfork),
        };
        let forks: Vec<Hardfork> =
            self.changes.iter().copied().filter(|hardfork| starts(*hardfork)).collect();
        if !deploys && forks.is_empty() {
            return None;
        }
        let latest = forks.last().copied().max(self.definition.active_in);
        Some(Due { deploys, forks, latest })
    }

    /// The contract as it is deployed.
    fn contract(&self, at: Option<Hardfork>, updates: u16) -> Rc<Contract> {
        let version = self.version(at);
        let (nef, manifest) = (version.nef.clone(), version.manifest.clone());
        Rc::new(Contract::new(self.definition.id, updates, self.hash, nef, manifest))
    }
}

/// What a block changes of a native contract.
struct Due {
    deploys: bool,
    forks: Vec<Hardfork>,
    latest: Option<Hardfork>,
}
