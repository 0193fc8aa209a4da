//! The status of a run at one moment.

use crate::About;
use crate::eta::{Eta, Looks};
use crate::execution::Execution;
use blockmill_pipeline::RunClock;
use blockmill_pipeline::live::{self, Live};
use blockmill_pipeline::record::{self, PEAK_RSS_BYTES, Program, RunRecord, SLICE, START_S};
use blockmill_pipeline::usage;
use blockmill_platform::proc;
use serde::Serialize;

/// A run at one moment. Times are seconds, sizes bytes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Status {
    /// The program's version and revision.
    pub version: String,
    /// Label of the run.
    pub label: String,
    /// Name of the network.
    pub chain: String,
    /// Verification level.
    pub level: String,
    /// The files.
    pub paths: Vec<String>,
    /// Since the server was started.
    pub elapsed_s: f64,
    /// Number of the last block that was verified.
    pub number: u64,
    /// Blocks so far.
    pub blocks: u64,
    /// Bytes of the archive so far.
    pub bytes: u64,
    /// Bytes that there are.
    pub total_bytes: u64,
    /// The last block that is committed; `None` if nothing is stored.
    pub committed: Option<u64>,
    /// Number of the last block that the archive is known to have; `None` if it states none.
    pub known: Option<u64>,
    /// What a run that follows a growing archive waits for; `None` for any other run.
    pub following: Option<Following>,
    /// Bytes a second now; none at the beginning.
    pub bytes_per_s: Option<f64>,
    /// Blocks a second now; since the beginning as long as that is not known, and at the end.
    pub blocks_per_s: f64,
    /// Counts and times of executed blocks, if blocks are executed.
    pub execution: Option<Execution>,
    /// The time left; `None` if unknown.
    pub eta: Option<Eta>,
    /// Threads that may compute.
    pub threads: usize,
    /// The stages so far.
    pub stages: Vec<Stage>,
    /// Length of a slice of the run's time.
    pub slice_s: f64,
    /// CPU time of the run.
    pub cpu_s: f64,
    /// CPU time of the process since its start.
    pub process_cpu_s: f64,
    /// Memory that the process holds now, and the most that it held.
    pub memory_bytes: u64,
    /// The most memory that the process held.
    pub peak_memory_bytes: u64,
    /// Bytes that the process has read from disks and written to them.
    pub disk_read_bytes: u64,
    /// See above.
    pub disk_written_bytes: u64,
    /// Page faults of the process that waited for a disk, and those that did not.
    pub major_page_faults: u64,
    /// See above.
    pub minor_page_faults: u64,
}

/// A run that follows a growing archive.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Following {
    /// Rounds that have begun.
    pub rounds: u64,
    /// Seconds since the oldest change of the archive that no complete round has read; 0 if there
    /// is none.
    pub lag_s: f64,
    /// What the run waits for, each in a sentence.
    pub waiting: Vec<String>,
}

impl From<live::Following> for Following {
    fn from(found: live::Following) -> Self {
        let lag_s = found.changed.map_or(0.0, |changed| changed.elapsed().as_secs_f64());
        Self { rounds: found.rounds, lag_s, waiting: found.waiting }
    }
}

/// One stage.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// Time in it, summed over the threads.
    pub busy_s: f64,
    /// Time in it, summed over the threads, in each slice of the run's time.
    pub slices: Vec<f64>,
}

impl Status {
    /// The status of a run that has ended, from its record.
    pub fn of_record(record: &RunRecord) -> Self {
        let starts = record.series(SLICE).map_or(&[][..], |slices| slices.values(START_S));
        let wall_s = record.wall_s();
        Self {
            version: version(&record.program),
            label: record.label.clone(),
            chain: record.data.chain.clone(),
            level: record.level.clone(),
            paths: record.data.paths.clone(),
            elapsed_s: wall_s,
            number: record.result.tip_number,
            blocks: record.data.blocks,
            bytes: record.data.bytes,
            total_bytes: record.data.bytes,
            committed: record.result.committed,
            known: None,
            following: None,
            bytes_per_s: Some(record::rate(record.data.bytes, wall_s)),
            blocks_per_s: record::rate(record.data.blocks, wall_s),
            execution: Execution::of_record(record),
            eta: None,
            threads: record.stages.iter().map(|stage| stage.threads as usize).max().unwrap_or(0),
            stages: stages_of(record),
            slice_s: starts.get(1).copied().unwrap_or(0.0),
            cpu_s: record.cpu_s(),
            process_cpu_s: record.cpu_s(),
            memory_bytes: 0,
            peak_memory_bytes: record.facts.count_of(PEAK_RSS_BYTES),
            disk_read_bytes: 0,
            disk_written_bytes: 0,
            major_page_faults: 0,
            minor_page_faults: 0,
        }
    }
}

/// The stages as a run shows them before its end: the parts of one (`check: decode`) together.
fn stages_of(record: &RunRecord) -> Vec<Stage> {
    let mut all: Vec<Stage> = vec![];
    for part in &record.stages {
        let name = part.name.split(": ").next().unwrap_or_default();
        match all.last_mut().filter(|last| last.name == name) {
            Some(last) => last.busy_s += part.busy_s,
            None => {
                let slices = record.series(SLICE).map_or(&[][..], |slices| slices.values(name));
                let (name, slices) = (name.to_owned(), slices.to_vec());
                all.push(Stage { name, busy_s: part.busy_s, slices });
            }
        }
    }
    all
}

/// Samples the status of a run repeatedly.
#[derive(Debug)]
pub struct Watcher {
    about: About,
    live: Live,
    clock: RunClock,
    bytes: Looks,
    blocks: Looks,
}

impl Watcher {
    pub fn new(about: About, live: Live) -> Self {
        Self {
            about,
            live,
            clock: RunClock::start(),
            bytes: Looks::default(),
            blocks: Looks::default(),
        }
    }

    /// Changes the description of the run.
    pub fn describe(&mut self, about: About) {
        self.about = about;
    }

    /// Adds a sample.
    pub fn look(&mut self) {
        let (now, progress) = (self.clock.wall_s(), self.live.look().progress);
        self.bytes.add(now, progress.bytes);
        self.blocks.add(now, progress.blocks);
    }

    pub fn status(&self) -> Status {
        let Self { about, live, clock, bytes, blocks } = self;
        let state = live.look();
        let (progress, elapsed_s) = (state.progress, clock.wall_s());
        let total_bytes = progress.total_bytes.unwrap_or(about.total_bytes);
        let eta = bytes.eta(total_bytes.saturating_sub(progress.bytes));
        let waits = state.following.as_ref().is_some_and(|it| it.changed.is_none());
        let stages = state.stages.iter().enumerate().map(|(at, stage)| Stage {
            name: stage.name.to_owned(),
            busy_s: stage.busy.as_secs_f64(),
            slices: state.timeline.busy_s(at).collect(),
        });
        let io = proc::text("self/io");
        let status = proc::text("self/status");
        Status {
            version: version(&about.program),
            label: about.label.clone(),
            chain: about.chain.clone(),
            level: about.level.clone(),
            paths: about.paths.clone(),
            elapsed_s,
            number: progress.number,
            blocks: progress.blocks,
            bytes: progress.bytes,
            total_bytes,
            committed: progress.committed,
            known: state.known,
            following: state.following.map(Following::from),
            bytes_per_s: bytes.speed(),
            blocks_per_s: blocks.speed().unwrap_or(record::rate(progress.blocks, elapsed_s)),
            execution: progress.execution.map(|all| Execution::new(&all, elapsed_s)),
            eta: eta.filter(|_| !waits),
            threads: state.threads,
            stages: stages.collect(),
            slice_s: state.timeline.width_s(),
            cpu_s: clock.cpu().total_s(),
            process_cpu_s: usage::cpu_times().total_s(),
            memory_bytes: proc::bytes(&status, "VmRSS").unwrap_or(0),
            peak_memory_bytes: usage::peak_rss_bytes(),
            disk_read_bytes: counter(&io, "read_bytes"),
            disk_written_bytes: counter(&io, "write_bytes"),
            major_page_faults: usage::major_page_faults(),
            minor_page_faults: usage::minor_page_faults(),
        }
    }
}

/// The version and the revision of a program.
fn version(program: &Program) -> String {
    let words = [program.version.as_str(), program.revision.as_str()];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The value of a line `name: N` (proc_pid_io(5)); 0 where there is none.
fn counter(text: &str, name: &str) -> u64 {
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_verdict::Progress;

    #[test]
    fn a_status_says_what_the_run_said() {
        let program =
            Program { version: "0.1.0".into(), revision: "c0ffee".into(), ..Program::default() };
        let about =
            About { label: "import".into(), total_bytes: 1000, program, ..About::default() };
        let live = Live::default();
        let mut watcher = Watcher::new(about, live.clone());
        live.progress(&Progress { number: 7, blocks: 8, bytes: 400, ..Progress::default() });
        watcher.look();
        let status = watcher.status();
        assert_eq!((status.number, status.blocks, status.total_bytes), (7, 8, 1000));
        assert_eq!((status.committed, status.eta), (None, None));
        assert_eq!(status.version, "0.1.0 c0ffee");
        live.progress(&Progress { total_bytes: Some(2000), ..Progress::default() });
        assert_eq!(watcher.status().total_bytes, 2000);
    }

    #[test]
    fn a_record_has_the_stages_of_the_run_that_it_is_of() {
        use blockmill_pipeline::record::{CHECK_DECODE, CHECK_VERIFY, Series, WRITE};
        let mut record = RunRecord::new(Program::default(), "import");
        let part = |name: &str, busy_s| record::Stage {
            name: name.into(),
            busy_s,
            ..record::Stage::default()
        };
        record.stages = vec![part(CHECK_DECODE, 0.5), part(CHECK_VERIFY, 2.0), part(WRITE, 1.0)];
        record.series.push(Series::new(SLICE).measured("check", "s", vec![1.0, 1.5]));
        let stages = Status::of_record(&record).stages;
        let shown: Vec<_> =
            stages.iter().map(|it| (it.name.as_str(), it.busy_s, it.slices.len())).collect();
        assert_eq!(shown, [("check", 2.5, 2), (WRITE, 1.0, 0)]);
    }

    #[test]
    fn counters_are_found_by_their_whole_name() {
        let io = "rchar: 7\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n";
        assert_eq!((counter(io, "read_bytes"), counter(io, "write_bytes")), (4096, 8192));
        assert_eq!((counter(io, "bytes"), counter("", "read_bytes")), (0, 0));
    }
}
