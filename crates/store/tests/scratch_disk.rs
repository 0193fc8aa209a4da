//! A store on a disk that promises nothing holds what was committed, as long as there is power.

use blockmill_store::disk::ScratchDisk;
use blockmill_store::{CommitPart, Store, StoreOptions, TableOptions};
use std::sync::Arc;

#[test]
fn what_is_committed_on_it_is_there_when_it_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions { disk: Arc::new(ScratchDisk), ..StoreOptions::default() };
    for round in 0..3u8 {
        let mut opening = Store::open(folder.path(), &options).unwrap();
        let mut table = opening.table("values", &TableOptions::new(1 << 16)).unwrap();
        let (mut store, state) = opening.finish().unwrap();
        assert_eq!(state, vec![round; usize::from(round)]);
        let mut found = vec![];
        let known = table.get(&[round.wrapping_sub(1)], &mut found).unwrap();
        assert_eq!(known.then_some(found), (round > 0).then(|| vec![round - 1; 100]));
        table.put(&[round], &[round; 100]).unwrap();
        let state = vec![round + 1; usize::from(round) + 1];
        store.commit(&mut [CommitPart::Table(&mut table)], &state).unwrap();
    }
}
