//! What every command prints fits the terminal: 40, 80 and 160 columns, after success and after
//! failure. A line may be longer only if it is one word, such as a path, that a user copies.

use crate::program::{Ended, Scratch, blockmill, document as document_of, run};
use blockmill_testkit::path_of;
use std::fs;
use std::path::Path;

const WIDTHS: [usize; 3] = [40, 80, 160];

fn at(width: usize, folder: &Path, words: &str) -> Ended {
    run(blockmill(words).current_dir(folder).env("COLUMNS", width.to_string()))
}

/// Whether a line fits, or has no place where it could have been broken, or is a command.
fn fits(line: &str, width: usize) -> bool {
    let is_command = line.starts_with("$ ") || line.starts_with("  next ");
    line.chars().count() <= width || !line.trim().contains(' ') || is_command
}

/// Runs a command at every width, which `@` in its words is replaced by.
fn expect_screens(folder: &Path, words: &str, code: i32) {
    for width in WIDTHS {
        let words = &*words.replace('@', &width.to_string());
        let ended = at(width, folder, words);
        assert_eq!(ended.code, Some(code), "{words}: {ended:?}");
        let text = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!text.is_empty(), "{words}");
        for line in text.lines() {
            assert!(fits(line, width), "{words}, {width} columns:\n{line}\nin\n{text}");
        }
    }
}

/// Cuts a block file after its last whole record; its bytes, and where records begin.
fn whole_records(path: &Path) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = fs::read(path).unwrap();
    let (mut end, mut starts) = (0, vec![]);
    while let Some(size) = bytes.get(end + 4..).and_then(|rest| rest.first_chunk()) {
        let next = end + 8 + u32::from_le_bytes(*size) as usize;
        if next > bytes.len() {
            break;
        }
        starts.push(end);
        end = next;
    }
    bytes.truncate(end);
    fs::write(path, &bytes).unwrap();
    (bytes, starts)
}

#[test]
fn helps_fit_the_terminal() {
    let scratch = Scratch::new("screens-help");
    let folder = scratch.path("");
    fs::create_dir_all(&folder).unwrap();
    expect_screens(&folder, "--help", 0);
    expect_screens(&folder, "-h", 0);
    expect_screens(&folder, "", 2);
    for command in [
        "verify",
        "import",
        "inspect",
        "check",
        "convert",
        "export",
        "prove",
        "witness",
        "unwind",
        "heal",
        "report",
        "serve",
        "test",
        "demo",
        "generate",
        "completions",
        "man",
    ] {
        expect_screens(&folder, &format!("{command} --help"), 0);
        let ended = at(80, &folder, &format!("{command} -h"));
        let lines = ended.stdout.lines().count();
        assert!(lines <= 50, "{command} -h has {lines} lines:\n{}", ended.stdout);
    }
}

#[test]
fn misspelt_words_are_answered_with_the_right_ones() {
    let scratch = Scratch::new("screens-words");
    let folder = scratch.path("");
    fs::create_dir_all(&folder).unwrap();
    for (words, right) in [("verifx x", "'verify'"), ("verify x --untilx 7", "'--until'")] {
        let ended = at(80, &folder, words);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(right), "{}", ended.stderr);
    }
    let alone = at(80, &folder, "");
    assert!(alone.stderr.contains("Verify and import:"), "{}", alone.stderr);
    assert!(!alone.stderr.contains("error:"), "{}", alone.stderr);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn answers_fit_the_terminal() {
    let scratch = Scratch::new("screens-answers");
    let folder = scratch.path("");
    let fixtures = path_of("fixtures");
    fs::create_dir_all(&folder).unwrap();
    let copy = |from: &str, to: &str| fs::copy(fixtures.join(from), folder.join(to)).unwrap();
    copy("ethereum/era1/mainnet-00000-5ec1ffb8.era1", "mainnet-00000-5ec1ffb8.era1");
    copy("bitcoin/mainnet-0-4521.dat", "blk00000.dat");
    copy("neo/chain50x2.acc", "chain.acc");
    copy("neo/chain50x2.yml", "chain.yml");
    copy("ethereum/witness/1-46147-nimbus.json.zst", "witness.json.zst");
    let (mut bytes, starts) = whole_records(&folder.join("blk00000.dat"));
    // in a transaction
    bytes[starts[400] + 8 + 80 + 60] ^= 1;
    fs::write(folder.join("bad.dat"), &bytes).unwrap();
    fs::write(folder.join("cut.dat"), &bytes[..90_000]).unwrap();
    let era1 = "mainnet-00000-5ec1ffb8.era1";
    // a hash that is longer than the terminal is wide follows without an empty line
    copy("ethereum/ere/mainnet-00001-05c64fc4-noproofs.ere", "mainnet-00001-05c64fc4-noproofs.ere");
    let middle = at(80, &folder, "verify --seal off mainnet-00001-05c64fc4-noproofs.ere");
    assert!(middle.code == Some(0) && !middle.stdout.contains("\n\n"), "{middle:?}");
    for (words, code) in [
        (format!("verify {era1} --seal off"), 0),
        (format!("verify {era1} --seal off -v"), 0),
        (format!("import {era1} --seal off --data ethereum"), 0),
        (format!("import {era1} --seal off --data ethereum"), 0),
        (format!("inspect {era1}"), 0),
        ("check ethereum".into(), 0),
        (format!("convert {era1} --to rlp --out chain.rlp --force"), 0),
        (format!("export {era1} --seal off --to tables --force"), 0),
        (format!("export {era1} --dry-run --to nothing"), 0),
        (format!("import {era1} --seal off --until 100 --data first@"), 0),
        ("unwind first@ --to 50".into(), 0),
        ("unwind first@ --to 70".into(), 2),
        (format!("convert {era1} --to core --out nothing"), 2),
        ("generate ethereum --work mixed --blocks 10 --out made@".into(), 0),
        ("demo --headers 1000 --out demo@".into(), 0),
        ("report demo@/neo.json --out pages@".into(), 0),
        ("report demo@/neo.json demo@/bitcoin.json --out both@".into(), 0),
        ("verify blk00000.dat".into(), 0),
        ("verify blk00000.dat -v".into(), 0),
        ("verify bad.dat".into(), 1),
        ("verify cut.dat".into(), 3),
        ("import blk00000.dat --data bitcoin".into(), 0),
        ("inspect blk00000.dat".into(), 0),
        ("inspect --deep bad.dat".into(), 1),
        ("inspect cut.dat".into(), 3),
        ("check bitcoin".into(), 0),
        ("convert blk00000.dat --to core --out core@".into(), 0),
        ("convert blk00000.dat --to blk --out blocks@".into(), 0),
        ("verify core@".into(), 0),
        ("inspect core@ --deep".into(), 0),
        ("inspect bitcoin".into(), 0),
        ("verify chain.acc --level bodies".into(), 0),
        ("inspect chain.acc".into(), 0),
        ("convert chain.acc --to acc --out copy@.acc".into(), 0),
        ("import chain.acc --data neo".into(), 0),
        ("check neo".into(), 0),
        ("inspect neo".into(), 0),
        ("witness witness.json.zst".into(), 0),
        ("test cut.dat".into(), 6),
        (format!("verify {era1} --assume-valid 00"), 2),
    ] {
        expect_screens(&folder, &words, code);
    }
    REFUSED.iter().for_each(|words| expect_screens(&folder, words, 2));
}

/// What is wrong usage where the other commands have run.
const REFUSED: [&str; 10] = [
    "verify nothing",
    "check nothing",
    "inspect bad.dat nothing",
    "report bad.dat",
    "serve nothing",
    "verify blk00000.dat --seal off",
    "verify chain.acc --trust 0x00",
    "unwind bitcoin --to 7",
    "heal first@",
    "witness nothing",
];

#[blockmill_testkit::needs(fixtures)]
#[test]
fn quiet_prints_errors_only_and_colour_is_chosen() {
    let scratch = Scratch::new("screens-quiet");
    let folder = scratch.path("");
    fs::create_dir_all(&folder).unwrap();
    let file = path_of("fixtures").join("bitcoin/mainnet-0-4521.dat");
    fs::copy(&file, folder.join("blk00000.dat")).unwrap();
    whole_records(&folder.join("blk00000.dat"));
    let quiet = at(80, &folder, "verify -q blk00000.dat");
    assert_eq!((quiet.code, &*quiet.stdout, &*quiet.stderr), (Some(0), "", ""));
    let wrong = at(80, &folder, "verify -q nothing");
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stdout.is_empty() && wrong.stderr.starts_with("error: "), "{wrong:?}");
    let found = at(80, &folder, "verify -q --json blk00000.dat");
    assert_eq!(document_of(&found)["status"], "verified", "{found:?}");
    // a document stays one in the narrowest terminal, also before its command is understood
    for words in ["verify --json nothing", "verify --json --level no-level-of-this-name x"] {
        assert_eq!(document_of(&at(40, &folder, words))["status"], "usage", "{words}");
    }
    let coloured = at(80, &folder, "verify --color always blk00000.dat");
    assert!(coloured.stdout.starts_with("\u{1b}["), "{coloured:?}");
    for plain in ["verify blk00000.dat", "verify --color never blk00000.dat"] {
        let plain = at(80, &folder, plain);
        assert!(!plain.stdout.contains('\u{1b}'), "{plain:?}");
    }
}
