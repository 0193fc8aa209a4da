//! Dumps as clients write them, and corrupt ones.

use super::slots::{GivenSlot, Slots};
use super::{DumpEntry, SlotForm, StateDump};
use crate::snapshot::SnapshotError;
use crate::{Hash, U256};
use blockmill_hashes::keccak256;
use blockmill_pipeline::Cancel;
use blockmill_rlp::Encode;
use blockmill_verdict::Hex;
use std::fs;
use std::path::Path;

#[test]
fn slots_in_files_are_those_in_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let sorted = |together: usize, form: SlotForm| {
        let mut slots = Slots::within(folder.path().into(), together);
        for at in 0..1000u64 {
            let name = keccak256(&at.to_le_bytes());
            let value = U256::from(at * at + 1);
            let value = match form {
                SlotForm::Plain => value.to_be_bytes_trimmed_vec(),
                SlotForm::Hashed => value.encode(),
            };
            slots.push(GivenSlot::new(name, &value).expect("a slot")).expect("a file");
        }
        let (mut sorted, root) = slots.sort(form).expect("slots");
        let (mut merge, mut all) = (sorted.slots().expect("files"), vec![]);
        while let Some(slot) = merge.next().expect("files") {
            all.push((slot.key, slot.name, slot.value));
        }
        assert_eq!(all.len(), 1000);
        (all, root)
    };
    for form in [SlotForm::Plain, SlotForm::Hashed] {
        let expected = sorted(1 << 20, form);
        assert!(expected.0.is_sorted());
        for together in [1, 7, 100, 999, 1000, 1001] {
            assert!(sorted(together, form) == expected, "{together}");
        }
    }
}

#[test]
fn a_slot_twice_is_refused_in_memory_and_in_files() {
    let folder = tempfile::tempdir().expect("a folder");
    for together in [2, 3, 100] {
        let mut slots = Slots::within(folder.path().into(), together);
        for name in [1, 2, 3, 4, 1] {
            slots.push(GivenSlot::new([name; 32], &[5]).expect("a slot")).expect("a file");
        }
        assert!(slots.sort(SlotForm::Plain).is_err(), "{together}");
    }
}

/// The keys of accounts, and the slots with their values.
type Entries = (Vec<Hash>, Vec<(Option<U256>, U256)>);

/// Reads a whole dump.
fn read(path: &Path) -> Result<Entries, SnapshotError> {
    let (mut accounts, mut slots) = (vec![], vec![]);
    let folder = path.parent().expect("a folder");
    let mut dump = StateDump::open(path, folder)?.within(2);
    while dump.account(&Cancel::new(), &mut |entry| {
        match entry {
            DumpEntry::Code(hash, code) => assert_eq!(keccak256(code), *hash),
            DumpEntry::Account { key, .. } => accounts.push(*key),
            DumpEntry::Slot { slot, value, .. } => slots.push((slot, value)),
        }
        Ok(())
    })? {}
    Ok((accounts, slots))
}

fn reads(text: &str) -> Result<Entries, SnapshotError> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("dump.jsonl");
    fs::write(&path, text).expect("a file");
    read(&path)
}

const ROOT: &str =
    "{\"root\":\"0x1111111111111111111111111111111111111111111111111111111111111111\"}";

/// The root of the storage with value 200 in slot 3.
fn root_of_one_slot() -> Hash {
    let key = keccak256(&U256::from(3).to_be_bytes::<32>());
    blockmill_trie::RootBuilder::new().sorted([(key, U256::from(200).encode())])
}

#[test]
fn lines_have_any_field_order_and_both_forms_of_storage() {
    let root = Hex(&root_of_one_slot()).to_string();
    let slot = format!("0x{:064x}", 3);
    let key = Hex(&keccak256(&U256::from(3).to_be_bytes::<32>())).to_string();
    let account = Hex(&[7; 32]).to_string();
    let address = Hex(&[1; 20]).to_string();
    let own = |storage: &str| {
        let storage = format!(r#""root":"{root}","storage":{{{storage}}},"key":"{account}""#);
        format!(r#"{{"balance":"1","nonce":2,{storage}}}"#)
    };
    for line in [
        // as go-ethereum has it
        own(&format!(r#""{slot}":"c8""#)),
        own(&format!(r#""{key}":"81c8""#)),
        // as reth takes it, with fields that are not known
        format!(
            r#" {{ "address" : "{address}" , "x": {{"a":[1,-2.5e3,null,"b"]}}, "nonce":"0x2",
               "storage":{{"0x03":"0x00c8"}}, "balance":"0x1", "other":null }} "#
        ),
    ] {
        let (accounts, slots) = reads(&format!("{ROOT}\n{line}\n")).expect("a dump");
        assert_eq!((accounts.len(), slots.len()), (1, 1), "{line}");
        assert_eq!(slots[0].1, U256::from(200));
        assert_eq!(slots[0].0.is_none(), line.contains("81c8"));
    }
}

#[test]
fn errors_name_line_account_expected_and_found() {
    let address = Hex(&[1; 20]).to_string();
    let good = format!(r#"{{"balance":"1","nonce":2,"address":"{address}"}}"#);
    let zeros = Hex(&[0; 32]).to_string();
    let with =
        |field: &str| format!("{ROOT}\n{good}\n{}", good.replace("}", &format!(",{field}}}")));
    for (text, line, expected) in [
        (String::new(), 1, "expected a line with the state root, found the end of the file"),
        (good.clone(), 1, "no root"),
        ("{\"root\":\"ab\",\"accounts\":{}}".into(), 1, "expected a state root, found \"ab\""),
        (ROOT.replace('}', ",\"accounts\":{}}"), 1, "geth dump --iterative"),
        (format!("{ROOT}\n{good}\n\n{{\"nonce\":1}}"), 4, "expected an address or a key"),
        (format!("{ROOT}\n{{\"address\":\"{address}\"}}"), 2, "expected a balance"),
        (format!("{ROOT}\n{}", &good[..good.len() - 4]), 2, "the end of the file"),
        (format!("{ROOT}\n{good}\n[]"), 3, "expected an object, found '['"),
        (with("\"nonce\":18446744073709551616"), 3, "a nonce of 64 bits"),
        (with("\"balance\":\"0xg\""), 3, "expected a balance, found \"0xg\""),
        (with("\"codeHash\":\"0x12\""), 3, "expected a code hash"),
        (with(&format!("\"codeHash\":\"{zeros}\"")), 3, "expected the code with hash 0x0000"),
        (with(&format!("\"key\":\"{zeros}\"")), 3, "Keccak-256 of the address"),
        (with(&format!("\"root\":\"{zeros}\"")), 3, "expected the storage root 0x0000"),
        (with("\"storage\":{\"0x1\":\"01\"}"), 3, "expected a slot of 32 bytes"),
        (with("\"storage\":{\"0x01\":\"\"}"), 3, "a value of at most 256 bits that is not 0"),
        (with("\"storage\":{\"0x01\":\"01\",\"0x0001\":\"02\"}"), 3, "each slot once"),
        (with("\"a\\u0062\":1"), 3, "a string without escapes"),
        (with(&format!("\"x\":{}", "[".repeat(1000))), 3, "nested"),
    ] {
        let error = reads(&text).expect_err(&text).to_string();
        assert!(error.contains(&format!("dump.jsonl, line {line}")), "{error}");
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let error = reads(&with("\"codeHash\":\"0x00\"")).expect_err("a short hash").to_string();
    assert!(error.contains("line 3"), "{error}");
}
