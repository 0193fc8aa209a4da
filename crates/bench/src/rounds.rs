//! Rounds of runs: each round runs every contestant once, in turn, so that a machine that becomes
//! slower or faster does so for all of them.

use anyhow::{Context, Result, bail, ensure};
use pipeline::record::RunRecord;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How often, and where the records go.
pub(crate) struct Rounds {
    pub runs: usize,
    /// Folder for the records.
    pub folder: PathBuf,
    /// What their names begin with.
    pub prefix: String,
}

impl Rounds {
    /// Runs every contestant in every round; the records of all runs. `run` gets the round, the
    /// first being 1, and the path at which it leaves the record. `agree` compares each record
    /// with the first one.
    pub fn alternate<C>(
        &self,
        contestants: &[C],
        mut run: impl FnMut(&C, usize, &Path) -> Result<RunRecord>,
        agree: impl Fn(&RunRecord, &RunRecord) -> Result<()>,
        mut tell: impl FnMut(&str),
    ) -> Result<Vec<RunRecord>> {
        fs::create_dir_all(&self.folder)
            .with_context(|| format!("cannot create {}", self.folder.display()))?;
        let mut records: Vec<RunRecord> = vec![];
        for round in 1..=self.runs {
            for (i, contestant) in contestants.iter().enumerate() {
                let name = format!("{}{i:02}-round-{round}.json", self.prefix);
                let record = run(contestant, round, &self.folder.join(name))?;
                let (label, seconds) = (&record.label, record.totals.wall_s);
                tell(&format!("round {round} of {}: {label:<28} {seconds:>8.3} s", self.runs));
                agree(records.first().unwrap_or(&record), &record)?;
                records.push(record);
            }
        }
        Ok(records)
    }
}

/// Runs our own program as a child that leaves its record at `path`.
pub(crate) fn child(command: &mut Command, label: &str, path: &Path) -> Result<RunRecord> {
    let output = crate::child::output(command).context("cannot run the program again")?;
    if !output.status.success() {
        bail!("{label}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    RunRecord::read(path).with_context(|| format!("{label} left no record"))
}

/// Both must end with the same block.
pub(crate) fn same_tip(first: &RunRecord, record: &RunRecord) -> Result<()> {
    let (one, other) = (&first.result, &record.result);
    ensure!(
        (one.tip_number, &one.tip_hash) == (other.tip_number, &other.tip_hash),
        "{} ends with block {} {}, {} with block {} {}",
        first.label,
        one.tip_number,
        one.tip_hash,
        record.label,
        other.tip_number,
        other.tip_hash
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipeline::record::Program;

    fn rounds(folder: &Path) -> Rounds {
        Rounds { runs: 2, folder: folder.join("new"), prefix: "x-".into() }
    }

    #[test]
    fn everything_runs_once_in_each_round_in_turn() {
        let folder = tempfile::tempdir().unwrap();
        let mut names = vec![];
        let run = |label: &&str, round: usize, path: &Path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            names.push(format!("{label} {round} {name}"));
            Ok(RunRecord::new(Program::default(), *label))
        };
        let records = rounds(folder.path()).alternate(&["a", "b"], run, same_tip, |_| {});
        let expected = [
            "a 1 x-00-round-1.json",
            "b 1 x-01-round-1.json",
            "a 2 x-00-round-2.json",
            "b 2 x-01-round-2.json",
        ];
        assert_eq!(names, expected);
        assert_eq!(records.unwrap().len(), 4);
    }

    #[test]
    fn a_run_that_ends_with_another_block_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let run = |label: &&str, round: usize, _: &Path| {
            let mut record = RunRecord::new(Program::default(), *label);
            record.result.tip_number = if *label == "b" { round as u64 } else { 1 };
            Ok(record)
        };
        let records = rounds(folder.path()).alternate(&["a", "b"], run, same_tip, |_| {});
        assert!(records.unwrap_err().to_string().contains("b with block 2"));
    }
}
