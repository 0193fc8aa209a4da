//! What verifying signatures in batches costs, in the lanes that this CPU has and in the scalar
//! library. Every verdict of every measurement is compared with the right one.

mod generated;
mod generated_p256;
mod measure;
mod operations;

use super::Workload;
use crate::definition::Settings;
use crate::experiment::OptionValues;
use crate::job::{Job, parsed};
use anyhow::{Context, Result, ensure};
use blockmill_pipeline::RunClock;
use blockmill_pipeline::record::{RunRecord, SAMPLE, Series, TIME_NS};
use blockmill_signatures::{Signatures, Width};
use measure::{Pools, Work};
use operations::{Input, Operation};
use std::path::Path;
use std::time::Duration;

/// The option that says how signatures are verified.
const LANES: &str = "lanes";

/// Verifiers of signatures.
pub struct Signing;

impl Workload for Signing {
    fn name(&self) -> &'static str {
        "signatures"
    }

    fn fits(&self, settings: &Settings) -> Result<bool> {
        // what no lane can decide is asked of one thread
        let good = parsed::<Input>(settings, "input")? == Input::Good;
        Ok(good || parsed::<usize>(settings, "threads")? == 1)
    }

    fn options(&self, _: &Settings) -> Result<Vec<OptionValues>> {
        let here = || Width::ALL.into_iter().filter_map(Signatures::with).map(|with| with.width());
        let values: Vec<String> = here().map(|width| width.name().to_owned()).collect();
        let default = Signatures::detect().width().name().to_owned();
        let about = "How many signatures a vector holds".to_owned();
        let said = here().map(|width| match width {
            Width::Scalar => "Checks one signature after the other, with libsecp256k1",
            Width::Avx2 => "Checks four signatures at once (AVX2 and FMA)",
            Width::Ifma => "Checks eight signatures at once (AVX-512 IFMA)",
        });
        let said = said.map(str::to_owned).collect();
        Ok(vec![OptionValues { name: LANES.into(), values, default, about, said }])
    }

    fn prepare(&self, settings: &mut Settings, _: &Path, _: &mut dyn FnMut(&str)) -> Result<()> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads: usize = parsed(settings, "threads")?;
        // more threads would share cores, and no time would be the time of a core
        ensure!(
            (1..=cores).contains(&threads),
            "threads: expected 1 to {cores}, as many as there are cores, found {threads}"
        );
        Ok(())
    }

    fn measure(&self, job: &Job) -> Result<RunRecord> {
        let clock = RunClock::start();
        let operation = Operation::by_name(job.setting("operation")?)?;
        let input: Input = job.parsed("input")?;
        let (batch, threads): (usize, usize) = (job.parsed("batch")?, job.parsed("threads")?);
        let least = Duration::from_millis(job.parsed("min-ms")?);
        let with = verifier(&job.with)?;
        let pools = Pools::make(operation, threads, batch)?;
        let work = |batches| Work { input, batch, threads, batches };
        if with.width() != Width::Scalar {
            pools.warm_up(&work(1), &with)?;
        }
        let batches = pools.batches(&work(1), &with, least)?;
        let signatures = batches as f64 * (batch * threads) as f64;
        let mut samples = vec![];
        for _ in 0..job.parsed::<u32>("samples")? {
            let wall = pools.measure(&work(batches), &with)?;
            samples.push(wall.as_nanos() as f64 / signatures);
        }
        let mut record = RunRecord::new(blockmill_cli::program::this(), "");
        let series = Series::new(SAMPLE).measured(TIME_NS, "ns", samples);
        let median = series.column(TIME_NS).and_then(|column| column.percentiles);
        record.facts.set(TIME_NS, median.unwrap_or_default().p50);
        record.facts.set("signatures_per_s", 1e9 / median.unwrap_or_default().p50);
        record.series.push(series);
        record.answer.insert("verdicts".into(), "right".into());
        record.settings.insert("library".into(), operation.library.into());
        record.take_usage(clock.cpu());
        Ok(record)
    }
}

/// The default, or what `lanes=NAME` asks for.
fn verifier(with: &[String]) -> Result<Signatures> {
    let Some(option) = with.last() else { return Ok(Signatures::detect()) };
    let name = option.strip_prefix("lanes=").with_context(|| format!("no option {option}"))?;
    Signatures::named(name).with_context(|| format!("lanes={name}: not on this machine"))
}
