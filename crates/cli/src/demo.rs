//! `demo`: the main job on a small chain of our own, from nothing to a report.

mod block_files;

use crate::answer::Answer;
use crate::args::{Cli, Command, Demo, Force};
use crate::{convert, generate, import, inspect, outputs, report, stop};
use anyhow::{Context, Result, ensure};
use chain::Status;
use chain::grouped;
use clap::Parser;
use serde_json::Value;
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::iter;
use std::path::Path;

/// The file that marks a folder as that of a demo.
const MARK: &str = ".blockmill-demo";

/// What a demo makes in its folder, and the next one replaces.
const MADE: [&str; 14] = [
    "ancient",
    "block-store",
    "blocks.json",
    "blocks.rlp",
    "headers.rlp",
    "headers.json",
    "store",
    "damaged.rlp",
    "bitcoin",
    "bitcoin-store",
    "bitcoin.json",
    "bitcoin-damaged",
    "report",
    "bitcoin-report",
];

/// Blocks of the archive that is taken through the level `bodies`.
const BLOCKS: u64 = 20_000;

/// `blockmill demo`.
pub fn run(args: &Demo, json: bool) -> Result<Answer> {
    let out = &args.out;
    outputs::mark(out, MARK, Force::default())?;
    for name in MADE {
        remove(&out.join(name))?;
    }
    let kept = format!("{} has what was made so far", out.display());
    let demo = Steps { out, kept, json, documents: RefCell::default() };
    ethereum(&demo, args)?;
    block_files::run(&demo, out)?;

    demo.good("report @headers.json --out @report")?;
    demo.good("report @bitcoin.json --out @bitcoin-report")?;
    let [page, bitcoin_page] = ["report", "bitcoin-report"].map(|name| out.join(name));
    let [page, bitcoin_page] = [page.display(), bitcoin_page.display()];
    demo.say(&format!("\n{} headers verified and stored.", grouped(args.headers)));
    demo.say(&format!("Open {page}/index.html and {bitcoin_page}/index.html to see where the"));
    demo.say("time went.");
    if json { Answer::ok().with(demo.documents.into_inner()) } else { Ok(Answer::ok()) }
}

/// Blocks and headers of a generated Ethereum chain, and a damaged copy of the blocks.
fn ethereum(demo: &Steps<'_>, args: &Demo) -> Result<()> {
    demo.good(&format!("generate ethereum --headers {BLOCKS} --format freezer --out @ancient"))?;
    demo.good("inspect @ancient")?;
    let record = "--label blocks --record @blocks.json";
    demo.good(&format!("import @ancient --data @block-store --seal off {record}"))?;
    demo.good("convert @ancient --to rlp --out @blocks.rlp")?;

    let count = args.headers;
    demo.good(&format!("generate ethereum --headers {count} --out @headers.rlp"))?;
    let record = "--label headers --record @headers.json";
    demo.good(&format!("import @headers.rlp --data @store --seal off {record}"))?;

    damage(&args.out.join("blocks.rlp"), &args.out.join("damaged.rlp"))?;
    demo.say("\nOne bit of a copy of the blocks is flipped, which must be found:");
    let exit = demo.run("verify @damaged.rlp --seal off")?;
    let is_found = matches!(exit, Status::Fault | Status::Damage);
    ensure!(is_found, "expected damage in the damaged copy, found it {exit}");
    Ok(())
}

/// Removes what an earlier demo made.
fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.with_context(|| format!("cannot remove {}", path.display())),
    }
}

/// Command lines, shown and run in this process.
struct Steps<'a> {
    out: &'a Path,
    /// What there is when the demo is stopped.
    kept: String,
    json: bool,
    /// What `--json` says of each command so far.
    documents: RefCell<Vec<Value>>,
}

impl Steps<'_> {
    fn say(&self, text: &str) {
        if !self.json {
            println!("{text}");
        }
    }

    /// Runs a command that must succeed.
    fn good(&self, line: &str) -> Result<()> {
        let status = self.run(line)?;
        ensure!(status.is_success(), "`blockmill {line}` ended with {status}");
        Ok(())
    }

    /// Runs a command, tells how it ended, and keeps its document for that of the demo. In the
    /// line, `@` begins a name in the demo's folder, which may be of any bytes.
    fn run(&self, line: &str) -> Result<Status> {
        let words: Vec<OsString> = line.split_whitespace().map(|word| self.word(word)).collect();
        let shown = words.join(OsStr::new(" "));
        self.say(&format!("\n$ blockmill {}", shown.display()));
        let answer = self.end_of(&words)?;
        stop::leaves(&self.kept);
        ensure!(!stop::was_asked(), "stopped before the end");
        let name = line.split_whitespace().next().unwrap_or_default();
        if self.json {
            self.documents.borrow_mut().push(answer.document(name));
        } else {
            answer.tell(name, false);
        }
        Ok(answer.status)
    }

    fn word(&self, word: &str) -> OsString {
        match word.strip_prefix('@') {
            Some(name) => self.out.join(name).into(),
            None => word.into(),
        }
    }

    fn end_of(&self, words: &[OsString]) -> Result<Answer> {
        let program = OsStr::new("blockmill");
        let words = iter::once(program).chain(words.iter().map(OsString::as_os_str));
        let cli = Cli::try_parse_from(words)?;
        match &cli.command {
            Command::Generate(command) => generate::run(command, self.json),
            Command::Convert(args) => convert::run(args, self.json, stop::cancel()),
            Command::Inspect(args) => inspect::run(args, self.json),
            Command::Import(args) => import::run_import(args, self.json, stop::cancel()),
            Command::Verify(args) => import::run_verify(args, self.json, stop::cancel()),
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
