//! `bench rlp`.

use crate::answer::Answer;
use crate::args::{BenchRlp, RlpOnce};
use crate::outputs;
use anyhow::{Context, Result};
use bench::writers::{self, Case, Plan, Sampling, Writer, instructions};
use pipeline::disk::replace_file;
use report::Colour;
use std::collections::BTreeMap;
use std::fs;

/// `blockmill bench rlp`.
pub fn run(args: &BenchRlp, json: bool) -> Result<Answer> {
    if args.instructions {
        return count_instructions(args);
    }
    let plan = Plan {
        cases: cases(args)?,
        engines: args.peers.then(|| args.engines.join("engines.toml")),
        rounds: args.runs,
        sampling: sampling(args.samples, args.min_ms, None),
        program: std::env::current_exe().context("cannot find this program")?,
    };
    outputs::results(&args.out, args.force)?;
    let record = writers::run(&plan, |line| eprintln!("{line}"))?;
    let path = args.out.join("writers.json");
    record.write(&path)?;
    let mut files = vec![path];
    files.extend(bench::output::write_writers(&record, &args.out)?);
    let tables = report::writers_table(&record, Colour::of_stdout());
    Answer::results(&record, &tables, &files, json)
}

/// The objects that were asked for.
fn cases(args: &BenchRlp) -> Result<Vec<Case>> {
    if !args.cases.is_empty() {
        return args.cases.iter().map(|name| name.parse().context("--cases")).collect();
    }
    let mut sizes = args.transactions.clone();
    sizes.sort_unstable();
    sizes.dedup();
    // as if each had been named, with the same limits
    let named = Case::all(&sizes).into_iter().map(|case| case.to_string());
    named.map(|name| name.parse().context("--transactions")).collect()
}

fn sampling(samples: u32, min_ms: u32, iterations: Option<u64>) -> Sampling {
    Sampling { samples: samples as usize, min_ms: u64::from(min_ms), iterations }
}

/// Instructions of each operation, beside those that are on record.
fn count_instructions(args: &BenchRlp) -> Result<Answer> {
    let program = std::env::current_exe().context("cannot find this program")?;
    outputs::results(&args.out, args.force)?;
    let counts = instructions::count(&program, &cases(args)?, |line| eprintln!("{line}"))?;
    let record = args.engines.join("record/rlp-instructions.csv");
    let recorded = match fs::read_to_string(&record) {
        Ok(text) => instructions::from_csv(&text).with_context(|| record.display().to_string())?,
        Err(_) => BTreeMap::new(),
    };
    let path = args.out.join("rlp-instructions.csv");
    replace_file(&path, instructions::to_csv(&counts).as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))?;
    print!("{}", instructions::to_table(&counts, &recorded));
    println!("wrote {}", path.display());
    Ok(Answer::ok())
}

/// One operation on one object, for the parent process that compares.
pub fn run_once(args: &RlpOnce) -> Result<Answer> {
    let writer = Writer::by_name(&args.writer)?;
    let sampling = sampling(args.samples, args.min_ms, args.iterations);
    let line = writers::once(args.case.parse()?, args.op.parse()?, writer, sampling)?;
    println!("{}", serde_json::to_string(&line)?);
    Ok(Answer::ok())
}
