//! Files of go-ethereum's writer of ere files, and variants of one of them that are valid or not.

use crate::program::{Scratch, blockmill, run, succeed, succeed_json};
use crate::{import, set_up};
use blockmill_archive::{Archive, Chunk, ChunkLimit, Packed, Want};
use blockmill_ethereum::body::BodyView;
use blockmill_rlp::ethereum::{Header, SlimReceipt};
use blockmill_rlp::{Decode, Reader};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The chains of the files, by the first word of their names: what `--chain` takes.
const CHAINS: [(&str, &str); 5] = [
    ("execapis", "chains/execution-apis/genesis.json"),
    ("hivesync", "chains/hive-sync/genesis.json"),
    ("fxamsterdam", "bal-chains/amsterdam-250/genesis.json"),
    ("fxtransition", "bal-chains/transition-240/genesis.json"),
    ("mainnet", ""),
];

/// The chain of a file.
fn chain_of(fixtures: &Path, file: &Path) -> String {
    let name = file.file_name().unwrap().to_str().unwrap();
    let (network, genesis) = CHAINS.iter().find(|(first, _)| name.starts_with(first)).unwrap();
    match *genesis {
        "" => (*network).into(),
        genesis => fixtures.join(genesis).to_str().unwrap().into(),
    }
}

/// What is known of the files of a folder.
fn facts(list: &Path) -> Vec<Value> {
    let text = fs::read(list).unwrap();
    let known: Value = serde_json::from_slice(&text).unwrap();
    known.as_array().unwrap().clone()
}

/// A file by its name, in the folder or one below.
fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let direct = folder.join(name);
    let parts = folder.join("parts/execapis-30-40").join(name);
    [direct, parts].into_iter().find(|path| path.is_file())
}

/// A hash as the list of facts writes it.
fn shown(hash: &[u8; 32]) -> String {
    blockmill_testkit::hex::encode_0x(*hash)
}

/// Compares the content of a file with what go-ethereum read from it.
fn compare_content(file: &Path, known: &Value) {
    let archive = Archive::open(&[file.to_path_buf()]).unwrap();
    let want = Want { bodies: true, receipts: true };
    let limit = ChunkLimit { blocks: 100, ..ChunkLimit::default() };
    let mut reader = archive.reader(want, limit, 0..=u64::MAX).unwrap();
    let (mut packed, mut chunk) = (Packed::new(), Chunk::new());
    let (mut hashes, mut transactions, mut logs, mut totals) = (vec![], 0, 0, vec![]);
    let (mut first_header, mut last_header, mut end) = (vec![], vec![], None);
    while reader.read(&mut packed).unwrap() {
        packed.unpack(&mut chunk).unwrap();
        for (i, header) in chunk.headers.iter().enumerate() {
            hashes.push(blockmill_hashes::keccak256(header));
            let body = BodyView::decode(chunk.bodies.get(i)).unwrap();
            transactions += body.transaction_count() as u64;
            if first_header.is_empty() {
                first_header = header.to_vec();
            }
            last_header = header.to_vec();
        }
        for list in chunk.receipts.iter() {
            let mut items = Reader::new(list).list().unwrap();
            while !items.is_empty() {
                logs += SlimReceipt::read(&mut items).unwrap().logs.iter().count() as u64;
            }
        }
        totals.extend(chunk.total_difficulties.iter().map(number));
        end = chunk.era_end.or(end);
    }
    let (first, last) = (Header::decode(&first_header), Header::decode(&last_header));
    let (first, last) = (first.unwrap(), last.unwrap());
    assert_eq!(known["count"], hashes.len());
    assert_eq!(
        (&known["firstNumber"], &known["start"]),
        (&first.number.into(), &first.number.into())
    );
    assert_eq!(known["lastNumber"], last.number);
    assert_eq!(known["firstHash"], shown(&hashes[0]));
    assert_eq!(known["lastHash"], shown(hashes.last().unwrap()));
    assert_eq!(known["lastStateRoot"], shown(last.state_root));
    assert_eq!(known["lastReceiptsRoot"], shown(last.receipts_root));
    assert_eq!((&known["transactions"], &known["logs"]), (&transactions.into(), &logs.into()));
    assert_eq!(known["hasReceipts"], archive.has_receipts());
    let mut all = blockmill_hashes::Sha256::new();
    hashes.iter().for_each(|hash| all.update(hash));
    assert_eq!(known["sha256OfAllBlockHashes"], shown(&all.finalize())[2..]);
    let accumulator = end.and_then(|end| end.accumulator).map(|root| shown(&root));
    assert_eq!(known["accumulator"].as_str(), accumulator.as_deref());
    let difficulty: u128 = first.difficulty.to_string().parse().unwrap();
    let initial = totals.first().map(|total| (total - difficulty).to_string());
    assert_eq!(known["initialTD"].as_str(), initial.as_deref());
    let last = totals.last().map(u128::to_string);
    assert_eq!(known["lastTD"].as_str(), last.as_deref());
}

/// The lower half of a total difficulty; the upper one is zero.
fn number(total: &[u8; 32]) -> u128 {
    let (high, low) = total.split_at(16);
    assert_eq!(high, [0; 16]);
    u128::from_be_bytes(low.try_into().unwrap())
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn files_of_go_ethereum_verify_with_the_facts_that_it_states() {
    let (fixtures, _) = set_up("ere-facts");
    let folder = fixtures.join("ere");
    let mut seen = 0;
    for known in facts(&folder.join("expected.json")) {
        let name = known["file"].as_str().unwrap();
        let file = find(&folder, name).unwrap_or_else(|| panic!("no {name}"));
        compare_content(&file, &known);
        let mut command = blockmill("verify --seal off --level bodies --chain");
        let record = succeed_json(command.arg(chain_of(&fixtures, &file)).arg(&file));
        let result = &record["result"];
        assert_eq!(result["tip_number"], known["lastNumber"], "{name}");
        assert_eq!(result["tip_hash"], known["lastHash"], "{name}");
        let accumulators = u64::from(!known["accumulator"].is_null());
        assert_eq!(result["accumulators"], accumulators, "{name}");
        if !known["lastTD"].is_null() {
            assert_eq!(result["total_difficulty"], known["lastTD"], "{name}");
        }
        if known["firstNumber"] == 0 {
            // the receipts of the execution are those of the headers too
            let mut command = blockmill("verify --seal off --chain");
            let record = succeed_json(command.arg(chain_of(&fixtures, &file)).arg(&file));
            assert_eq!(record["level"], "execution", "{name}");
            assert_eq!(record["answer"]["state_root"], known["lastStateRoot"], "{name}");
        }
        seen += 1;
    }
    assert_eq!(seen, 6);
}

/// The variants, unpacked, with what is known of them.
fn variants(scratch: &Scratch) -> Vec<(String, PathBuf)> {
    let folder = scratch.path("variants");
    fs::create_dir_all(&folder).unwrap();
    blockmill_testkit::unpack("ethereum/ere/variants-execapis.tar.zst", &folder);
    let text = fs::read(folder.join("execapis/expected.json")).unwrap();
    let known: Value = serde_json::from_slice(&text).unwrap();
    let files = known["files"].as_array().unwrap().iter();
    let path = |file: &Value| file["path"].as_str().unwrap().to_owned();
    files.map(path).map(|path| (path.clone(), folder.join("execapis").join(path))).collect()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn variants_that_the_specification_allows_are_verified_and_others_are_refused() {
    let (fixtures, scratch) = set_up("ere-variants");
    let genesis = fixtures.join("chains/execution-apis/genesis.json");
    let (mut valid, mut invalid) = (0, 0);
    for (path, file) in variants(&scratch) {
        let mut command = blockmill("verify --json --seal off --level bodies --chain");
        let ended = run(command.arg(&genesis).arg(&file));
        let answer: Value = serde_json::from_str(&ended.stdout).unwrap();
        if path.starts_with("invalid/") {
            let expected = [
                ("cut-", 3, "incomplete"),
                ("version-only", 3, "incomplete"),
                ("headers-exchanged", 3, "incomplete"),
                ("empty", 6, "unrecognised"),
                ("no-version", 6, "unrecognised"),
                ("reserved-bytes", 6, "unrecognised"),
                ("component-count", 4, "corrupt"),
                ("count-", 4, "corrupt"),
                ("entry-length", 4, "corrupt"),
                ("header-bit-flip", 4, "corrupt"),
                ("name-hash", 4, "corrupt"),
                ("offset-", 4, "corrupt"),
                ("trailing-bytes", 4, "corrupt"),
                ("", 1, "invalid"),
            ];
            let name = path.strip_prefix("invalid/").unwrap();
            let (_, code, status) = expected.iter().find(|(it, ..)| name.starts_with(it)).unwrap();
            assert_eq!((ended.code, &answer["status"]), (Some(*code), &(*status).into()), "{path}");
            invalid += 1;
        } else {
            assert_eq!(answer["status"], "verified", "{path}: {}", ended.stdout);
            let result = &answer["result"]["result"];
            assert_eq!(result["tip_number"], 54, "{path}");
            let unchecked = result["unchecked"].to_string();
            for (words, variant) in
                [("proofs that blocks", "with-proofs"), ("of unknown types", "other-entries")]
            {
                assert_eq!(unchecked.contains(words), path.contains(variant), "{path}");
            }
            valid += 1;
        }
    }
    assert_eq!((valid, invalid), (8, 26));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn variants_that_end_early_or_are_no_archives_are_inspected_as_they_are_verified() {
    let scratch = set_up("ere-inspected").1;
    let mut seen = 0;
    for (path, file) in variants(&scratch) {
        let name = path.strip_prefix("invalid/").unwrap_or("valid");
        let expected = [
            ("valid", 0, "No corruption, no gaps ("),
            ("cut-", 3, "Incomplete: 1 incomplete file ("),
            ("version-only", 3, "Incomplete: 1 incomplete file ("),
            ("empty", 6, "Unrecognised: 1 unrecognised file ("),
            ("no-version", 6, "Unrecognised: 1 unrecognised file ("),
            ("reserved-bytes", 6, "Unrecognised: 1 unrecognised file ("),
            ("trailing-bytes", 4, "Corrupt: 1 corrupt file ("),
            ("count-huge", 4, "Corrupt: 1 corrupt file ("),
        ];
        let Some((_, code, answer)) = expected.iter().find(|(it, ..)| name.starts_with(it)) else {
            continue;
        };
        for flags in ["", "--deep"] {
            let ended = run(blockmill(&format!("inspect {flags}")).arg(&file));
            assert_eq!(ended.code, Some(*code), "{path} {flags}: {}", ended.stdout);
            assert!(ended.stdout.starts_with(answer), "{path} {flags}: {}", ended.stdout);
            let unknown = ended.stdout.contains("2 records of unknown types");
            assert_eq!(unknown, path.contains("other-entries"), "{path} {flags}: {}", ended.stdout);
            let label = match code {
                3 => "  INCOMPLETE: ",
                4 => "  CORRUPT: ",
                6 => "  UNRECOGNISED: ",
                _ => continue,
            };
            assert!(ended.stdout.contains(label), "{path} {flags}: {}", ended.stdout);
        }
        seen += 1;
    }
    assert_eq!(seen, 8 + 4 + 3 + 2);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn deep_inspection_finds_headers_in_the_place_of_other_blocks() {
    let scratch = set_up("ere-numbers").1;
    let mut seen = 0;
    for (path, file) in variants(&scratch) {
        let expected: &[&str] = match path.strip_prefix("invalid/") {
            Some(path) if path.starts_with("start-off-by-one/") => {
                &["byte 8: number in the header: expected 1, by the position of the block, found 0"]
            }
            Some(path) if path.starts_with("headers-exchanged/") => &[
                "expected 27, by the position of the block, found 28",
                "expected 28, by the position of the block, found 27",
            ],
            _ => continue,
        };
        let ended = run(blockmill("inspect --deep").arg(&file));
        assert_eq!(ended.code, Some(4), "{path}: {}", ended.stdout);
        let numbers = ended.stdout.matches("CORRUPT: ").count();
        assert_eq!(numbers, expected.len(), "{path}: {}", ended.stdout);
        for text in expected {
            assert!(ended.stdout.contains(text), "{path}: no {text:?} in {}", ended.stdout);
        }
        assert!(ended.stdout.contains(file.to_str().unwrap()), "{path}: {}", ended.stdout);
        seen += 1;
    }
    assert_eq!(seen, 2);
}

/// A conversion to `format`.
fn convert(from: &[PathBuf], chain: &str, format: &str, to: &Path) {
    let mut command = blockmill("convert --to");
    succeed(command.args([format, "--chain", chain, "--out"]).arg(to).args(from));
}

/// The only file of a folder.
fn only(folder: &Path) -> PathBuf {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

fn assert_same_file(found: &Path, expected: &Path) {
    assert_eq!(found.file_name(), expected.file_name());
    assert!(fs::read(found).unwrap() == fs::read(expected).unwrap(), "{}", found.display());
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn era1_files_become_the_ere_files_of_go_ethereum_and_come_back_byte_for_byte() {
    let (fixtures, scratch) = set_up("era1-ere-era1");
    let known = [
        (
            "mainnet-00000-5ec1ffb8.era1",
            "mainnet-00000-a6860fef-noproofs.ere",
            "ee0bf48ac736558538b597261beba4c7352e4e06a2cdb090dab5bc68b6149959",
        ),
        ("mainnet-00001-a5364e9a.era1", "mainnet-00001-05c64fc4-noproofs.ere", ""),
        (
            "sepolia-00000-643a00f7.era1",
            "sepolia-00000-8e3e7dc9-noproofs.ere",
            "50e29a878a489ef195d4df52072a4524b7bba8b74d65c1e5f5401f914c96366a",
        ),
    ];
    for (era1, ere, sha256) in known {
        let (chain, _) = era1.split_once('-').unwrap();
        let source = fixtures.join("era1").join(era1);
        let (there, back) = (scratch.path(&format!("{era1}-ere")), scratch.path(era1));
        convert(std::slice::from_ref(&source), chain, "ere", &there);
        let written = only(&there);
        assert_eq!(written.file_name().unwrap(), ere);
        if sha256.is_empty() {
            assert_same_file(&written, &fixtures.join("ere").join(ere));
        } else {
            let mut hash = blockmill_hashes::Sha256::new();
            hash.update(&fs::read(&written).unwrap());
            assert_eq!(shown(&hash.finalize())[2..], *sha256, "{ere}");
        }
        convert(&[written], chain, "era1", &back);
        assert_same_file(&only(&back), &source);
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn files_of_go_ethereum_are_written_again_byte_for_byte() {
    let (fixtures, scratch) = set_up("ere-ere");
    for name in ["execapis", "hivesync", "fxamsterdam", "fxtransition"] {
        let source = fs::read_dir(fixtures.join("ere")).unwrap().map(|entry| entry.unwrap().path());
        let is_it = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(name);
        let source = source.into_iter().find(is_it).unwrap();
        let chain = chain_of(&fixtures, &source);
        let (rlp, freezer) = (scratch.path(&format!("{name}.rlp")), scratch.path(name));
        convert(std::slice::from_ref(&source), &chain, "rlp", &rlp);
        convert(std::slice::from_ref(&source), &chain, "headers", &scratch.path("headers"));
        let hash = source.file_name().unwrap().to_str().unwrap().split('-').nth(2).unwrap();
        // receipts and all, through an ancient folder, which needs total difficulties
        convert(std::slice::from_ref(&source), &chain, "freezer", &freezer);
        let again = scratch.path(&format!("{name}-again"));
        convert(&[freezer], &chain, "ere", &again);
        assert!(fs::read(only(&again)).unwrap() == fs::read(&source).unwrap(), "{name} differs");
        // an export has no receipts
        let bare = scratch.path(&format!("{name}-bare"));
        convert(&[rlp], &chain, "ere", &bare);
        let bare = only(&bare);
        let named = bare.file_name().unwrap().to_str().unwrap();
        assert!(named.ends_with(&format!("-00000-{hash}-noproofs-noreceipts.ere")), "{named}");
        let mut command = blockmill("verify --seal off --chain");
        let record = succeed_json(command.arg(&chain).arg(&bare));
        assert_eq!(record["level"], "execution");
        fs::remove_file(scratch.path("headers")).unwrap();
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_imported_file_gives_the_same_store_as_an_export_and_comes_back() {
    let (fixtures, scratch) = set_up("ere-store");
    let source = fixtures.join("ere/execapis-00000-d226371d-noproofs.ere");
    let chain = chain_of(&fixtures, &source);
    let (store, back) = (scratch.path("store"), scratch.path("back"));
    let mut command = import(&store, "--seal off --chain");
    let record = succeed_json(command.arg(&chain).arg(&source));
    assert_eq!(record["result"]["tip_number"], 54);
    convert(std::slice::from_ref(&store), &chain, "ere", &back);
    assert!(fs::read(only(&back)).unwrap() == fs::read(&source).unwrap());
    succeed(blockmill("check").arg(&store));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_store_of_executed_blocks_without_receipts_gives_the_file_with_receipts() {
    let (fixtures, scratch) = set_up("executed-ere");
    let source = fixtures.join("ere/execapis-00000-d226371d-noproofs.ere");
    let chain = chain_of(&fixtures, &source);
    let (store, out) = (scratch.path("store"), scratch.path("out"));
    let mut command = import(&store, "--seal off --chain");
    let export = fixtures.join("chains/execution-apis/chain.rlp");
    let imported = succeed_json(command.arg(&chain).arg(export));
    assert_eq!(imported["level"], "execution");
    convert(std::slice::from_ref(&store), &chain, "ere", &out);
    let written = only(&out);
    assert!(fs::read(&written).unwrap() == fs::read(&source).unwrap());
    // and back: the same roots
    let again = scratch.path("again");
    let mut command = import(&again, "--seal off --chain");
    let second = succeed_json(command.arg(&chain).arg(&written));
    assert_eq!(second["answer"], imported["answer"]);
    assert_eq!(second["result"]["tip_hash"], imported["result"]["tip_hash"]);
    // a store that has the genesis block from its archive
    let (bare, of_bare) = (scratch.path("bare"), scratch.path("of-bare"));
    let (from_bare, whole) = (scratch.path("from-bare"), scratch.path("whole"));
    convert(&[fixtures.join("chains/execution-apis/chain.rlp")], &chain, "ere", &bare);
    let mut command = import(&of_bare, "--seal off --chain");
    succeed(command.arg(&chain).arg(only(&bare)));
    convert(&[of_bare], &chain, "ere", &from_bare);
    assert!(fs::read(only(&from_bare)).unwrap() == fs::read(&source).unwrap());
    // a range begins in the middle
    let part = scratch.path("part");
    let mut command = blockmill("convert --from 30 --until 40 --to ere --chain");
    succeed(command.arg(&chain).arg("--out").arg(&part).arg(&store));
    let expected = fixtures.join("ere/parts/execapis-30-40/execapis-00000-da348756-noproofs.ere");
    assert!(fs::read(only(&part)).unwrap() == fs::read(expected).unwrap());
    // other formats with receipts, too
    let (era1, freezer) = (scratch.path("era1"), scratch.path("freezer"));
    convert(std::slice::from_ref(&store), &chain, "freezer", &freezer);
    convert(std::slice::from_ref(&freezer), &chain, "ere", &whole);
    assert!(fs::read(only(&whole)).unwrap() == fs::read(&source).unwrap());
    convert(&[freezer], &chain, "era1", &era1);
    let found = succeed_json(blockmill("inspect --deep").arg(only(&era1)));
    assert_eq!(found["files"][0]["blocks"], 55);
}
