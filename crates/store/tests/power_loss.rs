//! The power fails at any moment, and of what was not synced any part has reached the disk, in any
//! order: the store opens with one commit or the next, whole, and continues there. Of light
//! commits any may be lost, back to the last durable one.

use std::{path::Path, sync::Arc};

use crate::generated_keys::{Keys, Random, State, assert_same, value};
use blockmill_store::disk::simulated::SimulatedDisk;
use blockmill_store::{
    CommitPart, Compression, Error, LogFile, Result, Segment, Store, StoreOptions, Table,
    TableOptions,
};
use blockmill_testkit::{rounds, spread};

const DIR: &str = "data";
/// Small, so that the log has several files.
const FILE_BYTES: u64 = 3000;
const COMMITS: usize = 18;

/// Two of three commits are durable ones, of all parts; the others are light ones, of the segment.
fn is_light(commit: usize) -> bool {
    commit % 3 == 2
}

/// Two tables, a log and a segment under one manifest.
struct Parts {
    store: Store,
    counted: Table,
    other: Table,
    log: LogFile,
    segment: Segment,
    state: Vec<u8>,
}

/// What they should hold after a commit.
#[derive(Clone, Default)]
struct Expected {
    counted: State,
    other: State,
    /// Where records end, and what they are.
    log: Vec<(u64, Vec<u8>)>,
    segment: Vec<u8>,
}

impl Parts {
    fn open(disk: &SimulatedDisk) -> Result<Parts> {
        let options = StoreOptions { disk: Arc::new(disk.clone()), crash_at: None };
        let mut opening = Store::open(Path::new(DIR), &options)?;
        let counted = opening.table("counted", &TableOptions::read_once(1 << 20))?;
        let compression = Compression::Lz4;
        let options = TableOptions { prefix_bytes: 4, compression, ..TableOptions::new(1 << 20) };
        let other = opening.table("other", &options)?;
        let log = opening.log("log", FILE_BYTES)?;
        let segment = opening.segment("segment", 4096)?;
        let (store, state) = opening.finish()?;
        Ok(Parts { store, counted, other, log, segment, state })
    }

    /// The commit that is on the disk.
    fn number(&self) -> usize {
        self.state.first().map_or(0, |number| usize::from(*number))
    }

    /// The changes of a commit; the same whenever they are made.
    fn change(&mut self, expected: &mut Expected, commit: usize) {
        let (mut random, keys) = (Random::new(commit as u64), Keys { chains: 3 });
        // a light commit follows: bytes that were cut off may come back under it
        if commit % 9 == 1 {
            let keep = random.below(expected.segment.len() + 1);
            expected.segment.truncate(keep);
            self.segment.cut(keep as u64).unwrap();
            assert!(matches!(self.segment.append(b"early"), Err(Error::Mismatch { .. })));
        } else {
            let bytes = vec![commit as u8; random.below(12_000)];
            self.segment.append(&bytes).unwrap();
            expected.segment.extend(bytes);
        }
        if is_light(commit) {
            return;
        }
        for _ in 0..25 {
            let (key, value) = (keys.any(&mut random), value(&mut random));
            if expected.counted.remove(&key[..]).is_some() {
                assert!(self.counted.take(&key, None, &mut vec![]).unwrap());
            } else {
                self.counted.insert(&key, &value).unwrap();
                expected.counted.insert(key.to_vec(), value.clone());
            }
            if random.below(3) == 0 {
                self.other.delete(&key[8..]).unwrap();
                expected.other.remove(&key[8..]);
            } else {
                self.other.put(&key[8..], &value).unwrap();
                expected.other.insert(key[8..].to_vec(), value);
            }
        }
        if commit % 4 == 3 {
            let keep = random.below(expected.log.len() + 1);
            expected.log.truncate(keep);
            self.log.cut(expected.log.last().map_or(0, |(end, _)| *end)).unwrap();
        } else {
            for _ in 0..random.below(8) {
                let record = vec![commit as u8; random.below(1500)];
                expected.log.push((self.log.append(&record).unwrap(), record));
            }
        }
    }

    fn commit(&mut self, number: usize) {
        let Parts { store, counted, other, log, segment, state } = self;
        *state = vec![number as u8];
        let mut parts: [CommitPart; 4] = [counted.into(), other.into(), log.into(), segment.into()];
        if is_light(number) {
            store.commit_light(&mut parts, state).unwrap();
        } else {
            store.commit(&mut parts, state).unwrap();
        }
    }

    fn assert_is(&self, expected: &Expected) {
        assert_same(&self.counted, &expected.counted);
        assert_eq!(self.counted.len(), expected.counted.len() as u64);
        assert_same(&self.other, &expected.other);
        assert_eq!(self.log.len(), expected.log.last().map_or(0, |(end, _)| *end));
        let mut out = vec![];
        for (end, record) in &expected.log {
            self.log.read(*end, &mut out).unwrap();
            assert_eq!(out, *record);
        }
        let mut found = vec![0; self.segment.len() as usize];
        self.segment.read(0, &mut found).unwrap();
        assert!(found == expected.segment, "{} bytes in the segment", found.len());
    }
}

/// A life of a store on an empty disk: what there should be after each commit, and the moments at
/// which commits began and counted.
fn life(disk: &SimulatedDisk) -> (Vec<Expected>, Vec<(usize, usize)>) {
    let mut parts = Parts::open(disk).unwrap();
    let (mut expected, mut moments) = (vec![Expected::default()], vec![(0, disk.now())]);
    for commit in 1..=COMMITS {
        let mut next = expected[commit - 1].clone();
        parts.change(&mut next, commit);
        let begun = disk.now();
        parts.commit(commit);
        moments.push((begun, disk.now()));
        expected.push(next);
        // the merge's writes lie between commits, and another time next to them
        if commit % 3 > 0 {
            parts.counted.wait_for_merge();
            parts.other.wait_for_merge();
        }
    }
    parts.assert_is(&expected[COMMITS]);
    (expected, moments)
}

/// Opens what is left of the disk and works on to the end.
fn resume(disk: &SimulatedDisk, expected: &[Expected], last: usize, next: usize, to_the_end: bool) {
    let mut parts = match Parts::open(disk) {
        Ok(parts) => parts,
        Err(error) => panic!("between commit {last} and {next}: {error}"),
    };
    let number = parts.number();
    assert!((last..=next).contains(&number), "commit {number}, not {last} or {next}");
    parts.assert_is(&expected[number]);
    let mut state = expected[number].clone();
    for commit in number + 1..=if to_the_end { COMMITS } else { number } {
        parts.change(&mut state, commit);
        parts.commit(commit);
    }
    parts.assert_is(&state);
}

/// Parts of what was not synced that survive at a moment: all subsets where they are few.
fn survivals(random: &mut Random, unsynced: usize) -> Vec<u64> {
    match unsynced {
        0..=5 => (0..1 << unsynced).collect(),
        // none, all, and twenty others
        _ => [0, u64::MAX].into_iter().chain((0..20).map(|_| random.next_u64())).collect(),
    }
}

#[test]
fn what_was_committed_survives_a_power_loss_at_any_moment() {
    let disk = SimulatedDisk::default();
    let (expected, moments) = life(&disk);
    let mut random = Random::new(1);
    let mut tried = 0;
    for moment in spread(disk.now() + 1) {
        let counts = |commit: &usize| !is_light(*commit) && moments[*commit].1 <= moment;
        let last = (0..=COMMITS).rev().find(counts).unwrap_or(0);
        let next = moments.iter().rposition(|(begun, _)| *begun <= moment).unwrap_or(0);
        let mut unsynced = 0;
        _ = disk.lost_power(moment, &mut || {
            unsynced += 1;
            true
        });
        for (n, bits) in survivals(&mut random, unsynced).into_iter().enumerate() {
            let mut at = 0;
            let mut chance = Random::new(bits);
            // the likelihood that a change survives differs from one power loss to the next
            let percent = 1 + bits % 99;
            let left = disk.lost_power(moment, &mut || {
                at += 1;
                match bits {
                    u64::MAX => true,
                    _ if unsynced <= 5 => bits >> (at - 1) & 1 == 1,
                    0 => false,
                    _ => chance.next_u64() % 100 < percent,
                }
            });
            resume(&left, &expected, last, next, tried % 10 == 0 && n % 2 == 0);
            tried += 1;
        }
    }
    assert!(tried > rounds(3000), "{tried} power losses");
    println!("{tried} power losses at {} moments", disk.now());
}

#[test]
fn a_light_commit_is_of_segments_that_only_grew() {
    let disk = SimulatedDisk::default();
    let mut parts = Parts::open(&disk).unwrap();
    let light = |parts: &mut Parts| {
        let Parts { store, counted, other, log, segment, state } = parts;
        let mut all: [CommitPart; 4] = [counted.into(), other.into(), log.into(), segment.into()];
        store.commit_light(&mut all, state)
    };
    parts.segment.append(b"counts").unwrap();
    light(&mut parts).unwrap();
    let changes: [fn(&mut Parts); 3] = [
        |parts| parts.other.put(b"key", b"value").unwrap(),
        |parts| _ = parts.log.append(b"record").unwrap(),
        |parts| parts.segment.cut(3).unwrap(),
    ];
    for (change, number) in changes.iter().zip([0, 3, 6]) {
        change(&mut parts);
        let refused = light(&mut parts);
        assert!(matches!(refused, Err(Error::Mismatch { .. })), "{refused:?}");
        parts.commit(number);
        light(&mut parts).unwrap();
    }
    drop(parts);
    let parts = Parts::open(&disk).unwrap();
    assert_eq!((parts.segment.len(), parts.number()), (3, 6));
    assert_eq!(parts.log.len(), 14);
}

/// Whole pieces with their sums may be there again after a power loss: those of before a cut.
#[test]
fn bytes_that_were_cut_off_do_not_come_back_under_a_light_commit() {
    let disk = SimulatedDisk::default();
    let open = |disk: &SimulatedDisk| {
        let options = StoreOptions { disk: Arc::new(disk.clone()), crash_at: None };
        let mut opening = Store::open(Path::new(DIR), &options).unwrap();
        let segment = opening.segment("segment", 1 << 20).unwrap();
        let (store, state) = opening.finish().unwrap();
        (store, segment, state)
    };
    let (mut store, mut segment, _) = open(&disk);
    segment.append(&[b'a'; 3 * 4096]).unwrap();
    store.commit(&mut [(&mut segment).into()], b"a").unwrap();
    segment.cut(0).unwrap();
    store.commit(&mut [(&mut segment).into()], b"cut").unwrap();
    segment.append(&[b'b'; 2 * 4096]).unwrap();
    store.commit_light(&mut [(&mut segment).into()], b"b").unwrap();
    let mut unsynced = 0;
    _ = disk.lost_power(disk.now(), &mut || {
        unsynced += 1;
        true
    });
    let mut light = 0;
    for from in 0..unsynced {
        for to in from..=unsynced {
            let mut at = 0;
            let left = disk.lost_power(disk.now(), &mut || {
                at += 1;
                (from..to).contains(&(at - 1))
            });
            let (_, segment, state) = open(&left);
            let mut found = vec![0; segment.len() as usize];
            segment.read(0, &mut found).unwrap();
            match &*state {
                b"cut" => assert!(found.is_empty()),
                b"b" => assert!(found == [b'b'; 2 * 4096], "{from} to {to} of {unsynced}"),
                other => panic!("{other:?}"),
            }
            light += u32::from(state == b"b");
        }
    }
    assert!(light > 0 && unsynced > 10, "{light} light commits, {unsynced} changes");
}
