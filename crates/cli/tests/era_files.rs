//! era files of the consensus layer, and proofs of ere files that lead to the roots in them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::{Ended, Scratch, blockmill, run, succeed};

/// The files of the archive crate's tests.
fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../archive/tests/era")
}

/// The eras with the blocks 36 to 54, in a folder.
fn eras(scratch: &Scratch) -> PathBuf {
    let folder = scratch.path("eras");
    fs::create_dir_all(&folder).expect("a folder");
    for entry in fs::read_dir(files()).expect("the files") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if (2..=6).any(|era| name.starts_with(&format!("execapis-{era:05}-"))) {
            let bytes = fs::read(&path).expect("a file");
            let bytes = zstd::decode_all(&bytes[..]).expect("a file of zstd");
            fs::write(folder.join(name.trim_end_matches(".zst")), bytes).expect("a copy");
        }
    }
    folder
}

fn ere() -> PathBuf {
    files().join("execapis-00000-d226371d-noreceipts.ere.zst")
}

fn chain() -> PathBuf {
    blockmill_testkit::fixture("ethereum/chains/execution-apis")
}

/// Verifies the bodies of an archive of the chain.
fn verify(archive: &Path, flags: &str) -> Ended {
    let words = format!("verify --json --level bodies --seal off {flags} --chain");
    run(blockmill(&words).arg(chain().join("genesis.json")).arg(archive))
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

/// Texts in a list of the answer.
fn texts(ended: &Ended, list: &str) -> String {
    fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
        let fields = value.as_object()?;
        fields.get(name).or_else(|| fields.values().find_map(|value| find(value, name)))
    }
    find(&json(ended), list).map(Value::to_string).unwrap_or_default()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_folder_of_era_files_is_one_chain() {
    let scratch = Scratch::new("era-folder");
    let folder = eras(&scratch);
    let ended = verify(&folder, "");
    assert_eq!((ended.code, json(&ended)["status"].as_str()), (Some(0), Some("verified")));
    assert!(texts(&ended, "unchecked").contains("signatures of beacon blocks"), "{ended:?}");
    assert!(texts(&ended, "unchecked").contains("2 beacon blocks from before"), "{ended:?}");
    succeed(blockmill("inspect --deep").arg(&folder));
    let genesis = chain().join("genesis.json");
    let mut import = blockmill("import --level bodies --seal off --chain");
    let store = scratch.path("store");
    succeed(import.arg(&genesis).arg("--data").arg(&store).arg(&folder));
    // a file is missing
    fs::remove_file(folder.join("execapis-00004-64947c64.era")).expect("a file");
    assert_eq!(verify(&folder, "").code, Some(3));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn execution_blocks_convert_to_rlp_and_ere() {
    let scratch = Scratch::new("era-convert");
    let folder = eras(&scratch);
    let convert = |from: &Path, to: &str, name: &str| {
        let (out, genesis) = (scratch.path(name), chain().join("genesis.json"));
        let mut convert = blockmill(&format!("convert --to {to} --chain"));
        succeed(convert.arg(genesis).arg("--out").arg(&out).arg(from));
        out
    };
    let rlp = fs::read(convert(&folder, "rlp", "era.rlp")).expect("an export");
    let whole = fs::read(chain().join("chain.rlp")).expect("the chain");
    assert!(whole.ends_with(&rlp) && rlp.len() > 10_000, "blocks 36 to 54");
    let written = convert(&folder, "ere", "ere");
    assert_eq!(verify(&written, "").code, Some(0));
    assert!(rlp == fs::read(convert(&written, "rlp", "ere.rlp")).expect("an export"));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn proofs_are_compared_with_beacon_roots_where_they_are_given() {
    let scratch = Scratch::new("beacon-roots");
    let folder = eras(&scratch);
    let ended = verify(&ere(), "");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(texts(&ended, "unchecked").contains("19 proofs"), "{ended:?}");
    for roots in [folder, files().join("roots.txt")] {
        let ended = verify(&ere(), &format!("--beacon-roots {}", roots.display()));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(!texts(&ended, "unchecked").contains("proofs"), "{ended:?}");
        assert!(texts(&ended, "checked").contains("19 proofs of the beacon chain"));
        assert!(texts(&ended, "notes").contains("which roots of the beacon chain prove"));
    }
    let other = scratch.path("other.txt");
    fs::write(&other, format!("0x{}\n", "11".repeat(32))).expect("a list");
    let ended = verify(&ere(), &format!("--beacon-roots {}", other.display()));
    assert_eq!((ended.code, json(&ended)["status"].as_str()), (Some(4), Some("corrupt")));
    let mut import = blockmill("import --level bodies --seal off --data");
    import.arg(scratch.path("store")).arg("--beacon-roots").arg(&other);
    let ended = run(import.arg("--chain").arg(chain().join("genesis.json")).arg(ere()));
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let mut rlp = blockmill("verify --beacon-roots");
    let ended = run(rlp.arg(&other).arg(chain().join("chain.rlp")));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("--beacon-roots is for ere files"), "{ended:?}");
}

#[test]
fn eras_after_fulu_are_unrecognised() {
    let gloas = files().join("execapis-00007-2d182a6d.era.zst");
    let ended = run(blockmill("verify").arg(gloas));
    assert_eq!(ended.code, Some(6), "{ended:?}");
    assert!(ended.stderr.contains("Gloas"), "{ended:?}");
}
