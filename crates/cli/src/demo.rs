//! `demo`: the main job on small chains of our own, from nothing to reports.

use crate::answer::{Answer, Payload};
use crate::args::{Cli, Command, Demo, General};
use crate::print::{self, Detail};
use crate::{
    bitcoin, ethereum, generate, import, inspect, neo, outputs, progress, report, stop, unwind,
};
use anyhow::{Context, Result, ensure};
use blockmill_platform::files;
use blockmill_report::record_time;
use blockmill_verdict::Status;
use clap::Parser;
use serde_json::Value;
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::iter;
use std::path::{Path, PathBuf};

/// The file that marks a folder as that of a demo.
const MARK: &str = ".blockmill-demo";

/// What a demo creates in its folder for each of its chains, and the next one replaces.
const CREATED: [&str; 5] = ["", "-store", ".json", "-report", "-damaged"];

/// The chains, by the names that their files begin with.
const CHAINS: [&str; 4] = ["headers", "blocks", "bitcoin", "neo"];

/// `blockmill demo`.
pub fn run(args: &Demo, json: bool) -> Result<Answer> {
    let out = &args.out;
    outputs::mark(out, MARK)?;
    for (chain, created) in CHAINS.iter().flat_map(|chain| CREATED.map(|name| (chain, name))) {
        remove(&out.join(format!("{chain}{created}")))?;
    }
    let kept = format!("{} has what was created so far", out.display());
    let demo = Steps { out, kept, json, documents: RefCell::default() };
    ethereum::demo::run(&demo, args)?;
    bitcoin::demo::run(&demo, out)?;
    neo::demo::run(&demo, out)?;

    demo.say("\nOpen these pages to see where the time went.");
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

    /// Makes a page of the record of a chain.
    pub fn page(&self, chain: &str) -> Result<()> {
        self.good(&format!("report @{chain}.json --out @{chain}-report"))?;
        let page = self.out.join(format!("{chain}-report")).join("index.html");
        self.say(&format!("wrote {}", page.display()));
        Ok(())
    }

    /// Runs a command that must find a fault.
    pub fn bad(&self, line: &str) -> Result<()> {
        let found = self.run(line)?;
        ensure!(
            found == Status::Invalid,
            "expected a fault in the damaged copy, found its verdict to be: {found}"
        );
        Ok(())
    }

    /// Runs a command, prints its answer, and keeps its document for that of the demo. In the
    /// line, `@` starts a name in the demo's folder, which may have any bytes.
    pub fn run(&self, line: &str) -> Result<Status> {
        let words: Vec<OsString> = line.split_whitespace().map(|word| self.word(word)).collect();
        let shown = words.join(OsStr::new(" "));
        self.say(&format!("$ blockmill {}", shown.display()));
        let answer = match (print::detail(), words.first()) {
            (Detail::Verbose, _) => self.end_of(&words)?,
            // tables first
            (_, Some(verb)) if verb == "report" => print::silently(|| self.end_of(&words))?,
            _ => print::first_line(|| self.end_of(&words))?,
        };
        stop::leaves(&self.kept);
        ensure!(!stop::was_asked(), "stopped before the end");
        let name = line.split_whitespace().next().unwrap_or_default();
        if self.json {
            self.documents.borrow_mut().push(answer.document(name));
        } else {
            if let Some(Payload::Record(record)) = &answer.result {
                record_time(record).iter().for_each(|time| print::row("time", time));
            }
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
        let command = Cli::try_parse_from(words)?.command;
        let name = command.waits().unwrap_or_default();
        progress::watch(stop::cancel().live(), name, self.json, || self.end_of_command(&command))
    }

    fn end_of_command(&self, command: &Command) -> Result<Answer> {
        match command {
            Command::Generate(command) => generate::run(command, self.json),
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

/// Copies a folder of files.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))? {
        let path: PathBuf = entry?.path();
        let name = path.file_name().context("the name of a file")?;
        let copied = fs::copy(&path, to.join(name));
        copied.with_context(|| format!("cannot copy {}", path.display()))?;
    }
    Ok(())
}
