//! What `inspect` says of Ethereum archives and of the stores that an import leaves.

use crate::program::{Ended, Scratch, blockmill, copy, run, succeed};
use std::fs;
use std::path::{Path, PathBuf};

const INCOMPLETE: i32 = 3;
const CORRUPT: i32 = 4;
const UNRECOGNISED: i32 = 6;

/// Generates a chain of `last` blocks after the genesis block as an RLP export.
fn chain(scratch: &Scratch, last: u64) -> PathBuf {
    let path = scratch.path("chain.rlp");
    let words = format!("generate ethereum --headers {last} --format rlp --out");
    succeed(blockmill(&words).arg(&path));
    path
}

fn inspect(path: &Path, flags: &str) -> Ended {
    run(blockmill(&format!("inspect {flags}")).arg(path))
}

/// Changes a byte in the middle of a file.
fn flip(path: &Path) {
    let mut bytes = fs::read(path).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).expect("a file");
}

#[test]
fn deep_inspection_finds_a_corrupt_piece_of_a_store() {
    let scratch = Scratch::new("inspect-store");
    let (archive, store) = (chain(&scratch, 2_000), scratch.path("store"));
    let import = "import --level bodies --seal off --chain mainnet --data";
    succeed(blockmill(import).arg(&store).arg(archive));
    let sound = inspect(&store, "--deep");
    assert_eq!(sound.code, Some(0), "{sound:?}");
    let answer = "No corruption, no gaps (every block decoded; `check` reads the state).";
    assert!(sound.stdout.starts_with(answer), "{sound:?}");
    for name in ["headers.00000", "bodies.00000"] {
        let corrupt = scratch.path(name);
        copy(&store, &corrupt);
        flip(&corrupt.join(name));
        let found = inspect(&corrupt, "--deep");
        assert_eq!(found.code, Some(CORRUPT), "{name}: {found:?}");
        assert!(found.stdout.starts_with("Corrupt: 1 corrupt file "), "{name}: {found:?}");
        assert!(found.stdout.contains(&format!("{name} at offset ")), "{name}: {found:?}");
        // the blocks of a piece give one corruption
        assert_eq!(found.stdout.matches("CORRUPT: ").count(), 1, "{name}: {found:?}");
        let checked = run(blockmill("check").arg(&corrupt));
        assert_eq!(checked.code, Some(CORRUPT), "{name}: {checked:?}");
    }
}

/// Converts the blocks of a range to one file of the format `to`.
fn convert(archive: &Path, range: &str, to: &str, out: &Path) {
    let words = format!("convert --chain mainnet --to {to} {range} --out");
    succeed(blockmill(&words).arg(out).arg(archive));
}

#[test]
fn files_are_compared_in_the_order_of_their_blocks_and_not_of_their_names() {
    let scratch = Scratch::new("inspect-order");
    let archive = chain(&scratch, 54);
    let folder = scratch.path("parts");
    fs::create_dir(&folder).expect("a folder");
    for (name, range) in
        [("z.rlp", "--until 29"), ("b.rlp", "--from 30 --until 40"), ("a.rlp", "--from 41")]
    {
        convert(&archive, range, "rlp", &folder.join(name));
    }
    let paths = ["z.rlp", "b.rlp", "a.rlp"].map(|name| folder.join(name));
    for flags in ["", "--deep"] {
        for given in [&[folder.clone()][..], &paths] {
            let found = run(blockmill(&format!("inspect {flags}")).args(given));
            assert_eq!(found.code, Some(0), "{flags}: {found:?}");
            assert!(found.stdout.starts_with("No corruption, no gaps "), "{flags}: {found:?}");
        }
    }
    // without the file in the middle
    fs::remove_file(folder.join("b.rlp")).expect("a file");
    let found = inspect(&folder, "");
    assert_eq!(found.code, Some(INCOMPLETE), "{found:?}");
    assert_eq!(found.stdout.matches("gap: ").count(), 1, "{found:?}");
    assert!(found.stdout.contains("a.rlp should begin with block 30"), "{found:?}");
}

#[test]
fn a_file_that_ends_early_is_incomplete_for_inspect_as_for_verify() {
    let scratch = Scratch::new("inspect-cut");
    let bytes = fs::read(chain(&scratch, 54)).expect("an export");
    let path = scratch.path("cut.rlp");
    fs::write(&path, &bytes[..bytes.len() - 5]).expect("a file");
    let verified = run(blockmill("verify --seal off --level bodies").arg(&path));
    assert_eq!(verified.code, Some(INCOMPLETE), "{verified:?}");
    for flags in ["", "--deep"] {
        let found = inspect(&path, flags);
        assert_eq!(found.code, Some(INCOMPLETE), "{flags}: {found:?}");
        assert!(found.stdout.starts_with("Incomplete: 1 incomplete file "), "{found:?}");
        assert!(found.stdout.contains("  INCOMPLETE: "), "{found:?}");
        assert!(found.stdout.contains("blocks 0 to 53 (54)"), "{found:?}");
    }
    // another file of the folder is corrupt, which is worse
    let other = scratch.path("other.rlp");
    fs::write(&other, [&bytes[..], &[0xbf; 9]].concat()).expect("a file");
    let found = run(blockmill("inspect").args([&path, &other]));
    assert_eq!(found.code, Some(CORRUPT), "{found:?}");
    // a file that is no archive is the first thing that a verifier finds
    fs::write(&other, "").expect("a file");
    let found = run(blockmill("inspect").args([&path, &other]));
    assert_eq!(found.code, Some(UNRECOGNISED), "{found:?}");
    let answer = "Unrecognised: 1 unrecognised file, 1 incomplete file ";
    assert!(found.stdout.starts_with(answer), "{found:?}");
}
