//! *Verified* is said of what is whole and true, and of nothing else.

use crate::blocks::{Blocks, items, list};
use crate::program::{
    Scratch, blockmill, copy, document, fixtures, misunderstand, refuse, run, succeed, tip_of,
    unexecuted,
};
use crate::{Good, import};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Blocks in a full era1 file.
const ERA: u64 = 8_192;

/// Verifies without seals, as generated chains need it; the whole document.
fn verify(path: &Path, flags: &str) -> Value {
    let mut command = blockmill("verify --json");
    document(&run(command.arg(path).args(unexecuted(path)).args(flags.split_whitespace())))
}

/// The files in the folder of an archive.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

/// Three generated eras, the middle one taken out.
fn with_a_gap(scratch: &Scratch) -> PathBuf {
    let path = scratch.path("eras");
    let mut generate = blockmill("generate ethereum --format era1 --headers 16400 --out");
    succeed(generate.arg(&path));
    fs::remove_file(&files(&path)[1]).unwrap();
    path
}

#[test]
fn a_set_of_era1_files_with_a_gap_is_incomplete() {
    let scratch = Scratch::new("verdict-gap");
    let path = with_a_gap(&scratch);
    let found = verify(&path, "");
    assert_eq!(found["status"], "incomplete", "{found}");
    assert_eq!(found["result"]["result"]["tip_number"], ERA - 1);
    let shortfalls = found["shortfalls"].as_array().unwrap();
    assert_eq!(shortfalls[0]["kind"], "missing-blocks", "{found}");
    assert_eq!(shortfalls[0]["blocks"], ERA);
    assert_eq!(
        (&shortfalls[1]["kind"], &shortfalls[1]["blocks"]),
        (&"unconnected".into(), &17.into())
    );

    // what is there is good, and the user knows that more is not
    let found = verify(&path, "--partial");
    assert_eq!((&found["status"], &found["error"]), (&"partial".into(), &Value::Null), "{found}");
    let text = succeed(blockmill("verify --partial").arg(&path).args(unexecuted(&path)));
    assert!(!text.starts_with("Verified"), "{text}");

    // what was verified is kept, and more of the same chain continues there
    let store = scratch.path("store");
    refuse(&mut import(&store, Path::new("mainnet"), &path), &["expected block 8192"]);
    assert_eq!(tip_of(&store), Some(ERA - 1));
}

#[test]
fn a_stream_that_ends_inside_a_block_or_lacks_one_is_incomplete() {
    let scratch = Scratch::new("verdict-streams");
    let blocks = Blocks::generated(200);
    for format in ["headers", "rlp"] {
        let whole = scratch.path(format);
        blocks.write(format, &whole);
        assert_eq!(verify(&whole, "")["status"], "verified");
        let bytes = fs::read(&whole).unwrap();
        let cut = scratch.path(&format!("{format}-cut"));
        fs::write(&cut, &bytes[..bytes.len() - 7]).unwrap();
        let found = verify(&cut, "");
        assert_eq!(
            (&found["status"], &found["shortfalls"][0]["kind"]),
            (&"incomplete".into(), &"cut".into())
        );
        assert_eq!(found["result"]["result"]["tip_number"], 199);

        let mut lacking = blocks.clone();
        lacking.remove(100);
        lacking.remove(100);
        let path = scratch.path(&format!("{format}-lacking"));
        lacking.write(format, &path);
        let found = verify(&path, "");
        assert_eq!(found["status"], "incomplete", "{found}");
        assert_eq!(found["shortfalls"][0]["blocks"], 2, "{found}");
        assert_eq!(found["result"]["result"]["tip_number"], 99);
    }
}

#[test]
fn a_conversion_of_a_stream_that_lacks_a_block_is_incomplete_as_its_verification_is() {
    let scratch = Scratch::new("verdict-convert");
    let blocks = Blocks::generated(5_000);
    // inside a chunk, and at the border of two
    for missing in [100, 2_048] {
        let mut lacking = blocks.clone();
        lacking.remove(missing);
        for format in ["headers", "rlp"] {
            let path = scratch.path(&format!("{format}-{missing}"));
            lacking.write(format, &path);
            let out = scratch.path(&format!("{format}-{missing}-out"));
            let convert = |flags: &str| {
                let mut command = blockmill(&format!("convert --json --to {format} {flags} --out"));
                document(&run(command.arg(&out).arg(&path)))
            };
            let (verified, converted) = (verify(&path, ""), convert(""));
            for found in [&verified, &converted] {
                assert_eq!(found["status"], "incomplete", "{found}");
                assert_eq!(found["shortfalls"][0]["kind"], "missing-blocks", "{found}");
                assert_eq!(found["shortfalls"][0]["blocks"], 1, "{found}");
                assert_eq!(found["error"]["block"], missing, "{found}");
                let text = found["error"]["message"].as_str().unwrap();
                let neighbours =
                    [format!("expected block {missing}"), format!("found block {}", missing + 1)];
                assert!(neighbours.iter().all(|words| text.contains(words)), "{text}");
            }
            assert_eq!(verified["shortfalls"][0], converted["shortfalls"][0]);
            assert!(!out.exists());
            // the hint is worth something
            let hint = format!("--until {}", missing - 1);
            assert!(converted["error"]["hint"].as_str().unwrap().contains(&hint), "{converted}");
            assert_eq!(convert(&hint)["result"]["last"], missing - 1);
        }
    }
}

#[test]
fn an_archive_from_the_middle_is_verified_from_its_first_block() {
    let scratch = Scratch::new("verdict-middle");
    let blocks = Blocks::generated(300).part(120, 301);
    for format in ["headers", "rlp", "rlp-gz"] {
        let path = scratch.path(format);
        blocks.write(format, &path);
        let found = verify(&path, "--chain mainnet");
        assert_eq!((&found["status"], &found["exit_code"]), (&"verified".into(), &0.into()));
        assert_eq!(found["result"]["result"]["anchor"]["number"], 120, "{found}");
        let unchecked = found["result"]["result"]["unchecked"].to_string();
        assert!(unchecked.contains("everything rests on block 120 "), "{found}");
        let text = succeed(blockmill("verify --chain mainnet").arg(&path).args(unexecuted(&path)));
        assert!(text.starts_with("Verified from block 120: 181 blocks at level "), "{text}");
    }
    // one of several era1 files
    let eras = scratch.path("eras");
    let mut generate = blockmill("generate ethereum --format era1 --headers 8300 --out");
    succeed(generate.arg(&eras));
    let text = succeed(blockmill("verify --seal off").arg(&files(&eras)[1]));
    assert!(text.starts_with("Verified from block 8,192: 109 blocks at level bodies"), "{text}");
    let text = succeed(blockmill("verify --seal off --level bodies").arg(&eras));
    assert!(text.starts_with("Verified 8,301 blocks at level bodies"), "{text}");
}

#[test]
fn block_access_lists_that_a_conversion_leaves_out_are_reported() {
    let scratch = Scratch::new("verdict-bals");
    let blocks = Blocks::generated(10);
    let path = scratch.path("with-lists");
    // after transactions and ommers: withdrawals, then the access list (EIP-7928)
    let block = |(i, (header, body)): (usize, (&Vec<u8>, &Vec<u8>))| {
        let mut parts = [vec![header.clone()], items(body)].concat();
        if i >= 7 {
            parts.extend([vec![0xc0], vec![0xc1, 0xc0]]);
        }
        list(&parts)
    };
    let all = blocks.headers.iter().zip(&blocks.bodies).enumerate().map(block);
    fs::write(&path, all.flatten().collect::<Vec<u8>>()).unwrap();
    let convert = |to: &str, flags: &str| {
        let out = scratch.path(&format!("{to}{}", flags.replace(' ', "")));
        let mut command = blockmill(&format!("convert --chain mainnet --to {to} {flags} --out"));
        command.arg(&out).arg(&path);
        command
    };
    let reported = "left out: 4 block access lists (EIP-7928), which no era1 file has";
    let text = succeed(&mut convert("era1", ""));
    assert!(text.contains(reported), "{text}");
    let found = document(&run(convert("era1", "--until 10").arg("--json")));
    assert_eq!((&found["status"], &found["exit_code"]), (&"ok".into(), &0.into()));
    assert!(found["notes"][0].as_str().unwrap().contains(reported), "{found}");
    // of what was asked for only, and of blocks only
    let text = succeed(&mut convert("era1", "--from 9"));
    assert!(text.contains("left out: 2 block access lists"), "{text}");
    assert!(!succeed(&mut convert("era1", "--until 6")).contains("left out"));
    assert!(!succeed(&mut convert("headers", "")).contains("left out"));
    // an export and an ancient folder keep them
    for to in ["rlp", "freezer"] {
        assert!(!succeed(&mut convert(to, "")).contains("left out"), "{to}");
    }
    assert!(fs::read(scratch.path("rlp")).unwrap() == fs::read(&path).unwrap());
    let mut back = blockmill("convert --chain mainnet --to rlp --out");
    succeed(back.arg(scratch.path("back")).arg(scratch.path("freezer")));
    assert!(fs::read(scratch.path("back")).unwrap() == fs::read(&path).unwrap());
    let text = succeed(blockmill("inspect").arg(scratch.path("freezer")));
    assert!(text.contains("4 block access lists (EIP-7928)"), "{text}");
}

/// A change of the files of an ancient folder.
type Corruption = (&'static str, fn(&Path));

fn shorten(path: &Path, bytes: u64) {
    let file = fs::File::options().write(true).open(path).unwrap();
    let length = file.metadata().unwrap().len();
    file.set_len(length - bytes).unwrap();
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x55;
    fs::write(path, bytes).unwrap();
}

fn append(path: &Path, more: &[u8]) {
    fs::write(path, [&fs::read(path).unwrap(), more].concat()).unwrap();
}

/// What can befall a folder as geth 1.9 makes it: nothing in it says how long a table should be.
const OLD: [Corruption; 12] = [
    ("headers.cidx cut", |f| shorten(&f.join("headers.cidx"), 6)),
    ("hashes.ridx cut", |f| shorten(&f.join("hashes.ridx"), 12)),
    ("bodies.cidx cut", |f| shorten(&f.join("bodies.cidx"), 6)),
    ("receipts.cidx cut", |f| shorten(&f.join("receipts.cidx"), 6)),
    ("diffs.ridx cut", |f| shorten(&f.join("diffs.ridx"), 6)),
    ("headers.cidx cut inside an entry", |f| shorten(&f.join("headers.cidx"), 2)),
    ("a data file cut", |f| shorten(&f.join("receipts.0000.cdat"), 1)),
    ("a data file gone", |f| fs::remove_file(f.join("headers.0000.cdat")).unwrap()),
    ("receipts gone", |f| {
        fs::remove_file(f.join("receipts.0000.cdat")).unwrap();
        fs::remove_file(f.join("receipts.cidx")).unwrap();
    }),
    ("an index gone", |f| fs::remove_file(f.join("hashes.ridx")).unwrap()),
    ("a data file that no index names", |f| fs::write(f.join("bodies.0001.cdat"), "x").unwrap()),
    ("bytes after the index", |f| append(&f.join("headers.0000.cdat"), b"more")),
];

/// And as geth 1.17 makes it.
const NEW: [Corruption; 6] = [
    ("bals cut", |f| shorten(&f.join("chain/bals.0000.cdat"), 1)),
    ("bals flipped", |f| flip(&f.join("chain/bals.0000.cdat"), 77)),
    ("bals.cidx flipped", |f| flip(&f.join("chain/bals.cidx"), 40)),
    ("headers.cidx cut", |f| shorten(&f.join("chain/headers.cidx"), 6)),
    ("items of receipts hidden", |f| {
        let meta = f.join("chain/receipts.meta");
        let mut bytes = fs::read(&meta).unwrap();
        assert_eq!(bytes[2], 0x80);
        bytes[2] = 4;
        fs::write(meta, bytes).unwrap();
    }),
    ("an index beyond the flush offset", |f| append(&f.join("chain/hashes.ridx"), &[0; 6])),
];

/// Corrupts copies of `folder`; `verify` and `inspect` must both find it sound before and not
/// after.
fn both_refuse(scratch: &Scratch, folder: &Path, name: &str, corruptions: &[Corruption]) {
    let verdicts = |folder: &Path| {
        let verified = verify(folder, "--chain mainnet");
        let inspected = document(&run(blockmill("inspect --deep --json").arg(folder)));
        println!("{}: {} {}", folder.display(), verified["status"], inspected["status"]);
        [verified["exit_code"] == 0, inspected["exit_code"] == 0]
    };
    assert_eq!(verdicts(folder), [true, true]);
    for (i, (corruption, apply)) in corruptions.iter().enumerate() {
        let corrupt = scratch.path(&format!("{name}-{i}"));
        copy(folder, &corrupt);
        apply(&corrupt);
        assert_eq!(verdicts(&corrupt), [false, false], "{corruption}");
        fs::remove_dir_all(corrupt).unwrap();
    }
}

#[test]
fn verify_and_inspect_agree_on_corrupt_ancient_folders() {
    let scratch = Scratch::new("verdict-freezer");
    let generated = scratch.path("generated");
    Blocks::generated(1_900).write("freezer", &generated);
    both_refuse(&scratch, &generated, "generated", &NEW);
    let notes = |flags: &str| verify(&generated, flags)["notes"].to_string();
    assert!(notes("--level headers").contains("the contents of bodies, receipts, bals"));
    assert!(!notes("").contains("not checked at this level"));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn verify_and_inspect_agree_on_corrupt_folders_of_both_clients() {
    let fixtures = fixtures();
    let scratch = Scratch::new("verdict-clients");
    both_refuse(&scratch, &fixtures.join("freezer/geth-1.9"), "old", &OLD);
    both_refuse(&scratch, &fixtures.join("freezer/geth-1.17"), "new", &NEW);
}

#[test]
fn nothing_new_is_said_only_of_what_was_compared() {
    let blocks = Blocks::generated(2_000);
    let at = blocks.with_transactions(1_900);
    for format in ["rlp", "era1"] {
        let mut good = Good::new("overlap", format, blocks.clone());
        let (chain, archive) = (good.chain.clone(), good.archive.clone());
        let text = succeed(&mut import(&good.store, &chain, &archive));
        assert!(text.contains("Nothing new"), "{text}");
        assert!(text.contains("2001 were read and are those of the store"), "{text}");

        // a corrupt body far from the end, a corrupt header, another chain from a block on
        let mut corrupt = blocks.clone();
        let end = corrupt.bodies[at].len() - 2;
        corrupt.bodies[at][end] ^= 1;
        let mut header = blocks.clone();
        let mut changed = header.header(700);
        changed.state_root[3] ^= 1;
        header.headers[700] = blockmill_rlp::Encode::encode(&changed);
        let mut other = blocks.clone();
        other.edit(700, |header| header.state_root[3] ^= 1);
        for (blocks, words) in [
            (&corrupt, [&*format!("block {at} "), "transactions root"]),
            (&header, ["block 700 ", "not the header that the next block of the archive follows"]),
            (&other, ["block 700 ", "another chain from here on"]),
        ] {
            let path = good.next_copy();
            blocks.part(0, 1_950).write(format, &path);
            let ended = run(&mut import(&good.store, &chain, &path));
            assert!(!ended.stdout.contains("Nothing new"), "{}", ended.stdout);
            refuse(&mut import(&good.store, &chain, &path), &words);
        }
        good.snapshot.assert_same(&good.store);
    }
}

#[test]
fn an_archive_that_ends_before_the_store_begins_is_not_nothing_new() {
    let scratch = Scratch::new("verdict-before");
    let blocks = Blocks::generated(300);
    let (late, early, store) = (scratch.path("late"), scratch.path("early"), scratch.path("store"));
    blocks.part(200, 301).write("headers", &late);
    blocks.part(0, 150).write("headers", &early);
    succeed(&mut import(&store, Path::new("mainnet"), &late));
    let words = ["expected block 301", "from block 200 on"];
    misunderstand(&mut import(&store, Path::new("mainnet"), &early), &words);
    // and one that begins after a gap
    let far = scratch.path("far");
    blocks.part(250, 301).write("headers", &far);
    let other = scratch.path("other");
    succeed(&mut import(&other, Path::new("mainnet"), &early));
    refuse(&mut import(&other, Path::new("mainnet"), &far), &["expected block 150", "block 250"]);
}

#[test]
fn a_name_that_does_not_fit_the_content_is_reported() {
    let scratch = Scratch::new("verdict-names");
    let blocks = Blocks::generated(100);
    let folder = scratch.path("era1");
    blocks.write("era1", &folder);
    let good = files(&folder).remove(0);
    let name = good.file_name().unwrap().to_str().unwrap().to_string();
    let notes = |path: &Path| {
        let verified = verify(path, "--chain mainnet")["notes"].to_string();
        let inspected = succeed(blockmill("inspect --json").arg(path));
        [verified, inspected]
    };
    assert!(notes(&good).iter().all(|notes| !notes.contains("in its name")));
    let root = &name[name.len() - 13..name.len() - 5];
    for (from, to, note) in [
        ("-00000-", "-00007-", "expected the era 0 in its name"),
        (root, "01234567", "expected the root"),
    ] {
        let path = scratch.path(&name.replace(from, to));
        fs::copy(&good, &path).unwrap();
        for notes in notes(&path) {
            assert!(notes.contains(note), "{notes}");
        }
    }
}

#[test]
fn a_wrong_chain_is_reported_which_one_it_is() {
    let scratch = Scratch::new("verdict-chain");
    let path = scratch.path("headers");
    Blocks::generated(5).write("headers", &path);
    let mut command = blockmill("verify --seal off --chain sepolia");
    refuse(command.arg(&path), &["block 0", "the genesis block of mainnet"]);
    // an export that leaves block 0 out
    let path = scratch.path("from-1");
    Blocks::generated(5).part(1, 6).write("headers", &path);
    let mut command = blockmill("verify --seal off --chain holesky");
    refuse(command.arg(&path), &["block 1", "the genesis block of mainnet"]);
}

#[test]
fn what_an_empty_block_says_of_receipts_is_checked_without_receipts() {
    let blocks = Blocks::generated(100);
    let mut good = Good::new("no-receipts", "rlp", blocks.clone());
    let empty = 60;
    assert_eq!(blocks.bodies[empty], list::<Vec<u8>>(&[vec![0xc0], vec![0xc0]]));
    let mut changed = blocks.clone();
    changed.edit(empty, |header| header.receipts_root[0] ^= 1);
    good.refuses_blocks(&changed, empty as u64, "receipts root");
    let mut changed = blocks.clone();
    changed.edit(empty, |header| header.logs_bloom[7] = 1);
    good.refuses_blocks(&changed, empty as u64, "logs bloom");
    let mut changed = blocks.clone();
    changed.edit(empty, |header| header.gas_used = 1);
    good.refuses_blocks(&changed, empty as u64, "gas used by the receipts");
}

#[test]
fn what_rests_on_unchecked_seals_is_said() {
    let scratch = Scratch::new("verdict-rests");
    let path = scratch.path("rlp");
    Blocks::generated(50).write("rlp", &path);
    let answer = verify(&path, "");
    assert_eq!(answer["result"]["result"]["unchecked"][0], "50 seals (--seal all)", "{answer}");
    let notes = answer["notes"].to_string();
    for words in ["no seal that was checked", "no block follows block 50", "state root", "nonce"] {
        assert!(notes.contains(words), "{notes}");
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn verify_checks_every_seal_unless_reported_otherwise() {
    let fixtures = fixtures();
    let scratch = Scratch::new("verdict-seals");
    let era1 = fixtures.join("era1/mainnet-00000-5ec1ffb8.era1");
    let mut blocks = Blocks::read(&era1).part(0, 301);
    let (good, bad) = (scratch.path("good"), scratch.path("bad"));
    blocks.write("headers", &good);
    blocks.edit(300, |header| header.state_root[9] ^= 1);
    blocks.write("headers", &bad);
    let mut command = blockmill("verify --json --ethash-cache");
    let found = document(&run(command.arg(scratch.path("caches")).arg(&good)));
    assert_eq!(found["result"]["settings"]["seal"], "all");
    assert_eq!(found["result"]["facts"]["seals"], 300.0);
    let mut command = blockmill("verify --ethash-cache");
    refuse(command.arg(scratch.path("caches")).arg(&bad), &["block 300", "seal: "]);
}
