//! `prove`: an account and slots of its storage, with the nodes between them and the state root of
//! a stored block.

use super::state::StateReader;
use crate::answer::Answer;
use crate::args::Prove;
use crate::print;
use anyhow::Result;
use blockmill_ethereum::U256;
use blockmill_ethereum::state::{AccountProof, NodeBytes, SlotProof};
use blockmill_pipeline::Cancel;
use blockmill_verdict::{Hex, Status};
use serde_json::{Value, json};

/// `blockmill prove`.
pub fn run(args: &Prove, json: bool, cancel: &Cancel) -> Result<Answer> {
    let source = StateReader::open(&args.data)?;
    let number = args.block.map_or_else(|| source.last(), Ok)?;
    let Some((nodes, root)) = source.nodes_after(number, cancel)? else {
        return Ok(Answer::with_status(Status::Interrupted));
    };
    let slots: Vec<U256> = args.slots.iter().map(|slot| U256::from_be_bytes(*slot)).collect();
    let proof = document(&AccountProof::new(&nodes, &root, &args.account, &slots)?);
    if json {
        let result =
            json!({ "block": number, "state_root": Hex(&root).to_string(), "proof": proof });
        return Answer::ok().with(result);
    }
    print::raw(format_args!("{}\n", serde_json::to_string_pretty(&proof)?));
    Ok(Answer::ok())
}

/// What `eth_getProof` answers (EIP-1186).
fn document(proof: &AccountProof) -> Value {
    let slot = |slot: &SlotProof| {
        json!({
            "key": format!("{:#x}", slot.slot),
            "value": format!("{:#x}", slot.value),
            "proof": list(&slot.nodes),
        })
    };
    json!({
        "address": Hex(&proof.address).to_string(),
        "accountProof": list(&proof.nodes),
        "balance": format!("{:#x}", proof.account.balance),
        "codeHash": Hex(&proof.account.code_hash).to_string(),
        "nonce": format!("{:#x}", proof.account.nonce),
        "storageHash": Hex(&proof.storage_root).to_string(),
        "storageProof": proof.slots.iter().map(slot).collect::<Vec<_>>(),
    })
}

fn list(nodes: &[NodeBytes]) -> Vec<String> {
    nodes.iter().map(|node| Hex(node).to_string()).collect()
}
