//! The last record of a file that is being written.

use super::super::{FRAME, XorKey, is_being_written};
use super::MAGIC;
use std::fs;

/// A record with a block of one transaction, which ends with a byte that is not zero.
fn record(number: u8) -> Vec<u8> {
    let mut block = vec![number; 80];
    block.push(1);
    block.extend([1, 0, 0, 0, 1]);
    block.extend([0; 36]);
    block.extend([1, 0x51, 0xff, 0xff, 0xff, 0xff, 1]);
    block.extend([9; 8]);
    block.extend([1, 0x51, 1, 2, 3, 4]);
    let mut record = MAGIC.to_vec();
    record.extend((block.len() as u32).to_le_bytes());
    record.extend(block);
    record
}

#[test]
fn half_a_record_is_being_written_until_another_one_follows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blk00000.dat");
    let (one, two) = (record(1), record(2));
    let start = one.len() as u64;
    for key in [XorKey::default(), XorKey([1, 2, 3, 4, 5, 6, 7, 8])] {
        fs::write(folder.path().join("xor.dat"), key.0).unwrap();
        let written = |clear: &[u8], zeros: usize, offset: u64| {
            let mut bytes = clear.to_vec();
            key.apply(&mut bytes, 0);
            bytes.extend(vec![0; zeros]);
            fs::write(&path, bytes).unwrap();
            is_being_written(&path, offset).unwrap()
        };
        for length in FRAME as usize..two.len() {
            let half = [&one[..], &two[..length]].concat();
            for zeros in [0, 5000] {
                assert!(written(&half, zeros, start), "{length} of {}, {zeros}", two.len());
            }
            let followed = [&half[..], &record(3)].concat();
            assert!(!written(&followed, 0, start), "{length}: a whole record follows");
        }
        let whole = [one.clone(), two.clone()].concat();
        for zeros in [0, 5000] {
            assert!(!written(&whole, zeros, start), "a whole record");
            assert!(!written(&whole, zeros, start + FRAME), "its block");
        }
        assert!(!written(&whole, 5000, 0), "a record that another one follows");
    }
}
