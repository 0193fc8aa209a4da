//! `bench --instructions`: operations counted in instructions, which no load changes.

use crate::definition::Definition;
use crate::experiment::Experiment;
use crate::scratch::Scratch;
use crate::{instructions, progress};
use anyhow::{Context, Result, ensure};
use blockmill_cli::answer::Answer;
use blockmill_cli::bench_flags::Bench;
use blockmill_cli::program;
use blockmill_pipeline::disk::replace_file;
use std::collections::BTreeMap;
use std::fs;

/// One compiler makes the same of the same source; more than this, as a share, is another source.
/// The cost of growing a vector depends on the state of the heap: the same program took 5,530,
/// 5,570 and 5,595 instructions for a header.
const ALLOWED: f64 = 0.03;

/// Counts the instructions of `definitions`, and compares them with the record.
pub fn count(args: &Bench, definitions: &[(Definition, Experiment)], json: bool) -> Result<Answer> {
    let bench = std::env::current_exe().context("cannot find this program")?;
    let scratch = Scratch::claim(args.scratch.as_deref())?;
    let mut counts = vec![];
    for (definition, _) in definitions {
        counts.extend(instructions::count(
            &bench,
            definition,
            scratch.folder(),
            &mut progress::line,
        )?);
    }
    let record = args.benchmarks.join("record/instructions.csv");
    let (text, recorded) = match fs::read_to_string(&record) {
        Ok(text) => {
            let read = instructions::from_csv(&text);
            let read = read.with_context(|| record.display().to_string())?;
            (text, read)
        }
        Err(_) => (String::new(), vec![]),
    };
    let compiler = program::compiler();
    let others: Vec<_> = recorded.iter().map(|section| section.compiler.clone()).collect();
    let recorded = recorded.into_iter().find(|section| section.compiler == compiler);
    let alike = recorded.is_some();
    let recorded = recorded.unwrap_or_default();
    let path = args.out.join("instructions.csv");
    replace_file(&path, instructions::to_csv(compiler, &counts, &text).as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))?;
    let rows: BTreeMap<&str, u64> =
        counts.iter().map(|count| (count.name.as_str(), count.instructions)).collect();
    let table = instructions::to_table(&counts, &recorded);
    let answer = Answer::results(&rows, &table, &[path], json)?;
    if !alike {
        let expected = others.join("; of ");
        progress::line(&format!(
            "the counts on record are of another compiler: of {expected}, not {compiler}"
        ));
    }
    if args.check.is_some() && alike {
        let grown = instructions::grown(&counts, &recorded, ALLOWED);
        ensure!(grown.is_empty(), "more instructions than on record: {}", grown.join("; "));
    }
    Ok(answer)
}
