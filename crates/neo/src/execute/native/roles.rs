//! RoleManagement: the nodes of oracles, notaries and state validators.

use super::{Definition, Event, Method, neo, nothing};
use crate::{
    execute::{
        contract::ParamType,
        encode::Encoder,
        engine::{Engine, Trigger, flags},
        interop::keys,
        vm::{Fault, Heap, Item, serialize},
    },
    params::Hardfork,
    state::{Direction, State},
    types::PublicKey,
};

const ID: i32 = -8;
const BIG: u64 = 1 << 15;
const MAX_NODES: usize = 32;

/// The role of oracle nodes.
pub(super) const ORACLE: u8 = 8;
/// The role of notaries.
pub(super) const NOTARY: u8 = 32;
/// State validators, oracles, NeoFS nodes and notaries.
const ROLES: [u8; 4] = [4, ORACLE, 16, NOTARY];

use Hardfork::Echidna;
use ParamType::{Array, Integer, Void};

const GET: &[(&str, ParamType)] = &[("role", Integer), ("index", Integer)];
const SET: &[(&str, ParamType)] = &[("role", Integer), ("nodes", Array)];
const CHANGED: [(&str, ParamType); 4] =
    [("Role", Integer), ("BlockIndex", Integer), ("Old", Array), ("New", Array)];
const BOTH: u8 = flags::STATES | flags::NOTIFY;

pub(super) static DEFINITION: Definition = Definition {
    name: "RoleManagement",
    id: ID,
    active_in: None,
    methods: &[&[
        Method::new("getDesignatedByRole", GET, Array, BIG, flags::READ, get),
        Method::new("designateAsRole", SET, Void, BIG, BOTH, set),
    ]],
    events: &[&[
        Event::new("Designation", CHANGED.split_at(2).0).till(Echidna),
        Event::new("Designation", &CHANGED).from(Echidna),
    ]],
    standards: &[],
    initialize,
    on_persist: nothing,
    post_persist: nothing,
};

fn role(item: &Item) -> Result<u8, Fault> {
    let role = item.to_i64()?;
    let role = u8::try_from(role).ok().filter(|role| (4..64).contains(role));
    role.ok_or(Fault::Rule("invalid role"))
}

fn decode(bytes: &[u8]) -> Result<Vec<PublicKey>, Fault> {
    let mut heap = Heap::default();
    let item = serialize::deserialize(&mut heap, bytes)?;
    let list = item.place().map(|place| heap.list(place)).unwrap_or_default();
    list.iter().map(Item::to_array).collect()
}

/// The nodes with a role in a block.
pub(super) fn designated(state: &State, role: u8, index: u32) -> Result<Vec<PublicKey>, Fault> {
    if !ROLES.contains(&role) {
        return Ok(Vec::new());
    }
    let mut find = state.find(ID, &[role], &index.to_be_bytes(), Direction::Backwards);
    match state.next(&mut find) {
        Some((_, value)) => decode(&value),
        None => Ok(Vec::new()),
    }
}

fn get(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let role = role(&arguments[0])?;
    let index = u32::try_from(arguments[1].to_i64()?).ok();
    let index = index.filter(|index| *index <= engine.height().wrapping_add(1));
    let nodes = designated(engine.state, role, index.ok_or(Fault::Rule("invalid index"))?)?;
    Ok(Some(engine.array_of(&nodes)))
}

fn set(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let role = role(&arguments[0])?;
    let (Item::Array(place) | Item::Struct(place)) = arguments[1] else {
        return Err(Fault::NotList);
    };
    let items = engine.vm.heap.list(place).to_vec();
    let nodes: Result<Vec<PublicKey>, Fault> =
        items.iter().map(|item| item.with_bytes(keys::public_key)?).collect();
    designate(engine, role, nodes?)?;
    Ok(Some(Item::Null))
}

fn designate(engine: &mut Engine<'_>, role: u8, mut nodes: Vec<PublicKey>) -> Result<(), Fault> {
    if nodes.is_empty() || nodes.len() > MAX_NODES || !ROLES.contains(&role) {
        return Err(Fault::Rule("node list is empty or too large, or no such role"));
    }
    if engine.trigger != Trigger::OnPersist {
        let committee = neo::committee_account(engine.state)?;
        if engine.check_witness(&committee) != Ok(true) {
            return Err(Fault::Rule("witness check failed"));
        }
    }
    let index = engine.block.header.index;
    let mut key = [role; 5];
    key[1..].copy_from_slice(&(index + 1).to_be_bytes());
    if engine.state.get(ID, &key).is_some() {
        return Err(Fault::Rule("already designated given role at current block"));
    }
    keys::sort(&mut nodes);
    if nodes.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Fault::Rule("node list contains duplicate entries"));
    }
    let old = designated(engine.state, role, index)?;
    let value = Encoder::default().each(&nodes, |out, key| out.bytes(key)).done();
    engine.state.put(ID, &key, value);
    let mut fields = vec![Item::Int(role.into()), Item::Int(index.into())];
    if engine.is_active(Echidna) {
        fields.push(engine.array_of(&old));
        fields.push(engine.array_of(&nodes));
    }
    let this = engine.native_hash(ID);
    engine.notify(this, "Designation", fields)
}

fn initialize(engine: &mut Engine<'_>, hardfork: Option<Hardfork>) -> Result<(), Fault> {
    if hardfork.is_some() {
        return Ok(());
    }
    let chain = engine.chain;
    for (role, nodes) in &chain.protocol.genesis.roles {
        designate(engine, *role, nodes.clone())?;
    }
    Ok(())
}
