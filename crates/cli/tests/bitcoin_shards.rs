//! `verify --shard` and `verify --merge` of Bitcoin block files give the verdict of a single run
//! over all of them, and `verify --with coins=multiset` that of a run with a set of coins.

use crate::program::{Ended, Scratch, blockmill, document, run, succeed};
use blockmill_verdict::Status;
use serde_json::Value::{self, Null};
use std::fs;
use std::path::{Path, PathBuf};

/// A chain in some files.
fn generate(scratch: &Scratch) -> Vec<PathBuf> {
    let folder = scratch.path("blocks");
    let recipe = "generate bitcoin --inputs 600 --blocks 160 --file-size 40000 --order download";
    succeed(blockmill(recipe).arg("--out").arg(&folder));
    let files = block_files(&folder);
    assert!(files.len() > 2, "{files:?}");
    files
}

/// The block files in a folder.
fn block_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|path| path.to_string_lossy().contains("/blk")).collect();
    files.sort();
    files
}

/// Verifies each file as a shard and merges them until there is a verdict. Returns its document,
/// and the number of rounds of bodies.
fn merged(scratch: &Scratch, files: &[PathBuf], words: &str) -> (Value, usize) {
    merged_of(scratch, files, None, words)
}

/// Verifies and merges shards that are all files of the archive `of`, if that is given. With the
/// coin multiset hash, the folder of unspent coins is among `files`.
fn merged_of(
    scratch: &Scratch,
    files: &[PathBuf],
    of: Option<&Path>,
    words: &str,
) -> (Value, usize) {
    let of: Vec<_> = of.into_iter().flat_map(|of| [Path::new("--of"), of]).collect();
    let folder = scratch.path("documents");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let mut documents = vec![];
    let keep = |name: String, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let by_multiset = if words.contains("coins=multiset") { words } else { "" };
    for (i, file) in files.iter().enumerate() {
        let words = format!("verify --shard --chain regtest {by_multiset}");
        let ended = run(blockmill(&words).arg(file));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(ended.stdout.lines().count(), 1);
        documents.push(keep(format!("headers-{i}.json"), &ended.stdout));
    }
    for round in 0.. {
        let ended = run(blockmill(&format!("verify --merge {words}")).args(&of).args(&documents));
        if !["table", "coins"]
            .iter()
            .any(|kind| ended.stdout.contains(&format!(r#"{{"document":"{kind}""#)))
        {
            let words = format!("verify --json --merge {words}");
            let ended = run(blockmill(&words).args(&of).args(&documents));
            return (document(&ended), round);
        }
        assert_eq!(ended.code, Some(Status::Unrecognised.exit_code().into()), "{ended:?}");
        let tables = keep(format!("tables-{round}.json"), &ended.stdout);
        for (i, file) in files.iter().enumerate() {
            let name = file.to_string_lossy();
            if ended.stdout.lines().any(|line| line.contains(&*name)) {
                let ended = run(blockmill("verify --shard --after").arg(&tables).arg(file));
                documents.push(keep(format!("bodies-{round}-{i}.json"), &ended.stdout));
            }
        }
    }
    unreachable!()
}

/// Holds the merge to a single run over the same files; the status.
#[track_caller]
fn expect_same(scratch: &Scratch, files: &[PathBuf], words: &str) -> String {
    let level = if words.contains("--level") { "" } else { "--level bodies" };
    let single = run(blockmill(&format!("verify --json {level} {words}")).args(files));
    let (apart, _) = merged(scratch, files, words);
    compare(&apart, &document(&single))
}

/// The same of all files of a folder.
#[track_caller]
fn expect_same_of_folder(scratch: &Scratch, folder: &Path) -> String {
    let single = run(blockmill("verify --json --level bodies").arg(folder));
    let files = block_files(folder);
    let (apart, _) = merged_of(scratch, &files, Some(folder), "");
    compare(&apart, &document(&single))
}

#[track_caller]
fn compare(apart: &Value, single: &Value) -> String {
    for part in ["status", "exit_code", "shortfalls", "error"] {
        assert_eq!(apart[part], single[part], "{part}: {apart:#} {single:#}");
    }
    let record = &single["result"];
    if single["error"].is_null() {
        assert_eq!(apart["result"]["tip"], record["result"]["tip_hash"]);
        assert_eq!(apart["result"]["blocks"], record["data"]["blocks"]);
    }
    apart["status"].as_str().unwrap().to_owned()
}

/// Changes the byte at `at` from the end of the file.
fn corrupt(file: &Path, at: usize) {
    let mut bytes = fs::read(file).unwrap();
    let at = bytes.len() - at;
    bytes[at] ^= 1;
    fs::write(file, bytes).unwrap();
}

#[test]
fn shards_of_block_files_are_merged_to_the_verdict_of_a_single_run() {
    let scratch = Scratch::new("bitcoin-shards");
    let files = generate(&scratch);
    let (answer, rounds) = merged(&scratch, &files, "");
    assert_eq!((&answer["exit_code"], rounds), (&0.into(), 1), "{answer:#}");
    let verdict = &answer["result"];
    assert_eq!((&verdict["document"], &verdict["last"]), (&"verdict".into(), &160.into()));
    let beyond = "what transactions do (coins, amounts and scripts: --level execution --with \
                  coins=multiset)";
    assert_eq!((&verdict["level"], &verdict["unchecked"][0]), (&"bodies".into(), &beyond.into()));
    let notes = answer["notes"].to_string();
    assert!(notes.contains(&format!("not checked: {beyond}")), "{notes}");
    let kept = fs::read_dir(scratch.path("documents")).unwrap().map(|it| it.unwrap().path());
    let ended = run(blockmill("verify --merge").args(kept));
    assert!(ended.stderr.contains("160 blocks at level bodies"), "{ended:?}");
    assert!(ended.stderr.contains(&format!("note: not checked: {beyond}")), "{ended:?}");
    for words in ["", "--level headers", "--until 77"] {
        assert_eq!(expect_same(&scratch, &files, words), "verified", "{words}");
    }
    // a file less, and a file alone
    assert_eq!(expect_same(&scratch, &files[..2], ""), "incomplete");
    assert_eq!(expect_same(&scratch, &files[..2], "--partial"), "partial");
    // a body that is not its header's, and one that cannot be taken apart
    let good = fs::read(&files[1]).unwrap();
    for at in [40, 300, 2_000] {
        corrupt(&files[1], at);
        let status = expect_same(&scratch, &files, "");
        assert_ne!(status, "verified");
        fs::write(&files[1], &good).unwrap();
    }
    fs::write(&files[1], &good[..good.len() - 500]).unwrap();
    assert_ne!(expect_same(&scratch, &files, ""), "verified");
}

/// Missing files of a folder are found by the numbers of its files, and by empty files.
#[test]
fn shards_of_a_folder_get_the_verdict_on_the_folder() {
    let scratch = Scratch::new("bitcoin-shards-of-a-folder");
    let files = generate(&scratch);
    let folder = files[0].parent().unwrap();
    assert_eq!(expect_same_of_folder(&scratch, folder), "verified");
    let good = fs::read(&files[1]).unwrap();
    for bad in [vec![], vec![0; good.len()], good[..good.len() - 500].to_vec()] {
        fs::write(&files[1], bad).unwrap();
        assert_eq!(expect_same_of_folder(&scratch, folder), "incomplete");
    }
    fs::remove_file(&files[1]).unwrap();
    assert_eq!(expect_same_of_folder(&scratch, folder), "incomplete");
    let (apart, _) = merged_of(&scratch, &block_files(folder), Some(folder), "");
    assert!(apart["shortfalls"].to_string().contains("blk00001.dat is not in"), "{apart:#}");
    // some of the shards are not all
    let headers = scratch.path("h");
    fs::write(&headers, run(blockmill("verify --shard").arg(&files[0])).stdout).unwrap();
    let ended = run(blockmill("verify --merge").arg(&headers).arg("--of").arg(folder));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("expected headers of each of its files"), "{ended:?}");
}

#[test]
fn documents_of_other_shards_are_refused() {
    let scratch = Scratch::new("bitcoin-shards-refused");
    let files = generate(&scratch);
    let [headers, table, bodies] = ["h", "t", "b"].map(|name| scratch.path(name));
    let shard = |file: &Path| run(blockmill("verify --shard").arg(file));
    fs::write(&headers, shard(&files[0]).stdout).unwrap();
    fs::write(&table, run(blockmill("verify --merge").arg(&headers)).stdout).unwrap();
    let refused = |ended: Ended, text: &str| {
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(text), "{ended:?}");
    };
    let after = |file: &Path| run(blockmill("verify --shard --after").arg(&table).arg(file));
    refused(after(&files[1]), "expected a table of these files");
    fs::write(&bodies, after(&files[0]).stdout).unwrap();
    refused(run(blockmill("verify --merge").arg(&bodies)), "expected headers of shards");
    let other = scratch.path("o");
    fs::write(&other, shard(&files[1]).stdout).unwrap();
    let both = run(blockmill("verify --merge").args([&other, &bodies]));
    refused(both, "expected headers of its shard");
    let level = run(blockmill("verify --shard --level execution").arg(&files[0]));
    refused(level, "needs --with coins=multiset");
    let by_multiset = "--level execution --with coins=multiset";
    let alone = run(blockmill(&format!("verify --shard {by_multiset}")).arg(&files[0]));
    refused(alone, "expected a block file in a datadir");
    let merge = run(blockmill(&format!("verify --merge {by_multiset}")).arg(&headers));
    refused(merge, "expected the shard of unspent coins");
}

/// A datadir of several block files.
fn datadir(scratch: &Scratch) -> PathBuf {
    let files = generate(scratch);
    let (store, core) = (scratch.path("store"), scratch.path("core"));
    succeed(blockmill("import --data").arg(&store).arg(files[0].parent().unwrap()));
    succeed(blockmill("convert --to core --out").arg(&core).arg(&store));
    core.join("regtest")
}

#[test]
fn a_datadir_is_verified_by_a_sum_of_shards() {
    let scratch = Scratch::new("bitcoin-shards-multiset");
    let datadir = datadir(&scratch);
    let files = block_files(&datadir.join("blocks"));
    assert!(files.len() > 2, "{files:?}");
    let words = "--level execution --with coins=multiset";
    let single = document(&run(blockmill(&format!("verify --json {words}")).arg(&datadir)));
    assert_eq!(single["status"], "verified", "{single:#}");
    for coins in [datadir.join("chainstate"), scratch.path("store/coins")] {
        let shards = [files.clone(), vec![coins]].concat();
        for of in [None, Some(&*datadir)] {
            let (apart, rounds) = merged_of(&scratch, &shards, of, words);
            assert_eq!((compare(&apart, &single), rounds), ("verified".into(), 1));
            let verdict = &apart["result"];
            let sum = |name: &str| verdict["coins"][name].as_u64().unwrap();
            assert_eq!(sum("created"), sum("spent") + sum("unspent"), "{apart:#}");
            assert_eq!(verdict["inputs"], sum("spent"));
            let notes = apart["notes"].to_string();
            assert!(notes.contains("the coin multiset hash is 0"), "{apart:#}");
            assert_eq!((&verdict["level"], &verdict["unchecked"]), (&"execution".into(), &Null));
        }
    }
    let named = run(blockmill("verify --shard chainstate").current_dir(&datadir));
    assert!(named.code == Some(0) && named.stdout.contains(r#""coins""#), "{named:?}");
    // shards take turns: with the documents of one merge, the salt of another is refused
    let [a, b, c] = ["a", "b", "c"].map(|name| scratch.path(name));
    let documents = scratch.path("documents");
    let all = |kind: &str| {
        let paths = fs::read_dir(&documents).unwrap().map(|entry| entry.unwrap().path());
        let mut paths: Vec<_> =
            paths.filter(|path| path.to_string_lossy().contains(kind)).collect();
        paths.sort();
        paths
    };
    let merge = |more: &[&Path]| {
        run(blockmill(&format!("verify --merge {words}")).args(all("headers-")).args(more))
    };
    fs::write(&a, merge(&[]).stdout).unwrap();
    fs::write(&b, run(blockmill("verify --shard --after").arg(&a).arg(&files[0])).stdout).unwrap();
    fs::write(&c, merge(&[&b]).stdout).unwrap();
    let salt = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        first["salt"].clone()
    };
    assert_eq!(salt(&a), salt(&c), "the part has it");
    assert_ne!(salt(&a), salt(&all("tables-")[0]));
    let mixed = merge(&[&b, &all("tables-")[0]]);
    assert_eq!(mixed.code, Some(2), "{mixed:?}");
    assert!(mixed.stderr.contains("under one salt"), "{mixed:?}");
    // bodies alone, of the same documents
    let bodies = "verify --shard --level bodies --after";
    let ended = run(blockmill(bodies).arg(&a).arg(&files[0]));
    assert!(ended.code == Some(0) && !ended.stdout.contains("salt"), "{ended:?}");
    // a file that was changed in between
    corrupt(&datadir.join("blocks/rev00000.dat"), 1);
    let changed = run(blockmill("verify --shard --after").arg(&a).arg(&files[0]));
    assert_eq!(changed.code, Some(Status::Corrupt.exit_code().into()), "{changed:?}");
    assert!(changed.stderr.contains("was changed while"), "{changed:?}");
    // and before: nobody can tell, but for a run on one machine
    let shards = [files.clone(), vec![datadir.join("chainstate")]].concat();
    let (apart, _) = merged_of(&scratch, &shards, None, words);
    assert_eq!(apart["status"], "unrecognised", "{apart:#}");
    assert!(apart["error"]["message"].to_string().contains("rev00000.dat"), "{apart:#}");
    assert!(apart["error"]["hint"].to_string().contains("on one machine"), "{apart:#}");
}

#[test]
fn a_sum_verifies_a_datadir_and_a_store_without_a_set_of_coins() {
    let scratch = Scratch::new("bitcoin-coins-multiset");
    let files = generate(&scratch);
    let (store, core) = (scratch.path("store"), scratch.path("core"));
    let blocks = files[0].parent().unwrap();
    succeed(blockmill("import --data").arg(&store).arg(blocks));
    succeed(blockmill("convert --to core --out").arg(&core).arg(&store));
    let verify = |words: &str, path: &Path| {
        document(&run(blockmill(&format!("verify --json {words}")).arg(path)))
    };
    let with_set = verify("", &core);
    for path in [&core, &core.join("regtest"), &store] {
        let by_multiset = verify("--with coins=multiset", path);
        assert_eq!(by_multiset["status"], "verified", "{by_multiset:#}");
        assert!(
            by_multiset["notes"].to_string().contains("the coin multiset hash is 0"),
            "{by_multiset:#}"
        );
        for part in ["answer", "result"] {
            let [mut own, mut set] = [&by_multiset, &with_set].map(|it| it["result"][part].clone());
            // the multiset hash proves coins and undo data, which blocks alone do not
            for part in [&mut own, &mut set] {
                part.as_object_mut().unwrap().remove("unchecked");
            }
            assert_eq!(own, set, "{part}");
        }
        assert_eq!(by_multiset["result"]["options"]["coins"], "multiset");
    }
    for (words, path) in [("verify", blocks), ("import --data other", blocks)] {
        let ended = run(blockmill(&format!("{words} --with coins=multiset")).arg(path));
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains("--with coins=multiset"), "{ended:?}");
    }
    // the last byte of a checksum of undo data
    corrupt(&core.join("regtest/blocks/rev00000.dat"), 1);
    let corrupted = verify("--with coins=multiset", &core);
    assert_eq!(corrupted["status"], "corrupt", "{corrupted:#}");
    let message = corrupted["error"]["message"].to_string();
    assert_eq!(message.matches("rev00000.dat").count(), 1, "{corrupted:#}");
    assert!(message.contains("expected undo data of checksum "), "{corrupted:#}");
    assert_eq!(verify("", &core)["status"], "verified", "nobody asks undo data");
    // a copy has another name
    let copy = scratch.path("copy");
    fs::rename(core.join("regtest"), &copy).unwrap();
    for words in ["", "--chain regtest"] {
        assert_eq!(verify(words, &copy)["status"], "verified", "{words}");
    }
    assert_eq!(verify("--chain testnet3", &copy)["status"], "usage");
}
