//! Tests of cells: encoding, change and division.

use super::*;
use blockmill_testkit::{Random, rounds};

fn entries(random: &mut Random, trie: u32, depth: usize, count: usize) -> Vec<Entry<'static>> {
    let prefix: [u8; 32] = random.array();
    let mut entries: Vec<_> = (0..count)
        .map(|_| {
            let mut key: [u8; 32] = random.array();
            let whole = depth / 2;
            key[..whole].copy_from_slice(&prefix[..whole]);
            if depth % 2 == 1 {
                key[whole] = key[whole] & 15 | prefix[whole] & 0xf0;
            }
            let len = random.below(MAX_VALUE + 1);
            let (value, cut) = (Cow::Owned(random.bytes(len)), random.coin());
            let len = if trie == ACCOUNTS { random.below(200_usize) } else { 0 };
            Entry { key, value, cut, nested: Cow::Owned(random.bytes(len)) }
        })
        .collect();
    entries.sort_by_key(|entry| entry.key);
    entries.dedup_by_key(|entry| entry.key);
    entries
}

#[test]
fn a_record_comes_back() {
    let mut random = Random::new(1);
    for round in 0..rounds(2000) {
        let (trie, depth) = (random.below(3_u32), round % 65);
        let count = 1 + random.below(6_usize);
        let entries = entries(&mut random, trie, depth, count);
        let place = Place { trie, key: entries[0].key, depth };
        let bytes = encode(&place, &entries);
        assert_eq!(bytes.len(), record_len(trie, depth, &entries));
        let record = Record::new(&bytes).unwrap();
        assert_eq!(record.count, entries.len());
        let other = encode(&Place { trie: trie + 1, ..place }, &entries);
        let two = [&bytes[..], &other].concat();
        assert_eq!(len_at(&two, &place, false), Some(bytes.len()));
        assert_eq!(len_at(&two, &Place { trie: trie + 1, ..place }, false), None);
        assert_eq!(len_at(&bytes[..bytes.len() - 1], &place, false), None);
        let found: Vec<_> = record.entries().collect();
        let parts = |entries: &[Entry<'_>]| -> Vec<_> {
            let part = |e: &Entry<'_>| (e.key, e.value.to_vec(), e.cut, e.nested.to_vec());
            entries.iter().map(part).collect()
        };
        assert_eq!(parts(&found), parts(&entries));
        let unit = [4, 16, 64][round % 3];
        let gap = vec![0; bytes.len().next_multiple_of(unit) - bytes.len()];
        let page = [&bytes[..], &gap, &bytes[..], &[0; 140]].concat();
        assert_eq!(records(&page, unit).collect::<Vec<_>>(), [&bytes[..], &bytes[..]]);
    }
}

#[test]
fn a_value_takes_the_place_of_another() {
    let mut random = Random::new(3);
    let mut refused = 0;
    for round in 0..rounds(2000) {
        let (trie, depth) = (1 + random.below(2_u32), round % 64);
        let count = 1 + random.below(MOST);
        let mut entries = entries(&mut random, trie, depth, count);
        let longest = Cow::Owned(random.bytes(MAX_VALUE));
        for entry in &mut entries {
            entry.cut = false;
            if round % 2 == 0 {
                entry.value.clone_from(&longest);
            }
        }
        let place = Place { trie, key: entries[0].key, depth };
        let bytes = encode(&place, &entries);
        let record = Record::new(&bytes).unwrap();
        assert!(record.find(&random.array()).is_none());
        let which = random.below(entries.len());
        let (at, entry) = record.find(&entries[which].key).unwrap();
        assert_eq!((entry.key, &entry.value), (entries[which].key, &entries[which].value));
        let len = 1 + random.below(MAX_VALUE);
        let value = random.bytes(len);
        let changed = with_value(&bytes, at, &value);
        entries[which].value = Cow::Owned(value);
        let expected = fits(trie, depth, &entries).then(|| encode(&place, &entries));
        refused += usize::from(expected.is_none());
        assert_eq!(changed, expected);
    }
    assert!(refused > 0, "no record became too long");
}

#[test]
fn bytes_that_are_no_record_do_no_harm() {
    let mut random = Random::new(2);
    let mut read = 0;
    for _ in 0..rounds(20_000) {
        let entries = entries(&mut random, ACCOUNTS, 3, 3);
        let mut bytes =
            encode(&Place { trie: 0, key: entries[0].key, depth: 3 }, &entries).into_vec();
        random.flip(&mut bytes);
        bytes.truncate(random.below(bytes.len() + 1));
        for record in records(&bytes, 4).filter_map(Record::new) {
            read += record.entries().map(|entry| nested(&entry.nested).count()).sum::<usize>();
            if let Some((at, _)) = record.find(&entries[0].key) {
                _ = with_value(&bytes, at, b"value");
            }
        }
    }
    assert!(read > 0, "no slot was read");
}
