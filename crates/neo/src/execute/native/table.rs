//! Native contracts as of each hardfork: their methods, and the NEF and manifest that are state.

use hashbrown::HashMap;
use std::sync::Arc;

use super::{DEFINITIONS, Definition, Method};
use crate::{
    execute::{
        contract::{
            self, Contract, Manifest, Nef, ParamType, Parameter, Permission, WHO_ANY, native_hash,
        },
        engine::flags,
        interop::syscalls,
        vm::opcode,
    },
    params::{Hardfork, Protocol},
};

/// A version of a native contract.
pub(super) struct Version {
    from: Option<Hardfork>,
    nef: Nef,
    manifest: Manifest,
    /// In the order of the manifest.
    pub methods: Vec<&'static Method>,
}

/// A native contract with all its versions.
pub struct Native {
    pub(super) definition: &'static Definition,
    /// Its hash.
    pub hash: [u8; 20],
    /// Hardforks that change it.
    changes: Vec<Hardfork>,
    versions: Vec<Version>,
}

/// The native contracts, in the order of their ids.
pub struct Natives {
    pub(super) list: Vec<Native>,
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

/// Bytes of the script that calls a method.
pub(super) const SCRIPT_OF_METHOD: usize = 7;

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
    pub(super) fn version(&self, at: Option<Hardfork>) -> &Version {
        let found = self.versions.iter().rev().find(|version| version.from <= at);
        found.unwrap_or(&self.versions[0])
    }

    /// Its id.
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

impl Native {
    /// The deployment or update that is due in a network at a height; `None` if nothing changes
    /// there.
    pub(super) fn due(&self, protocol: &Protocol, height: u32) -> Option<Due> {
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
    pub(super) fn contract(&self, at: Option<Hardfork>, updates: u16) -> Arc<Contract> {
        let version = self.version(at);
        let (nef, manifest) = (version.nef.clone(), version.manifest.clone());
        Arc::new(Contract::new(self.definition.id, updates, self.hash, nef, manifest))
    }
}

/// The change of a native contract in a block.
pub(super) struct Due {
    pub deploys: bool,
    pub forks: Vec<Hardfork>,
    pub latest: Option<Hardfork>,
}
