//! `witness`: executes single blocks, each with the part of the state in its file; writes such
//! files for blocks of a store.

mod batch;
mod chains;
pub(crate) mod files;
mod summary;

use super::state::StateReader;
use crate::answer::Answer;
use crate::args::WitnessFormat;
use crate::{args, outputs};
use anyhow::{Context, Result, bail, ensure};
use blockmill_archive::output::{OutputFile, Shape};
use blockmill_ethereum::Hash;
use blockmill_ethereum::execute::ExecutionError;
use blockmill_ethereum::witness::{Document, Stateless, Witness, WitnessError};
use blockmill_pipeline::Cancel;
use blockmill_report::format::short_hash;
use blockmill_verdict::{FaultReport, Hex, Status, counted, grouped};
use chains::Chains;
use files::read;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Columns from which on hashes are printed in full.
const WIDE: usize = 100;

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
    if files::has_folder(&args.files)? {
        return batch::run(args, json, cancel);
    }
    let chains = Chains::new(args)?;
    let (mut results, mut blocks, mut bare) = (vec![], vec![], vec![]);
    for file in &args.files {
        match Document::read(&read(file)?) {
            Ok(Document::Whole(witness)) => match execute(&chains, file, &witness)? {
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
            bail!("{}: {}", file.display(), files::NO_BLOCK);
        };
        block.is_used = true;
        let witness = Witness::from_parts(block.raw.clone(), parts);
        match execute(&chains, file, &witness)? {
            Ok(done) => add(file, &done, json, &mut results),
            Err(error) => return failed(file, &error, results),
        }
    }
    if let Some(block) = blocks.iter().find(|block| !block.is_used) {
        bail!("{}: a block without a witness; no other file is about it", block.file.display());
    }
    Answer::ok().with(results)
}

fn execute(
    chains: &Chains,
    file: &Path,
    witness: &Witness,
) -> Result<Result<Stateless, WitnessError>> {
    let spec = chains.of(witness).with_context(|| file.display().to_string())?;
    Ok(witness.execute_with(&spec, &chains.codes, chains.reading))
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
    let is_apart = args.block_out.as_ref() != Some(&out.to_path_buf());
    ensure!(is_apart, "--block-out: expected another file than --out has");
    let block_claim = match &args.block_out {
        Some(out) => Some((out, outputs::claim(out, &args.files, Shape::File, args.replace)?)),
        None => None,
    };
    let Some((before, _)) = source.nodes_after(parent, cancel)? else {
        return Ok(Answer::with_status(Status::Interrupted));
    };
    let (header, body) = (source.header(block)?, source.body(block)?);
    let header_of = |number| source.header(number);
    let witness = Witness::record(&spec, &header, &body, &before, header_of)?;
    let done = witness.execute(&spec)?;
    let bytes = match args.format {
        WitnessFormat::Whole => serde_json::to_vec(&witness.to_json(&done))?,
        WitnessFormat::Debug => serde_json::to_vec(&witness.to_debug_json())?,
        WitnessFormat::Rlp => witness.to_rlp(),
    };
    write(out, &bytes)?;
    claim.done()?;
    if let Some((out, claim)) = block_claim {
        write(out, witness.block())?;
        claim.done()?;
    }
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

fn write(out: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = OutputFile::create(out)?;
    file.write_all(bytes).with_context(|| format!("cannot write {}", out.display()))?;
    Ok(file.finish(out)?)
}

/// What an error means for the status, and the rule that is broken.
fn status_of(error: &WitnessError) -> (Status, Option<String>) {
    match error {
        WitnessError::Stated { .. } => (Status::Corrupt, None),
        WitnessError::MissingParent { .. } | WitnessError::Forgiven(_) => {
            (Status::Incomplete, None)
        }
        WitnessError::Execution(ExecutionError::Rule(violation)) => {
            (Status::Invalid, Some(violation.rule.name().to_owned()))
        }
        WitnessError::Execution(ExecutionError::State(_)) => (Status::Incomplete, None),
        _ => (Status::Unrecognised, None),
    }
}

fn failed(file: &Path, error: &WitnessError, results: Vec<Value>) -> Result<Answer> {
    let (status, rule) = status_of(error);
    let message = format!("{}: {error}", file.display());
    let error = FaultReport { file: Some(file.into()), rule, ..FaultReport::new(message) };
    Answer { error: Some(error), ..Answer::with_status(status) }.with(results)
}

fn document(file: &Path, done: &Stateless) -> Value {
    let (count, first) = done.forgiven.unzip();
    json!({
        "file": file.display().to_string(),
        "block": done.number,
        "hash": Hex(&done.hash).to_string(),
        "state_root": Hex(&done.state_root).to_string(),
        "gas_used": done.gas_used,
        "missing_nodes": count.unwrap_or(0),
        "missing_node": first.map(|hash| Hex(&hash).to_string()),
    })
}

fn print(file: &Path, done: &Stateless) {
    println!("witness        {}", file.display());
    println!("block          {} {}", grouped(done.number), shown(&done.hash));
    println!("state root     {}, as its header says", shown(&done.state_root));
    println!("gas            {}", grouped(done.gas_used));
    if let Some((count, hash)) = done.forgiven {
        let nodes = counted(count as u64, "trie node");
        println!("incomplete     {nodes} missing, such as {}: taken as empty", shown(&hash));
    }
}

/// A hash, shortened in a terminal that is not wide.
fn shown(hash: &Hash) -> String {
    let hash = Hex(hash).to_string();
    match blockmill_report::width() {
        Some(width) if width < WIDE => short_hash(&hash),
        _ => hash,
    }
}
