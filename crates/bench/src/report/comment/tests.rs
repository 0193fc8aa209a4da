//! Comments about constructed sessions.

use super::*;
use crate::by_block;
use crate::report::sample;
use blockmill_pipeline::machine::Machine;
use blockmill_pipeline::record::Program;

/// A comparison of `main` with this program, which takes `time` times as long.
fn checked(title: &str, time: f64) -> Comparison {
    let all = [("main", 1.0), ("this program", time)];
    Comparison { title: title.into(), ..sample::comparison("revisions", &all) }
}

fn session(comparisons: Vec<Comparison>) -> Session {
    let program = Program {
        name: "blockmill".into(),
        version: "0.2.0".into(),
        revision: "0123456789abcdef".into(),
        profile: "release".into(),
        ..Program::default()
    };
    let machine = Machine { cpu: "CPU".into(), cores: 4, ..Machine::default() };
    let command = ["blockmill", "bench", "headers", "--check", "main"].map(str::to_owned);
    let command = command.to_vec();
    Session { program, machine, command, comparisons, ..Session::default() }
}

/// The headline of comparisons in which this program takes so many times as long.
fn headline(times: &[f64]) -> String {
    let comparisons = times.iter().map(|time| checked("Headers", *time)).collect();
    verdict(&session(comparisons))
}

#[test]
fn the_comment_has_every_fact_and_how_to_measure_it_again() {
    let mut slow = checked("Headers", 1.25);
    slow.runs[4].disturbed = true;
    let text = comment(&session(vec![slow, checked("Bodies", 1.0)]));
    let expected = "\
<!-- blockmill bench -->
**Slower than main in 1 of 2 comparisons.**

| workload | fact | ratio | pairs | noise floor | verdict |
| --- | --- | ---: | ---: | ---: | --- |
| Headers | whole run | 1.250 times as long (1.250..1.250) | 16 | 0.1 % | **slower** |
| Headers | CPU time | 1.250 times as much (1.250..1.250) | 16 | 0.1 % | **more** |
| Bodies | whole run | 1.000 times as fast (1.000..1.000) | 16 | 0.1 % | no difference |
| Bodies | CPU time | 1.000 times less (1.000..1.000) | 16 | 0.1 % | no difference |

The programs ran alternately in pairs and had to produce identical results. A ratio is the median \
over pairs, with its 95 % confidence interval. The base also ran against itself: differences below \
this noise floor are not reported.

- Disturbed by other processes: 1 of 108 runs.
- Repeat: `blockmill bench headers --check main`
- Program: blockmill 0.2.0, 0123456789, profile release
- Machine: CPU, 4 cores
";
    assert_eq!(text, expected);
}

#[test]
fn the_headline_has_the_verdict_over_all_comparisons() {
    assert_eq!(headline(&[1.25]), "Slower than main");
    assert_eq!(headline(&[0.8]), "Faster than main");
    assert_eq!(headline(&[1.0]), "No difference from main beyond the noise");
    let mixed = "Slower than main in 1 of 3 comparisons, faster in 2";
    assert_eq!(headline(&[0.8, 1.25, 0.5]), mixed);
    assert_eq!(headline(&[0.8, 1.0]), "Faster than main in 1 of 2 comparisons");
    let none = "No difference from main beyond the noise in 2 of 2 comparisons";
    assert_eq!(headline(&[1.0, 1.0]), none);
}

#[test]
fn too_few_pairs_failures_and_nothing_are_said() {
    let mut few = checked("Headers", 1.25);
    few.runs.retain(|run| run.block <= 1);
    assert_eq!(verdict(&session(vec![few.clone()])), "Too few pairs to compare with main");
    assert!(slower(&session(vec![few.clone()])).is_empty());
    let mut session = session(vec![few, checked("Bodies", 0.8)]);
    session.failed = vec!["neo: it *ended*".into()];
    session.left_out = vec!["evm: no time".into()];
    let text = comment(&session);
    let head =
        "**Faster than main in 1 of 2 comparisons; too few pairs in 1; 1 comparison failed.**";
    assert!(text.contains(head), "{text}");
    for line in [
        "| Headers | whole run | 1.25..1.25 times as long | 2 | not known | too few pairs |",
        "\n- **Failed:** neo: it \\*ended\\*\n- Left out: evm: no time\n",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    session.comparisons.clear();
    let text = comment(&session);
    let head = "<!-- blockmill bench -->\n**Nothing was measured.**\n\n- **Failed:** neo";
    assert!(text.starts_with(head), "{text}");
}

#[test]
fn where_more_is_better_less_is_slower() {
    let mut comparison = checked("EVM", 1.25);
    comparison.compare = vec!["mgas_per_s".into()];
    for run in &mut comparison.runs {
        let seconds = run.record.wall_s();
        run.record.facts.set("mgas_per_s", 100.0 / seconds);
    }
    let expected = "headers / revisions: Mgas a second 1.250 times as long (1.250..1.250)";
    assert_eq!(slower(&session(vec![comparison.clone()])), [expected]);
    comparison.variants.swap(0, 2);
    for run in &mut comparison.runs {
        run.variant = 2 - run.variant;
    }
    assert!(slower(&session(vec![comparison])).is_empty(), "this program is faster");
}

#[test]
fn blocks_are_compared_one_by_one() {
    let mut comparison = checked("Execution", 1.25);
    for run in &mut comparison.runs {
        let mut record = sample::executed("x");
        let factor = if run.variant > AGAIN { 1.25 } else { 1.0 };
        for column in record.series.iter_mut().flat_map(|series| &mut series.columns) {
            if column.unit == "s" {
                column.values.iter_mut().for_each(|value| *value *= factor);
            }
        }
        run.record.series = record.series;
    }
    comparison.by_block = by_block::compare(&comparison.runs, comparison.variants.len());
    let text = comment(&session(vec![comparison]));
    let (_, blocks) = text.split_once("not reported.\n\n").unwrap();
    let (table, _) = blocks.split_once("\n- Disturbed").unwrap();
    let expected = "\
Execution, block by block:

| program | p50 | p90 | p95 | p99 | ratio of blocks, p50 | ratio of blocks, p90 \
| ratio of blocks, p95 | ratio of blocks, p99 | blocks that take longer |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| **main** | 2.00 ms | 3.00 ms | 6.00 ms | 12 ms | - | - | - | - | - |
| this program | 2.50 ms (1.25 (1.25..1.25)) | 3.75 ms (1.25 (1.25..1.25)) \
| 7.50 ms (1.25 (1.25..1.25)) | 15 ms (1.25 (1.25..1.25)) | 1.25 (1.25..1.25) | 1.25 (1.25..1.25) \
| 1.25 (1.25..1.25) | 1.25 (1.25..1.25) | 100 % (100 %..100 %) |

- 21 blocks in 16 pairs of runs. The time of a block is the work of all threads on it. Intervals \
of 95 % by a bootstrap over blocks and runs.
";
    assert_eq!(table, expected);
}
