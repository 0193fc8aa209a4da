//! `generate`: deterministic archives.

use crate::args::{Generate, GenerateEthereum};
use crate::output::Exit;
use crate::progress::grouped;
use anyhow::Result;
use bench::generate::{Recipe, generate};
use indicatif::ProgressBar;

/// `blockmill generate`.
pub fn run(command: &Generate, json: bool) -> Result<Exit> {
    let Generate::Ethereum(args) = command;
    ethereum(args, json)?;
    if json {
        let out = args.out.display().to_string();
        println!("{}", serde_json::json!({ "out": out, "last": args.headers, "seed": args.seed }));
    } else {
        println!("wrote blocks 0 to {} to {}", grouped(args.headers), args.out.display());
        println!("they obey every rule but the seal: verify them with --seal off");
    }
    Ok(Exit::Success)
}

/// Writes the archive, with a progress bar.
pub fn ethereum(args: &GenerateEthereum, quiet: bool) -> Result<()> {
    let (format, gzip) = args.format.format();
    let recipe = Recipe { last: args.headers, seed: args.seed, format, gzip };
    let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(args.headers + 1) };
    generate(&recipe, &args.out, |blocks| bar.set_position(blocks))?;
    bar.finish_and_clear();
    Ok(())
}
