//! Tables and charts of `bench reindex`.

use super::*;
use crate::Chart;
use crate::sample;

/// A run of ours, or of a peer, which knows only its times.
fn run(definition: &str, label: &str, index_s: f64, connect_s: f64) -> RunRecord {
    let mut record = sample::bare(label);
    record.level = if connect_s > 0.0 { "execution".into() } else { "headers".into() };
    record.totals.wall_s = index_s + connect_s + 0.5;
    record.totals.peak_rss_bytes = 12_000_000;
    let mut reindex = Reindex { index_s, connect_s, ..Reindex::default() };
    reindex.definition = definition.into();
    if label == "peer" {
        record.program.name = "Bitcoin Core".into();
        record.level = "execution".into();
    } else {
        reindex.files = 8;
        reindex.file_bytes = 1_000_000_000;
        reindex.index_bytes = 250_000;
        reindex.found = 1_011;
        reindex.out_of_order = 1_003;
        reindex.from_disk = 1_003;
        reindex.inputs = if connect_s > 0.0 { 1_000 } else { 0 };
    }
    record.reindex = Some(reindex);
    record
}

fn runs() -> Vec<RunRecord> {
    vec![
        run("index", "master", 2.0, 0.0),
        run("index", "blockmill", 0.1, 0.0),
        run("index", "peer", 1.0, 3.0),
        run("index", "blockmill", 0.3, 0.0),
        run("connect", "blockmill", 0.5, 1.0),
        run("connect", "peer", 1.5, 4.0),
    ]
}

#[test]
fn each_definition_has_a_table_that_compares_what_it_is_about() {
    let text = reindex_markdown(&runs());
    for expected in [
        "## index\n\n1,011 blocks of mainnet in 8 files (1.00 GB in all), 1,003 before their \
         parents, only the index.\n",
        "| master | 2.000 | 1.00x | 10.0x | 250 kB | 0 | 1,003 | 12.0 MB |\n",
        "| **blockmill** | **0.200** (0.100..0.300) | 10.0x | **1.00x** |",
        "| peer | 1.000 | 2.00x | 5.00x | - | - | - | 12.0 MB |\n",
        "## connect\n\n",
        "1,000 inputs, scripts of 0 inputs run.\n",
        "| **blockmill** | 0.500 | 1.000 | 0.000 | **2.000** | **1.00x** | 1,000 | - | 12.0 MB |\n",
        "| peer | 1.500 | 4.000 | 0.000 | 6.000 | 3.00x | 250 | - | 12.0 MB |\n",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in:\n{text}");
    }
}

#[test]
fn ours_alone_is_compared_with_nothing() {
    let text = reindex_markdown(&[run("pr", "blockmill", 0.1, 0.0)]);
    assert!(text.contains("| **blockmill** | **0.100** | - | **1.00x** |"), "{text}");
    assert_eq!(reindex_markdown(&[]), "");
}

#[test]
fn terminal_tables_are_narrow_and_names_are_data() {
    let mut records = runs();
    records.push(run("\x1b[2J", "blockmill", 0.1, 0.0));
    let text = reindex_table(&records, Colour::Off);
    assert!(!text.contains('\x1b') && text.contains("connect: "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 130), "{text}");
}

#[test]
fn failed_runs_are_named_and_not_counted() {
    let mut records = runs();
    records[3].result.error = Some("disk full".into());
    let text = reindex_markdown(&records);
    assert!(text.contains("**blockmill** | **0.100** |"), "{text}");
    assert!(text.contains("blockmill: 1 of 2 runs failed, not counted (disk full)."), "{text}");
}

#[test]
fn only_runs_of_the_benchmark_are_its_records() {
    assert!(is_reindex(&runs()[0]) && !is_reindex(&sample::bare("import")));
    assert!(!is_reindex(&run("", "import", 1.0, 1.0)));
}

#[test]
fn each_definition_has_a_chart_with_a_bar_for_each_label() {
    let charts = Chart::reindex(&runs());
    let names: Vec<&str> = charts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["index", "connect"]);
    let svg = charts[0].1.svg();
    for text in ["Reindex, index", "master", "peer", "100 ms", "10.0x"] {
        assert!(svg.contains(text), "{text:?} is not in {svg}");
    }
    assert!(!svg.contains(">connect<") && charts[1].1.svg().contains("connect"));
    assert!(Chart::reindex(&[]).is_empty());
}
