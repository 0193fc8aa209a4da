//! What `inspect` says of Bitcoin block files, of the store that an import leaves, and of a datadir
//! of Bitcoin Core; and the answers to requests for something that cannot be.

use crate::program::{
    Ended, Scratch, blockmill, copy, document, misunderstand, run, succeed, succeed_json,
};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Generates a regtest chain of 400 inputs.
fn chain(out: &Path, more: &str) -> Value {
    let words = format!("generate bitcoin --inputs 400 --block-inputs 50 {more} --out");
    succeed_json(blockmill(&words).arg(out))
}

/// `inspect --json`, whose exit code must be `code`.
fn inspect(path: &Path, flags: &str, code: i32) -> Value {
    let ended = run(blockmill(&format!("inspect --json {flags}")).arg(path));
    assert_eq!(ended.code, Some(code), "{}{}", ended.stdout, ended.stderr);
    document(&ended)["result"].take()
}

/// `inspect` for a person: exit code `code`, and all of `words` on standard output.
fn says(path: &Path, flags: &str, code: i32, words: &[&str]) -> String {
    let ended = run(blockmill(&format!("inspect {flags}")).arg(path));
    assert_eq!(ended.code, Some(code), "{}{}", ended.stdout, ended.stderr);
    for word in words {
        assert!(ended.stdout.contains(word), "no {word:?} in\n{}", ended.stdout);
    }
    ended.stdout
}

/// A command that must fail with a plain error that has all of `words`.
fn fails(words: &str, paths: &[&Path], expected: &[&str]) -> Ended {
    let ended = run(blockmill(words).args(paths));
    assert_ne!(ended.code, Some(0), "{words}");
    assert!(ended.stderr.starts_with("error: "), "{words}: {}", ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{words}: {}", ended.stderr);
    for word in expected {
        assert!(ended.stderr.contains(word), "{words}: no {word:?} in\n{}", ended.stderr);
    }
    ended
}

fn count(value: &Value) -> usize {
    value.as_array().expect("a list").len()
}

/// The real data of Bitcoin.
fn fixtures() -> PathBuf {
    blockmill_testkit::fixture("bitcoin")
}

#[test]
fn generated_chain_is_described_with_branches_duplicates_and_order() {
    let scratch = Scratch::new("inspect-generated");
    let folder = scratch.path("chain");
    let generated = chain(&folder, "--stale 3 --duplicates 4 --order shuffled --xor");
    let found = inspect(&folder, "--deep", 0);
    assert_eq!(found["network"], "regtest");
    assert_eq!(found["blocks"], generated["records"]);
    assert_eq!(found["chain"]["height"], generated["height"]);
    assert_eq!(found["chain"]["tip"], generated["tip"]);
    assert_eq!(found["repeated"], 4);
    assert_eq!(count(&found["stale"]), 3);
    for branch in found["stale"].as_array().unwrap() {
        let length = branch["length"].as_u64().unwrap();
        assert!((1..=2).contains(&length), "{branch}");
    }
    assert_eq!((count(&found["gaps"]), count(&found["refused"])), (0, 0));
    assert_eq!(found["files"][0]["obfuscated"], true);
    assert!(found["out_of_order"]["rate"].as_f64().unwrap() > 0.2, "{found}");
    assert_eq!(found["bodies"]["good"], generated["records"]);
    let inputs = found["bodies"]["inputs"].as_u64().unwrap();
    assert!(inputs >= generated["inputs"].as_u64().unwrap(), "those of duplicates come on top");

    let text =
        says(&folder, "", 0, &["regtest, 1 block file, ", "obfuscated", "stale: ", "order: "]);
    assert!(text.contains(generated["tip"].as_str().unwrap()), "{text}");
    assert!(text.contains("4 repeat a block"), "{text}");
    assert!(
        text.starts_with("No corruption, no gaps (headers only; --deep checks bodies).\n"),
        "{text}"
    );

    let ordered = scratch.path("ordered");
    chain(&ordered, "--order height");
    let found = inspect(&ordered, "", 0);
    assert_eq!(found["out_of_order"]["blocks"], 0);
    assert_eq!(found["files"][0]["obfuscated"], false);
    assert_eq!((&found["bodies"], count(&found["stale"])), (&Value::Null, 0));
}

#[test]
fn block_that_is_missing_is_a_gap() {
    let scratch = Scratch::new("inspect-gap");
    let folder = scratch.path("chain");
    let generated = chain(&folder, "--order height --file-size 20000");
    let height = generated["height"].as_u64().unwrap();
    // without its second file the chain ends early
    fs::remove_file(folder.join("blk00001.dat")).unwrap();
    let found = inspect(&folder, "", 3);
    assert_eq!(count(&found["gaps"]), 1);
    let reached = found["chain"]["height"].as_u64().unwrap();
    assert!((1..height).contains(&reached), "{found}");
    let first = found["gaps"][0]["first"]["file"].as_str().unwrap();
    assert!(first.ends_with("blk00002.dat"), "{found}");
    says(&folder, "", 3, &["gap: block ", " is missing, before ", "Incomplete: 1 gap "]);
}

#[test]
fn corruption_of_each_kind_is_found_at_its_location() {
    let scratch = Scratch::new("inspect-damage");
    let (good, bad) = (scratch.path("good"), scratch.path("bad"));
    chain(&good, "--order height");
    let bytes = fs::read(good.join("blk00000.dat")).unwrap();
    let with = |bytes: &[u8]| {
        let _ = fs::remove_dir_all(&bad);
        copy(&good, &bad);
        fs::write(bad.join("blk00000.dat"), bytes).unwrap();
    };

    with(&bytes[..bytes.len() - 10]);
    says(
        &bad,
        "",
        3,
        &["INCOMPLETE: byte ", "before the file ends", "Incomplete: 1 damaged place "],
    );

    with(&[&bytes[..], &[0; 5000]].concat());
    says(&bad, "", 0, &["5,000 zeros at the end"]);

    with(&[b"something else", &bytes[..]].concat());
    let note = "note: byte 0: expected a record, found 14 bytes of something else";
    says(&bad, "", 0, &[note, "1 odd place without loss of a block"]);

    with(&[&[7; 89][..], &bytes[..]].concat());
    let lack = "INCOMPLETE: byte 0: expected a record, found 89 bytes of something else";
    says(&bad, "", 3, &[lack, "Incomplete: 1 damaged place "]);

    let mut wrong = bytes.clone();
    wrong[4] ^= 1;
    with(&wrong);
    says(&bad, "", 4, &["CORRUPT: byte 0: corrupt length field of a record: expected "]);

    // a byte of a body: only --deep looks there
    let mut changed = bytes.clone();
    let last = changed.len() - 100;
    changed[last] ^= 1;
    with(&changed);
    says(&bad, "", 0, &["No corruption"]);
    let found = inspect(&bad, "--deep", 1);
    assert_eq!(found["bodies"]["fault_count"], 1, "{found}");
    assert!(found["bodies"]["faults"][0]["offset"].as_u64().unwrap() < last as u64);
    says(&bad, "--deep", 1, &["BAD BODY: block ", "blk00000.dat byte ", "expected", "found"]);
}

#[test]
fn refused_header_is_named_with_its_rule() {
    let scratch = Scratch::new("inspect-refused");
    let folder = scratch.path("chain");
    chain(&folder, "--order height");
    let path = folder.join("blk00000.dat");
    let mut bytes = fs::read(&path).unwrap();
    // the time of the block at height 1 becomes 0, and its nonce is searched again
    let size = u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize;
    let second = 8 + size;
    let header = second + 8;
    bytes[header + 68..header + 72].fill(0);
    for nonce in 0..u32::MAX {
        bytes[header + 76..header + 80].copy_from_slice(&nonce.to_le_bytes());
        if crypto_hash(&bytes[header..header + 80])[31] < 0x7f {
            break;
        }
    }
    fs::write(&path, &bytes).unwrap();
    let found = inspect(&folder, "", 1);
    let refused = &found["refused"][0];
    assert_eq!(refused["rule"], "median-time-past", "{found}");
    assert_eq!(refused["offset"], header as u64);
    assert!(refused["height"].as_u64().unwrap() <= 2, "{refused}");
    says(&folder, "", 1, &["REFUSED: block ", "median time past: expected a time above"]);
}

fn crypto_hash(header: &[u8]) -> [u8; 32] {
    blockmill_hashes::sha256d(header)
}

#[test]
fn store_and_datadir_show_the_same_coins() {
    let scratch = Scratch::new("inspect-coins");
    let (folder, store, datadir) =
        (scratch.path("chain"), scratch.path("store"), scratch.path("datadir"));
    let generated = chain(&folder, "--order shuffled --stale 1");
    succeed(blockmill("import --data").arg(&store).arg(&folder));
    let found = inspect(&store, "", 0);
    assert_eq!((&found["network"], &found["tip"]), (&"regtest".into(), &generated["tip"]));
    assert_eq!(found["height"], generated["height"]);
    assert!(found["coins"].as_u64().unwrap() > 0 && found["disk_bytes"].as_u64().unwrap() > 0);
    says(&store, "", 0, &["store ", "height ", "amount ", " BTC", "hash_serialized_3"]);

    let mut command = blockmill("convert --to core --data");
    succeed(command.arg(&store).arg("--out").arg(&datadir).arg(&folder));
    let place = [datadir.join("regtest"), datadir.clone()];
    let place = place.iter().find(|place| place.join("chainstate").is_dir()).unwrap();
    let of_core = inspect(place, "", 0);
    for name in ["tip", "height", "coins", "transactions", "total_amount", "hash_serialized_3"] {
        assert_eq!(of_core["datadir"][name], found[name], "{name}");
    }
    says(place, "", 0, &["datadir ", "hash_serialized_3", "No corruption, no gaps"]);
    // a relative path of the block files still names the folder
    for flags in ["", "--deep"] {
        let ended = run(blockmill(&format!("inspect {flags} blocks/")).current_dir(place));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains("\ndatadir .\n"), "{ended:?}");
    }

    fails("inspect", &[&store, &folder], &["is a store", "found other paths"]);
    let manifest = store.join("coins/manifest");
    assert!(manifest.is_file());
    fs::write(&manifest, b"nothing of the kind").unwrap();
    fails("inspect", &[&store], &["manifest", "expected", "found"]);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn real_files_are_described() {
    let fixtures = fixtures();
    // the last record of both files is cut short
    let found = inspect(&fixtures.join("testnet3-0-400.dat"), "--deep", 3);
    assert_eq!((&found["network"], &found["chain"]["height"]), (&"testnet3".into(), &400.into()));
    assert_eq!((count(&found["gaps"]), found["bodies"]["fault_count"].as_u64()), (0, Some(0)));

    assert_eq!(found["files"][0]["corruption_count"], 1);
    let mainnet = inspect(&fixtures.join("mainnet-0-4521.dat"), "--deep", 3);
    assert_eq!(mainnet["chain"]["height"], 4521);
    assert_eq!(mainnet["files"][0]["corruption_count"], 1);
    assert_eq!(mainnet["bodies"]["transactions"], 4583);

    // nothing but the genesis block's hash tells the network of blocks in hex
    let regtest = inspect(&fixtures.join("regtest-1-206.hex.txt"), "--deep", 0);
    assert_eq!(
        (&regtest["network"], &regtest["chain"]["height"]),
        (&"regtest".into(), &206.into())
    );
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn coins_of_real_blocks_are_those_of_bitcoin_core() {
    let fixtures = fixtures();
    let scratch = Scratch::new("inspect-real-coins");
    let store = scratch.path("store");
    let mainnet = fixtures.join("mainnet-0-4521.dat");
    // the file is the beginning of a longer one, cut within block 4,522
    succeed(blockmill("import --partial --data").arg(&store).arg(mainnet));
    let found = inspect(&store, "", 0);
    // of the datadir that Bitcoin Core wrote after the same blocks
    let hash = "5b4d07d612a7980e50a9386669332e61ce0db8f8a66b094ce819e190980f2b67";
    assert_eq!((&found["hash_serialized_3"], &found["coins"]), (&hash.into(), &4348.into()));
    assert_eq!(found["total_amount"], "226050.00000000");
    assert_eq!(found["bogosize"].as_u64().map(|size| size > 4348 * 50), Some(true));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn single_real_blocks_are_whole_but_not_linked() {
    let fixtures = fixtures();
    for entry in fs::read_dir(fixtures.join("blocks")).unwrap() {
        let path = entry.unwrap().path();
        let found = inspect(&path, "--deep", 0);
        assert_eq!((&found["chain"], &found["blocks"]), (&Value::Null, &1.into()), "{path:?}");
        assert_eq!(found["bodies"]["good"], 1, "{path:?}");
        says(&path, "", 0, &["block: ", "No corruption; the blocks before these are missing"]);
    }
}

#[test]
fn people_are_reported_what_to_ask_instead() {
    let scratch = Scratch::new("inspect-arguments");
    let (folder, missing) = (scratch.path("chain"), scratch.path("missing"));
    chain(&folder, "--order height");
    let store = scratch.path("store").display().to_string();
    for command in ["verify".to_owned(), format!("import --data {store}")] {
        let names = ["--chain nowhere: expected mainnet", "regtest"];
        fails(&format!("{command} --chain nowhere"), &[&folder], &names);
        fails(&format!("{command} --chain regtest"), &[&missing], &["missing", "No such file"]);
        fails(&command, &[&missing], &["missing", "No such file"]);
        fails(&format!("{command} --from 3"), &[&folder], &["--from", "genesis block"]);
        fails(&format!("{command} --trust 0x00"), &[&folder], &["--trust", "--assume-valid"]);
        fails(&format!("{command} --assume-valid 12"), &[&folder], &["64 hexadecimal digits"]);
        let text = fails(&format!("{command} --chain testnet3"), &[&folder], &["testnet3"]);
        assert!(text.stderr.contains("regtest") || text.stderr.contains("no Bitcoin block"));
    }
    fails("inspect", &[&missing], &["missing", "No such file"]);
    assert!(!scratch.path("store").exists(), "nothing was imported, so nothing is left");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn mixed_networks_are_refused_with_both_names() {
    let fixtures = fixtures();
    let scratch = Scratch::new("inspect-mixed");
    let store = scratch.path("store").display().to_string();
    let [main, test] = ["mainnet-0-4521.dat", "testnet3-0-400.dat"].map(|name| fixtures.join(name));
    for command in ["inspect".to_owned(), "verify".to_owned(), format!("import --data {store}")] {
        let words = ["mainnet-0-4521.dat", "testnet3-0-400.dat", "expected", "found"];
        fails(&command, &[&main, &test], &words);
    }
    misunderstand(
        blockmill("verify").arg(&main).arg(&test),
        &["blocks of mainnet", "blocks of testnet3"],
    );
}

#[test]
fn summary_of_an_import_speaks_of_coins_and_not_of_seals() {
    let scratch = Scratch::new("inspect-summary");
    let (folder, store) = (scratch.path("chain"), scratch.path("store"));
    chain(&folder, "--order shuffled --stale 2");
    let first = succeed(blockmill("import -v --data").arg(&store).arg(&folder));
    for word in ["index  ", "had to wait", "inputs/s", "scripts  ", "coins  ", "commit"] {
        assert!(first.contains(word), "no {word:?} in\n{first}");
    }
    for word in ["seals", "anchor", "set-up", "validation"] {
        assert!(!first.contains(word), "{word:?} in\n{first}");
    }
    let again = succeed(blockmill("import -v --data").arg(&store).arg(&folder));
    assert!(again.contains("Nothing new") && again.contains("reused from an earlier run"));
    let headers = succeed(blockmill("verify --level headers").arg(&folder));
    assert!(headers.starts_with("Verified ") && headers.contains(" headers at level headers"));
    let bodies = succeed(blockmill("verify -v --level bodies").arg(&folder));
    assert!(bodies.contains("connected") && !bodies.contains("scripts  "), "{bodies}");
}

#[test]
fn demo_refuses_its_corrupt_block_and_names_location_and_rule() {
    let scratch = Scratch::new("inspect-demo");
    let out = scratch.path("demo");
    let ended = run(blockmill("demo --headers 2000 --out").arg(&out));
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    // a screen for each chain, with the error of its damaged copy
    for chain in ended.stdout.split("\n\n").filter(|part| !part.starts_with("In a copy")) {
        assert!(chain.lines().count() <= 18, "{chain}");
    }
    for (copy, rule) in [("bitcoin-damaged", "bad-"), ("neo-damaged", "witness")] {
        let mut errors = ended.stderr.lines().filter(|line| line.starts_with("error: "));
        let error = errors.find(|line| line.contains(copy)).unwrap();
        for word in ["block ", " at byte ", "expected", "found", rule] {
            assert!(error.contains(word), "no {word:?} in {error}");
        }
    }
    assert!(ended.stdout.contains("one byte of a signature in block "), "{}", ended.stdout);
    // verify keeps nothing
    assert!(!ended.stderr.contains("committed"), "{}", ended.stderr);
    for chain in ["headers-", "blocks-", "bitcoin-", "neo-"] {
        let page = format!("{chain}report/index.html");
        assert!(fs::metadata(out.join(&page)).unwrap().len() > 1000, "{page}");
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_datadir_is_verified_with_what_was_not_checked_and_inspected_with_it() {
    let scratch = Scratch::new("datadir-flips");
    let folder = scratch.path("datadir");
    fs::create_dir_all(&folder).unwrap();
    blockmill_testkit::unpack("bitcoin/core-datadir-main-0-4521.tar.zst", &folder);
    let parts = "the chainstate, the undo files (rev*.dat) and the block index";
    let text = succeed(blockmill("verify --level bodies").arg(&folder));
    assert!(text.contains(&format!("  not checked  {parts}")), "{text}");
    let document = succeed_json(blockmill("verify --level bodies --json").arg(&folder));
    let unchecked = document["result"]["unchecked"][0].as_str().unwrap_or_default();
    assert!(unchecked.contains(parts), "{document}");
    // the sum of all coins proves undo data and coins
    let mut by_sum = blockmill("verify --with coins=multiset --json");
    let document = succeed_json(by_sum.arg(&folder));
    let unchecked = document["result"]["unchecked"][0].as_str().unwrap_or_default();
    assert!(unchecked.starts_with("the block index") && !unchecked.contains("rev"), "{document}");

    let found = inspect(&folder, "--deep", 0);
    assert_eq!(found["datadir_checked"]["undo_blocks"], 4521, "{found}");
    assert_eq!(found["datadir_checked"]["indexed"], 4522, "{found}");
    for (file, at, part) in [
        ("chainstate/000003.log", 100_000, "chainstate"),
        ("blocks/rev00000.dat", 5_000, "undo files"),
        ("blocks/index/000003.log", 100_000, "block index"),
    ] {
        let path = folder.join(file);
        let whole = fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        fs::write(&path, bytes).unwrap();
        let words = [format!("CORRUPT: {part}: ")];
        let ended = run(blockmill("inspect --deep").arg(&folder));
        assert_eq!(ended.code, Some(4), "{}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.contains(&words[0]), "{}", ended.stdout);
        assert!(ended.stderr.contains(&format!("error: corrupt {part}: ")), "{}", ended.stderr);
        assert!(ended.stderr.contains(file), "{}", ended.stderr);
        fs::write(&path, whole).unwrap();
    }
}
