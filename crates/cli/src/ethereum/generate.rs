//! `generate ethereum`: headers, or blocks of transfers.

use crate::answer::Answer;
use crate::args::GenerateEthereum;
use crate::generate::write;
use anyhow::Result;
use archive::Output;
use archive::output::Shape;
use chain::grouped;
use generate::ethereum::transfers as transfer_chains;
use generate::ethereum::{self as header_chains, generate};
use serde_json::{Value, json};
use std::path::Path;

/// A signed transfer has more bytes.
const LEAST_TRANSFER: u64 = 90;

/// `blockmill generate ethereum`.
pub fn run(args: &GenerateEthereum, json: bool) -> Result<Answer> {
    let (out, seed) = (args.out.display().to_string(), args.seed);
    let document = |last| json!({ "out": out, "last": last, "seed": seed });
    let (document, text) = match args.transfers {
        None => {
            headers(args, json)?;
            let last = grouped(args.headers);
            (document(args.headers), format!("wrote blocks 0 to {last} to {out}"))
        }
        Some(number) => {
            let last = transfers(args, number, json)?;
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
    println!("they obey every rule but the seal: verify them with --seal off");
    Ok(Answer::ok())
}

/// Writes a chain of headers, with a progress bar.
pub fn headers(args: &GenerateEthereum, quiet: bool) -> Result<()> {
    let Output::Blocks(format, gzip) = args.format.output else {
        anyhow::bail!("--format: {} is a format of another family", args.format.name)
    };
    let recipe = header_chains::Recipe { last: args.headers, seed: args.seed, format, gzip };
    let (shape, least) = (args.format.shape_alone(), args.format.least_block);
    let bytes = args.headers.saturating_mul(least);
    write(&args.out, (shape, bytes), args.outputs, (args.headers + 1, quiet), |bar| {
        generate(&recipe, &args.out, |blocks| bar.set_position(blocks))
    })
}

/// Writes a chain of transfers, with a progress bar; returns the number of its last block.
fn transfers(args: &GenerateEthereum, transfers: u64, quiet: bool) -> Result<u64> {
    let recipe = transfer_chains::Recipe {
        transfers,
        block_transfers: args.block_transfers.unwrap_or(u64::MAX),
        seed: args.seed,
    };
    let shape = Shape::Folder(is_of_transfers);
    let bytes = transfers.saturating_mul(LEAST_TRANSFER);
    write(&args.out, (shape, bytes), args.outputs, (transfers, quiet), |bar| {
        transfer_chains::generate(&recipe, &args.out, |done| bar.set_position(done))
    })
}

fn is_of_transfers(path: &Path) -> bool {
    [transfer_chains::FILE, "genesis.json"].iter().any(|name| path == Path::new(name))
}
