//! Benchmark tests of the execution specifications, and older ones: state tests and blockchain
//! tests that are worst cases of instructions and precompiles. Each is measured alone.

use super::{Workload, public_tests};
use crate::definition::Settings;
use crate::experiment::OptionValues;
use crate::job::{Job, setting};
use crate::statistics::median;
use anyhow::{Context, Result, ensure};
use blockmill_ethereum::suite::{self, Runner, Test, Verdict};
use blockmill_pipeline::RunClock;
use blockmill_pipeline::record::{MGAS_PER_S, RunRecord};
use std::path::Path;
use std::time::Instant;

/// Benchmark tests.
pub struct BenchmarkTests;

impl Workload for BenchmarkTests {
    fn name(&self) -> &'static str {
        "benchmark-tests"
    }

    fn options(&self, _: &Settings) -> Result<Vec<OptionValues>> {
        Ok(vec![])
    }

    fn prepare(&self, settings: &mut Settings, _: &Path, _: &mut dyn FnMut(&str)) -> Result<()> {
        public_tests::texts(Path::new(setting(settings, "paths")?)).map(drop)
    }

    fn measure(&self, job: &Job) -> Result<RunRecord> {
        let setup = Instant::now();
        let texts = public_tests::texts(Path::new(job.setting("paths")?))?;
        let samples: usize = job.parsed("samples")?;
        ensure!(samples > 0, "samples: expected one or more, found 0");
        let mut record = RunRecord::new(blockmill_cli::program::this(), "");
        record.facts.set("setup_s", setup.elapsed().as_secs_f64());
        let clock = RunClock::start();
        let (mut gas, mut seconds) = (0, 0.0);
        for text in &texts {
            for test in suite::tests(text)? {
                let Some(one) = Measured::of(&test, samples)? else { continue };
                let fact = |fact: &str| format!("{}.{fact}", test.name);
                let Measured { gas_used, seconds: took } = one;
                record.facts.set(&fact(MGAS_PER_S), gas_used as f64 / 1e6 / took);
                record.facts.set(&fact("time_ns"), took * 1e9);
                record.facts.count(&fact("gas"), gas_used);
                gas += gas_used;
                seconds += took;
            }
        }
        record.take_usage(clock.cpu());
        record.took(clock.wall_s());
        record.facts.count("gas", gas);
        record.facts.set(MGAS_PER_S, gas as f64 / 1e6 / seconds);
        record.answer.insert("gas".into(), gas.to_string());
        Ok(record)
    }
}

/// The gas of a test's blocks, and the time of its median run.
struct Measured {
    gas_used: u64,
    seconds: f64,
}

impl Measured {
    /// `None` for a test without blocks that are accepted.
    fn of(test: &Test<'_>, samples: usize) -> Result<Option<Self>> {
        let (mut times, mut gas_used) = (vec![], 0);
        for _ in 0..samples {
            let start = Instant::now();
            let cases = test.run(&mut Runner::default()).with_context(|| test.name.clone())?;
            times.push(start.elapsed().as_secs_f64());
            let failed = cases.iter().find(|case| case.verdict != Verdict::Passed);
            ensure!(failed.is_none(), "{}: expected a test that passes", test.name);
            gas_used = cases.iter().map(|case| case.end.gas_used).sum();
        }
        let seconds = median(&times).filter(|_| gas_used > 0);
        Ok(seconds.map(|seconds| Self { gas_used, seconds }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[blockmill_testkit::needs(fixtures)]
    #[test]
    fn each_test_has_its_speed() {
        let folder = tempfile::tempdir().unwrap();
        blockmill_testkit::unpack("ethereum/amsterdam/eels-osaka-bpo.tar.zst", folder.path());
        let paths = folder.path().display().to_string();
        let settings = [("paths", paths.as_str()), ("samples", "1")];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let record = BenchmarkTests.measure(&Job { settings, ..Job::default() }).unwrap();
        let speeds = record.facts.iter().filter(|(name, _)| name.ends_with(".mgas_per_s"));
        assert!(speeds.count() > 100);
        assert!(record.facts.value(MGAS_PER_S) > 0.0);
    }
}
