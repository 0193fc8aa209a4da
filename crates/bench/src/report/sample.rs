//! Comparisons for the tests of this crate.

#[path = "../../../report/src/sample.rs"]
mod runs;

use crate::contest::Run;
use crate::findings::Contest;
use crate::shape::Contestant;
use blockmill_pipeline::record::{CHUNK, CPU_USER_S, PEAK_RSS_BYTES, SLICE, WALL_S};
pub(crate) use runs::{executed, full};

/// A contest of the contestants with these wall times, in eight blocks, with a wobble of a
/// thousandth; the first of them is the baseline.
pub(crate) fn contest(shape: &str, all: &[(&str, f64)]) -> Contest {
    let mut contestants = vec![];
    let mut runs = vec![];
    for (label, _) in all {
        let label = (*label).to_owned();
        contestants.push(Contestant { label, ..Contestant::default() });
    }
    contestants.insert(1, Contestant { label: "again".into(), ..Contestant::default() });
    for block in 0..=8u32 {
        for (contestant, one) in contestants.iter().enumerate() {
            let wall_s = all[contestant.saturating_sub(1)].1;
            for turn in 0..2 {
                let wobble =
                    (f64::from((block * 7 + turn * 3 + contestant as u32 * 5) % 11) - 5.0) / 5e3;
                let mut record = full(&one.label, wall_s * (1.0 + wobble));
                record.series.retain(|series| {
                    ![CHUNK, SLICE].contains(&series.row.as_str()) || turn == 0 && block == 1
                });
                record.facts.set(CPU_USER_S, record.facts.of(WALL_S) * 1.5);
                record.facts.count(PEAK_RSS_BYTES, (wall_s * 1e8) as u64);
                record.command = vec!["blockmill".into(), "bench".into(), one.label.clone()];
                runs.push(Run { contestant, block, disturbed: false, record });
            }
        }
    }
    Contest {
        definition: "headers".into(),
        title: "Ethereum headers".into(),
        about: "A stream of headers, checked and stored.".into(),
        shape: shape.into(),
        compare: vec![WALL_S.into(), "cpu_s".into()],
        contestants,
        runs,
        ..Contest::default()
    }
}
