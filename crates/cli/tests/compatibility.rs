//! The tables of COMPATIBILITY.md against the forks and formats in the code. That of formats is
//! generated.

use crate::program::{Scratch, blockmill, run};
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

/// What can be done with each format. Every one is recognised by its content and inspected;
/// [`what_cannot_be_done_is_refused_by_name`] tries what is left out.
fn table_of_formats() -> String {
    let mut table = "| format | chain | detect, inspect | verify, import | convert from | \
                     `convert --to` | export | remote | specification |\n\
                     |---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for Properties { name, family, document, .. } in format::all() {
        let chain = format!("{family:?}").to_lowercase();
        let of_format = Target::all().filter(|target| format_of(target) == *name);
        let targets: Vec<String> = of_format.map(|target| format!("`{}`", target.name)).collect();
        let targets = if *name == "btc-headers" { vec!["`headers`".into()] } else { targets };
        let (verify, from, export) = match *name {
            "headers" => ("level `headers`", "yes", "table `blocks`"),
            "btc-headers" => ("verify, level `headers`", "yes", "no"),
            _ => ("yes", "yes", "yes"),
        };
        let remote = if *name == "store" { "no" } else { "yes" };
        let (targets, file) = (targets.join(", "), document.rsplit('/').next().expect("a name"));
        table += &format!(
            "| {name} | {chain} | yes | {verify} | {from} | {targets} | {export} | {remote} | \
             [{file}]({document}) |\n"
        );
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

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    let scratch = Scratch::new("compatibility");
    let at = |name: &str| scratch.path(name).display().to_string();
    let done = |words: String, code: i32| {
        let ended = run(&mut blockmill(&words));
        assert_eq!(ended.code, Some(code), "{words}: {}{}", ended.stdout, ended.stderr);
        ended.stderr
    };
    let (headers, blocks, of_bitcoin) = (at("headers"), at("blocks"), at("bitcoin"));
    done(format!("generate ethereum --headers 9 --format headers --out {headers}"), 0);
    done(format!("generate bitcoin --inputs 0 --blocks 9 --out {blocks}"), 0);
    done(format!("convert {blocks} --to headers --out {of_bitcoin}"), 0);
    for (from, to) in [(&headers, "headers"), (&of_bitcoin, "headers")] {
        done(format!("convert {from} --to {to} --out {}", at("again")), 0);
        fs::remove_file(at("again")).expect("a file");
    }
    done(format!("verify --seal off {headers}"), 0);
    done(format!("import --seal off {headers} --data {}", at("store")), 0);
    done(format!("export --seal off --tables blocks {headers} --to {}", at("tables")), 0);
    let refused = done(format!("export --seal off {headers} --to {}", at("all")), 2);
    assert!(refused.contains("expected blocks with bodies"), "{refused}");
    done(format!("verify {of_bitcoin}"), 0);
    for words in ["import --data", "export --to"] {
        let refused = done(format!("{words} {} {of_bitcoin}", at("none")), 2);
        assert!(refused.contains("headers of Bitcoin without blocks"), "{words}: {refused}");
    }
}
