//! The power fails at any moment of a chain store's life, and of what was not synced any part has
//! reached the disk: the store opens with a commit that is not older than the last sync, whole, and
//! continues there.

use std::{path::Path, sync::Arc};

use crate::generated_blocks::{FIRST, Random, assert_holds, extend, small, tip};
use blockmill_store::disk::simulated::SimulatedDisk;
use blockmill_store::{ChainStore, Options};
use blockmill_testkit::{rounds, spread};

const DIR: &str = "chain";
/// The last block.
const END: u64 = FIRST + 229;

fn open(disk: &SimulatedDisk) -> ChainStore {
    let options = Options { disk: Arc::new(disk.clone()), ..small() };
    ChainStore::open(Path::new(DIR), &options).unwrap().0
}

/// A commit: the last block and the first whole one, the moments at which it began and counted,
/// whether it was durable.
struct Step {
    tip: Option<u64>,
    whole: Option<u64>,
    begun: usize,
    counted: usize,
    durable: bool,
}

/// A life of a store on an empty disk.
fn life(disk: &SimulatedDisk) -> Vec<Step> {
    let mut store = open(disk);
    let mut steps =
        vec![Step { tip: None, whole: None, begun: 0, counted: disk.now(), durable: true }];
    let mut step = |tip, durable, change: &mut dyn FnMut(&mut ChainStore)| {
        let begun = disk.now();
        change(&mut store);
        let (tip, whole) = (Some(tip), store.first_whole());
        steps.push(Step { tip, whole, begun, counted: disk.now(), durable });
    };
    for (n, last) in (FIRST + 9..=END).step_by(22).enumerate() {
        step(last, false, &mut |store| extend(store, last).unwrap());
        if n % 3 == 2 {
            step(last, true, &mut |store| {
                store.remove_before(FIRST.max(last - 80 + 10 * n as u64)).unwrap();
                store.sync().unwrap();
            });
        }
        if n == 6 {
            let last = last - 50;
            step(last, true, &mut |store| store.truncate_after(&tip(last)).unwrap());
        }
    }
    assert!(store.count() > 200);
    steps
}

#[test]
fn what_was_synced_survives_a_power_loss_at_any_moment() {
    let disk = SimulatedDisk::default();
    let steps = life(&disk);
    let (mut tried, mut went_back) = (0, 0);
    for moment in spread(disk.now() + 1) {
        let is_safe = |step: &Step| step.durable && step.counted <= moment;
        let safe = steps.iter().rposition(is_safe).unwrap_or(0);
        let begun = steps.iter().rposition(|step| step.begun <= moment).unwrap_or(0);
        for percent in [0, 30, 80, 97, 100] {
            let mut random = Random::new(tried as u64);
            let left = disk.lost_power(moment, &mut || random.below(100) < percent);
            let mut store = open(&left);
            let found = store.tip().map(|tip| tip.number);
            let is_found = |step: &Step| step.tip == found && step.whole == store.first_whole();
            let may = steps[safe..=begun].iter().any(is_found);
            assert!(may, "moment {moment}, {percent} %: {found:?}");
            went_back += usize::from(percent < 100 && found != steps[begun].tip);
            tried += 1;
            if tried % 7 > 0 {
                continue;
            }
            assert_holds(&store, found);
            if found != Some(END) {
                extend(&mut store, END).unwrap();
            }
            drop(store);
            assert_holds(&open(&left), Some(END));
        }
    }
    println!("{tried} power losses, {went_back} of which lost a commit");
    let enough = tried > rounds(1000) && went_back > rounds(100);
    assert!(enough, "{tried} power losses, {went_back} hurt");
}
