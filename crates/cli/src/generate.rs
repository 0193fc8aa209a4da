//! `generate`: deterministic archives.

use crate::answer::Answer;
use crate::args::{self, Generate, GenerateBitcoin, GenerateEthereum, Outputs, Target};
use crate::outputs;
use crate::stop;
use anyhow::{Context, Result};
use archive::output::{Claim, Shape};
use bench::generate::bitcoin::{Order, Recipe, generate as generate_bitcoin};
use bench::generate::transfers as transfer_chains;
use bench::generate::{self as ethereum_chains, generate};
use chain::grouped;
use indicatif::ProgressBar;
use serde_json::json;
use std::path::Path;
use std::thread::available_parallelism;

/// A header has more bytes, a signed transfer, and an input with what it spends.
const LEAST_HEADER: u64 = 450;
const LEAST_TRANSFER: u64 = 90;
const LEAST_SPEND: u64 = 41;

/// `blockmill generate`.
pub fn run(command: &Generate, json: bool) -> Result<Answer> {
    match command {
        Generate::Ethereum(args) if args.transfers.is_some() => transfers(args, json),
        Generate::Ethereum(args) => {
            ethereum(args, json)?;
            let out = args.out.display();
            if json {
                let (last, seed, out) = (args.headers, args.seed, out.to_string());
                return Answer::ok().with(json!({ "out": out, "last": last, "seed": seed }));
            }
            println!("wrote blocks 0 to {} to {out}", grouped(args.headers));
            println!("they obey every rule but the seal: verify them with --seal off");
            Ok(Answer::ok())
        }
        Generate::Bitcoin(args) => bitcoin(args, json),
    }
}

/// Writes the archive, with a progress bar.
pub fn ethereum(args: &GenerateEthereum, quiet: bool) -> Result<()> {
    let Some((format, gzip)) = args.format.format() else {
        anyhow::bail!("--format: blk and core are formats of Bitcoin")
    };
    let recipe = ethereum_chains::Recipe { last: args.headers, seed: args.seed, format, gzip };
    let shape = match args.format {
        Target::Era1 => Shape::Folder(is_era1),
        other => outputs::shape_of(other),
    };
    let claim = claim(&args.out, shape, args.outputs, args.headers.saturating_mul(LEAST_HEADER))?;
    let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(args.headers + 1) };
    generate(&recipe, &args.out, |blocks| bar.set_position(blocks))?;
    bar.finish_and_clear();
    Ok(claim.done()?)
}

/// The right to write `out`, which will have so many bytes at least.
fn claim(out: &Path, shape: Shape, outputs: Outputs, bytes: u64) -> Result<Claim> {
    stop::leaves(format!("nothing was written to {}", out.display()));
    stop::writes(out, bytes);
    outputs::expect_room(out, bytes, outputs)
        .with_context(|| format!("cannot write {}", out.display()))?;
    outputs::claim(out, &[], shape, outputs.replace)
}

fn is_era1(path: &Path) -> bool {
    path.components().count() == 1 && path.extension().is_some_and(|ending| ending == "era1")
}

fn is_of_transfers(path: &Path) -> bool {
    [transfer_chains::FILE, "genesis.json"].iter().any(|name| path == Path::new(name))
}

/// Writes a chain of transfers, with a progress bar, and says what is in it.
fn transfers(args: &GenerateEthereum, json: bool) -> Result<Answer> {
    let recipe = transfer_chains::Recipe {
        transfers: args.transfers.unwrap_or_default(),
        block_transfers: args.block_transfers.unwrap_or(u64::MAX),
        seed: args.seed,
    };
    let shape = Shape::Folder(is_of_transfers);
    let bytes = recipe.transfers.saturating_mul(LEAST_TRANSFER);
    let claim = claim(&args.out, shape, args.outputs, bytes)?;
    let bar = if json { ProgressBar::hidden() } else { ProgressBar::new(recipe.transfers) };
    let last = transfer_chains::generate(&recipe, &args.out, |made| bar.set_position(made))?;
    bar.finish_and_clear();
    claim.done()?;
    let (out, seed, transfers) = (args.out.display().to_string(), args.seed, recipe.transfers);
    if json {
        return Answer::ok().with(json!({
            "out": out, "last": last, "seed": seed, "transfers": transfers
        }));
    }
    let [blocks, transfers] = [last, transfers].map(grouped);
    println!("wrote blocks 0 to {blocks} with {transfers} transfers, and a genesis.json to {out}");
    println!("they obey every rule but the seal: verify them with --seal off");
    Ok(Answer::ok())
}

/// Writes a regtest chain, with a progress bar, and says what is in it.
fn bitcoin(args: &GenerateBitcoin, json: bool) -> Result<Answer> {
    let recipe = Recipe {
        inputs: args.inputs,
        blocks: args.blocks,
        block_inputs: args.block_inputs,
        coins: args.coins,
        padding: args.padding,
        unlinked: args.unlinked,
        stale: args.stale,
        duplicates: args.duplicates,
        seed: args.seed,
        order: match args.order {
            args::Order::Height => Order::Height,
            args::Order::Shuffled => Order::Shuffled,
            args::Order::Reversed => Order::Reversed,
            args::Order::Download => Order::Download,
        },
        xor: args.xor,
        file_size: args.file_size,
    };
    let goal = if args.inputs > 0 { args.inputs } else { args.blocks.into() };
    let bar = if json { ProgressBar::hidden() } else { ProgressBar::new(goal) };
    let bytes = (args.padding as u64).saturating_mul(args.blocks.into());
    let bytes = bytes.saturating_add(args.inputs.saturating_mul(LEAST_SPEND));
    let shape = outputs::shape_of(Target::Blk);
    let claim = claim(&args.out, shape, args.outputs, bytes)?;
    let threads = available_parallelism()?;
    let made = generate_bitcoin(&recipe, &args.out, threads, |made| {
        bar.set_position(if args.inputs > 0 { made.inputs } else { made.height.into() });
    })?;
    bar.finish_and_clear();
    claim.done()?;
    let tip = made.tip.iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>();
    let out = args.out.display().to_string();
    if json {
        return Answer::ok().with(json!({
            "out": out, "seed": args.seed, "height": made.height, "tip": tip,
            "records": made.records, "transactions": made.transactions,
            "inputs": made.inputs, "bytes": made.bytes,
        }));
    }
    let [records, transactions, inputs] =
        [made.records, made.transactions, made.inputs].map(grouped);
    println!("wrote {records} blocks to {out}, the last at height {}", grouped(made.height.into()));
    println!("best block {tip}: {transactions} transactions, {inputs} inputs before it");
    Ok(Answer::ok())
}
