//! `demo`: the main job on a small chain of our own, from nothing to a report.

use crate::args::{Cli, Command, Demo};
use crate::output::Exit;
use crate::progress::grouped;
use crate::{convert, generate, import, inspect, report};
use anyhow::{Context, Result, ensure};
use clap::Parser;
use pipeline::Cancel;
use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Blocks of the archive that is taken through the level `bodies`.
const BLOCKS: u64 = 20_000;

/// `blockmill demo`.
pub fn run(args: &Demo, json: bool) -> Result<Exit> {
    let out = &args.out;
    if out.join("store").exists() {
        fs::remove_dir_all(out).with_context(|| format!("cannot remove {}", out.display()))?;
    }
    fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let path = |name: &str| out.join(name).display().to_string();
    let (blocks, ancient) = (path("blocks.rlp"), path("ancient"));
    let (headers, store) = (path("headers.rlp"), path("store"));

    step(&["generate", "ethereum", "--headers", &BLOCKS.to_string(), "--format", "rlp",
        "--out", &blocks], json)?;
    step(&["convert", &blocks, "--to", "headers", "--out", &path("blocks.headers")], json)?;
    step(&["inspect", &blocks], json)?;
    let record = path("bodies.json");
    step(&["import", &blocks, "--data", &path("bodies"), "--seal", "off", "--record", &record], json)?;

    let count = args.headers.to_string();
    step(&["generate", "ethereum", "--headers", &count, "--out", &headers], json)?;
    let record = path("headers.json");
    step(&["import", &headers, "--data", &store, "--seal", "off", "--record", &record], json)?;

    let damaged = path("damaged.rlp");
    damage(Path::new(&headers), Path::new(&damaged))?;
    if !json {
        println!("\nOne bit of a copy is flipped; it must be found:");
    }
    let exit = step(&["verify", &damaged, "--chain", "mainnet", "--seal", "off"], json)?;
    ensure!(exit == Exit::Failure, "the damaged copy was accepted");
    let _ = ancient;

    let page = path("report");
    step(&["report", &path("headers.json"), &path("bodies.json"), "--out", &page], json)?;
    if !json {
        println!("\n{} headers verified and stored. Open {}", grouped(args.headers), page);
    }
    Ok(Exit::Success)
}

/// Shows a command line and runs it in this process.
fn step(words: &[&str], json: bool) -> Result<Exit> {
    if !json {
        println!("\n$ blockmill {}", words.join(" "));
    }
    let cli = Cli::try_parse_from([&["blockmill"], words].concat())?;
    match &cli.command {
        Command::Generate(command) => generate::run(command, json),
        Command::Convert(args) => convert::run(args, json),
        Command::Inspect(args) => inspect::run(args, json),
        Command::Import(args) => import::run_import(args, json, Cancel::new()),
        Command::Verify(args) => import::run_verify(args, json, Cancel::new()),
        Command::Report(args) => report::run(args, json),
        _ => Ok(Exit::Success),
    }
}

/// Copies a file and flips one bit in the middle.
fn damage(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    let mut file = fs::File::options().read(true).write(true).open(to)?;
    let middle = file.metadata()?.len() / 2;
    let mut byte = [0];
    file.seek(SeekFrom::Start(middle))?;
    file.read_exact(&mut byte)?;
    file.seek(SeekFrom::Start(middle))?;
    file.write_all(&[byte[0] ^ 1])?;
    Ok(())
}
