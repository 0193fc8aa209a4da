//! The tables of COMPATIBILITY.md against the forks and formats in the code.

use crate::program::{blockmill, run};
use blockmill_archive::format;
use blockmill_ethereum::params::Fork;
use std::fs;
use std::path::Path;

/// The cells of the rows of a chapter's table, below its head.
fn table(chapter: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../COMPATIBILITY.md");
    let text = fs::read_to_string(path).expect("COMPATIBILITY.md");
    let (_, after) = text.split_once(&format!("## {chapter}\n")).expect("the chapter");
    let chapter = after.split("\n## ").next().expect("a part");
    let rows = chapter.lines().filter(|line| line.starts_with('|')).skip(2);
    let cells =
        |row: &str| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    rows.map(cells).collect()
}

#[test]
fn every_fork_has_a_row_that_says_how_deep_it_is_verified() {
    let rows = table("Ethereum forks");
    let named: Vec<_> = rows.iter().map(|row| row[0].clone()).collect();
    let known: Vec<_> = Fork::ALL.iter().map(|fork| format!("{fork:?}")).collect();
    assert_eq!(named, known);
    for (fork, row) in Fork::ALL.iter().zip(&rows) {
        assert_eq!(row[3], "yes", "{fork:?} is executed");
    }
}

#[test]
fn every_format_and_every_target_of_convert_has_its_place() {
    let rows = table("Formats");
    let known: Vec<_> = format::all().map(|it| it.name.to_owned()).collect();
    let named: Vec<_> = rows.iter().map(|row| row[0].clone()).collect();
    assert_eq!(named, known);
    for (row, properties) in rows.iter().zip(format::all()) {
        assert!(row[4].contains(&format!("]({})", properties.document)), "{row:?}");
    }
    let mut targets: Vec<_> =
        rows.iter().flat_map(|row| row[3].split(", ")).map(|name| name.trim_matches('`')).collect();
    targets.sort_unstable();
    let help = run(&mut blockmill("convert --help")).stdout;
    let (_, list) = help.split_once("--to <").expect("--to");
    let (_, list) = list.split_once("Possible values:\n").expect("values");
    let list = list.lines().take_while(|line| !line.is_empty());
    let offered = list.filter_map(|line| line.trim().strip_prefix("- ")?.split_once(':'));
    let mut offered: Vec<_> = offered.map(|(name, _)| name).collect();
    offered.sort_unstable();
    assert_eq!(targets, offered, "{help}");
}
