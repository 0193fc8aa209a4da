//! Comparisons for the tests of this crate.

#[path = "../../../report/src/sample.rs"]
mod runs;

use crate::comparison::Run;
use crate::experiment::Variant;
use crate::findings::Comparison;
use blockmill_pipeline::record::{CHUNK, CPU_USER_S, PEAK_RSS_BYTES, SLICE, WALL_S};
pub(crate) use runs::{executed, full};

/// A comparison of the variants with these wall times, in eight blocks, with a wobble of a
/// thousandth; the first of them is the baseline.
pub(crate) fn comparison(experiment: &str, all: &[(&str, f64)]) -> Comparison {
    let mut variants = vec![];
    let mut runs = vec![];
    for (label, _) in all {
        let label = (*label).to_owned();
        variants.push(Variant { label, ..Variant::default() });
    }
    variants.insert(1, Variant { label: "again".into(), ..Variant::default() });
    for block in 0..=8u32 {
        for (variant, one) in variants.iter().enumerate() {
            let wall_s = all[variant.saturating_sub(1)].1;
            for turn in 0..2 {
                let wobble =
                    (f64::from((block * 7 + turn * 3 + variant as u32 * 5) % 11) - 5.0) / 5e3;
                let mut record = full(&one.label, wall_s * (1.0 + wobble));
                record.series.retain(|series| {
                    ![CHUNK, SLICE].contains(&series.row.as_str()) || turn == 0 && block == 1
                });
                record.facts.set(CPU_USER_S, record.facts.value(WALL_S) * 1.5);
                record.facts.count(PEAK_RSS_BYTES, (wall_s * 1e8) as u64);
                record.command = vec!["blockmill".into(), "bench".into(), one.label.clone()];
                runs.push(Run { variant, block, disturbed: false, record });
            }
        }
    }
    Comparison {
        definition: "headers".into(),
        title: "Ethereum headers".into(),
        about: "A stream of headers, checked and stored.".into(),
        experiment: experiment.into(),
        compare: vec![WALL_S.into(), "cpu_s".into()],
        variants,
        runs,
        ..Comparison::default()
    }
}
