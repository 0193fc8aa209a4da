//! The kit itself: its values are as documented, and a missing need fails.

use blockmill_testkit::{NEEDS, Random, hex};
use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

#[test]
fn hex_goes_there_and_back() {
    let all: Vec<u8> = (0..=255).collect();
    let digits = hex::encode(&all);
    assert_eq!((digits.len(), &digits[..8], &digits[506..]), (512, "00010203", "fdfeff"));
    assert_eq!(hex::decode(&digits), all);
    assert_eq!(hex::decode(digits.to_uppercase()), all);
    assert_eq!(hex::encode_0x([0, 255]), "0x00ff");
    assert_eq!(hex::array("0x00ff"), [0, 255]);
    for bad in ["0", "0g", "+1", "0x0", "é"] {
        assert!(std::panic::catch_unwind(|| hex::decode(bad)).is_err(), "{bad}");
    }
    assert!(std::panic::catch_unwind(|| hex::array::<3>("00ff")).is_err());
}

#[test]
fn a_seed_decides_the_numbers() {
    // the published sequence of SplitMix64 from 1234567
    let mut random = Random::new(1_234_567);
    let published =
        [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
    assert_eq!([(); 3].map(|()| random.next_u64()), published);
    assert_eq!(Random::new(7).bytes(100), Random::new(7).bytes(100));
    assert_ne!(Random::new(7).array::<32>(), Random::new(8).array::<32>());
}

#[test]
fn every_number_below_a_bound_comes_and_no_other() {
    let mut random = Random::new(1);
    let seen: HashSet<usize> = (0..200).map(|_| random.below(7)).collect();
    assert_eq!(seen, (0..7).collect());
    let lengths: HashSet<u32> =
        (0..4000).map(|_| 64 - random.any_length().leading_zeros()).collect();
    assert_eq!(lengths, (0..=64).collect());
    assert!(std::panic::catch_unwind(|| Random::new(1).below(0)).is_err());
}

#[test]
fn a_flip_turns_one_bit_and_a_shuffle_keeps_all() {
    let mut random = Random::new(2);
    let mut bytes = [0; 9];
    random.flip(&mut bytes);
    assert_eq!(bytes.iter().map(|byte| byte.count_ones()).sum::<u32>(), 1);
    let mut items: Vec<u32> = (0..50).collect();
    random.shuffle(&mut items);
    assert_ne!(items, (0..50).collect::<Vec<_>>());
    items.sort_unstable();
    assert_eq!(items, (0..50).collect::<Vec<_>>());
}

#[test]
fn each_need_has_a_name_and_a_variable_of_its_own() {
    let names: HashSet<_> = NEEDS.iter().map(|need| need.name).collect();
    let variables: HashSet<_> = NEEDS.iter().map(|need| need.variable).collect();
    assert_eq!((names.len(), variables.len()), (NEEDS.len(), NEEDS.len()));
    assert!(NEEDS.iter().all(|need| need.reason().contains(need.variable)));
    let required = |value| NEEDS.iter().filter(|need| need.is_required(value)).count();
    assert_eq!([None, Some(""), Some("1"), Some("all")].map(required), [0, 0, 9, 12]);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn packed_files_are_unpacked_and_kept() {
    let name = "bitcoin/core-datadir-main-0-4521.tar.zst";
    let bytes = blockmill_testkit::read(name);
    assert!(std::sync::Arc::ptr_eq(&bytes, &blockmill_testkit::read(name)));
    let files = blockmill_testkit::tar_files(name, |path| path.ends_with(".dat"));
    assert!(files.len() >= 3, "{}", files.len());
    let folder = tempfile::tempdir().unwrap();
    blockmill_testkit::unpack(name, folder.path());
    for (path, bytes) in files {
        assert_eq!(std::fs::read(folder.path().join(path)).unwrap(), bytes);
    }
}

/// A package that is `testkit` for one test, so that nothing else needs to be compiled.
fn package_with_a_needy_test(folder: &Path) {
    let kit = Path::new(env!("CARGO_MANIFEST_DIR"));
    let needs = kit.join("needs");
    let manifest = format!(
        "[package]\nname = \"blockmill-testkit\"\nedition = \"2024\"\n[workspace]\n\
         [dependencies]\nblockmill-testkit-needs = {{ path = {needs:?} }}\n"
    );
    let [need, place] = ["need", "place"].map(|file| kit.join(format!("src/{file}.rs")));
    let library = format!(
        "#[path = {need:?}]\nmod need;\n#[path = {place:?}]\nmod place;\n\
         pub use blockmill_testkit_needs::needs;\npub use place::path_of;\n"
    );
    let test = "#[blockmill_testkit::needs(fixtures)]\n#[test]\nfn reads_nothing() {}\n";
    for (name, text) in
        [("Cargo.toml", &*manifest), ("src/lib.rs", &library), ("tests/one.rs", test)]
    {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

#[test]
fn a_test_without_its_data_is_ignored_with_the_reason_and_fails_where_it_is_required() {
    let folder = tempfile::tempdir().unwrap();
    package_with_a_needy_test(folder.path());
    let run = |fixtures: Option<&str>, required: Option<&str>, arguments: &[&str]| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["test", "--offline", "--test", "one", "--"]).args(arguments);
        cargo.current_dir(folder.path()).env("CARGO_TARGET_DIR", folder.path().join("target"));
        for variable in ["BLOCKMILL_FIXTURES", "BLOCKMILL_REQUIRE", "RUSTFLAGS"] {
            cargo.env_remove(variable);
        }
        cargo.envs(fixtures.map(|folder| ("BLOCKMILL_FIXTURES", folder)));
        cargo.envs(required.map(|value| (blockmill_testkit::REQUIRE, value)));
        let output = cargo.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    };
    let there = folder.path().to_str().unwrap();
    let reason = "needs real chain data: BLOCKMILL_FIXTURES is not set; set it to the folder";
    // the same package repeatedly: a change of the environment is noticed
    for round in 0..2 {
        let (well, text) = run(None, None, &[]);
        assert!(well && text.contains("0 passed; 0 failed; 1 ignored"), "{round}: {text}");
        assert!(text.contains(&format!("ignored, {reason}")), "{round}: {text}");
        let (well, text) = run(None, None, &["--ignored"]);
        assert!(!well && text.contains(reason), "{round}: {text}");
        let (well, text) = run(None, Some("1"), &[]);
        assert!(!well && text.contains(reason), "{round}: {text}");
        let (well, text) = run(Some(""), Some("all"), &[]);
        assert!(!well && text.contains(reason), "{round}: {text}");
        let (well, text) = run(Some("no-such-folder"), None, &[]);
        assert!(!well && text.contains("no-such-folder, which is not there"), "{round}: {text}");
        let (well, text) = run(Some(there), [None, Some("1")][round], &[]);
        assert!(well && text.contains("1 passed; 0 failed; 0 ignored"), "{round}: {text}");
    }
}
