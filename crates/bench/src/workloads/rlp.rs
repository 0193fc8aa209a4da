//! What encoding and hashing of RLP cost, each operation on each object in a process of its own, so
//! that none warms the caches or the heap for another.

mod case;
mod measure;
pub mod objects;
mod writer;

use super::Workload;
use crate::counting;
use crate::definition::Settings;
use crate::experiment::OptionValues;
use crate::job::{Job, parsed};
use anyhow::{Result, ensure};
use blockmill_pipeline::record::RunRecord;
use case::{Case, Op};
use measure::Sampling;
use std::path::Path;
use writer::Writer;

/// The option that says how an object is encoded or hashed.
const WRITER: &str = "writer";

/// Writers of RLP.
pub struct Rlp;

impl Workload for Rlp {
    fn name(&self) -> &'static str {
        "rlp"
    }

    fn fits(&self, settings: &Settings) -> Result<bool> {
        Ok(parsed::<Case>(settings, "case")?.takes(parsed(settings, "op")?))
    }

    fn options(&self, settings: &Settings) -> Result<Vec<OptionValues>> {
        let writers = Writer::for_operation(parsed(settings, "op")?);
        let values: Vec<String> = writers.iter().map(Writer::to_string).collect();
        let default = values.last().cloned().unwrap_or_default();
        let about = "How the encoding is written".to_owned();
        let said = writers.iter().map(|writer| writer.about().to_owned()).collect();
        Ok(vec![OptionValues { name: WRITER.into(), values, default, about, said }])
    }

    fn prepare(&self, _: &mut Settings, _: &Path, _: &mut dyn FnMut(&str)) -> Result<()> {
        Ok(())
    }

    fn measure(&self, job: &Job) -> Result<RunRecord> {
        let (case, op): (Case, Op) = (job.parsed("case")?, job.parsed("op")?);
        ensure!(counting::is_installed(), "the allocator of this program does not count");
        let writer = Writer::asked_for(op, &job.with)?;
        let samples = job.parsed("samples")?;
        let sampling = Sampling { samples, min_ms: job.parsed("min-ms")?, iterations: None };
        let sampling = match job.settings.get("iterations") {
            Some(_) => Sampling { iterations: Some(job.parsed("iterations")?), ..sampling },
            None => sampling,
        };
        writer::once(case, op, writer, sampling)
    }
}
