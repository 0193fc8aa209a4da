//! The commands as functions of another program: the documents are those of the program, and what
//! belongs to a process is refused.

use crate::program::{Scratch, blockmill, document, run, succeed};
use blockmill_cli::answer::Answer;
use blockmill_cli::library::answers::Tables;
use blockmill_cli::library::{self, ExportNames, Rows, VerifyOptions, answers};
use blockmill_pipeline::Cancel;
use blockmill_pipeline::record::RunRecord;
use blockmill_pipeline::usage::cpu_times;
use blockmill_verdict::{Level, Status};
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

/// The result of an answer of this status.
#[track_caller]
fn result(answer: &Answer, status: Status) -> Value {
    let mut document = answer.document("verify");
    assert_eq!(answer.status, status, "{document:#}");
    document["result"].take()
}

fn rows(tables: &[&str]) -> Rows {
    let tables = tables.iter().map(|&name| name.to_owned()).collect();
    Rows { tables, hex: false, names: ExportNames::Etl }
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

/// A process can do several runs, as `demo` does: a run has the CPU time of its own part.
#[test]
fn the_record_of_a_run_leaves_out_what_the_process_used_before() {
    let scratch = Scratch::new("library_cpu_time");
    let recipes = [
        ("ethereum --headers 300", "--seal off"),
        ("bitcoin --inputs 20 --blocks 30", ""),
        ("neo --blocks 5 --txs 3 --accounts 4", ""),
    ];
    for (number, (recipe, options)) in recipes.into_iter().enumerate() {
        let [path, kept] = ["chain", "record"].map(|name| scratch.path(&format!("{name}{number}")));
        succeed(blockmill(&format!("generate {recipe} --out")).arg(&path));
        // more than these runs take
        while cpu_times().total_s() < 1.0 {
            std::hint::black_box(blockmill_hashes::keccak256(&[0; 100]));
        }
        let asked = format!("verify {options} --record {}", kept.display());
        let before = cpu_times();
        let answer = parsed(library::answer(&words(&asked, &path), &Cancel::new()));
        let meanwhile = cpu_times().since(before).total_s();
        assert_eq!(answer["status"], "verified", "{answer:#}");
        let own = RunRecord::read(&kept).unwrap().cpu_s();
        assert!(own <= meanwhile + 1e-6, "{recipe}: {own} s of CPU time in {meanwhile} s");
    }
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
    let options = VerifyOptions {
        level: Some(Level::Execution),
        with: vec!["coins=multiset".into()],
        ..VerifyOptions::default()
    };
    let scratch = Scratch::new("library_multiset");
    let [blocks, store, core] = ["blocks", "store", "core"].map(|name| scratch.path(name));
    succeed(blockmill("generate bitcoin --inputs 50 --blocks 120 --out").arg(&blocks));
    succeed(blockmill("import --data").arg(&store).arg(&blocks));
    succeed(blockmill("convert --to core --out").arg(&core).arg(&store));
    let files = ["blocks/blk00000.dat", "chainstate"].map(|it| core.join("regtest").join(it));
    let shard = |options: &VerifyOptions, path: &PathBuf, after: Option<&str>| {
        let answer = answers::verify_shard(&[path], after, options);
        result(&answer, Status::Verified).to_string()
    };
    let default = VerifyOptions::default();
    let first = [shard(&options, &files[0], None), shard(&default, &files[1], None)];
    let asked = result(&answers::merge(&first, &[], &options), Status::Unrecognised);
    let asked: Vec<_> = asked.as_array().unwrap().iter().map(Value::to_string).collect();
    let after = asked.join("\n");
    let parts = files.each_ref().map(|path| shard(&default, path, Some(&after)));
    let all = [first, parts].concat();
    let verdict = result(&answers::merge(&all, &[], &options), Status::Verified);
    assert_eq!(verdict["last"], 120);
}

/// A shard of block files takes its table, and has rows of its blocks in the chain.
#[test]
fn tables_of_block_files_are_written_shard_by_shard() {
    let scratch = Scratch::new("library_block_files");
    let [blocks, shards, alone] = ["blocks", "shards", "alone"].map(|name| scratch.path(name));
    let recipe = "generate bitcoin --inputs 100 --blocks 130 --file-size 20000 --order shuffled";
    succeed(blockmill(recipe).arg("--out").arg(&blocks));
    succeed(
        blockmill("export --tables blocks,inputs --level bodies --to").arg(&alone).arg(&blocks),
    );
    let entries = fs::read_dir(&blocks).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = entries.filter(|path| path.to_string_lossy().contains("/blk")).collect();
    assert!(files.len() > 2, "{files:?}");
    let default = VerifyOptions::default();
    let headers: Vec<_> = files
        .iter()
        .map(|file| answers::verify_shard(&[file], None, &default))
        .map(|answer| result(&answer, Status::Verified).to_string())
        .collect();
    let tables = |names: &[&str]| Tables { rows: rows(names), partition: None, append: false };
    let options = VerifyOptions { level: Some(Level::Bodies), ..default };
    let export = |file: &Path, after: Option<&str>| {
        answers::export_shard(&[file], &shards, &tables(&["blocks", "inputs"]), after, &options)
    };
    result(&export(&files[0], None), Status::Usage);
    let none = answers::export_shard(&files, &shards, &tables(&[]), None, &options);
    result(&none, Status::Usage);
    let append = Tables { append: true, ..tables(&["blocks"]) };
    let none = answers::export_shard(&files[..1], &shards, &append, None, &options);
    result(&none, Status::Usage);
    let default = VerifyOptions::default();
    let asked = result(&answers::merge(&headers, &[], &default), Status::Unrecognised);
    let mut documents = headers.clone();
    let mut rows = [0, 0];
    for table in asked.as_array().unwrap() {
        let file = Path::new(table["sources"][0]["path"].as_str().unwrap());
        let written = result(&export(file, Some(&table.to_string())), Status::Verified);
        for (rows, file) in rows.iter_mut().zip(written["files"].as_array().unwrap()) {
            *rows += file["rows"].as_u64().unwrap();
        }
        documents.push(written["summary"].to_string());
    }
    result(&answers::merge(&documents, &[], &default), Status::Verified);
    let manifest = fs::read(alone.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let expected = manifest["files"].as_array().unwrap().iter();
    let expected: Vec<_> = expected.map(|file| file["rows"].as_u64().unwrap()).collect();
    assert_eq!(rows[..], expected[..]);
}

#[test]
fn rows_go_to_a_reader_and_end_with_it() {
    let scratch = Scratch::new("library_rows");
    let (path, tables) = (chain(&scratch), rows(&["blocks"]));
    let options = VerifyOptions { seal: Some("off".into()), chunk: 100, ..Default::default() };
    let read = |reader| answers::read(&[&path], &tables, &options, reader).status;
    thread::scope(|scope| {
        let (sender, rows) = sync_channel(1);
        let run = scope.spawn(move || read(sender));
        let count: usize = rows.iter().map(|batch| batch.num_rows()).sum();
        // the genesis block is one of them
        assert_eq!((count, run.join().unwrap()), (BLOCKS + 1, Status::Verified));

        let (sender, rows) = sync_channel(1);
        let run = scope.spawn(move || read(sender));
        rows.iter().take(2).for_each(drop);
        drop(rows);
        assert_eq!(run.join().unwrap(), Status::Interrupted);
    });
    let (two, (sender, _rows)) = (self::rows(&["blocks", "ommers"]), sync_channel(1));
    assert_eq!(answers::read(&[&path], &two, &options, sender).status, Status::Usage);
}
