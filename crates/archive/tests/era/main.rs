//! era files of each fork, made with another SSZ implementation from a chain of the fixtures: what
//! is read of them, and that no corrupt one is read as if it were sound. `README.md` says how the
//! files were made.

use std::fs;
use std::path::{Path, PathBuf};

use blockmill_archive::{Archive, BeaconRoots, Chunk, ChunkLimit, Error, Packed, Want};
use blockmill_verdict::Status;

const BODIES: Want = Want { bodies: true, receipts: false };

/// The files with execution blocks, their first and their last block, and beacon blocks without
/// one.
const FILES: [(&str, u64, u64, usize); 5] = [
    ("execapis-00002-4ddbfd02.era", 36, 38, 2),
    ("execapis-00003-1998ddb2.era", 39, 41, 0),
    ("execapis-00004-64947c64.era", 42, 44, 0),
    ("execapis-00005-ed48af15.era", 45, 47, 0),
    ("execapis-00006-fceda9d9.era", 48, 54, 0),
];
/// The same blocks with proofs of the types 1, 2 and 3.
const ERE: &str = "execapis-00000-d226371d-noreceipts.ere";
const GENESIS: &str = "execapis-00000-7bd5d47e.era";
const GLOAS: &str = "execapis-00007-2d182a6d.era";

fn packed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/era").join(format!("{name}.zst"))
}

/// The bytes of a file, unpacked.
fn unpacked(name: &str) -> Vec<u8> {
    let bytes = fs::read(packed(name)).expect("a file of this folder");
    zstd::decode_all(&bytes[..]).expect("a file of zstd")
}

/// Headers and bodies of all blocks.
type Blocks = Vec<(Vec<u8>, Vec<u8>)>;

fn read(paths: &[PathBuf]) -> Result<Blocks, Error> {
    let mut reader = Archive::open(paths)?.reader(BODIES, ChunkLimit::default(), 0..=u64::MAX)?;
    let (mut packed, mut chunk, mut blocks) = (Packed::new(), Chunk::new(), vec![]);
    while reader.read(&mut packed)? {
        packed.unpack(&mut chunk)?;
        let bodies = chunk.bodies.iter().map(<[u8]>::to_vec);
        blocks.extend(chunk.headers.iter().map(<[u8]>::to_vec).zip(bodies));
    }
    Ok(blocks)
}

/// Reads a file of these bytes.
fn read_bytes(name: &str, bytes: &[u8]) -> Result<Blocks, Error> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(name);
    fs::write(&path, bytes).expect("a file");
    read(&[path])
}

#[test]
fn files_of_every_fork_have_the_blocks_of_the_chain() {
    let chain = blockmill_testkit::fixture("ethereum/chains/execution-apis/chain.rlp");
    let expected = read(&[chain]).expect("the chain");
    let all: Vec<_> = FILES.iter().map(|(name, ..)| packed(name)).collect();
    assert!(read(&all).expect("era files") == expected[35..], "blocks 36 to 54");
    for (name, first, last, _) in FILES {
        let archive = Archive::open(&[packed(name)]).expect("an era file");
        assert_eq!(archive.range(), Some((first, Some(last))), "{name}");
        assert_eq!(archive.network_hint(), Some("execapis"));
        let blocks = read(&[packed(name)]).expect("an era file");
        assert!(blocks == expected[first as usize - 1..last as usize], "{name}");
    }
}

#[test]
fn blocks_before_the_merge_are_reported_as_not_checked() {
    for (name, _, _, skipped) in FILES {
        let archive = Archive::open(&[packed(name)]).expect("an era file");
        let unchecked = archive.survey(BODIES, true).expect("a survey").unchecked;
        assert_eq!(unchecked.len(), 1 + skipped.min(1), "{name}: {unchecked:?}");
        assert!(unchecked.iter().any(|what| what.contains("signatures of beacon blocks")));
        assert!(skipped == 0 || unchecked[0].contains("2 beacon blocks from before the merge"));
    }
}

#[test]
fn the_era_of_the_genesis_has_no_execution_block() {
    let archive = Archive::open(&[packed(GENESIS)]).expect("an era file");
    assert_eq!(archive.range(), None);
    assert!(read(&[packed(GENESIS)]).expect("an era file").is_empty());
    let both = [packed(FILES[0].0), packed(GENESIS)];
    assert_eq!(read(&both).expect("era files").len(), 3);
}

#[test]
fn a_fork_without_payloads_in_its_blocks_is_unrecognised() {
    let error = read(&[packed(GLOAS)]).expect_err("no payloads");
    assert_eq!(error.status(), Status::Unrecognised, "{error}");
    assert!(error.to_string().contains("Gloas"), "{error}");
}

#[test]
fn a_file_cut_anywhere_is_incomplete_or_corrupt() {
    let (name, ..) = FILES[1];
    let bytes = unpacked(name);
    for len in (0..bytes.len()).step_by(4099).chain(bytes.len() - 60..bytes.len()) {
        let error = read_bytes(name, &bytes[..len]).expect_err("a part of a file");
        let expected = [Status::Incomplete, Status::Corrupt, Status::Unrecognised];
        assert!(expected.contains(&error.status()), "{len} bytes: {error}");
    }
}

#[test]
fn a_flipped_bit_never_gives_other_blocks() {
    let mut random = blockmill_testkit::Random::new(7);
    for (name, ..) in FILES {
        let bytes = unpacked(name);
        let sound = read_bytes(name, &bytes).expect("a sound file");
        for _ in 0..200 {
            let at = random.below(bytes.len());
            let mut other = bytes.clone();
            other[at] ^= 1 << random.below(8_u32);
            if let Ok(blocks) = read_bytes(name, &other) {
                assert!(blocks == sound, "{name}: byte {at}");
            }
        }
    }
}

/// Numbers of proofs of the ere file that lead to a root, and of those that are not checked.
fn proofs(roots: Option<BeaconRoots>) -> Result<(u64, u64), Error> {
    let archive = Archive::open(&[packed(ERE)])?;
    let archive = match roots {
        Some(roots) => archive.with_beacon_roots(roots),
        None => archive,
    };
    let mut reader = archive.reader(BODIES, ChunkLimit::default(), 0..=u64::MAX)?;
    let (mut packed, mut chunk, mut found) = (Packed::new(), Chunk::new(), (0, 0));
    while reader.read(&mut packed)? {
        packed.unpack(&mut chunk)?;
        found = (found.0 + chunk.beacon_proofs, found.1 + chunk.unchecked_proofs);
    }
    Ok(found)
}

#[test]
fn proofs_lead_to_the_roots_of_era_files_and_of_a_list() {
    let roots = |path: &Path| BeaconRoots::open(path).expect("roots");
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, ..) in FILES {
        fs::copy(packed(name), folder.path().join(format!("{name}.zst"))).expect("a copy");
    }
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/era/roots.txt");
    for path in [folder.path(), &packed(FILES[4].0), &list] {
        assert_eq!(proofs(Some(roots(path))).expect("proofs"), (19, 0), "{}", path.display());
    }
    // the state of an era has no roots of later ones
    assert_eq!(proofs(Some(roots(&packed(FILES[1].0)))).expect("proofs"), (6, 13));
    assert_eq!(proofs(None).expect("proofs"), (0, 19));
    let error = BeaconRoots::open(&packed(ERE)).expect_err("no roots");
    assert_eq!(error.status(), Status::Unrecognised, "{error}");
}

#[test]
fn a_proof_that_leads_to_no_listed_root_is_corrupt() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let list =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/era/roots.txt"));
    let list = list.expect("a list");
    let path = folder.path().join("roots.txt");
    // without the root of the Deneb era
    let lines = list.lines().enumerate().filter(|(i, _)| *i != 3).map(|(_, line)| line);
    fs::write(&path, lines.collect::<Vec<_>>().join("\n")).expect("a file");
    let error = proofs(Some(BeaconRoots::open(&path).expect("roots"))).expect_err("no root");
    assert_eq!(error.status(), Status::Corrupt);
    assert!(error.to_string().contains("root of the era by the proof"), "{error}");
}
