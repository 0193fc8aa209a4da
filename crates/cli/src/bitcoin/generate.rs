//! `generate bitcoin`: a regtest chain in block files.

use crate::answer::Answer;
use crate::args::{self, GenerateBitcoin};
use crate::generate::write;
use anyhow::Result;
use blockmill_archive::blkdat;
use blockmill_archive::output::Shape;
use blockmill_generate::bitcoin::{Order, Recipe, generate};
use blockmill_verdict::{Reversed, grouped};
use serde_json::json;
use std::thread::available_parallelism;

/// An input has more bytes, with what it spends.
const LEAST_SPEND: u64 = 41;

/// Writes a regtest chain, and prints what is in it.
pub fn run(args: &GenerateBitcoin, json: bool) -> Result<Answer> {
    let recipe = Recipe {
        inputs: args.inputs,
        blocks: args.blocks,
        block_inputs: args.block_inputs,
        coins: args.coins,
        padding: args.padding,
        unlinked: args.unlinked,
        unusual: args.unusual,
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
    let goal = match args.inputs {
        0 => ("blocks", args.blocks.into()),
        inputs => ("inputs", inputs),
    };
    let bytes = (args.padding as u64).saturating_mul(args.blocks.into());
    let bytes = bytes.saturating_add(args.inputs.saturating_mul(LEAST_SPEND));
    let shape = Shape::Folder(blkdat::is_own_file);
    let threads = available_parallelism()?;
    let written = write(&args.out, (shape, bytes), args.outputs, goal, |live| {
        generate(&recipe, &args.out, threads, |so_far| {
            live.reach(if args.inputs > 0 { so_far.inputs } else { so_far.height.into() });
        })
    })?;
    let tip = Reversed(&written.tip).to_string();
    let out = args.out.display().to_string();
    if json {
        return Answer::ok().with(json!({
            "out": out, "seed": args.seed, "height": written.height, "tip": tip,
            "records": written.records, "transactions": written.transactions,
            "inputs": written.inputs, "coins": written.coins, "bytes": written.bytes,
        }));
    }
    let [records, transactions, inputs] =
        [written.records, written.transactions, written.inputs].map(grouped);
    println!(
        "wrote {records} blocks to {out}, the last at height {}",
        grouped(written.height.into())
    );
    println!("best block {tip}: {transactions} transactions, {inputs} inputs before it");
    if let Some(asked) = args.coins.filter(|asked| written.falls_short_of(*asked)) {
        println!(
            "--coins {asked}: {} at most were unspent at once; more --inputs make more",
            grouped(written.coins)
        );
    }
    Ok(Answer::ok())
}
