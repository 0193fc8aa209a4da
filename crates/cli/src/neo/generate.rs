//! `generate neo`: a dump and its configuration.

use crate::answer::Answer;
use crate::args::GenerateNeo;
use crate::generate::write;
use anyhow::Result;
use blockmill_archive::output::Shape;
use blockmill_generate::neo::{CONFIGURATION, FILE, Recipe, generate};
use blockmill_verdict::grouped;
use serde_json::json;
use std::path::Path;

/// Lower bounds of the sizes of an empty block and of a transfer.
const LEAST_BLOCK: u64 = 220;
const LEAST_TRANSFER: u64 = 250;

/// `blockmill generate neo`.
pub fn run(args: &GenerateNeo, json: bool) -> Result<Answer> {
    let recipe = Recipe {
        blocks: args.blocks,
        transactions: args.txs,
        every: args.every,
        accounts: args.accounts,
        mixed: args.mixed,
        state_roots: args.state_roots,
        seed: args.seed,
    };
    let blocks = u64::from(recipe.all_blocks());
    let full = u64::from(args.blocks / args.every.max(1));
    let bytes = blocks * LEAST_BLOCK + full * u64::from(args.txs) * LEAST_TRANSFER;
    let shape = (Shape::Folder(is_of_chain), bytes);
    let made = write(&args.out, shape, args.outputs, ("blocks", blocks), |live| {
        generate(&recipe, &args.out, |blocks| live.reach(blocks))
    })?;
    let out = args.out.display().to_string();
    if json {
        return Answer::ok().with(json!({
            "out": out,
            "last": made.last,
            "tip": made.tip.to_string(),
            "root": made.root.to_string(),
            "transactions": made.transactions,
            "faults": made.faults,
            "seed": args.seed,
        }));
    }
    let (last, all) = (grouped(made.last.into()), grouped(made.transactions));
    let failed = grouped(made.faults);
    println!("wrote blocks 0 to {last} with {all} transactions, {failed} of which fail, to {out}");
    println!("tip {}, state root after it {}", made.tip, made.root);
    println!("{FILE} is the dump, {CONFIGURATION} the configuration of its network");
    Ok(Answer::ok())
}

fn is_of_chain(path: &Path) -> bool {
    [FILE, CONFIGURATION].iter().any(|name| path == Path::new(name))
}
