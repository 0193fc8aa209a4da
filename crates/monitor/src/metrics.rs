//! A run as metrics, in the OpenMetrics text format that Prometheus scrapes.
//!
//! Names and units follow the conventions of Prometheus: base units, suffix `_total` for counters,
//! and the usual names of metrics of a process.

use crate::Status;
use crate::execution::{Execution, Times};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet, text::encode,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;

/// The type of the text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The metrics of a run.
///
/// # Errors
/// When the library cannot write them.
pub fn text(status: &Status) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(RunCollector(status.clone())));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct RunCollector(Status);

type Figure = (&'static str, &'static str, Option<Unit>, f64);

impl RunCollector {
    /// Values that go up and down.
    fn gauges(&self) -> Vec<Figure> {
        let status = &self.0;
        let count = |number: u64| number as f64;
        let mut all: Vec<Figure> = vec![
            ("blockmill_block_number", "Last block that was verified", None, count(status.number)),
            (
                "blockmill_archive",
                "Size of the archive",
                Some(Unit::Bytes),
                count(status.total_bytes),
            ),
            ("blockmill_elapsed", "Time of the run so far", Some(Unit::Seconds), status.elapsed_s),
            ("blockmill_threads", "Threads that may compute", None, status.threads as f64),
            (
                "process_resident_memory",
                "Memory that the process holds",
                Some(Unit::Bytes),
                count(status.memory_bytes),
            ),
            (
                "blockmill_peak_memory",
                "The most memory that the process held",
                Some(Unit::Bytes),
                count(status.peak_memory_bytes),
            ),
        ];
        if let Some(done) = &status.execution {
            let help = "What the slowest block took in all phases";
            let name = "blockmill_slowest_block";
            all.push((name, help, Some(Unit::Seconds), done.slowest_s));
        }
        if let Some(committed) = status.committed {
            let help = "Last block that is committed";
            all.push(("blockmill_committed_block_number", help, None, count(committed)));
        }
        if let Some(following) = &status.following {
            let help = "Time since the oldest change of the archive that no round has read";
            all.push(("blockmill_lag", help, Some(Unit::Seconds), following.lag_s));
            if let Some(known) = status.known {
                let pending = known.saturating_sub(status.committed.unwrap_or(0));
                let help = "Blocks that the archive is known to have and that are not committed";
                all.push(("blockmill_pending_blocks", help, None, count(pending)));
            }
        }
        all
    }

    /// Values that only grow.
    fn counters(&self) -> Vec<Figure> {
        let status = &self.0;
        let mut all: Vec<Figure> = vec![
            ("blockmill_blocks", "Blocks that were verified", None, status.blocks as f64),
            (
                "blockmill_archive_read",
                "Bytes of the archive that were verified",
                Some(Unit::Bytes),
                status.bytes as f64,
            ),
            ("process_cpu", "CPU time of the process", Some(Unit::Seconds), status.process_cpu_s),
            (
                "blockmill_disk_read",
                "Bytes that the process read from disks",
                Some(Unit::Bytes),
                status.disk_read_bytes as f64,
            ),
            (
                "blockmill_disk_written",
                "Bytes that the process wrote to disks",
                Some(Unit::Bytes),
                status.disk_written_bytes as f64,
            ),
            (
                "blockmill_major_page_faults",
                "Page faults of the process that waited for a disk",
                None,
                status.major_page_faults as f64,
            ),
            (
                "blockmill_minor_page_faults",
                "Page faults of the process that needed no disk",
                None,
                status.minor_page_faults as f64,
            ),
        ];
        if let Some(following) = &status.following {
            let help = "Rounds of an import that follows a growing archive";
            all.push(("blockmill_rounds", help, None, following.rounds as f64));
        }
        if let Some(done) = &status.execution {
            let counts = done.counts.iter();
            all.extend(counts.map(|it| {
                (it.metric, it.help.trim().trim_end_matches('.'), None, it.value as f64)
            }));
        }
        all
    }
}

impl Collector for RunCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let status = &self.0;
        let about = Info::new([
            ("version", escaped(&status.version)),
            ("label", escaped(&status.label)),
            ("chain", escaped(&status.chain)),
            ("level", escaped(&status.level)),
        ]);
        let help = "The program and what it does";
        let metric = encoder.encode_descriptor("blockmill_run", help, None, about.metric_type())?;
        about.encode(metric)?;
        for (name, help, unit, value) in self.gauges() {
            let gauge = ConstGauge::new(value);
            let metric =
                encoder.encode_descriptor(name, help, unit.as_ref(), gauge.metric_type())?;
            gauge.encode(metric)?;
        }
        for (name, help, unit, value) in self.counters() {
            let counter = ConstCounter::new(value);
            let metric =
                encoder.encode_descriptor(name, help, unit.as_ref(), counter.metric_type())?;
            counter.encode(metric)?;
        }
        if let Some(done) = &status.execution {
            encode_execution(&mut encoder, done)?;
        }
        if let Some(eta) = &status.eta {
            let kind = ConstGauge::new(0.0).metric_type();
            let help = "Time that is left, by the speeds of the last two minutes";
            let unit = Some(&Unit::Seconds);
            let mut metric = encoder.encode_descriptor("blockmill_eta", help, unit, kind)?;
            for (speed, seconds) in
                [("fast", eta.low_s), ("median", eta.median_s), ("slow", eta.high_s)]
            {
                ConstGauge::new(seconds).encode(metric.encode_family(&[("speed", speed)])?)?;
            }
        }
        let kind = ConstCounter::new(0.0).metric_type();
        let help = "Time in a stage, summed over the threads";
        let unit = Some(&Unit::Seconds);
        let mut metric = encoder.encode_descriptor("blockmill_stage_busy", help, unit, kind)?;
        for stage in &status.stages {
            let label = [("stage", escaped(&stage.name))];
            ConstCounter::new(stage.busy_s).encode(metric.encode_family(&label)?)?;
        }
        Ok(())
    }
}

/// Times of executed blocks.
fn encode_execution(encoder: &mut DescriptorEncoder<'_>, done: &Execution) -> fmt::Result {
    let histogram = |mut metric: MetricEncoder<'_>, times: &Times| {
        let count = times.counts.iter().sum();
        metric.encode_histogram::<NoLabelSet>(times.busy_s, count, &times.at_most(), None)
    };
    let (unit, kind) = (Some(&Unit::Seconds), MetricType::Histogram);
    let help = "What an executed block took in all phases";
    let metric = encoder.encode_descriptor("blockmill_block_execution", help, unit, kind)?;
    histogram(metric, &done.all)?;
    let help = "What an executed block took in a phase";
    let mut metric = encoder.encode_descriptor("blockmill_block_phase", help, unit, kind)?;
    for (phase, times) in &done.phases {
        histogram(metric.encode_family(&[("phase", *phase)])?, times)?;
    }
    let help = "What the last 256 executed blocks took at most, by their share";
    let (name, kind) = ("blockmill_recent_block", ConstGauge::new(0.0).metric_type());
    let mut metric = encoder.encode_descriptor(name, help, unit, kind)?;
    let recent = &done.recent;
    for (share, seconds) in
        [("0.5", recent.p50_s), ("0.95", recent.p95_s), ("0.99", recent.p99_s), ("1", recent.max_s)]
    {
        ConstGauge::new(seconds).encode(metric.encode_family(&[("share", share)])?)?;
    }
    Ok(())
}

/// The value of a label as the text format wants it; the library writes values as they are.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eta::Eta;
    use crate::execution::Recent;
    use crate::status::{Following, Stage};
    use blockmill_verdict::Counts;

    #[test]
    fn metrics_have_names_units_and_labels_as_prometheus_asks() {
        let stage = Stage { name: "check".into(), busy_s: 1.5, slices: vec![] };
        let text = text(&Status {
            label: "im\"port".into(),
            number: 99,
            blocks: 100,
            process_cpu_s: 2.5,
            major_page_faults: 9,
            committed: Some(90),
            known: Some(100),
            following: Some(Following { rounds: 4, lag_s: 7.0, waiting: vec![] }),
            eta: Some(Eta { low_s: 1.0, median_s: 2.0, high_s: 3.0 }),
            stages: vec![stage],
            execution: Some(Execution {
                counts: Counts { gas: 21_000, speculations_aborted: 6, ..Counts::default() },
                all: Times { busy_s: 0.25, counts: vec![3, 0, 2] },
                phases: vec![("root", Times { busy_s: 0.5, counts: vec![0, 4] })],
                recent: Recent { p95_s: 0.5, ..Recent::default() },
                slowest_s: 0.125,
                ..Execution::default()
            }),
            ..Status::default()
        })
        .unwrap();
        for line in [
            "blockmill_block_number 99",
            "blockmill_blocks_total 100",
            "process_cpu_seconds_total 2.5",
            "blockmill_stage_busy_seconds_total{stage=\"check\"} 1.5",
            "blockmill_eta_seconds{speed=\"slow\"} 3",
            "# UNIT process_resident_memory_bytes bytes",
            "blockmill_gas_total 21000",
            "blockmill_slowest_block_seconds 0.125",
            "blockmill_block_execution_seconds_sum 0.25",
            "blockmill_block_execution_seconds_count 5",
            "blockmill_block_execution_seconds_bucket{le=\"0.0003\"} 3",
            "blockmill_block_execution_seconds_bucket{le=\"0.001\"} 5",
            "blockmill_block_phase_seconds_sum{phase=\"root\"} 0.5",
            "blockmill_block_phase_seconds_bucket{le=\"0.0003\",phase=\"root\"} 4",
            "blockmill_recent_block_seconds{share=\"0.95\"} 0.5",
            "blockmill_speculations_aborted_total 6",
            "blockmill_major_page_faults_total 9",
            "blockmill_lag_seconds 7",
            "blockmill_pending_blocks 10",
            "blockmill_rounds_total 4",
            "blockmill_committed_block_number 90",
        ] {
            assert!(
                text.lines().any(|found| found.trim_end_matches(".0") == line),
                "{line}\n{text}"
            );
        }
        assert!(text.contains("label=\"im\\\"port\""), "{text}");
        assert!(text.ends_with("# EOF\n"));
        let other = super::text(&Status::default()).unwrap();
        assert!(!other.contains("gas") && !other.contains("execution"), "nothing is executed");
        assert!(!other.contains("committed_block"), "nothing is stored\n{other}");
        assert!(!other.contains("lag") && !other.contains("pending"), "nothing is followed");
    }
}
