//! The commands as functions of another program: the documents are those of the program, and what
//! belongs to a process is refused.

use crate::program::{Scratch, blockmill, document, run, succeed};
use blockmill_cli::library;
use blockmill_pipeline::Cancel;
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::thread;

const BLOCKS: usize = 3000;

/// A generated chain of headers.
fn chain(scratch: &Scratch) -> PathBuf {
    let path = scratch.path("headers.rlp");
    let words = format!("generate ethereum --headers {BLOCKS}");
    let ended = run(blockmill(&words).arg("--out").arg(&path));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    path
}

fn words(words: &str, path: &Path) -> Vec<OsString> {
    words.split_whitespace().map(OsString::from).chain([path.into()]).collect()
}

/// The document in a text.
fn parsed(text: String) -> Value {
    serde_json::from_str(&text).expect("a document")
}

/// A document without what each run has for itself.
fn lasting(mut document: Value) -> Value {
    document["result"] = document["result"]["data"].take();
    document
}

#[test]
fn a_document_is_that_of_the_program() {
    let scratch = Scratch::new("library");
    let chain = chain(&scratch);
    for asked in ["verify --seal off --seal-seed 1", "verify --seal off --from 7 --until 4"] {
        let theirs = document(&run(blockmill(asked).arg(&chain).arg("--json")));
        let ours = parsed(library::answer(&words(asked, &chain), &Cancel::new()));
        assert_eq!(lasting(ours), lasting(theirs), "{asked}");
    }
    let ours = parsed(library::answer(&words("inspect --deep", &chain), &Cancel::new()));
    assert_eq!(ours, document(&run(blockmill("inspect --deep --json").arg(&chain))));
}

#[test]
fn what_belongs_to_a_process_is_refused() {
    let path = Path::new("nothing");
    for asked in ["serve", "bench", "demo --out", "verify --log x", "verify --config x", "--help"] {
        let answer = parsed(library::answer(&words(asked, path), &Cancel::new()));
        assert_eq!(answer["status"], "usage", "{asked}: {answer}");
        assert!(answer["error"]["message"].is_string(), "{asked}: {answer}");
    }
}

#[test]
fn a_run_that_was_asked_to_stop_is_interrupted() {
    let scratch = Scratch::new("library_stop");
    let cancel = Cancel::new();
    cancel.cancel();
    let asked = words("verify --seal off --chunk 100", &chain(&scratch));
    assert_eq!(parsed(library::answer(&asked, &cancel))["status"], "interrupted");
}

/// A shard may need several documents: the input of level execution, and its table.
#[test]
fn shards_at_level_execution_take_the_documents_of_a_merge_as_text() {
    const SUM: &str = "--level execution --with coins=multiset";
    let scratch = Scratch::new("library_multiset");
    let [blocks, store, core] = ["blocks", "store", "core"].map(|name| scratch.path(name));
    succeed(blockmill("generate bitcoin --inputs 50 --blocks 120 --out").arg(&blocks));
    succeed(blockmill("import --data").arg(&store).arg(&blocks));
    succeed(blockmill("convert --to core --out").arg(&core).arg(&store));
    let files = ["blocks/blk00000.dat", "chainstate"].map(|it| core.join("regtest").join(it));
    let shard = |asked: &str, path: &Path, after: Option<&str>| {
        let answer = parsed(library::verify_shard(&words(asked, path), after, &Cancel::new()));
        assert_eq!(answer["status"], "verified", "{answer:#}");
        answer["result"].to_string()
    };
    let merge = |documents: &[String]| {
        let asked: Vec<_> = SUM.split_whitespace().map(OsString::from).collect();
        parsed(library::merge(documents, &asked, &Cancel::new()))
    };
    let first = [shard(SUM, &files[0], None), shard("", &files[1], None)];
    let asked = merge(&first);
    assert_eq!(asked["status"], "unrecognised", "{asked:#}");
    let asked: Vec<_> = asked["result"].as_array().unwrap().iter().map(Value::to_string).collect();
    let after = asked.join("\n");
    let parts = files.each_ref().map(|path| shard("", path, Some(&after)));
    let verdict = merge(&[first, parts].concat());
    assert_eq!(verdict["status"], "verified", "{verdict:#}");
    assert_eq!(verdict["result"]["last"], 120);
}

/// A shard of block files takes its table, and has rows of its blocks in the chain.
#[test]
fn tables_of_block_files_are_written_shard_by_shard() {
    let scratch = Scratch::new("library_block_files");
    let [blocks, shards, alone] = ["blocks", "shards", "alone"].map(|name| scratch.path(name));
    let recipe = "generate bitcoin --inputs 100 --blocks 130 --file-size 20000 --order shuffled";
    succeed(blockmill(recipe).arg("--out").arg(&blocks));
    let tables = "--tables blocks,inputs --level bodies";
    succeed(blockmill(&format!("export {tables} --to")).arg(&alone).arg(&blocks));
    let entries = fs::read_dir(&blocks).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = entries.filter(|path| path.to_string_lossy().contains("/blk")).collect();
    assert!(files.len() > 2, "{files:?}");
    let headers: Vec<_> = files
        .iter()
        .map(|file| parsed(library::verify_shard(&words("", file), None, &Cancel::new())))
        .map(|answer| answer["result"].to_string())
        .collect();
    let export = |file: &Path, after: Option<&str>| {
        let to = [OsString::from("--to"), shards.clone().into()];
        let asked = [words(tables, file), to.to_vec()].concat();
        parsed(library::export_shard(&asked, after, &Cancel::new()))
    };
    let refused = export(&files[0], None);
    assert_eq!(refused["status"], "usage", "{refused:#}");
    let asked = parsed(library::merge(&headers, &[], &Cancel::new()));
    let mut documents = headers.clone();
    let mut rows = [0, 0];
    for table in asked["result"].as_array().unwrap() {
        let file = Path::new(table["sources"][0]["path"].as_str().unwrap());
        let answer = export(file, Some(&table.to_string()));
        assert_eq!(answer["status"], "verified", "{answer:#}");
        for (rows, file) in rows.iter_mut().zip(answer["result"]["files"].as_array().unwrap()) {
            *rows += file["rows"].as_u64().unwrap();
        }
        documents.push(answer["result"]["summary"].to_string());
    }
    assert_eq!(parsed(library::merge(&documents, &[], &Cancel::new()))["status"], "verified");
    let manifest = fs::read(alone.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let expected = manifest["files"].as_array().unwrap().iter();
    let expected: Vec<_> = expected.map(|file| file["rows"].as_u64().unwrap()).collect();
    assert_eq!(rows[..], expected[..]);
}

#[test]
fn rows_go_to_a_reader_and_end_with_it() {
    let scratch = Scratch::new("library_rows");
    let asked = words("--tables blocks --seal off --chunk 100", &chain(&scratch));
    let (sender, rows) = sync_channel(1);
    let own = asked.clone();
    let run = thread::spawn(move || library::read(&own, sender, &Cancel::new()));
    let count: usize = rows.iter().map(|batch| batch.num_rows()).sum();
    // the genesis block is one of them
    assert_eq!((count, &parsed(run.join().unwrap())["status"]), (BLOCKS + 1, &"verified".into()));

    let (sender, rows) = sync_channel(1);
    let run = thread::spawn(move || library::read(&asked, sender, &Cancel::new()));
    rows.iter().take(2).for_each(drop);
    drop(rows);
    assert_eq!(parsed(run.join().unwrap())["status"], "interrupted");
}
