//! Tests of the pages of a table.

use super::*;

const BOTH: EntryKind = EntryKind { live: true, below: true };

fn keys() -> Vec<Vec<u8>> {
    let mut keys: Vec<Vec<u8>> = (0..40u32).map(|n| (n * 7919).to_be_bytes().to_vec()).collect();
    keys.extend((0..20u8).map(|n| vec![9; usize::from(n) + 1]));
    keys.push(vec![255; 255]);
    keys.sort();
    keys
}

#[test]
fn entries_come_back_packed_and_not() {
    for compression in [Compression::None, Compression::Lz4] {
        let mut page = PageBuilder::new(compression);
        let value = |n: usize| vec![n as u8; n % 30];
        for (n, key) in keys().iter().enumerate() {
            assert!(page.push(&Record { key, kind: BOTH, value: &value(n) }));
        }
        let stored = page.finish(5, 6).to_vec();
        assert!(stored.len().is_multiple_of(unit_of(compression)));
        let mut bytes = Vec::new();
        assert!(unpack(&stored, 5, 7, &mut bytes).is_err());
        assert!(unpack(&stored, 4, 6, &mut bytes).is_err());
        let page = Page::new(unpack(&stored, 5, 6, &mut bytes).unwrap()).unwrap();
        let (mut at, mut key) = (HEADER, KeyBytes::default());
        for (n, expected) in keys().iter().enumerate() {
            let (kind, range) = page.step(&mut at, &mut key).unwrap();
            assert_eq!((key.as_ref(), kind, page.value(range)), (&**expected, BOTH, &*value(n)));
            assert_eq!(page.find(expected), Ok(Some((BOTH, &*value(n)))));
            let absent = [&expected[..], &[0]].concat();
            assert!(keys().contains(&absent) || page.find(&absent) == Ok(None));
        }
        assert_eq!((at, page.find(&[0])), (page.end(), Ok(None)));
    }
}

#[test]
fn a_page_is_left_when_it_is_full_and_a_long_entry_is_alone() {
    let mut page = PageBuilder::new(Compression::None);
    let long = vec![7; 100_000];
    assert!(page.push(&Record { key: &[1], kind: EntryKind::FRESH, value: &long }));
    assert!(!page.push(&Record { key: &[2], kind: EntryKind::FRESH, value: &[] }));
    let stored = page.finish(0, 0).to_vec();
    assert_eq!(stored.len(), 25 * PAGE);
    let mut bytes = Vec::new();
    let found = Page::new(unpack(&stored, 0, 0, &mut bytes).unwrap()).unwrap();
    assert_eq!(found.find(&[1]), Ok(Some((EntryKind::FRESH, &*long))));
    page.clear();
    let fits = |n: &u16| {
        page.push(&Record { key: &n.to_be_bytes(), kind: EntryKind::FRESH, value: &[0; 30] })
    };
    let count = (0..1000).take_while(fits).count();
    assert!((110..130).contains(&count), "{count}");
    assert_eq!(page.finish(0, 0).len(), PAGE);
}

#[test]
fn bytes_that_are_no_entry_are_refused() {
    for (bytes, good) in [
        (&[0, 1, 5, 3][..], true),
        (&[1, 1, 5, 3], false),
        (&[0, 2, 5, 3], false),
        (&[0, 1, 5, 4], false),
        (&[0, 1, 5, 7], false),
        (&[0, 0, 3], false),
        (&[0, 1, 5, 255, 255, 255, 255, 255, 1], false),
    ] {
        let bytes = [&[0; HEADER][..], bytes, &[0, 0]].concat();
        let page = Page::new(&bytes).unwrap();
        let found = page.step(&mut HEADER.clone(), &mut KeyBytes::default());
        assert_eq!(found.is_ok(), good, "{bytes:?}");
    }
    assert!(Page::new(&[0; 5]).is_err());
}
