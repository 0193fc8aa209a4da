//! How many instructions an operation takes, counted by callgrind: the same on every run of one
//! program, so that a change shows which no clock of a busy machine would show.
//!
//! Valgrind knows no AVX-512: hashes are taken by the code for other processors.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use crypto::ManyKeccak;

use super::{Case, Op, Writer};

/// Operations of the shorter run.
const FEW: u64 = 100;
/// Operations of the longer run; what both do besides cancels out.
const MANY: u64 = 300;

/// Instructions of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionCount {
    /// Object, operation and writer, separated by commas.
    pub name: String,
    /// Instructions, rounded.
    pub instructions: u64,
}

/// Counts the scalar operations on each of `cases`, in child processes of `program`.
///
/// # Errors
/// Without valgrind, and when a run fails.
pub fn count(
    program: &Path,
    cases: &[Case],
    mut tell: impl FnMut(&str),
) -> Result<Vec<InstructionCount>> {
    let mut counts = vec![];
    for op in [Op::Encode, Op::EncodeReused, Op::Hash, Op::HashEach] {
        for case in cases.iter().copied().filter(|case| case.takes(op)) {
            let writers = match op {
                Op::Encode => vec![Writer::TwoPass, Writer::OnePass],
                Op::HashEach => vec![Writer::Width(ManyKeccak::scalar())],
                _ => vec![Writer::TwoPass],
            };
            for writer in writers {
                let name = format!("{case},{},{writer}", op.name());
                tell(&name);
                let of = |operations| collected(program, case, op, writer, operations);
                let more = of(MANY)?.saturating_sub(of(FEW)?);
                let operations = MANY - FEW;
                counts.push(InstructionCount {
                    name,
                    instructions: (more + operations / 2) / operations,
                });
            }
        }
    }
    Ok(counts)
}

/// Instructions of a whole process that does so many operations.
fn collected(program: &Path, case: Case, op: Op, writer: Writer, operations: u64) -> Result<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    command.args(["bench", "rlp-once", "--case", &case.to_string(), "--op", op.name()]);
    command.args(["--writer", &writer.to_string(), "--samples", "1", "--min-ms", "0"]);
    command.args(["--iterations", &operations.to_string()]);
    let output =
        crate::child::output(&mut command).context("cannot run valgrind (install it to count)")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("valgrind: {}", said.lines().last().unwrap_or_default());
    }
    let collected =
        said.split("Collected : ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let collected = collected.context("callgrind did not say what it collected")?;
    collected.parse().with_context(|| format!("callgrind collected {collected:?}"))
}

/// The first line of a file of counts.
const HEAD: &str = "case,op,writer,instructions";

/// The counts as a file of comma-separated values.
#[must_use]
pub fn to_csv(counts: &[InstructionCount]) -> String {
    let mut out = format!("{HEAD}\n");
    for InstructionCount { name, instructions } in counts {
        // writing to a string cannot fail
        let _ = writeln!(out, "{name},{instructions}");
    }
    out
}

/// The counts in such a file, by name.
pub fn from_csv(text: &str) -> Result<BTreeMap<String, u64>> {
    let mut lines = text.lines();
    ensure!(lines.next() == Some(HEAD), "line 1: expected {HEAD}");
    let mut counts = BTreeMap::new();
    for (number, line) in (2..).zip(lines) {
        let (name, count) =
            line.rsplit_once(',').with_context(|| format!("line {number}: {line}"))?;
        let count = count.parse().with_context(|| format!("line {number}: {line}"))?;
        counts.insert(name.to_owned(), count);
    }
    Ok(counts)
}

/// The counts as a table of Markdown, beside those of an earlier record.
#[must_use]
pub fn to_table(counts: &[InstructionCount], recorded: &BTreeMap<String, u64>) -> String {
    let mut out = "| object, operation, writer | instructions | recorded | change |\n".to_owned();
    out += "|---|---:|---:|---:|\n";
    for InstructionCount { name, instructions } in counts {
        let name_shown = name.replace(',', ", ");
        let _ = match recorded.get(name) {
            Some(before) => {
                let change = (*instructions as f64 / (*before).max(1) as f64 - 1.0) * 100.0;
                writeln!(out, "| {name_shown} | {instructions} | {before} | {change:+.1} % |")
            }
            None => writeln!(out, "| {name_shown} | {instructions} | - | - |"),
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts() -> Vec<InstructionCount> {
        let count = |name: &str, instructions| InstructionCount { name: name.into(), instructions };
        vec![count("header,encode,blockmill", 700), count("block-8,hash,blockmill", 90_000)]
    }

    #[test]
    fn a_file_of_counts_reads_back() {
        let read = from_csv(&to_csv(&counts())).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!(read["block-8,hash,blockmill"], 90_000);
        for damaged in ["", "case,op\n", "case,op,writer,instructions\nheader\n"] {
            assert!(from_csv(damaged).is_err(), "{damaged:?}");
        }
    }

    #[test]
    fn a_change_is_shown_beside_what_was_recorded() {
        let recorded = BTreeMap::from([("header,encode,blockmill".to_owned(), 1000)]);
        let table = to_table(&counts(), &recorded);
        assert!(table.contains("| header, encode, blockmill | 700 | 1000 | -30.0 % |"), "{table}");
        assert!(table.contains("| block-8, hash, blockmill | 90000 | - | - |"), "{table}");
    }
}
