//! What `inspect` says of Ethereum archives and of the stores that an import leaves.

use crate::program::{Ended, Scratch, blockmill, copy, run, succeed};
use std::fs;
use std::path::{Path, PathBuf};

const CORRUPT: i32 = 4;

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
