//! What a user reads who gave a command the wrong thing: one sentence that names what is there and
//! the command that is right for it.

use crate::program::{Scratch, blockmill, document, run, succeed};
use blockmill_testkit::path_of;
use std::fs;
use std::path::Path;

/// Runs a command in a folder: its exit code, and what it said on both outputs.
fn said(folder: &Path, words: &str) -> (i32, String) {
    let ended = run(blockmill(words).current_dir(folder));
    (ended.code.expect("an exit code"), format!("{}{}", ended.stdout, ended.stderr))
}

/// The command that comes after the one with this output, without the name of the program.
fn next(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("  next         blockmill "))
}

/// A folder with the datadir `dd` of Bitcoin Core, its block file as `one.dat` without a key, and
/// the same blocks as `plain.dat`.
fn of_core(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    blockmill_testkit::unpack("bitcoin/core-datadir-main-0-4521.tar.zst", &scratch.path("dd"));
    fs::copy(scratch.path("dd/blocks/blk00000.dat"), scratch.path("one.dat")).unwrap();
    fs::copy(path_of("fixtures").join("bitcoin/mainnet-0-4521.dat"), scratch.path("plain.dat"))
        .unwrap();
    scratch
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn advice_fits_what_is_there() {
    let scratch = of_core("advice");
    let folder = scratch.path("");
    for (words, code, parts) in [
        (
            "verify dd/chainstate",
            2,
            &["the chainstate of Bitcoin Core", "give its datadir, dd"][..],
        ),
        ("inspect dd/blocks/index", 2, &["the block index of Bitcoin Core", "datadir, dd"]),
        ("check dd", 6, &["a datadir of Bitcoin Core", "`verify`", "`inspect --deep`"]),
        ("check plain.dat", 6, &["an archive", "`verify` checks it"]),
        ("convert plain.dat --to era1 --out x", 2, &["blocks of Ethereum", "those of Bitcoin"]),
        ("convert plain.dat --to acc --out x", 2, &["blocks of Neo", "those of Bitcoin"]),
        ("verify plain.dat --from 100 --until 50", 2, &["--until 50 is before --from 100"]),
        ("verify one.dat", 6, &["obfuscated with the key 46c3204f98c017a3", "xor.dat"]),
        ("verify nothing --with coins=sum", 2, &["nothing: cannot open: No such file"]),
        ("verify plain.dat --seal off", 2, &["--seal is for Ethereum, and this is Bitcoin"]),
        ("import plain.dat --data s --history", 2, &["--history is for Neo, and this is Bitcoin"]),
    ] {
        let (found, text) = said(&folder, words);
        assert_eq!(found, code, "{words}: {text}");
        for part in parts {
            assert!(text.contains(part), "{words}: {part}: {text}");
        }
    }
}

#[cfg(target_os = "linux")]
#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_folder_that_cannot_be_made_is_said_before_anything_runs() {
    let scratch = of_core("advice-data");
    let era1 = path_of("fixtures").join("ethereum/era1/mainnet-00000-5ec1ffb8.era1");
    let dump = path_of("fixtures").join("neo/chain50x2.acc");
    for archive in [scratch.path("plain.dat"), era1, dump] {
        let words = format!("import --data /proc/x {}", archive.display());
        let (code, text) = said(&scratch.path(""), &words);
        assert_eq!(code, 5, "{words}: {text}");
        let why = "cannot create /proc/x: No such file or directory (os error 2)";
        assert_eq!(text, format!("error: {why}\nnothing was written\n"), "{words}");
    }
}

/// Changes the nonce of block 100 in a block file.
fn break_work_of_block_100(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let mut at = 0;
    for _ in 0..100 {
        at += 8 + u32::from_le_bytes(*bytes[at + 4..].first_chunk().unwrap()) as usize;
    }
    bytes[at + 8 + 76] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn every_command_ends_with_the_header_that_breaks_a_rule() {
    let scratch = of_core("advice-refused");
    break_work_of_block_100(&scratch.path("plain.dat"));
    for words in [
        "verify plain.dat",
        "verify plain.dat --level headers",
        "import plain.dat --data store",
        "convert plain.dat --to core --out core",
        "convert plain.dat --to blk --out blk",
        "convert plain.dat --to headers --out headers",
        "convert plain.dat --to headers --partial --out part",
    ] {
        let ended = run(blockmill(words).arg("--json").current_dir(scratch.path("")));
        assert_eq!(ended.code, Some(1), "{words}: {ended:?}");
        let document = document(&ended);
        let error = &document["error"];
        assert_eq!(error["block"], 100, "{words}: {document}");
        assert!(error["message"].as_str().unwrap().contains("proof of work"), "{words}: {error}");
        assert!(!document["notes"].to_string().contains("proof of work"), "{words}: {document}");
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_fault_is_said_once_with_the_target_as_a_number() {
    let scratch = of_core("advice-work");
    break_work_of_block_100(&scratch.path("plain.dat"));
    // a file in the current folder, whose own folder has no name
    let (code, text) = said(&scratch.path(""), "verify plain.dat");
    assert_eq!(code, 1, "{text}");
    let fault = text.lines().filter(|line| !line.starts_with("  checked "));
    let said = fault.map(|line| line.matches("proof of work").count()).sum::<usize>();
    assert_eq!(said, 1, "{text}");
    assert!(text.contains("a hash up to 00000000ffff0000"), "{text}");
    assert!(!text.contains("cannot list"), "{text}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn core_is_started_on_the_network_of_the_blocks() {
    let scratch = of_core("advice-core");
    let folder = scratch.path("");
    assert_eq!(said(&folder, "generate bitcoin --inputs 0 --blocks 5 --out regtest").0, 0);
    for (blocks, flags) in [("plain.dat", ""), ("regtest", " -chain=regtest")] {
        let words = format!("convert {blocks} --partial --to core --out of-{blocks}");
        let (code, text) = said(&folder, &words);
        let advice = format!("start Bitcoin Core with -datadir=of-{blocks}{flags}: it continues");
        assert!(code == 0 && text.contains(&advice), "{text}");
    }
}

#[test]
fn a_conversion_names_the_chain_that_its_verification_needs() {
    let scratch = Scratch::new("advice-chains");
    let folder = scratch.path("");
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ethereum/tests/bft-chains/qbft");
    fs::copy(own.join("chain.rlp"), scratch.path("chain.rlp")).unwrap();
    fs::copy(own.join("genesis.json"), scratch.path("own.json")).unwrap();
    assert_eq!(said(&folder, "generate neo --blocks 12 --out neo").0, 0);
    assert_eq!(said(&folder, "import neo/chain.acc --data store").0, 0);
    let convert = |words: &str| {
        let (code, text) = said(&folder, &format!("convert {words}"));
        assert_eq!(code, 0, "{words}: {text}");
        next(&text).map(str::to_owned)
    };
    let yml = "neo/chain.yml";
    for (words, chain) in [
        ("chain.rlp --chain own.json --to ere --out ere", "own.json"),
        ("chain.rlp --chain own.json --to rlp --out own.rlp", "own.json"),
        ("neo/chain.acc --to acc --out own.acc", yml),
        (&*format!("store --chain {yml} --to acc --out of-store.acc"), yml),
    ] {
        let out = words.rsplit(' ').next().unwrap();
        let command = convert(words).unwrap_or_default();
        assert_eq!(command, format!("verify --chain {chain} {out}"));
        let (code, text) = said(&folder, &format!("{command} --level bodies"));
        assert_eq!(code, 0, "{command}: {text}");
    }
    // only the user knows the file
    let unknown = convert("store --to acc --out unknown.acc");
    assert_eq!(unknown.as_deref(), Some("verify --chain protocol.yml unknown.acc"));
    let unknown = convert("chain.rlp --to rlp --out unknown.rlp");
    assert_eq!(unknown.as_deref(), Some("verify --chain NAME unknown.rlp"));
    // verify takes no dump without block 0
    assert_eq!(convert("neo/chain.acc --from 10 --to acc --out late.acc"), None);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_from_the_middle_of_a_network_are_verified_with_its_name() {
    let scratch = Scratch::new("advice-middle");
    let folder = scratch.path("");
    let era1 = path_of("fixtures").join("ethereum/era1/mainnet-00000-5ec1ffb8.era1");
    for (range, expected) in [
        ("--from 100 --until 199", "verify --chain mainnet some.rlp"),
        ("--until 99", "verify some.rlp"),
    ] {
        let words = format!("convert {} --to rlp {range} --out some.rlp --force", era1.display());
        let (code, text) = said(&folder, &words);
        assert_eq!((code, next(&text)), (0, Some(expected)), "{text}");
        let (code, text) = said(&folder, &format!("{expected} --level headers --seal off"));
        assert_eq!(code, 0, "{text}");
    }
}

#[test]
fn a_path_that_is_not_there_is_named_once() {
    let scratch = Scratch::new("advice-paths");
    for words in ["serve nope", "report nope", "verify nope", "inspect nope", "check nope"] {
        let (code, text) = said(&scratch.path(""), words);
        assert_eq!(code, 2, "{words}: {text}");
        assert_eq!(text.matches("nope").count(), 1, "{words}: {text}");
        assert!(text.contains("No such file"), "{words}: {text}");
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_store_of_a_cut_file_has_its_size_and_is_refused_by_the_commands_of_other_chains() {
    let scratch = of_core("advice-store");
    let folder = scratch.path("");
    let bytes = fs::read(scratch.path("plain.dat")).unwrap();
    fs::write(scratch.path("cut.dat"), &bytes[..bytes.len() - 100]).unwrap();
    assert_eq!(said(&folder, "import cut.dat --data store").0, 3);
    let (code, text) = said(&folder, "inspect store");
    let size = blockmill_verdict::grouped(bytes.len() as u64 - 100);
    assert!(code == 0 && text.contains(&format!("blocks, {size} bytes")), "{text}");
    let account = "0x0000000000000000000000000000000000000000";
    for words in ["heal store".to_owned(), format!("prove store --account {account}")] {
        let (code, text) = said(&folder, &words);
        let expected = "error: store: expected a store of Ethereum, found one of Bitcoin\n";
        assert_eq!((code, &*text), (2, expected), "{words}");
    }
}

#[test]
fn an_archive_with_more_parts_than_the_store_is_refused_in_words() {
    let scratch = Scratch::new("advice-parts");
    let folder = scratch.path("");
    fs::create_dir_all(&folder).unwrap();
    for words in [
        "generate ethereum --headers 20 --format freezer --out all",
        "convert all --to rlp --until 10 --out some.rlp",
        "import some.rlp --seal off --level bodies --data store",
    ] {
        let (code, text) = said(&folder, words);
        assert_eq!(code, 0, "{words}: {text}");
    }
    let (code, text) = said(&folder, "import all --seal off --level bodies --data store");
    assert_eq!(code, 2, "{text}");
    for words in ["expected headers, bodies, found headers, bodies, receipts", "another --data"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn the_help_of_a_command_lists_the_formats_that_it_reads() {
    for (command, reads_headers) in [("verify", true), ("import", false), ("export", false)] {
        if command == "export" && !cfg!(feature = "export") {
            continue;
        }
        let help = succeed(&mut blockmill(&format!("{command} --help")));
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains("Bitcoin block files"), "{help}");
        assert_eq!(help.contains("Bitcoin headers"), reads_headers, "{command}: {help}");
    }
}
