//! State tests and blockchain tests of the execution layer, run as `blockmill test` runs them.

use super::Workload;
use crate::definition::Settings;
use crate::experiment::OptionValues;
use crate::job::{Job, setting};
use anyhow::{Context, Result, ensure};
use blockmill_cli::{documents, public_tests};
use blockmill_ethereum::suite::{self, Case, Runner, Test, Verdict};
use blockmill_pipeline::RunClock;
use blockmill_pipeline::record::RunRecord;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Public tests.
pub struct PublicTests;

impl Workload for PublicTests {
    fn name(&self) -> &'static str {
        "public-tests"
    }

    fn options(&self, _: &Settings) -> Result<Vec<OptionValues>> {
        Ok(vec![])
    }

    fn prepare(&self, settings: &mut Settings, _: &Path, _: &mut dyn FnMut(&str)) -> Result<()> {
        texts(Path::new(setting(settings, "paths")?)).map(drop)
    }

    fn measure(&self, job: &Job) -> Result<RunRecord> {
        let setup = Instant::now();
        let texts = texts(Path::new(job.setting("paths")?))?;
        let threads: usize = job.parsed("threads")?;
        let setup_s = setup.elapsed().as_secs_f64();
        let clock = RunClock::start();
        let cases = run(&texts, threads)?;
        let (wall_s, cpu) = (clock.wall_s(), clock.cpu());
        let mut record = RunRecord::new(blockmill_cli::program::this(), "");
        record.take_usage(cpu);
        record.took(wall_s);
        record.facts.set("setup_s", setup_s);
        let failed = cases.iter().filter(|case| case.verdict != Verdict::Passed);
        record.facts.count("failed", failed.count() as u64);
        record.answer.insert("cases".into(), cases.len().to_string());
        Ok(record)
    }
}

/// The fields that tell the kind of a test.
#[derive(Deserialize)]
struct Kind {
    post: Option<IgnoredAny>,
    blocks: Option<IgnoredAny>,
}

/// The files below a folder with state tests and blockchain tests, which go-ethereum runs, too.
pub fn texts(folder: &Path) -> Result<Vec<String>> {
    let mut texts = vec![];
    for (path, reachable) in public_tests::find(&[PathBuf::from(folder)])? {
        reachable?;
        let text = documents::read_text(&path)?;
        let tests = serde_json::from_str::<BTreeMap<String, Kind>>(&text);
        let is_of_kind = |test: &Kind| test.post.is_some() || test.blocks.is_some();
        if tests.is_ok_and(|tests| tests.values().next().is_some_and(is_of_kind)) {
            texts.push(text);
        }
    }
    ensure!(!texts.is_empty(), "paths: expected a folder of public tests, found none in it");
    Ok(texts)
}

fn run(texts: &[String], threads: usize) -> Result<Vec<Case>> {
    let read = public_tests::parallel(threads, texts, |text| suite::tests(text));
    let read: Vec<Vec<Test<'_>>> = read.into_iter().collect::<Result<_, _>>()?;
    let tests: Vec<&Test<'_>> = read.iter().flatten().collect();
    let run = |test: &&Test<'_>| test.run(&mut Runner::default());
    let cases = public_tests::parallel(threads, &tests, run);
    let cases: Result<Vec<Vec<Case>>, _> = cases.into_iter().collect();
    Ok(cases.context("a file with other tests")?.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_tests_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("other.json"), "{\"a\": {\"b\": 1}}").unwrap();
        let refused = texts(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("expected a folder of public tests"), "{refused}");
    }

    #[blockmill_testkit::needs(cases)]
    #[test]
    fn every_case_is_run_with_each_number_of_threads() {
        let folder = blockmill_testkit::case("03-state-test-without-txbytes");
        let paths = folder.display().to_string();
        for threads in ["1", "3"] {
            let given = [("paths", paths.as_str()), ("threads", threads)];
            let settings = given.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
            let record = PublicTests.measure(&Job { settings, ..Job::default() }).unwrap();
            assert_eq!(record.answer["cases"], "10");
            // two tests of fuzzers expect a root that no state has
            assert_eq!(record.facts.get("failed"), Some(2.0));
        }
    }
}
