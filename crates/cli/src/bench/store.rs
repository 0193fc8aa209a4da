//! `bench store`.

use crate::answer::Answer;
use crate::args::{BenchStore, StoreOnce};
use crate::outputs;
use anyhow::{Context, Result};
use bench::scratch::Scratch;
use bench::stores::{self, Operation, Plan};
use report::Colour;

/// `blockmill bench store`.
pub fn run(args: &BenchStore, json: bool) -> Result<Answer> {
    let cases = args.cases.iter().map(|name| name.parse().context("--cases"));
    let cases = cases.collect::<Result<_>>()?;
    outputs::results(&args.out, args.force)?;
    let plan = Plan {
        cases,
        engines: args.peers.then(|| args.engines.join("engines.toml")),
        rounds: args.runs,
        scratch: Scratch::claim(args.scratch.as_deref())?,
        program: std::env::current_exe().context("cannot find this program")?,
    };
    let record = stores::run(&plan, |line| eprintln!("{line}"))?;
    let path = args.out.join("stores.json");
    record.write(&path)?;
    let mut files = vec![path];
    files.extend(bench::output::write_writers(&record, &args.out)?);
    let tables = report::writers_table(&record, Colour::of_stdout());
    Answer::results(&record, &tables, &files, json)
}

/// One operation, for the parent process that compares.
pub fn run_once(args: &StoreOnce) -> Result<Answer> {
    let operation = Operation::by_name(&args.op).context("--op: there is no such operation")?;
    let line = stores::once(&args.dir, args.case.parse()?, operation)?;
    println!("{}", serde_json::to_string(&line)?);
    Ok(Answer::ok())
}
