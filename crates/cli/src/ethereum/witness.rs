//! `witness`: executes single blocks, each with the part of the state in its file; writes such
//! files for blocks of a store.

use super::network;
use super::state::StateReader;
use crate::answer::Answer;
use crate::{args, outputs};
use anyhow::{Context, Result, bail};
use blockmill_archive::output::{OutputFile, Shape};
use blockmill_ethereum::execute::ExecutionError;
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::witness::{Document, Stateless, Witness, WitnessError};
use blockmill_pipeline::Cancel;
use blockmill_verdict::{FaultReport, Hex, Status, grouped};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Most bytes of a file, unpacked: some ten times those of the largest blocks.
const MOST_BYTES: usize = 512 << 20;
/// Bytes of a compressed file that may be unpacked, whatever it has, ...
const UNPACKED: usize = 64 << 20;
/// ... and for each of its bytes: hexadecimal digits of hashes give less than 3.
const UNPACKED_FOR_A_BYTE: usize = 32;

/// A block of its own file.
struct Block {
    file: PathBuf,
    raw: Vec<u8>,
    is_used: bool,
}

/// `blockmill witness`.
pub fn run(args: &args::Witness, json: bool, cancel: &Cancel) -> Result<Answer> {
    if let (Some(block), Some(out)) = (args.block, &args.out) {
        return make(args, block, out, json, cancel);
    }
    let (mut results, mut blocks, mut bare) = (vec![], vec![], vec![]);
    for file in &args.files {
        match Document::read(&read(file)?) {
            Ok(Document::Whole(witness)) => match execute(args, file, &witness)? {
                Ok(done) => add(file, &done, json, &mut results),
                Err(error) => return failed(file, &error, results),
            },
            Ok(Document::Bare(parts)) => bare.push((file, parts)),
            Ok(Document::Block(raw)) => {
                blocks.push(Block { file: file.clone(), raw, is_used: false });
            }
            Err(error) => return failed(file, &error, results),
        }
    }
    let only = bare.len() == 1 && blocks.len() == 1;
    for (file, parts) in bare {
        let block = blocks.iter_mut().find(|block| only || parts.is_of(&block.raw));
        let Some(block) = block else {
            bail!(
                "{}: a witness without its block. Name the file of the block, too: its RLP, or the \
                 answer of debug_getRawBlock",
                file.display()
            );
        };
        block.is_used = true;
        let witness = Witness::from_parts(block.raw.clone(), parts);
        match execute(args, file, &witness)? {
            Ok(done) => add(file, &done, json, &mut results),
            Err(error) => return failed(file, &error, results),
        }
    }
    if let Some(block) = blocks.iter().find(|block| !block.is_used) {
        bail!("{}: a block without a witness; no other file is about it", block.file.display());
    }
    Answer::ok().with(results)
}

/// The bytes of a file. What is compressed may not be unpacked to more than files of this kind are:
/// some kilobytes could give gigabytes.
fn read(file: &Path) -> Result<Vec<u8>> {
    // a pipe has no length
    let length = std::fs::metadata(file).map_or(0, |found| found.len());
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let most = length.saturating_mul(UNPACKED_FOR_A_BYTE).saturating_add(UNPACKED);
    Ok(blockmill_archive::read_whole(file, most.min(MOST_BYTES))?)
}

fn execute(
    args: &args::Witness,
    file: &Path,
    witness: &Witness,
) -> Result<Result<Stateless, WitnessError>> {
    let spec = spec(args, witness).with_context(|| file.display().to_string())?;
    Ok(witness.execute(&spec))
}

fn add(file: &Path, done: &Stateless, json: bool, results: &mut Vec<Value>) {
    match json {
        true => results.push(document(file, done)),
        false => print(file, done),
    }
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
    let source = StateReader::open(data)?;
    let spec = source.spec(args.chain.as_deref())?;
    let Some(parent) = block.checked_sub(1) else {
        bail!("--block 0: expected a block with a parent, found the genesis block");
    };
    let claim = outputs::claim(out, &args.files, Shape::File, args.replace)?;
    let Some((before, _)) = source.nodes_after(parent, cancel)? else {
        return Ok(Answer::with_status(Status::Interrupted));
    };
    let (header, body) = (source.header(block)?, source.body(block)?);
    let header_of = |number| source.header(number);
    let witness = Witness::record(&spec, &header, &body, &before, header_of)?;
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
        return Ok(network::named(chain, None)?.spec);
    }
    let Some(chain_id) = witness.chain_id else {
        bail!("the file does not say which chain this is: name it with --chain");
    };
    let mut known = ChainSpec::NETWORKS.iter().filter_map(|name| ChainSpec::by_name(name));
    match known.find(|spec| spec.chain_id == blockmill_ethereum::U256::from(chain_id)) {
        Some(spec) => Ok(spec),
        None => bail!("chain {chain_id}: name it with --chain genesis.json"),
    }
}

fn failed(file: &Path, error: &WitnessError, results: Vec<Value>) -> Result<Answer> {
    let (status, rule) = match error {
        WitnessError::Stated { .. } => (Status::Corrupt, None),
        WitnessError::MissingParent { .. } => (Status::Incomplete, None),
        WitnessError::Execution(ExecutionError::Rule(violation)) => {
            (Status::Invalid, Some(violation.rule.name().to_owned()))
        }
        WitnessError::Execution(ExecutionError::State(_)) => (Status::Incomplete, None),
        _ => (Status::Unrecognised, None),
    };
    let message = format!("{}: {error}", file.display());
    let error = FaultReport { file: Some(file.into()), rule, ..FaultReport::new(message) };
    Answer { error: Some(error), ..Answer::with_status(status) }.with(results)
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
