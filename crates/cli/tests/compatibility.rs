//! The tables of COMPATIBILITY.md against the forks and formats in the code. That of formats is
//! generated.

use crate::program::{blockmill, run};
use blockmill_archive::format::{self, Properties};
use blockmill_archive::{Format, Output, Target};
use blockmill_ethereum::params::Fork;
use std::fs;
use std::path::Path;

const PAGE: &str = "COMPATIBILITY.md";

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    fs::read_to_string(path).expect("the page")
}

/// The cells of the rows of a chapter's table, below its head.
fn table(chapter: &str) -> Vec<Vec<String>> {
    let text = document();
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

/// The table of formats.
fn table_of_formats() -> String {
    let mut table = "| format | chain | verify, import, export | written by `convert --to` | \
                     specification |\n|---|---|---|---|---|\n"
        .to_owned();
    for Properties { name, family, document, .. } in format::all() {
        let chain = format!("{family:?}").to_lowercase();
        let level = if name.ends_with("headers") { "level `headers`" } else { "yes" };
        let of_format = Target::all().filter(|target| format_of(target) == *name);
        let targets: Vec<String> = of_format.map(|target| format!("`{}`", target.name)).collect();
        let targets = if *name == "btc-headers" { vec!["`headers`".into()] } else { targets };
        let (targets, file) = (targets.join(", "), document.rsplit('/').next().expect("a name"));
        table += &format!("| {name} | {chain} | {level} | {targets} | [{file}]({document}) |\n");
    }
    table
}

/// The name of the format in which a target is read again.
fn format_of(target: &Target) -> &'static str {
    match target.output {
        Output::Blocks(format, _) => format.name(),
        Output::Snapshot | Output::StateDump => Format::Store.name(),
        Output::BlockFiles | Output::CoreDatadir => "blk",
        Output::Dump(_) | Output::NeoGoDatabase => "acc",
    }
}

#[test]
fn the_table_of_formats_is_as_generated() {
    let text = document();
    let (head, rest) = text.split_once("\n| format |").expect("the table of formats");
    let (_, tail) = rest.split_once("\n\n").expect("text after the table");
    let expected = format!("{head}\n{}\n{tail}", table_of_formats());
    if text != expected {
        let generated = Path::new(env!("CARGO_TARGET_TMPDIR")).join(PAGE);
        fs::write(&generated, expected).expect("written");
        panic!("{PAGE} is stale; copy {} over it", generated.display());
    }
}

#[test]
fn convert_offers_every_target() {
    let mut targets: Vec<_> = Target::all().map(|target| target.name).collect();
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
