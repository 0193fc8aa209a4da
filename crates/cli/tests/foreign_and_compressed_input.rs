//! What is given to the program in other forms: compressed, through a pipe, or not an archive.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::program::{Ended, Scratch, blockmill, run, succeed, succeed_json, wait};
use serde_json::Value;

type Packer = fn(&[u8]) -> Vec<u8>;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ::zstd::encode_all(bytes, 1).unwrap()
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let info = lz4_flex::frame::FrameInfo::new().content_checksum(true);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, vec![]);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zip(bytes: &[u8]) -> Vec<u8> {
    zip_of(&[("archive", bytes)])
}

fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ::zip::ZipWriter::new(std::io::Cursor::new(vec![]));
    for (name, bytes) in files {
        writer.start_file(*name, ::zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn plain(bytes: &[u8]) -> Vec<u8> {
    bytes.to_vec()
}

const PACKERS: [(&str, Packer); 5] =
    [("plain", plain), ("gzip", gzip), ("zstd", zstd), ("lz4", lz4), ("zip", zip)];

/// One file of each format, and the flags that it takes.
fn archives(scratch: &Scratch) -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let mut files = vec![];
    for format in ["rlp", "headers", "era1"] {
        let out = scratch.path(format);
        let words = format!("generate ethereum --headers 30 --format {format} --out");
        succeed(blockmill(&words).arg(&out));
        let path = match out.is_dir() {
            true => fs::read_dir(&out).unwrap().next().unwrap().unwrap().path(),
            false => out,
        };
        let flags = match format {
            "headers" => "--seal off",
            _ => "--seal off --level bodies",
        };
        files.push((format, fs::read(path).unwrap(), flags));
    }
    let out = scratch.path("blk");
    succeed(blockmill("generate bitcoin --inputs 4 --blocks 20 --out").arg(&out));
    files.push(("blk", fs::read(out.join("blk00000.dat")).unwrap(), "--chain regtest"));
    let headers = scratch.path("btc-headers");
    succeed(blockmill("convert --to headers --out").arg(&headers).arg(&out));
    files.push(("btc-headers", fs::read(headers).unwrap(), "--level headers"));
    files
}

/// Starts the program with a pipe as its standard input.
fn piped(words: &str) -> Child {
    let mut command = blockmill(words);
    command.stdin(Stdio::piped()).spawn().unwrap()
}

fn through_a_pipe(words: &str, bytes: &[u8]) -> Ended {
    let mut child = piped(words);
    let mut input = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    // the program may end before it has read everything
    let writer = std::thread::spawn(move || drop(input.write_all(&bytes)));
    let ended = wait(child, words);
    writer.join().unwrap();
    ended
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

#[test]
fn every_file_is_verified_alike_plain_compressed_and_through_a_pipe() {
    let scratch = Scratch::new("compressed_input");
    for (format, bytes, flags) in archives(&scratch) {
        let mut expected = None;
        for (name, pack) in PACKERS {
            let packed = pack(&bytes);
            let path = scratch.path("given");
            fs::write(&path, &packed).unwrap();
            let words = format!("verify {flags}");
            let found = json(&run(blockmill(&words).arg("--json").arg(&path)));
            assert_eq!(found["status"], "verified", "{format} {name}: {found}");
            let result = |document: &Value| {
                let data = &document["result"]["data"];
                (data["blocks"].clone(), data["first"].clone(), data["last"].clone())
            };
            let expected = expected.get_or_insert_with(|| result(&found));
            assert_eq!(result(&found), *expected, "{format} {name}");
            let ended = through_a_pipe(&format!("verify --json {flags} -"), &packed);
            assert_eq!(ended.code, Some(0), "{format} {name}: {ended:?}");
            assert_eq!(result(&json(&ended)), *expected, "{format} {name} piped");
            let ended = through_a_pipe("inspect -", &packed);
            assert_eq!(ended.code, Some(0), "inspect of {format} {name}: {ended:?}");
        }
    }
}

#[test]
fn what_lies_in_temporary_files_is_said() {
    let scratch = Scratch::new("temporary_files");
    for (format, bytes, flags) in archives(&scratch) {
        let path = scratch.path("given");
        fs::write(&path, gzip(&bytes)).unwrap();
        let found = succeed_json(blockmill(&format!("verify {flags}")).arg(&path));
        let notes = found["notes"].to_string();
        let expected = ["era1", "blk", "btc-headers"].contains(&format);
        assert_eq!(notes.contains("temporary files"), expected, "{format}: {notes}");
    }
}

#[test]
fn compressed_data_that_ends_early_is_incomplete_and_says_how_far_it_unpacked() {
    let scratch = Scratch::new("cut_input");
    for (format, bytes, flags) in archives(&scratch) {
        for (name, pack) in &PACKERS[1..] {
            let packed = pack(&bytes);
            let path = scratch.path("given");
            fs::write(&path, &packed[..packed.len() - 5]).unwrap();
            let ended = run(blockmill(&format!("verify --json {flags}")).arg(&path));
            let found = json(&ended);
            assert_eq!(found["status"], "incomplete", "{format} {name}: {found}");
            assert_eq!(ended.code, Some(3), "{format} {name}");
            let text = found.to_string();
            assert!(text.contains("unpacked byte"), "{format} {name}: {text}");
            if ["rlp", "headers", "era1"].contains(&format) {
                let inspected = run(blockmill("inspect --json").arg(&path));
                assert_eq!(json(&inspected)["status"], "incomplete", "{format} {name}");
                assert_eq!(inspected.code, Some(3), "{format} {name}: {inspected:?}");
            }
        }
    }
}

#[test]
fn a_zip_file_with_several_archives_is_refused_and_names_them() {
    let scratch = Scratch::new("zip_of_several");
    for (format, bytes, flags) in archives(&scratch) {
        let folder = scratch.path(&format!("folder-{format}"));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("all.zip");
        fs::write(&path, zip_of(&[("first", &bytes), ("second", &bytes)])).unwrap();
        for (words, ended) in readers(&path, &scratch.path("out")) {
            assert_eq!(ended.code, Some(2), "{format} {words}: {ended:?}");
            let message = json(&ended)["error"]["message"].to_string();
            assert!(message.contains("2 files in it (first, second): unpack it"), "{message}");
        }
        // next to an archive it counts as missing
        fs::write(folder.join("archive"), &bytes).unwrap();
        let ended = run(blockmill(&format!("verify {flags}")).arg(&folder));
        assert_eq!(ended.code, Some(3), "{format}: {ended:?}");
        assert!(ended.stdout.contains("a zip file with 2 files in it"), "{ended:?}");
    }
}

#[test]
fn a_pipe_that_nobody_writes_to_does_not_hold_the_program() {
    for words in ["verify -", "import - --data nowhere", "inspect -"] {
        let child = piped(words);
        std::thread::sleep(Duration::from_millis(500));
        let start = Instant::now();
        let id = child.id().to_string();
        let killed = std::process::Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert!(killed.success());
        let ended = wait(child, words);
        assert!(start.elapsed() < Duration::from_secs(2), "{words}: {:?}", start.elapsed());
        // `inspect` leaves the signal to the system
        assert!(matches!(ended.code, Some(130) | None), "{words}: {ended:?}");
    }
}

/// Every command that reads an archive.
fn readers(path: &Path, out: &Path) -> Vec<(String, Ended)> {
    let mut all = vec![];
    for words in ["inspect", "verify", "import --data DATA", "convert --to headers --out OUT"] {
        let mut command = blockmill("");
        for word in words.split(' ') {
            match word {
                "DATA" => command.arg(out.join("data")),
                "OUT" => command.arg(out.join("out.rlp")),
                word => command.arg(word),
            };
        }
        all.push((words.to_owned(), run(command.arg("--json").arg(path))));
    }
    all
}

#[test]
fn nothing_that_is_known_is_said_of_an_empty_folder_and_of_unknown_files() {
    let scratch = Scratch::new("unknown_input");
    let (empty, texts) = (scratch.path("empty"), scratch.path("texts"));
    fs::create_dir_all(&empty).unwrap();
    fs::create_dir_all(&texts).unwrap();
    fs::write(texts.join("notes.txt"), "nothing to see").unwrap();
    fs::write(texts.join("more.bin"), [7; 300]).unwrap();
    let void = scratch.path("void");
    fs::write(&void, "").unwrap();
    for (path, found) in [
        (&empty, "an empty folder"),
        (&texts, "2 entries"),
        (&texts.join("notes.txt"), "the first bytes"),
        (&void, "an empty file"),
    ] {
        for (words, ended) in readers(path, &scratch.path("out")) {
            let document = json(&ended);
            assert_eq!(
                document["status"],
                "unrecognised",
                "{words} {}: {document}",
                path.display()
            );
            assert_eq!(ended.code, Some(6), "{words}");
            let message = document["error"]["message"].as_str().unwrap();
            assert!(message.contains(found), "{words}: {message}");
        }
        let ended = run(blockmill("inspect").arg(path));
        assert!(!ended.stdout.contains("No corruption"), "{ended:?}");
    }
    assert!(!scratch.path("out").exists(), "nothing is made for what is not read");
}

#[test]
fn data_of_other_programs_is_refused_with_what_to_give_instead() {
    let scratch = Scratch::new("foreign_input");
    let make = |folder: &str, names: &[&str]| {
        let path = scratch.path(folder);
        for name in names {
            let file = path.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "not looked at").unwrap();
        }
        path
    };
    let rocksdb = ["CURRENT", "MANIFEST-000004", "IDENTITY", "000012.sst"];
    let [current, manifest] = ["database/CURRENT", "database/MANIFEST-1"];
    let besu = [current, manifest, "database/IDENTITY", "DATABASE_METADATA.json"];
    let [current, manifest] = ["blocks/CURRENT", "blocks/MANIFEST-1"];
    let others = ["headers/CURRENT", "blockInfos/CURRENT"];
    let nethermind = [current, manifest, "blocks/IDENTITY", others[0], others[1]];
    // with a folder of another network, and one that has nothing to do with it
    let below = |folder: &str, network: &str| {
        make(folder, &["keystore/key", "sepolia/LOCK"]);
        let names = nethermind.map(|name| format!("{network}/{name}"));
        make(folder, &names.each_ref().map(|name| &**name))
    };
    let cases = [
        (make("a", &["static_file_headers_0_499999"]), "headers of blocks 0 to 499999"),
        (make("b", &["db/mdbx.dat", "static_files/static_file_headers_0_499999"]), "export-era"),
        (make("c", &["snapshots/v1-000000-000500-headers.seg"]), "Erigon exports no blocks"),
        (make("i", &["chaindata/mdbx.dat", "snapshots/salt.txt"]), "a database of Erigon"),
        (make("j", &besu), "besu --data-path=FOLDER blocks export --to=FILE"),
        (make("k", &nethermind), "--Era.ExportDirectory"),
        (below("l", "mainnet"), "--Era.ExportDirectory"),
        (below("m", "nethermind_db/mainnet"), "--Era.ExportDirectory"),
        (make("d", &rocksdb), "RocksDB"),
        (make("e", &["blocks/CURRENT", "blocks/MANIFEST-1", "blocks/IDENTITY"]), "RocksDB"),
        (make("f", &["CURRENT", "MANIFEST-1", "1.sst"]), "ancient"),
        (make("h", &["data.mdb"]), "LMDB"),
    ];
    for (path, word) in &cases {
        for (words, ended) in readers(path, &scratch.path("out")) {
            let document = json(&ended);
            assert_eq!(document["status"], "usage", "{words} {}: {document}", path.display());
            assert_eq!(ended.code, Some(2), "{words}");
            let message = document["error"]["message"].as_str().unwrap();
            assert!(message.contains(word), "{words}: {message}");
        }
    }
    for (name, words) in [
        ("static_file_headers_0_499999", "reth: headers of blocks 0 to 499999"),
        ("static_file_transactions_500000_999999.off", "offsets): transactions of blocks 500000"),
        ("static_file_receipts_0_499999.conf", "--first-block-number 0 --last-block-number 499999"),
        ("static_file_account-change-sets_5_6", "account-change-sets of blocks 5 to 6"),
        ("static_file_of_something", "a static file of reth, which"),
    ] {
        let file = make("one", &[name]).join(name);
        let ended = run(blockmill("verify").arg(file));
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(words), "{words}: {ended:?}");
        assert!(ended.stderr.contains("reth export-era"), "{ended:?}");
    }
}

#[test]
fn a_chaindata_folder_stands_for_the_ancient_folder_in_it() {
    let scratch = Scratch::new("chaindata");
    let chaindata = scratch.path("chaindata");
    fs::create_dir_all(&chaindata).unwrap();
    let words = "generate ethereum --headers 30 --format freezer --out";
    succeed(blockmill(words).arg(chaindata.join("ancient")));
    for name in ["CURRENT", "MANIFEST-000001", "000002.sst"] {
        fs::write(chaindata.join(name), "").unwrap();
    }
    let found = succeed_json(blockmill("verify --seal off --level bodies").arg(&chaindata));
    assert_eq!(found["data"]["last"], 30);
}
