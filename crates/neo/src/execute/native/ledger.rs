//! LedgerContract: earlier blocks and transactions.

use super::{Definition, Method, no_state, nothing, policy};
use crate::{
    execute::{
        chain_view::{StoredTransaction, VmState},
        contract::ParamType,
        engine::{Engine, flags::READ},
        interop::runtime::signers_item,
        vm::{Fault, Item},
    },
    types::{Block, Transaction, UInt256},
};

const ID: i32 = -4;
const BIG: u64 = 1 << 15;

use ParamType::{Array, ByteArray, Hash256, Integer};

const HASH: &[(&str, ParamType)] = &[("hash", Hash256)];
const BLOCK: &[(&str, ParamType)] = &[("indexOrHash", ByteArray)];
const IN_BLOCK: &[(&str, ParamType)] = &[("blockIndexOrHash", ByteArray), ("txIndex", Integer)];

pub(super) static DEFINITION: Definition = Definition {
    name: "LedgerContract",
    id: ID,
    active_in: None,
    methods: &[&[
        Method::new("currentHash", &[], Hash256, BIG, READ, current_hash),
        Method::new("currentIndex", &[], Integer, BIG, READ, current_index),
        Method::new("getBlock", BLOCK, Array, BIG, READ, get_block),
        Method::new("getTransaction", HASH, Array, BIG, READ, get_transaction),
        Method::new("getTransactionHeight", HASH, Integer, BIG, READ, get_height),
        Method::new("getTransactionFromBlock", IN_BLOCK, Array, 1 << 16, READ, get_from_block),
        Method::new("getTransactionSigners", HASH, Array, BIG, READ, get_signers),
        Method::new("getTransactionVMState", HASH, Integer, BIG, READ, get_vm_state),
    ]],
    events: &[],
    standards: &[],
    initialize: no_state,
    on_persist: nothing,
    post_persist,
};

/// The block counts as stored from here on.
fn post_persist(engine: &mut Engine<'_>) -> Result<(), Fault> {
    engine.persisted = true;
    Ok(())
}

/// The hash of a stored block, or of the executed one.
fn hash_of(engine: &Engine<'_>, height: u32) -> Option<UInt256> {
    let block = engine.block;
    match height {
        height if height == block.header.index => Some(block.hash),
        height if height.wrapping_add(1) == block.header.index => Some(block.header.previous),
        height => (engine.chain.view.hash)(height),
    }
}

fn current_hash(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    let hash = hash_of(engine, engine.height()).unwrap_or_default();
    Ok(Some(Item::bytes(&hash.0)))
}

fn current_index(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    Ok(Some(Item::Int(engine.height().into())))
}

/// Reports whether a block is traceable.
fn is_traceable(engine: &Engine<'_>, index: u32) -> bool {
    let protocol = &engine.chain.protocol;
    let traceable = policy::traceable_blocks(engine.state, protocol, engine.next_height());
    let height = engine.height();
    index <= height && index.wrapping_add(traceable) > height
}

/// The hash in an argument, or the hash of the block at the height in it.
fn block_hash(engine: &Engine<'_>, item: &Item) -> Result<Option<UInt256>, Fault> {
    if let Ok(height) = item.to_integer()
        && height.signum() >= 0
        && let Ok(height) = u64::try_from(height.to_big())
    {
        let height = u32::try_from(height).map_err(|_| Fault::Range("bad block index"))?;
        return Ok(if height > engine.height() { None } else { hash_of(engine, height) });
    }
    let hash = item.to_bytes()?;
    let found = hash.len();
    let decoded = UInt256::from_slice(&hash).ok_or_else(|| {
        Fault::Message(format!("failed to decode hash: expected []byte of size 32 got {found}"))
    })?;
    Ok(Some(decoded))
}

fn block(engine: &Engine<'_>, item: &Item) -> Result<Option<std::sync::Arc<Block>>, Fault> {
    let Some(hash) = block_hash(engine, item)? else { return Ok(None) };
    let block = (engine.chain.view.block)(hash);
    let height = engine.height();
    Ok(block
        .filter(|block| block.header.index <= height && is_traceable(engine, block.header.index)))
}

/// A block as an array.
pub(crate) fn block_item(engine: &mut Engine<'_>, block: &Block) -> Item {
    let header = &block.header;
    let mut fields = vec![
        Item::bytes(&block.hash.0),
        Item::Int(header.version.into()),
        Item::bytes(&header.previous.0),
        Item::bytes(&header.merkle_root.0),
        unsigned(header.timestamp),
        unsigned(header.nonce),
        Item::Int(header.index.into()),
        Item::Int(header.primary.into()),
        Item::bytes(&header.next_consensus.0),
        Item::Int(block.transactions.len() as i64),
    ];
    if let Some(root) = header.previous_state_root {
        fields.push(Item::bytes(&root.0));
    }
    engine.vm.heap.new_array(fields)
}

fn unsigned(value: u64) -> Item {
    Item::integer(value.into()).unwrap_or(Item::Null)
}

/// A transaction as an array.
pub(crate) fn transaction_item(engine: &mut Engine<'_>, transaction: Transaction<'_>) -> Item {
    let parts = transaction.fields();
    let fields = vec![
        Item::bytes(&transaction.hash().0),
        Item::Int(0),
        Item::Int(parts.nonce.into()),
        Item::bytes(&transaction.sender().0),
        Item::Int(parts.system_fee),
        Item::Int(parts.network_fee),
        Item::Int(parts.valid_until_block.into()),
        Item::bytes(transaction.script()),
    ];
    engine.vm.heap.new_array(fields)
}

fn get_block(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let found = block(engine, &arguments[0])?;
    Ok(Some(found.map_or(Item::Null, |block| block_item(engine, &block))))
}

fn get_from_block(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let index = u32::try_from(arguments[1].to_i64()?)
        .map_err(|_| Fault::Rule("invalid value: bigint is not in uint32 range"))?;
    let Some(block) = block(engine, &arguments[0])? else { return Ok(Some(Item::Null)) };
    if index as usize >= block.transactions.len() {
        return Err(Fault::Range("wrong transaction index"));
    }
    let transaction = block.transaction(index as usize);
    Ok(Some(transaction_item(engine, transaction)))
}

/// A transaction of a traceable block. Transactions of the executed block are not stored yet.
fn transaction(engine: &Engine<'_>, item: &Item) -> Result<Option<StoredTransaction>, Fault> {
    let found = (engine.chain.view.transaction)(UInt256(item.to_array()?));
    Ok(found.filter(|found| is_traceable(engine, found.height)))
}

fn get_transaction(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let found = transaction(engine, &arguments[0])?;
    Ok(Some(found.map_or(Item::Null, |found| transaction_item(engine, found.transaction.get()))))
}

fn get_height(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let found = transaction(engine, &arguments[0])?;
    Ok(Some(Item::Int(found.map_or(-1, |found| found.height.into()))))
}

fn get_signers(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let found = transaction(engine, &arguments[0])?;
    let signers =
        |found: StoredTransaction| signers_item(engine, found.transaction.get().signers());
    Ok(Some(found.map_or(Item::Null, signers)))
}

fn get_vm_state(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let state = match transaction(engine, &arguments[0])?.map(|found| found.state) {
        None => 0,
        Some(VmState::Halt) => 1,
        Some(VmState::Fault) => 2,
    };
    Ok(Some(Item::Int(state)))
}
