//! `demo`: the main job on a small chain of our own, from nothing to a report.

mod block_files;

use crate::answer::Answer;
use crate::args::{Cli, Command, Demo};
use crate::progress::grouped;
use crate::{convert, generate, import, inspect, report};
use anyhow::{Context, Result, ensure};
use chain::Status;
use clap::Parser;
use pipeline::Cancel;
use serde_json::Value;
use std::cell::RefCell;
use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Blocks of the archive that is taken through the level `bodies`.
const BLOCKS: u64 = 20_000;

/// `blockmill demo`.
pub fn run(args: &Demo, json: bool) -> Result<Answer> {
    let out = &args.out;
    if out.join("headers.json").exists() {
        fs::remove_dir_all(out).with_context(|| format!("cannot remove {}", out.display()))?;
    }
    fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let demo = Steps { json, documents: RefCell::default() };
    ethereum(&demo, args)?;
    block_files::run(&demo, out)?;

    let path = |name: &str| out.join(name).display().to_string();
    let (page, bitcoin_page) = (path("report"), path("bitcoin-report"));
    demo.good(&["report", &path("headers.json"), "--out", &page])?;
    demo.good(&["report", &path("bitcoin.json"), "--out", &bitcoin_page])?;
    demo.say(&format!("\n{} headers verified and stored.", grouped(args.headers)));
    demo.say(&format!("Open {page}/index.html and {bitcoin_page}/index.html to see where the"));
    demo.say("time went.");
    if json { Answer::ok().with(demo.documents.into_inner()) } else { Ok(Answer::ok()) }
}

/// Blocks and headers of a generated Ethereum chain, and a damaged copy of the blocks.
fn ethereum(demo: &Steps, args: &Demo) -> Result<()> {
    let path = |name: &str| args.out.join(name).display().to_string();
    let (blocks, ancient, record) = (path("blocks.rlp"), path("ancient"), path("blocks.json"));
    let count = BLOCKS.to_string();
    demo.good(&[
        "generate",
        "ethereum",
        "--headers",
        &count,
        "--format",
        "freezer",
        "--out",
        &ancient,
    ])?;
    demo.good(&["inspect", &ancient])?;
    demo.good(&[
        "import",
        &ancient,
        "--data",
        &path("block-store"),
        "--seal",
        "off",
        "--label",
        "blocks",
        "--record",
        &record,
    ])?;
    demo.good(&["convert", &ancient, "--to", "rlp", "--out", &blocks])?;

    let (headers, record) = (path("headers.rlp"), path("headers.json"));
    let count = args.headers.to_string();
    demo.good(&["generate", "ethereum", "--headers", &count, "--out", &headers])?;
    demo.good(&[
        "import",
        &headers,
        "--data",
        &path("store"),
        "--seal",
        "off",
        "--label",
        "headers",
        "--record",
        &record,
    ])?;

    let damaged = path("damaged.rlp");
    damage(Path::new(&blocks), Path::new(&damaged))?;
    demo.say("\nOne bit of a copy of the blocks is flipped, which must be found:");
    let exit = demo.run(&["verify", &damaged, "--seal", "off"])?;
    let is_found = matches!(exit, Status::Fault | Status::Damage);
    ensure!(is_found, "expected damage in the damaged copy, found it {exit}");
    Ok(())
}

/// Command lines, shown and run in this process.
struct Steps {
    json: bool,
    /// What `--json` says of each command so far.
    documents: RefCell<Vec<Value>>,
}

impl Steps {
    fn say(&self, text: &str) {
        if !self.json {
            println!("{text}");
        }
    }

    /// Runs a command that must succeed.
    fn good(&self, words: &[&str]) -> Result<()> {
        let status = self.run(words)?;
        ensure!(status.is_success(), "`blockmill {}` ended with {status}", words.join(" "));
        Ok(())
    }

    /// Runs a command, tells how it ended, and keeps its document for that of the demo.
    fn run(&self, words: &[&str]) -> Result<Status> {
        let answer = self.end_of(words)?;
        if self.json {
            self.documents.borrow_mut().push(answer.document(words[0]));
        } else {
            answer.tell(words[0], false);
        }
        Ok(answer.status)
    }

    fn end_of(&self, words: &[&str]) -> Result<Answer> {
        self.say(&format!("\n$ blockmill {}", words.join(" ")));
        let cli = Cli::try_parse_from([&["blockmill"], words].concat())?;
        match &cli.command {
            Command::Generate(command) => generate::run(command, self.json),
            Command::Convert(args) => convert::run(args, self.json, Cancel::new()),
            Command::Inspect(args) => inspect::run(args, self.json),
            Command::Import(args) => import::run_import(args, self.json, Cancel::new()),
            Command::Verify(args) => import::run_verify(args, self.json, Cancel::new()),
            Command::Report(args) => report::run(args, self.json),
            _ => Ok(Answer::ok()),
        }
    }
}

/// Copies a file and flips one bit in the middle.
fn damage(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    let middle = fs::metadata(to)?.len() / 2;
    flip(to, middle)
}

/// Flips the lowest bit of a byte; in an obfuscated file that flips the same bit of what it hides.
fn flip(path: &Path, offset: u64) -> Result<()> {
    let mut file = fs::File::options().read(true).write(true).open(path)?;
    let mut byte = [0];
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(&mut byte)?;
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(&[byte[0] ^ 1])?;
    Ok(())
}
