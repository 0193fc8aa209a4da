//! The times of a run, each with its name: time on the wall, time of CPUs, and time of threads.
//!
//! A thread that waits for a disk or for a core within a stage is in the stage all the same. The
//! thread time of a stage can therefore exceed the CPU time of the run, and over all threads the
//! time on the wall.

use blockmill_pipeline::record::RunRecord;

use crate::format;

/// What thread time is, for the notes of tables and charts.
pub(crate) const THREAD_TIME: &str = "Thread time: how long threads were in a stage, over all \
                                      threads, including waits for a disk or a core.";

/// CPU time of the process, user and system; `None` if it was not measured.
pub(crate) fn cpu(record: &RunRecord) -> Option<String> {
    let seconds = record.cpu_s();
    (seconds > 0.0).then(|| format::duration(seconds))
}

/// How many threads were in stages on average, of how many: `1.6 of 2`; without threads in the
/// record, how many cores were busy.
pub(crate) fn threads_busy(record: &RunRecord) -> Option<String> {
    let wall_s = record.wall_s();
    if wall_s <= 0.0 {
        return None;
    }
    let busy: f64 = record.threads.iter().map(|thread| thread.busy_s).sum();
    match (busy > 0.0, record.cpu_s() > 0.0) {
        (true, _) => {
            Some(format!("{} of {}", format::number(busy / wall_s, 1), record.threads.len()))
        }
        (false, true) => Some(format::number(record.cpu_s() / wall_s, 1)),
        (false, false) => None,
    }
}

/// Wall time and CPU time in a line: `24 s of wall time, 6.3 s of CPU time`.
pub(crate) fn wall_and_cpu(record: &RunRecord) -> String {
    let wall = format!("{} of wall time", format::duration(record.wall_s()));
    cpu(record).map_or(wall.clone(), |cpu| format!("{wall}, {cpu} of CPU time"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use blockmill_pipeline::record::{CPU_SYS_S, CPU_USER_S};

    #[test]
    fn each_time_has_its_name() {
        let mut record = sample::full("x", 2.0);
        assert_eq!((cpu(&record), threads_busy(&record)), (None, Some("1.2 of 2".into())));
        assert_eq!(wall_and_cpu(&record), "2.00 s of wall time");
        record.facts.set(CPU_USER_S, 2.5);
        record.facts.set(CPU_SYS_S, 0.5);
        assert_eq!(wall_and_cpu(&record), "2.00 s of wall time, 3.00 s of CPU time");
        record.threads.clear();
        assert_eq!(threads_busy(&record), Some("1.5".into()));
        assert_eq!(threads_busy(&RunRecord { threads: vec![], ..sample::bare("x") }), None);
    }
}
