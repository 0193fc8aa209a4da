//! `export --dry-run`: what it says fits the terminal, is near what is written, and leaves nothing.

use crate::exported::{assert_same_rows, manifest, rows};
use crate::program::{Scratch, blockmill, document, misunderstand, run, succeed_json};
use arrow_array::Array;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn export(archive: &Path, to: &Path, words: &str) -> Command {
    let mut command = blockmill(&format!("export {words}"));
    command.arg(archive).arg("--to").arg(to);
    command
}

fn is_alone(line: &str) -> bool {
    !line.trim().contains(' ')
}

/// Archives, and the flags that they need.
fn archives() -> Vec<(PathBuf, String)> {
    let fixture = |name: &str| blockmill_testkit::fixture(name);
    let protocol = fixture("neo/chain50x2.yml");
    vec![
        (fixture("ethereum/chains/hive-sync/chain.rlp"), "--seal off".into()),
        (fixture("ethereum/era1/mainnet-00000-5ec1ffb8.era1"), "--seal off --level bodies".into()),
        (fixture("bitcoin/testnet3-0-400.dat"), "--partial".into()),
        (fixture("bitcoin/mainnet-0-4521.dat"), "--partial".into()),
        (fixture("neo/chain50x2.acc"), format!("--chain {}", protocol.display())),
    ]
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_dry_run_is_near_what_is_written_and_writes_nothing() {
    let scratch = Scratch::new("plans");
    for (archive, words) in archives() {
        let to = scratch.path(&format!("{}", archive.file_name().unwrap().display()));
        let words = format!("{words} --tables all");
        let plan = succeed_json(&mut export(&archive, &to, &format!("{words} --dry-run")));
        assert!(!to.exists(), "{words}");
        let written = succeed_json(&mut export(&archive, &to, &words));
        let files = written["files"].as_array().unwrap();
        let sum = |table: &Value| -> u64 {
            let own = files.iter().filter(|file| file["table"] == *table);
            own.map(|file| file["rows"].as_u64().unwrap()).sum()
        };
        let tables = plan["tables"].as_array().unwrap();
        let named = files.iter().all(|file| tables.iter().any(|of| of["table"] == file["table"]));
        assert!(named && tables.len() <= files.len(), "{plan}");
        for table in tables {
            let rows = sum(&table["table"]);
            assert!(!table["columns"].as_array().unwrap().is_empty());
            if table["rows_are_exact"] == true {
                assert_eq!(table["rows"], rows, "{table}");
                assert_eq!(plan["blocks"], rows);
            } else if let Some(about) = table["rows"].as_u64() {
                // chains of tests are not the same everywhere
                let most = rows * 4 + 10;
                assert!(about <= most && rows <= about * 4 + 10, "{about} {rows} {table}");
            }
            if table["files"] == 1 && plan["blocks_are_exact"] == true {
                let path = &table["path"];
                assert!(files.iter().any(|file| file["file"] == *path), "{path}");
            }
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_dry_run_fits_the_terminal() {
    let scratch = Scratch::new("plans_fit");
    let to = scratch.path("a-folder-of-which-the-name-is-longer-than-a-line");
    let folder = to.display().to_string();
    for (archive, words) in archives() {
        for more in ["", "--hex --names cryo", "--partition date", "--partition blocks=100"] {
            for width in [40, 80, 160] {
                let words = format!("{words} {more} --tables all --dry-run");
                let mut command = export(&archive, &to, &words);
                let ended = run(command.env("COLUMNS", width.to_string()));
                assert_eq!(ended.code, Some(0), "{}", ended.stderr);
                // only a path is longer, alone in its line
                let is_short = |line: &str| line.chars().count() <= width;
                let is_path = |line: &str| {
                    (line.trim().ends_with(".parquet") || line == folder) && is_alone(line)
                };
                let fits = |line: &str| is_short(line) || is_path(line);
                assert!(ended.stdout.lines().all(fits), "{width}:\n{}", ended.stdout);
                assert!(ended.stdout.contains("blocks"), "{}", ended.stdout);
                assert_eq!(ended.stdout.contains("--hex"), !more.contains("--hex"));
            }
        }
    }
    assert!(!to.exists());
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_dry_run_of_more_blocks_counts_only_these_and_refuses_what_an_export_refuses() {
    let scratch = Scratch::new("plans_append");
    let archive = blockmill_testkit::fixture("bitcoin/testnet3-0-400.dat");
    let to = scratch.path("out");
    succeed_json(&mut export(&archive, &to, "--partial --until 100"));
    let plan = succeed_json(&mut export(&archive, &to, "--partial --append --dry-run"));
    assert_eq!((&plan["first"], &plan["last"]), (&101.into(), &400.into()));
    assert_eq!(plan["tables"][0]["rows"], 300);
    for (words, expected) in [
        ("", "--force or --append, found an export"),
        ("--append --tables all", "expected tables"),
        ("--append --tables x", "found x"),
        ("--append --partition date", "partitions by"),
    ] {
        let words = format!("--partial --dry-run {words}");
        misunderstand(&mut export(&archive, &to, &words), &[expected]);
    }
    misunderstand(&mut export(Path::new("-"), &scratch.path("x"), "--dry-run"), &["pipe"]);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn columns_that_need_a_deeper_level_are_named_before_and_after() {
    let scratch = Scratch::new("plans_null");
    let archive = blockmill_testkit::fixture("bitcoin/mainnet-0-4521.dat");
    let names = "transactions.input_value, transactions.fee, inputs.value, inputs.spent_script, \
                 inputs.script_type, inputs.address";
    let fills = "--level execution, for an archive that begins with the first block, fills them.";
    let sentence = format!("Null at level bodies: {names}. {fills}");
    let words = "--partial --tables all --level bodies";
    let to = scratch.path("bodies");
    let ended = run(&mut export(&archive, &to, &format!("{words} --dry-run")));
    assert!(ended.stdout.contains("int64, or null: needs level execution"), "{}", ended.stdout);
    let plan = succeed_json(&mut export(&archive, &to, &format!("{words} --dry-run")));
    let columns = plan["tables"].as_array().unwrap().iter();
    let columns = columns.flat_map(|table| table["columns"].as_array().unwrap());
    let needed = columns.filter(|column| column["null_below_level"] == "execution");
    assert_eq!(needed.count(), 6);
    let ended = run(&mut export(&archive, &to, words));
    let text = ended.stdout.replace('\n', " ").replace("  ", " ");
    assert!(text.contains(&sentence), "{text}");
    let ended = run(export(&archive, &to, &format!("{words} --force")).arg("--json"));
    assert_eq!(document(&ended)["notes"].as_array().unwrap().last().unwrap(), &sentence);

    let value = |folder: &Path| {
        let rows = rows(folder).remove("inputs").unwrap();
        let values = rows.iter().map(|row| row.column_by_name("value").unwrap().is_null(0));
        values.filter(|is_null| !is_null).count()
    };
    assert_eq!(value(&to), 0);
    let to = scratch.path("execution");
    let words = "--partial --tables all";
    let plan = run(&mut export(&archive, &to, &format!("{words} --dry-run")));
    assert!(!plan.stdout.contains("Null") && !plan.stdout.contains("needs level"));
    let ended = run(&mut export(&archive, &to, words));
    assert!(!ended.stdout.contains("Null"), "{}", ended.stdout);
    assert!(value(&to) > 0);
    // scripts that are assumed valid cost nothing, and values are there all the same
    let assumed = scratch.path("assumed");
    let tip = manifest(&to)["tip"].as_str().unwrap().to_owned();
    succeed_json(&mut export(&archive, &assumed, &format!("{words} --assume-valid {tip}")));
    assert_same_rows(&to, &assumed);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn block_files_from_the_middle_are_exported_at_level_bodies_unless_said_otherwise() {
    let scratch = Scratch::new("plans_middle");
    let bytes = fs::read(blockmill_testkit::fixture("bitcoin/mainnet-0-4521.dat")).unwrap();
    // magic and length, then a block
    let next =
        |at: usize| at + 8 + u32::from_le_bytes(*bytes[at + 4..].first_chunk().unwrap()) as usize;
    let start = (0..100).fold(0, |at, _| next(at));
    let [archive, to] = ["blk00100.dat", "out"].map(|name| scratch.path(name));
    fs::write(&archive, &bytes[start..]).unwrap();
    let plan = succeed_json(&mut export(&archive, &to, "--partial --dry-run"));
    assert_eq!(plan["level"], "bodies");
    let ended = run(export(&archive, &to, "--partial").arg("--json"));
    let answer = document(&ended);
    assert_eq!(answer["exit_code"], 0, "{answer}");
    assert!(answer["notes"].to_string().contains("transactions.fee"), "{answer}");
    assert_eq!(manifest(&to)["level"], "bodies");
    assert_eq!(rows(&to)["blocks"].len() as u64, plan["blocks"].as_u64().unwrap());
    let words = "--partial --force --level execution";
    let ended = run(&mut export(&archive, &to, words));
    assert!(ended.code != Some(0) && ended.stderr.contains("from the genesis block on"));
}
