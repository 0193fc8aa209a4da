//! Counts the instructions of an operation with callgrind. The count is the same in every run of
//! one program, so it shows changes that are below the noise of a busy machine.
//!
//! Valgrind does not know AVX-512, so hashes run the code for other processors.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::panic::resume_unwind;
use std::path::Path;
use std::process::Command;
use std::thread;

use crate::definition::Definition;
use crate::job::Job;
use crate::process::{last_line, watch};
use crate::workloads;
use anyhow::{Context, Result, bail, ensure};

/// Operations of a short and a long run, with a longer pair for operations that are too small for
/// the first. Set-up cancels out, except for some thousand instructions.
const RUNS: [(u64, u64); 2] = [(10, 30), (100, 300)];
/// Instructions between two runs of which some thousand are nothing.
const ENOUGH: u64 = 1_000_000;

/// Instructions of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionCount {
    /// Object, operation and writer, separated by commas.
    pub name: String,
    /// Instructions, rounded.
    pub instructions: u64,
}

/// Counts the operations of every case of `definition`, each with every option that it ablates, in
/// child processes of `program`. `folder` is for what they write.
///
/// # Errors
/// Without valgrind, when a run fails, and when the definition's workload repeats no operation.
pub fn count(
    program: &Path,
    definition: &Definition,
    folder: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<InstructionCount>> {
    let workload = workloads::by_name(&definition.measures)?;
    let mut counts = vec![];
    for (case, settings) in definition.cases() {
        if !workload.fits(&settings)? {
            continue;
        }
        for option in workload.options(&settings)? {
            for value in option.values.iter().filter(|value| runs_in_valgrind(value)) {
                let with = format!("{}={value}", option.name);
                let name = format!("{}, {case}, {with}", definition.name);
                progress(&name);
                let job = |operations: u64| {
                    let mut settings = settings.clone();
                    let once = [("samples", 1), ("min-ms", 0), ("iterations", operations)];
                    settings.extend(once.map(|(name, number)| (name.into(), number.to_string())));
                    let folder = folder.join(operations.to_string());
                    Job {
                        measures: definition.measures.clone(),
                        label: name.clone(),
                        settings,
                        with: vec![with.clone()],
                        folder: folder.join("store"),
                        record: folder.join("record.json"),
                    }
                };
                let instructions = of_one(program, folder, job)?;
                counts.push(InstructionCount { name, instructions });
            }
        }
    }
    Ok(counts)
}

/// Instructions of one operation; `job` describes a run of a given number of operations.
fn of_one(program: &Path, folder: &Path, job: impl Fn(u64) -> Job + Sync) -> Result<u64> {
    let run = |operations: u64| {
        let folder = folder.join(operations.to_string());
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        collected(program, &job(operations), &folder)
    };
    let mut instructions = 0;
    for (few, many) in RUNS {
        // a count does not depend on what else the machine does
        let (fewer, more) = thread::scope(|scope| {
            let fewer = scope.spawn(|| run(few));
            let more = run(many);
            (fewer.join().unwrap_or_else(|panic| resume_unwind(panic)), more)
        });
        let difference = more?.saturating_sub(fewer?);
        let operations = many - few;
        instructions = (difference + operations / 2) / operations;
        if difference >= ENOUGH {
            break;
        }
    }
    Ok(instructions)
}

/// Valgrind knows no AVX-512.
fn runs_in_valgrind(value: &str) -> bool {
    !value.contains("avx512")
}

/// Instructions of a whole process that does `job`.
fn collected(program: &Path, job: &Job, folder: &Path) -> Result<u64> {
    let path = folder.join("job.json");
    fs::write(&path, serde_json::to_vec(job)?)
        .with_context(|| format!("cannot write {}", path.display()))?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    let ended = watch(command.arg("--job").arg(&path))
        .context("cannot run valgrind (install it to count)")?;
    if !ended.status.success() {
        bail!("valgrind: {}", last_line(&ended.stderr));
    }
    let after = ended.stderr.split("Collected : ").nth(1);
    let collected = after.and_then(|rest| rest.split_whitespace().next());
    let collected = collected.context("callgrind did not say what it collected")?;
    collected.parse().with_context(|| format!("callgrind collected {collected:?}"))
}

/// What the first line of a section of a file of counts begins with, and its second line.
const COMPILER: &str = "compiler;";
const HEAD: &str = "what;instructions";

/// Counts on record.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// What compiled the program; with another one they cannot be compared.
    pub compiler: String,
    /// Instructions by the name of what was counted.
    pub counts: BTreeMap<String, u64>,
}

/// The counts as a section of a file of values separated by semicolons, after a line with what
/// compiled the program; sections of other compilers in the file `before` stay.
#[must_use]
pub fn to_csv(compiler: &str, counts: &[InstructionCount], before: &str) -> String {
    let mut out = format!("{COMPILER}{compiler}\n{HEAD}\n");
    for InstructionCount { name, instructions } in counts {
        // writing to a string cannot fail
        let _ = writeln!(out, "{name};{instructions}");
    }
    let mut other = false;
    for line in before.lines() {
        other = line.strip_prefix(COMPILER).map_or(other, |name| name != compiler);
        if other {
            out += line;
            out.push('\n');
        }
    }
    out
}

/// What such a file says, section by section.
///
/// # Errors
/// When a line is none of such a file.
pub fn from_csv(text: &str) -> Result<Vec<Recorded>> {
    let mut sections: Vec<Recorded> = vec![];
    let mut lines = (1..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        if let Some(compiler) = line.strip_prefix(COMPILER) {
            let head = lines.next().is_some_and(|(_, line)| line == HEAD);
            ensure!(head, "line {}: expected {HEAD}", number + 1);
            sections.push(Recorded { compiler: compiler.into(), counts: BTreeMap::new() });
            continue;
        }
        let section = sections.last_mut();
        let section = section.with_context(|| format!("line {number}: expected {COMPILER}..."))?;
        let (name, count) =
            line.rsplit_once(';').with_context(|| format!("line {number}: {line}"))?;
        let count = count.parse().with_context(|| format!("line {number}: {line}"))?;
        section.counts.insert(name.to_owned(), count);
    }
    ensure!(!sections.is_empty(), "line 1: expected {COMPILER}...");
    Ok(sections)
}

/// The counts as a Markdown table, compared with an earlier record.
#[must_use]
pub fn to_table(counts: &[InstructionCount], recorded: &Recorded) -> String {
    let mut out = "| what | instructions | recorded | change |\n".to_owned();
    out += "|---|---:|---:|---:|\n";
    for InstructionCount { name, instructions } in counts {
        // writing to a string cannot fail
        let _ = match recorded.counts.get(name) {
            Some(before) => {
                let change = change(*instructions, *before) * 100.0;
                writeln!(out, "| {name} | {instructions} | {before} | {change:+.1} % |")
            }
            None => writeln!(out, "| {name} | {instructions} | - | - |"),
        };
    }
    out
}

/// A line for each operation whose count exceeds the record by more than `allowed` (a share).
#[must_use]
pub fn grown(counts: &[InstructionCount], recorded: &Recorded, allowed: f64) -> Vec<String> {
    let line = |count: &InstructionCount| {
        let before = *recorded.counts.get(&count.name)?;
        let grown = change(count.instructions, before);
        let percent = grown * 100.0;
        let InstructionCount { name, instructions } = count;
        (grown > allowed).then(|| {
            format!(
                "{name}: expected {before} instructions, found {instructions} ({percent:+.1} %)"
            )
        })
    };
    counts.iter().filter_map(line).collect()
}

fn change(now: u64, before: u64) -> f64 {
    now as f64 / before.max(1) as f64 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts() -> Vec<InstructionCount> {
        let count = |name: &str, instructions| InstructionCount { name: name.into(), instructions };
        vec![count("rlp, header, encode", 700), count("rlp, block-8, hash", 90_000)]
    }

    #[test]
    fn a_file_of_counts_reads_back() {
        let read = from_csv(&to_csv("rustc 1", &counts(), "")).unwrap();
        assert_eq!(
            (read.len(), read[0].compiler.as_str(), read[0].counts.len()),
            (1, "rustc 1", 2)
        );
        assert_eq!(read[0].counts["rlp, block-8, hash"], 90_000);
        let head = "compiler;rustc\nwhat;instructions\n";
        assert!(from_csv(head).is_ok());
        for damaged in ["", "compiler;rustc\ncase,op\n", &head[9..], &format!("{head}header\n")] {
            assert!(from_csv(damaged).is_err(), "{damaged:?}");
        }
    }

    #[test]
    fn counts_of_another_compiler_stay() {
        let both = to_csv("rustc 2", &counts(), &to_csv("rustc 1", &counts()[..1], ""));
        let names = |text: &str| {
            let read = from_csv(text).unwrap();
            read.into_iter().map(|each| (each.compiler, each.counts.len())).collect::<Vec<_>>()
        };
        assert_eq!(names(&both), [("rustc 2".into(), 2), ("rustc 1".into(), 1)]);
        let again = to_csv("rustc 1", &counts(), &both);
        assert_eq!(names(&again), [("rustc 1".into(), 2), ("rustc 2".into(), 2)]);
    }

    #[test]
    fn a_change_is_shown_next_to_the_record_and_growth_is_found() {
        let mut recorded = Recorded::default();
        recorded.counts.insert("rlp, header, encode".into(), 1000);
        let table = to_table(&counts(), &recorded);
        assert!(table.contains("| rlp, header, encode | 700 | 1000 | -30.0 % |"), "{table}");
        assert!(table.contains("| rlp, block-8, hash | 90000 | - | - |"), "{table}");
        assert!(grown(&counts(), &recorded, 0.01).is_empty());
        recorded.counts.insert("rlp, block-8, hash".into(), 89_000);
        assert!(grown(&counts(), &recorded, 0.02).is_empty());
        let found = grown(&counts(), &recorded, 0.01);
        let expected = "rlp, block-8, hash: expected 89000 instructions, found 90000 (+1.1 %)";
        assert_eq!(found, [expected]);
    }
}
