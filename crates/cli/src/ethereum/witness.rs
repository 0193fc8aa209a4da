//! `witness`: single blocks, each executed on the part of the state that it comes with; and such
//! files, made of blocks of a store.

use super::network;
use super::state::Source;
use crate::answer::Answer;
use crate::{args, outputs};
use anyhow::{Context, Result, bail};
use archive::output::{OutputFile, Shape};
use chain::{FaultReport, Hex, Status, grouped};
use ethereum::execute::ExecutionError;
use ethereum::execute::witness::{Stateless, Witness, WitnessError};
use ethereum::params::ChainSpec;
use pipeline::Cancel;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// Most bytes of a file, unpacked: a hundred times those of a large block.
const MOST_BYTES: usize = 2 << 30;

/// `blockmill witness`.
pub fn run(args: &args::Witness, json: bool, cancel: &Cancel) -> Result<Answer> {
    if let (Some(block), Some(out)) = (args.block, &args.out) {
        return make(args, block, out, json, cancel);
    }
    let mut results = vec![];
    for file in &args.files {
        let bytes = archive::read_whole(file, MOST_BYTES)?;
        let text = String::from_utf8(bytes)
            .with_context(|| format!("{}: expected JSON", file.display()))?;
        let done = match Witness::read(&text) {
            Ok(witness) => {
                let spec = spec(args, &witness)?;
                witness.execute(&spec)
            }
            Err(error) => Err(error),
        };
        match done {
            Ok(done) if json => results.push(document(file, &done)),
            Ok(done) => print(file, &done),
            Err(error) => return failed(file, &error, results),
        }
    }
    Answer::ok().with(results)
}

/// Makes the witness of a stored block, and executes it as any other.
fn make(
    args: &args::Witness,
    block: u64,
    out: &Path,
    json: bool,
    cancel: &Cancel,
) -> Result<Answer> {
    let [data] = &args.files[..] else {
        bail!("--block {block}: expected the folder of one store, found {}", args.files.len());
    };
    let source = Source::open(data)?;
    let spec = source.spec(args.chain.as_deref())?;
    let Some(parent) = block.checked_sub(1) else {
        bail!("--block 0: expected a block with a parent, found the genesis block");
    };
    let claim = outputs::claim(out, &args.files, Shape::File, args.replace)?;
    let Some((before, _)) = source.nodes_behind(parent, cancel)? else {
        return Ok(Answer::of(Status::Interrupted));
    };
    let (header, body) = (source.header(block)?, source.body(block)?);
    let header_of = |number| source.header(number);
    let witness = Witness::of_block(&spec, &header, &body, &before, header_of)?;
    let done = witness.execute(&spec)?;
    let text = serde_json::to_vec(&witness.to_json(&done))?;
    let mut file = OutputFile::create(out)?;
    file.write_all(&text).with_context(|| format!("cannot write {}", out.display()))?;
    file.finish(out)?;
    claim.done()?;
    let [nodes, codes, headers] = witness.counts();
    if !json {
        print(out, &done);
        println!("holds          {nodes} trie nodes, {codes} codes, {headers} headers");
    }
    let mut result = document(out, &done);
    for (name, count) in [("nodes", nodes), ("codes", codes), ("headers", headers)] {
        result[name] = count.into();
    }
    Answer::ok().with(result)
}

/// The chain that was named, or the network with the witness' number.
fn spec(args: &args::Witness, witness: &Witness) -> Result<ChainSpec> {
    if let Some(chain) = &args.chain {
        return network::named(chain, None);
    }
    let mut known = ChainSpec::NETWORKS.iter().filter_map(|name| ChainSpec::by_name(name));
    match known.find(|spec| spec.chain_id == witness.chain_id) {
        Some(spec) => Ok(spec),
        None => bail!("chain {}: name it with --chain genesis.json", witness.chain_id),
    }
}

fn failed(file: &Path, error: &WitnessError, results: Vec<Value>) -> Result<Answer> {
    let (status, rule) = match error {
        WitnessError::Json(_) | WitnessError::Field { .. } => (Status::Unknown, None),
        WitnessError::Execution(ExecutionError::Rule(violation)) => {
            (Status::Fault, Some(violation.rule.name().to_owned()))
        }
        WitnessError::Execution(ExecutionError::State(_)) => (Status::Incomplete, None),
    };
    let message = format!("{}: {error}", file.display());
    let error = FaultReport { file: Some(file.into()), rule, ..FaultReport::new(message) };
    Answer { error: Some(error), ..Answer::of(status) }.with(results)
}

fn document(file: &Path, done: &Stateless) -> Value {
    json!({
        "file": file.display().to_string(),
        "block": done.number,
        "hash": Hex(&done.hash).to_string(),
        "state_root": Hex(&done.state_root).to_string(),
        "gas_used": done.gas_used,
    })
}

fn print(file: &Path, done: &Stateless) {
    println!("witness        {}", file.display());
    println!("block          {} {}", grouped(done.number), Hex(&done.hash));
    println!("state root     {}, as its header says", Hex(&done.state_root));
    println!("gas            {}", grouped(done.gas_used));
}
