//! The tables of an export, read by the programs of those who work with tables.

#[path = "../program/mod.rs"]
mod program;

use program::{Scratch, blockmill, succeed, succeed_json};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Exports, and has DuckDB and Polars read all of it.
fn read(scratch: &Scratch, (name, verified): (&str, &str), words: &str, archive: &Path) -> Value {
    let to = scratch.path(name);
    let mut command = blockmill(&format!("export {words}"));
    let answer = succeed_json(command.arg(archive).arg("--to").arg(&to));
    assert_eq!(answer["verified"], verified);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tables/read.py");
    let mut python = Command::new(blockmill_testkit::path_of("tables_python"));
    let text = succeed(piped(python.arg(script).arg(&to)));
    serde_json::from_str(&text).unwrap()
}

fn piped(command: &mut Command) -> &mut Command {
    use std::process::Stdio;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped())
}

#[blockmill_testkit::needs(tables_python, fixtures)]
#[test]
fn duckdb_and_polars_read_every_table_of_ethereum() {
    let scratch = Scratch::new("tables_of_ethereum");
    let archive = blockmill_testkit::fixture("ethereum/chains/hive-sync/chain.rlp");
    let all = "blocks,ommers,transactions,receipts,logs,withdrawals,balance_diffs,nonce_diffs,\
               code_diffs,storage_diffs";
    let words = &format!("--seal off --level execution --tables {all}");
    let tables = read(&scratch, ("plain", "chain"), words, &archive);
    let rows = |table: &str| tables[table]["rows"].as_u64().unwrap();
    assert_eq!((rows("blocks"), rows("transactions"), rows("receipts")), (3000, 546, 546));
    let transactions = &tables["transactions"];
    let [duckdb, polars] = ["duckdb", "polars"].map(|program| &transactions[program]);
    assert_eq!((&duckdb["value"], &duckdb["hash"]), (&"DECIMAL(38,0)".into(), &"BLOB".into()));
    assert_eq!(duckdb["block_timestamp"], "TIMESTAMP WITH TIME ZONE");
    assert_eq!(polars["value"], "Decimal(precision=38, scale=0)");
    assert_eq!(polars["block_timestamp"], "Datetime(time_unit='us', time_zone='UTC')");
    for table in all.split(',') {
        // this chain has no ommers
        let has_rows = table != "ommers";
        assert_eq!(tables[table]["rows"].as_u64().unwrap() > 0, has_rows, "{table}");
        let types = tables[table]["duckdb"].as_object().unwrap();
        assert!(types.values().all(|of| !of.as_str().unwrap().starts_with('U')), "{types:?}");
        assert_eq!(tables[table]["filters"].as_u64().unwrap() > 0, has_rows, "{table}");
    }
    let hex = read(&scratch, ("hex", "chain"), &format!("{words} --hex --names cryo"), &archive);
    assert_eq!(hex["transactions"]["duckdb"]["transaction_hash"], "VARCHAR");
    assert_eq!(hex["logs"]["rows"], tables["logs"]["rows"]);
}

#[blockmill_testkit::needs(tables_python, fixtures)]
#[test]
fn duckdb_and_polars_read_block_access_lists() {
    let scratch = Scratch::new("tables_of_access_lists");
    let chain = blockmill_testkit::fixture("ethereum/bal-chains/amsterdam-250");
    let (archive, genesis) = (chain.join("chain-with-bal.rlp"), chain.join("genesis.json"));
    let words = &format!("--level bodies --tables block_access_list --chain {}", genesis.display());
    let tables = read(&scratch, ("plain", "chain"), words, &archive);
    let table = &tables["block_access_list"];
    assert!(table["rows"].as_u64().unwrap() > 5_000, "{table}");
    let [duckdb, polars] = ["duckdb", "polars"].map(|program| &table[program]);
    assert_eq!((&duckdb["kind"], &duckdb["value"]), (&"VARCHAR".into(), &"BLOB".into()));
    assert_eq!((&duckdb["access_index"], &polars["slot"]), (&"BIGINT".into(), &"Binary".into()));
    let hex = read(&scratch, ("hex", "chain"), &format!("{words} --hex"), &archive);
    assert_eq!(hex["block_access_list"]["duckdb"]["slot"], "VARCHAR");
    assert_eq!(hex["block_access_list"]["rows"], table["rows"]);
}

#[blockmill_testkit::needs(tables_python, fixtures)]
#[test]
fn duckdb_and_polars_read_every_table_of_bitcoin() {
    let scratch = Scratch::new("tables_of_bitcoin");
    let archive = blockmill_testkit::fixture("bitcoin/testnet3-0-400.dat");
    // its last record is cut
    let words = "--partial --tables blocks,transactions,inputs,outputs";
    let tables = read(&scratch, ("plain", "partial"), words, &archive);
    assert_eq!(tables["blocks"]["rows"], 401);
    assert_eq!(tables["outputs"]["duckdb"]["value"], "BIGINT");
    assert_eq!(tables["inputs"]["duckdb"]["witness"], "BLOB[]");
    let hex = read(&scratch, ("hex", "partial"), &format!("{words} --hex"), &archive);
    assert_eq!(hex["inputs"]["duckdb"]["witness"], "VARCHAR[]");
    assert_eq!(hex["inputs"]["rows"], tables["inputs"]["rows"]);
}

#[blockmill_testkit::needs(tables_python, fixtures)]
#[test]
fn duckdb_and_polars_read_every_table_of_neo() {
    let scratch = Scratch::new("tables_of_neo");
    let archive = blockmill_testkit::fixture("neo/chain50x2.acc");
    let protocol = blockmill_testkit::fixture("neo/chain50x2.yml");
    let words = format!(
        "--chain {} --tables blocks,transactions,notifications,transfers",
        protocol.display()
    );
    let tables = read(&scratch, ("plain", "chain"), &words, &archive);
    let rows = |table: &str| tables[table]["rows"].as_u64().unwrap();
    assert_eq!((rows("blocks"), rows("transactions")), (51, 99));
    assert!(rows("notifications") > rows("transfers") && rows("transfers") > 0);
    assert_eq!(tables["transfers"]["duckdb"]["amount"], "DECIMAL(38,0)");
}

#[blockmill_testkit::needs(tables_python, fixtures)]
#[test]
fn folders_of_partitions_are_discovered() {
    let scratch = Scratch::new("tables_of_partitions");
    let archive = blockmill_testkit::fixture("bitcoin/testnet3-0-400.dat");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tables/read_hive.py");
    for (name, words, column, values) in [
        ("blocks", "--partition blocks=100", "block_range", 5),
        ("date", "--partition date", "date", 2),
    ] {
        let to = scratch.path(name);
        for part in ["--until 150", "--append"] {
            let words = format!("export --partial --tables all {words} {part}");
            succeed_json(blockmill(&words).arg(&archive).arg("--to").arg(&to));
        }
        let mut python = Command::new(blockmill_testkit::path_of("tables_python"));
        let text = succeed(piped(python.arg(script).arg(&to).arg(column)));
        let tables: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(tables["blocks"]["rows"], 401);
        for table in ["blocks", "transactions", "inputs", "outputs"] {
            assert!(tables[table]["values"].as_u64() >= Some(values), "{table}: {text}");
        }
    }
}
