//! Headers of Bitcoin without blocks: written, read and verified; refused where blocks are needed.

use crate::program::{Ended, Scratch, blockmill, document, run, succeed, succeed_json};
use blockmill_archive::blkdat;
use blockmill_bitcoin::params::Params;
use std::fs;
use std::path::{Path, PathBuf};

/// Bytes of a header.
const HEADER: usize = 80;

/// A generated chain as block files, and its headers.
fn chain(scratch: &Scratch) -> (PathBuf, PathBuf) {
    let (blocks, headers) = (scratch.path("blocks"), scratch.path("blockchain_headers"));
    let words = "generate bitcoin --inputs 4 --blocks 20 --stale 2 --out";
    succeed(blockmill(words).arg(&blocks));
    convert(&blocks, &headers, "headers");
    (blocks, headers)
}

fn convert(from: &Path, to: &Path, target: &str) -> String {
    let words = format!("convert --to {target} --out");
    succeed(blockmill(&words).arg(to).arg(from))
}

fn verify(path: &Path, flags: &str) -> Ended {
    run(blockmill(&format!("verify --json {flags}")).arg(path))
}

#[test]
fn headers_of_block_files_and_of_a_store_verify_to_the_same_tip() {
    let scratch = Scratch::new("bitcoin-headers");
    let (blocks, headers) = chain(&scratch);
    let expected = succeed_json(blockmill("verify --level headers").arg(&blocks));
    let found = succeed_json(blockmill("verify").arg(&headers));
    assert_eq!(found["level"], "headers");
    assert_eq!(found["data"]["format"], "btc-headers");
    for fact in ["first", "last", "blocks", "chain", "checksum"] {
        assert_eq!(found["data"][fact], expected["data"][fact], "{fact}");
    }
    let bytes = fs::read(&headers).expect("a file");
    let last = found["data"]["last"].as_u64().expect("a number");
    assert_eq!(bytes.len(), HEADER * (last as usize + 1));
    let (data, of_store) = (scratch.path("data"), scratch.path("of-store"));
    succeed(blockmill("import --data").arg(&data).arg(&blocks));
    convert(&data, &of_store, "headers");
    assert_eq!(fs::read(&of_store).expect("a file"), bytes);
    // headers of headers, up to a height
    let part = scratch.path("part");
    succeed(blockmill("convert --to headers --until 7 --out").arg(&part).arg(&headers));
    assert_eq!(fs::read(&part).expect("a file"), bytes[..HEADER * 8]);
    // no command can store headers without blocks
    let shown = succeed(blockmill("verify").arg(&headers));
    assert!(!shown.contains("blockmill import"), "{shown}");
    let shown = succeed(blockmill("inspect --deep").arg(&headers));
    for words in ["regtest, 1 header file", "hashes of work", "No corruption, no gaps"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

#[test]
fn a_changed_missing_or_cut_header_is_not_verified() {
    let scratch = Scratch::new("bitcoin-headers-corrupt");
    let (_, headers) = chain(&scratch);
    let bytes = fs::read(&headers).expect("a file");
    let verify_bytes = |bytes: &[u8], flags: &str| {
        let path = scratch.path("changed");
        fs::write(&path, bytes).expect("a file");
        verify(&path, flags)
    };
    let cut = bytes.len() - 30;
    let ended = verify_bytes(&bytes[..cut], "");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let offset = (bytes.len() - HEADER).to_string();
    assert!(document(&ended)["shortfalls"].to_string().contains(&offset), "{ended:?}");
    assert_eq!(verify_bytes(&bytes[..cut], "--until 5").code, Some(0));
    assert_eq!(verify_bytes(&bytes[..cut], "--partial").code, Some(0));
    assert_eq!(verify_bytes(&bytes, "--until 1000").code, Some(3));
    let missing = [&bytes[..HEADER * 3], &bytes[HEADER * 4..]].concat();
    assert_eq!(verify_bytes(&missing, "").code, Some(3));
    // a merkle root, so that the next header has another parent
    let mut changed = bytes.clone();
    changed[HEADER * 5 + 40] ^= 1;
    assert_eq!(verify_bytes(&changed, "").code, Some(3));
    // a time before the median of the blocks before
    let mut early = bytes.clone();
    let last = bytes.len() - HEADER;
    early[last + 68..last + 72].copy_from_slice(&1_000_000_u32.to_le_bytes());
    let ended = (0..=255_u8).map(|nonce| {
        early[last + 76] = nonce;
        verify_bytes(&early, "")
    });
    let invalid = ended.take(16).find(|ended| ended.stdout.contains("median"));
    assert_eq!(invalid.map(|ended| ended.code), Some(Some(1)));
}

#[test]
fn headers_are_refused_where_blocks_are_needed() {
    let scratch = Scratch::new("bitcoin-headers-refused");
    let (blocks, headers) = chain(&scratch);
    for words in [
        "verify --level bodies",
        "verify --level execution",
        "import --data DATA",
        "import --level headers --data DATA",
        "convert --to blk --out OUT",
        "convert --to core --out OUT",
        "export --tables blocks --to OUT",
    ] {
        let (data, out) = (scratch.path("data"), scratch.path("out"));
        let words = words.replace("DATA", &data.display().to_string());
        let words = words.replace("OUT", &out.display().to_string());
        let ended = run(blockmill(&words).arg("--json").arg(&headers));
        assert_eq!(ended.code, Some(2), "{words}: {ended:?}");
        let message = document(&ended)["error"]["message"].to_string();
        assert!(message.contains("headers of Bitcoin without blocks"), "{words}: {message}");
        assert!(message.contains("blk*.dat"), "{words}: {message}");
        let is_left = |path: &Path| fs::metadata(path).is_ok_and(|found| found.is_file());
        assert!(!data.exists() && !is_left(&out), "{words}: nothing is left");
    }
    // another network, and blocks next to headers
    let ended = verify(&headers, "--chain mainnet");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let ended = run(blockmill("verify --level headers").args([&headers, &blocks]));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("headers without blocks"), "{ended:?}");
}

#[test]
fn every_network_is_recognised_by_its_genesis_header() {
    let scratch = Scratch::new("bitcoin-headers-networks");
    let path = scratch.path("headers");
    for params in Params::all() {
        fs::write(&path, &params.genesis[..HEADER]).expect("a file");
        let files = blkdat::open(std::slice::from_ref(&path), None).expect("headers");
        assert_eq!(files.headers_only(), Some(&*path), "{}", params.name);
        let magic = files.network().map(|network| network.magic());
        assert_eq!(magic, Some(params.magic), "{}", params.name);
    }
}

#[blockmill_testkit::needs(cases)]
#[test]
fn headers_of_mainnet_are_recognised_by_their_genesis_header() {
    let scratch = Scratch::new("bitcoin-headers-mainnet");
    let blocks = blockmill_testkit::case("11-unreadable-archives-passed-over/blk-zip");
    let headers = scratch.path("blockchain_headers");
    convert(&blocks.join("blocks/blk00000.dat"), &headers, "headers");
    let found = succeed_json(blockmill("verify").arg(&headers));
    assert_eq!((&found["data"]["chain"], &found["data"]["last"]), (&"mainnet".into(), &149.into()));
}
