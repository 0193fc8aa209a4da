//! Other threads fetch while a table flushes and merges: every value comes back once.

use std::{
    sync::{
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use crate::generated_keys::{Key, OneTable, Random, coin_key, coin_value, folder};
use blockmill_store::{Fetched, Table, TableOptions};

/// Keys that go through the threads together, like a batch of blocks.
const BATCH: u64 = 500;

#[test]
fn threads_fetch_ahead_while_the_store_flushes_and_merges() {
    let dir = folder();
    let mut open = OneTable::open(dir.path(), &TableOptions::read_once(1 << 20)).unwrap();
    let (reader, stop) = (open.table.reader(), AtomicBool::new(false));
    let (ask, asked) = mpsc::sync_channel::<u64>(4);
    let (answer, answered) = mpsc::sync_channel::<(u64, Vec<Key>, Fetched)>(4);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut fetched = Fetched::default();
            let mut random = Random::new(3);
            while !stop.load(SeqCst) {
                let keys: Vec<Key> = (0..200).map(|_| coin_key(random.below(150_000))).collect();
                reader.snapshot().fetch(&keys, &mut fetched).unwrap();
            }
        });
        let reader = reader.clone();
        scope.spawn(move || {
            for batch in asked {
                let keys: Vec<Key> = (batch * BATCH..(batch + 1) * BATCH).map(coin_key).collect();
                let mut fetched = Fetched::default();
                reader.snapshot().fetch(&keys, &mut fetched).unwrap();
                answer.send((batch, keys, fetched)).unwrap();
            }
        });
        let mut hinted = 0;
        for batch in 0..300 {
            (batch * BATCH..(batch + 1) * BATCH)
                .for_each(|n| assert!(!open.table.insert(&coin_key(n), &coin_value(n)).unwrap()));
            if batch >= 40 {
                ask.send(batch - 40).unwrap();
            }
            if batch >= 43 {
                // fetched before the last flushes and changes, taken after them
                let (batch, keys, fetched) = answered.recv().unwrap();
                hinted += take_batch(&mut open.table, batch, &keys, &fetched);
            }
            if batch % 6 == 0 {
                open.commit(b"").unwrap();
            }
        }
        drop(ask);
        stop.store(true, SeqCst);
        assert!(hinted > 1000, "{hinted} values came from other threads");
        assert_eq!(open.table.len(), 43 * BATCH);
    });
}

/// Takes a batch, every seventh of it without what was fetched. Returns how much was fetched.
fn take_batch(table: &mut Table, batch: u64, keys: &[Key], fetched: &Fetched) -> u64 {
    let (mut out, mut hinted) = (Vec::new(), 0);
    for (at, key) in keys.iter().enumerate() {
        out.clear();
        let hint = fetched.hint(at).filter(|_| at % 7 != 0);
        let current = hint.filter(|hint| hint.generation == table.snapshot().generation());
        hinted += u64::from(current.is_some_and(|hint| hint.value.is_some()));
        assert!(table.take(key, hint, &mut out).unwrap());
        assert_eq!(out, coin_value(batch * BATCH + at as u64));
        assert!(!table.take(key, hint, &mut out).unwrap());
    }
    hinted
}
