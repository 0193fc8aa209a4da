//! `generate ethereum`: headers, blocks of transfers, or chains that can be executed.

use crate::answer::Answer;
use crate::args::GenerateEthereum;
use crate::generate::write;
use anyhow::{Context, Result};
use blockmill_archive::Output;
use blockmill_archive::output::Shape;
use blockmill_generate::ethereum::executable::{self, FORKS, Generated, Recipe, Work};
use blockmill_generate::ethereum::transfers as transfer_chains;
use blockmill_generate::ethereum::{self as header_chains, generate};
use blockmill_verdict::{Hex, grouped};
use clap::builder::{PossibleValuesParser, ValueParser};
use serde_json::{Value, json};
use std::path::Path;

/// A signed transfer has more bytes.
const LEAST_TRANSFER: u64 = 90;

/// `blockmill generate ethereum`.
pub fn run(args: &GenerateEthereum, json: bool) -> Result<Answer> {
    let (out, seed) = (args.out.display().to_string(), args.seed);
    let is_of_headers = args.transfers.is_none() && args.format.name == "headers";
    let document = |last| json!({ "out": out, "last": last, "seed": seed });
    if let Some(work) = &args.work {
        return work_of(args, work, json);
    }
    let (document, text) = match args.transfers {
        None => {
            headers(args)?;
            let last = grouped(args.headers);
            (document(args.headers), format!("wrote blocks 0 to {last} to {out}"))
        }
        Some(number) => {
            let last = transfers(args, number)?;
            let mut document = document(last);
            document["transfers"] = Value::from(number);
            let [last, number] = [last, number].map(grouped);
            let with = format!("with {number} transfers, and a genesis.json");
            (document, format!("wrote blocks 0 to {last} {with} to {out}"))
        }
    };
    if json {
        return Answer::ok().with(document);
    }
    println!("{text}");
    let level = if is_of_headers { "" } else { " --level bodies, as nothing leads to their state" };
    println!("they obey every rule but the seal: verify them with --seal off{level}");
    Ok(Answer::ok())
}

/// Writes a chain that can be executed.
fn work_of(args: &GenerateEthereum, work: &str, json: bool) -> Result<Answer> {
    let recipe = recipe(args, work)?;
    let shape = Shape::Folder(is_of_transfers);
    let most = recipe.blocks.saturating_mul(recipe.block_transactions);
    let bytes = most.saturating_mul(LEAST_TRANSFER);
    let made = write(&args.out, (shape, bytes), args.outputs, ("blocks", recipe.blocks), |live| {
        executable::generate(&recipe, &args.out, |blocks| live.reach(blocks))
    })?;
    let Generated { last, transactions, gas, .. } = made;
    let (hash, root) = (Hex(&made.hash).to_string(), Hex(&made.state_root).to_string());
    let out = args.out.display();
    if json {
        return Answer::ok().with(json!({
            "out": out.to_string(), "last": last, "seed": args.seed, "work": work,
            "transactions": transactions, "gas": gas, "hash": hash, "state_root": root,
            "slots": recipe.slots,
        }));
    }
    let [blocks, transactions, gas] = [last, transactions, gas].map(grouped);
    println!("wrote blocks 0 to {blocks} to {out}, and a genesis.json");
    println!("they have {transactions} transactions, which use {gas} gas");
    println!("the last block is {hash}, the state root after it {root}");
    let [slots, asked] = [recipe.slots, args.executable.slots].map(grouped);
    if slots != asked {
        println!("--slots {asked}: made {slots}, the next power of two");
    }
    println!("execute them with --level execution --seal off");
    Ok(Answer::ok())
}

fn recipe(args: &GenerateEthereum, work: &str) -> Result<Recipe> {
    let asked = &args.executable;
    let usual = Recipe::for_work(Work::named(work).context("--work: a kind that there is not")?);
    let fork = |name: &str| {
        let found = FORKS.iter().find(|(known, ..)| *known == name);
        found.map(|(_, fork, _)| *fork).context("a fork that there is not")
    };
    Ok(Recipe {
        fork: fork(&asked.fork).context("--fork")?,
        next_fork: asked.next_fork.as_deref().map(fork).transpose().context("--next-fork")?,
        blocks: asked.blocks.unwrap_or(usual.blocks),
        block_transactions: asked.block_transactions.unwrap_or(usual.block_transactions),
        accounts: asked.accounts.unwrap_or(usual.accounts),
        slots: asked.slots.next_power_of_two(),
        seed: args.seed,
        ..usual
    })
}

/// Writes a chain of headers.
pub fn headers(args: &GenerateEthereum) -> Result<()> {
    let Output::Blocks(format, gzip) = args.format.output else {
        anyhow::bail!("--format: {} is a format of another family", args.format.name)
    };
    let recipe = header_chains::Recipe { last: args.headers, seed: args.seed, format, gzip };
    let (shape, least) = (args.format.shape_alone(), args.format.least_block);
    let bytes = args.headers.saturating_mul(least);
    write(&args.out, (shape, bytes), args.outputs, ("headers", args.headers + 1), |live| {
        generate(&recipe, &args.out, |blocks| live.reach(blocks))
    })
}

/// Writes a chain of transfers; returns the number of its last block.
fn transfers(args: &GenerateEthereum, transfers: u64) -> Result<u64> {
    let recipe = transfer_chains::Recipe {
        transfers,
        block_transfers: args.block_transfers.unwrap_or(u64::MAX),
        seed: args.seed,
    };
    let shape = Shape::Folder(is_of_transfers);
    let bytes = transfers.saturating_mul(LEAST_TRANSFER);
    write(&args.out, (shape, bytes), args.outputs, ("transfers", transfers), |live| {
        transfer_chains::generate(&recipe, &args.out, |done| live.reach(done))
    })
}

fn is_of_transfers(path: &Path) -> bool {
    [transfer_chains::FILE, "genesis.json"].iter().any(|name| path == Path::new(name))
}

/// The kinds of work of a chain that can be executed.
pub fn work() -> ValueParser {
    PossibleValuesParser::new(Work::ALL.map(|(name, _)| name)).into()
}

/// The forks of a chain that can be executed.
pub fn fork() -> ValueParser {
    PossibleValuesParser::new(FORKS.map(|(name, ..)| name)).into()
}
