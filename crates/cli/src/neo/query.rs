//! Queries a store of Neo blocks: summary, block, transaction, account.

use super::network;
use crate::answer::Answer;
use crate::args::Inspect;
use crate::library::Contents;
use anyhow::{Context, Result, anyhow, ensure};
use blockmill_neo::execute::encode::integer_of;
use blockmill_neo::execute::engine::Execution;
use blockmill_neo::execute::vm::{Heap, json, serialize};
use blockmill_neo::ledger::{Balance, StoreReader};
use blockmill_neo::logs::{Standard, Transfer};
use blockmill_neo::types::{Address, Block, UInt160, UInt256};
use blockmill_verdict::{Digits, Level, grouped};
use serde_json::{Value, json};
use std::path::Path;

/// Limit of printed transfers and transactions; JSON has all.
const SHOWN: usize = 20;

/// Runs the query of `inspect` on a store.
pub fn run(folder: &Path, args: &Inspect, json: bool) -> Result<Answer> {
    let store = StoreReader::open(folder)?;
    let document = if let Some(height) = args.block {
        block(&store, height)?
    } else if let Some(hash) = &args.transaction {
        transaction(&store, hash)?
    } else if let Some(account) = &args.account {
        account_of(&store, account, args.chain.as_deref())?
    } else {
        summary(&store, folder)
    };
    if json {
        return Ok(Answer::ok().with_contents(Contents::Store(document)));
    }
    print(&document, 0);
    Ok(Answer::ok())
}

fn summary(store: &StoreReader, folder: &Path) -> Value {
    let tip = store.tip();
    let chain = tip.map(|tip| UInt256(tip.chain));
    let name = chain.and_then(network::by_genesis).map(|protocol| protocol.name);
    json!({
        "store": folder.display().to_string(),
        "chain": name.unwrap_or("a chain of its own"),
        "genesis": chain.map(|hash| hash.to_string()),
        "first": store.first(),
        "whole_from": whole_from(store),
        "height": tip.map(|tip| tip.number),
        "tip": tip.map(|tip| UInt256(tip.hash).to_string()),
        "level": tip.and_then(|tip| Level::stored(tip.level)).map(Level::name),
        "state_root": store.root().map(|root| root.to_string()),
    })
}

/// The height of the first complete block, if blocks were removed.
fn whole_from(store: &StoreReader) -> Option<u64> {
    store.first_whole().filter(|first| store.first() != Some(*first))
}

fn block(store: &StoreReader, height: u32) -> Result<Value> {
    let tip = store.tip().map_or(0, |tip| tip.number);
    let missing = || anyhow!("--block {height}: expected a block up to {tip} with its body");
    let block = store.block(height)?.ok_or_else(missing)?;
    let header = &block.header;
    let executions = store.executions(height)?.unwrap_or_default();
    let transactions = block.transactions().map(|each| each.hash().to_string());
    let system = executions.iter().filter(|each| each.container == block.hash);
    Ok(json!({
        "height": height,
        "hash": block.hash.to_string(),
        "previous": header.previous.to_string(),
        "merkle_root": header.merkle_root.to_string(),
        "timestamp": header.timestamp,
        "primary": header.primary,
        "next_consensus": header.next_consensus.address().to_string(),
        "state_root": store.root_at(height)?.map(|root| root.to_string()),
        "executions": system.map(execution).collect::<Vec<_>>(),
        "transactions": transactions.collect::<Vec<_>>(),
    }))
}

fn transaction(store: &StoreReader, text: &str) -> Result<Value> {
    let hash: UInt256 = text.parse().with_context(|| format!("--transaction {text}"))?;
    let place = store.transaction(hash)?;
    let (height, index) = place.with_context(|| {
        format!("--transaction {text}: expected one of the executed blocks of this store")
    })?;
    let block = store.block(height).with_context(|| format!("--transaction {text}"))?;
    let block = block.context("its block is not there")?;
    ensure!((index as usize) < block.transactions.len(), "its block has fewer transactions");
    let transaction = block.transaction(index as usize);
    let fields = transaction.fields();
    let executions = store.executions(height)?.unwrap_or_default();
    let own = executions.iter().find(|each| each.container == hash);
    Ok(json!({
        "hash": hash.to_string(),
        "height": height,
        "index": index,
        "sender": transaction.sender().address().to_string(),
        "system_fee": fields.system_fee,
        "network_fee": fields.network_fee,
        "valid_until_block": fields.valid_until_block,
        "bytes": transaction.size(),
        "execution": own.map(execution),
    }))
}

/// An execution as neo-go's application log shows it.
fn execution(execution: &Execution) -> Value {
    let notifications = execution.notifications.iter().map(|event| {
        json!({
            "contract": event.contract.to_string(),
            "eventname": event.name,
            "state": item(&event.state),
        })
    });
    json!({
        "trigger": execution.trigger.name(),
        "vmstate": if execution.fault.is_none() { "HALT" } else { "FAULT" },
        "gasconsumed": execution.gas.to_string(),
        "exception": execution.fault,
        "stack": execution.stack.iter().map(|bytes| item(bytes)).collect::<Vec<_>>(),
        "notifications": notifications.collect::<Vec<_>>(),
    })
}

/// A stack item with its type. Interop objects have no value.
fn item(bytes: &[u8]) -> Value {
    let mut heap = Heap::default();
    let text = serialize::deserialize(&mut heap, bytes)
        .and_then(|item| json::with_types(&heap, &item))
        .ok();
    let value = text.and_then(|text| serde_json::from_str(&text).ok());
    value.unwrap_or_else(|| json!({ "type": "InteropInterface" }))
}

fn account_of(store: &StoreReader, text: &str, chain: Option<&str>) -> Result<Value> {
    let account = match text.parse::<Address>() {
        Ok(Address(account)) => account,
        Err(error) => text
            .parse::<UInt160>()
            .map_err(|_| error)
            .with_context(|| format!("--account {text}"))?,
    };
    let protocol = match chain {
        Some(chain) => network::named(chain)?,
        None => store.protocol()?.context("expected a store with blocks, found none")?,
    };
    let balances = store.balances(account, &protocol)?;
    let mut transfers = vec![];
    for standard in [17, 11] {
        store.transfers(account, standard, |transfer| {
            transfers.push(transfer);
            true
        })?;
    }
    transfers.sort_by_key(|transfer| transfer.place);
    let removed = whole_from(store).map(|first| {
        let first = grouped(first);
        format!("of NEP-17 before block {first}, but for the last of each token: removed")
    });
    Ok(json!({
        "account": account.to_string(),
        "address": account.address().to_string(),
        "balances": balances.iter().map(balance).collect::<Vec<_>>(),
        "missing_transfers": removed,
        "transfers": transfers
            .iter()
            .map(|each| transfer(store, each))
            .collect::<Result<Vec<_>>>()?,
    }))
}

fn balance(balance: &Balance) -> Value {
    json!({
        "contract": balance.contract.map(|hash| hash.to_string()),
        "name": balance.name,
        "token": balance.token.as_ref().map(|token| Digits(token).to_string()),
        "amount": balance.amount.as_ref().map(ToString::to_string),
        "updated": balance.updated,
    })
}

fn transfer(store: &StoreReader, transfer: &Transfer) -> Result<Value> {
    let height = transfer.place.height;
    let is_whole = store.first_whole().is_none_or(|first| first <= height.into());
    let block = if is_whole { store.block(height)? } else { None };
    // the first execution is OnPersist
    let hash = |block: &Block| {
        let index = (transfer.execution as usize).checked_sub(1)?;
        (index < block.transactions.len()).then(|| block.transaction(index).hash().to_string())
    };
    let token = match &transfer.standard {
        Standard::Nep17 => None,
        Standard::Nep11(token) => Some(Digits(token).to_string()),
    };
    let other = transfer.counterparty;
    Ok(json!({
        "height": height,
        "transaction": block.as_ref().and_then(hash),
        "asset": transfer.asset,
        "token": token,
        "amount": integer_of(&transfer.amount).to_string(),
        "to_or_from": (other != UInt160::ZERO).then(|| other.address().to_string()),
        "outgoing": transfer.outgoing,
    }))
}

/// Prints a document as text: names and values, nested ones indented.
fn print(value: &Value, depth: usize) {
    let Value::Object(fields) = value else { return };
    for (name, value) in fields {
        let name = name.replace('_', " ");
        let space = " ".repeat(2 * depth);
        match value {
            Value::Null => {}
            Value::Array(items) => {
                println!("{space}{name} ({})", grouped(items.len() as u64));
                for item in items.iter().take(SHOWN) {
                    match item {
                        Value::Object(_) => println!("{space}  {}", line(item)),
                        other => println!("{space}  {}", plain(other)),
                    }
                }
                if items.len() > SHOWN {
                    println!("{space}  and {} more: see --json", items.len() - SHOWN);
                }
            }
            Value::Object(_) => {
                println!("{space}{name}");
                print(value, depth + 1);
            }
            other => println!("{space}{name:<18} {}", plain(other)),
        }
    }
}

/// An object in one line.
fn line(value: &Value) -> String {
    let Value::Object(fields) = value else { return plain(value) };
    let known = fields.iter().filter(|(_, value)| !value.is_null());
    let parts = known.map(|(name, value)| format!("{}: {}", name.replace('_', " "), plain(value)));
    parts.collect::<Vec<_>>().join(", ")
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
