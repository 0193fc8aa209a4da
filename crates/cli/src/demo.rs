//! `demo`: the main job on small chains of our own, from nothing to reports.

use crate::absent::absent;
use crate::answer::Answer;
use crate::args::{Cli, Command, Demo, General};
use crate::paths::is_file;
use crate::{
    bitcoin, convert, ethereum, generate, import, inspect, neo, outputs, report, stop, unwind,
};
use anyhow::{Context, Result, ensure};
use blockmill_platform::files;
use blockmill_verdict::Status;
use blockmill_verdict::grouped;
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

/// What a demo creates in its folder, and the next one replaces.
const CREATED: [&str; 23] = [
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
    "executable",
    "executed",
    "executed.json",
    "neo",
    "neo-store",
    "neo.json",
    "neo-damaged",
    "report",
    "bitcoin-report",
    "executed-report",
    "neo-report",
];

/// Run records, and the folders of the pages that show them.
const REPORTS: [(&str, &str); 4] = [
    ("headers.json", "report"),
    ("executed.json", "executed-report"),
    ("bitcoin.json", "bitcoin-report"),
    ("neo.json", "neo-report"),
];

/// `blockmill demo`.
pub fn run(args: &Demo, json: bool) -> Result<Answer> {
    let out = &args.out;
    outputs::mark(out, MARK)?;
    for name in CREATED {
        remove(&out.join(name))?;
    }
    let kept = format!("{} has what was created so far", out.display());
    let demo = Steps { out, kept, json, documents: RefCell::default() };
    ethereum::demo::run(&demo, args)?;
    bitcoin::demo::run(&demo, out)?;
    neo::demo::run(&demo, out)?;

    let mut pages = vec![];
    for (record, page) in REPORTS {
        // a chain that is not built left no record
        if is_file(&out.join(record))? {
            demo.good(&format!("report @{record} --out @{page}"))?;
            pages.push(page);
        }
    }
    if pages.is_empty() {
        return absent("ethereum");
    }
    if cfg!(feature = "ethereum") {
        demo.say(&format!("\n{} headers verified and stored.", grouped(args.headers)));
    }
    demo.say("Open these pages to see where the time went:");
    for page in pages {
        demo.say(&format!("  {}", out.join(page).join("index.html").display()));
    }
    if json { Answer::ok().with(demo.documents.into_inner()) } else { Ok(Answer::ok()) }
}

/// Removes what an earlier demo created.
fn remove(path: &Path) -> Result<()> {
    match files::remove(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.with_context(|| format!("cannot remove {}", path.display())),
    }
}

/// Command lines, shown and run in this process.
pub struct Steps<'a> {
    out: &'a Path,
    /// What there is when the demo is stopped.
    kept: String,
    json: bool,
    /// JSON documents of the commands so far.
    documents: RefCell<Vec<Value>>,
}

impl Steps<'_> {
    pub fn say(&self, text: &str) {
        if !self.json {
            println!("{text}");
        }
    }

    /// Runs a command that must succeed.
    pub fn good(&self, line: &str) -> Result<()> {
        let status = self.run(line)?;
        ensure!(status.is_success(), "`blockmill {line}` ended with {status}");
        Ok(())
    }

    /// Runs a command, prints how it ended, and keeps its document for that of the demo. In the
    /// line, `@` starts a name in the demo's folder, which may have any bytes.
    pub fn run(&self, line: &str) -> Result<Status> {
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
            Command::Report(args) => {
                report::run(args, &General { json: self.json, ..General::default() })
            }
            Command::Unwind(args) => unwind::run(args, self.json, &stop::cancel()),
            _ => Ok(Answer::ok()),
        }
    }
}

/// Flips the lowest bit of a byte; in an obfuscated file this flips the same bit of the plain byte.
pub fn flip(path: &Path, offset: u64) -> Result<()> {
    let mut file = fs::File::options().read(true).write(true).open(path)?;
    let mut byte = [0];
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(&mut byte)?;
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(&[byte[0] ^ 1])?;
    Ok(())
}
