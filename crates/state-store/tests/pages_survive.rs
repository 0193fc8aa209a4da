//! A state in pages is killed at every point of its commits, loses power at any moment, meets a
//! full disk, and has bits turned over: it opens with the state of a commit, and its root, or names
//! the corruption.

use std::{io, path::Path, sync::Arc};

use crate::generated_state::{Batch, Draw, Mood, Random, World, assert_holds, changes};
use blockmill_state_store::{PageStore, PageStoreOptions, PagesOptions};
use blockmill_store::disk::{Disk, Open, simulated::SimulatedDisk};
use blockmill_store::{CrashPoint, Error, Result};
use blockmill_testkit::{rounds, spread};

const DIR: &str = "data";
const BLOCKS: usize = 24;

fn options(disk: &SimulatedDisk) -> PageStoreOptions {
    let mut options = PageStoreOptions::new(1 << 14);
    options.store.disk = Arc::new(disk.clone());
    // small files, so that commits begin and empty some
    // and less memory than all references take, so that they put branches into pages, too
    let (page_bytes, file_bytes, reference_bytes) = (1024, 1 << 13, Some(0));
    options.pages = PagesOptions { page_bytes, file_bytes, reference_bytes, ..options.pages };
    options
}

fn open(disk: &SimulatedDisk) -> Result<PageStore> {
    PageStore::open(Path::new(DIR), &options(disk))
}

/// What each block changes, and the states after them.
fn blocks(seed: u64) -> (Vec<Batch>, Vec<World>) {
    let mut random = Random::new(seed);
    let (mut batches, mut worlds) = (vec![], vec![World::default()]);
    for block in 0..BLOCKS {
        let removes = if block < BLOCKS / 2 { 10 } else { 40 };
        let mood = Mood { draw: Draw::Uniform, removes, changes: 40, slots: 50 };
        let mut world = worlds[block].clone();
        batches.push(world.block(mood, &mut random));
        world.root();
        worlds.push(world);
    }
    (batches, worlds)
}

/// Blocks go in from where the store is, of seven one past the log; of five commits one is a
/// checkpoint in any case, and one syncs the log.
fn go_on(store: &mut PageStore, batches: &[Batch], after: &mut dyn FnMut(usize)) -> Result<()> {
    for (at, batch) in batches.iter().enumerate().skip(store.batches() as usize) {
        match at % 7 {
            3 => store.load(&changes(batch))?,
            _ => store.update(&changes(batch))?,
        };
        match at % 5 {
            4 => store.checkpoint()?,
            2 => store.sync()?,
            _ => store.commit()?,
        }
        after(at + 1);
    }
    Ok(())
}

#[test]
fn a_kill_at_any_point_loses_nothing_that_was_committed() {
    let (batches, mut worlds) = blocks(1);
    let mut random = Random::new(2);
    let mut killed = 0;
    for point in CrashPoint::ALL {
        for passes in 0..rounds(8) as u32 {
            let disk = SimulatedDisk::default();
            let mut options = options(&disk);
            options.store.crash_at = Some((point, passes));
            let mut store = PageStore::open(Path::new(DIR), &options).unwrap();
            let mut committed = 0;
            match go_on(&mut store, &batches, &mut |blocks| committed = blocks) {
                Ok(()) => continue,
                Err(Error::Crash(found)) => assert_eq!(found, point),
                Err(error) => panic!("{point:?}: {error}"),
            }
            killed += 1;
            drop(store);
            let mut store = open(&disk).unwrap();
            let at = store.batches() as usize;
            assert!(at == committed || at == committed + 1, "{point:?}: {at} after {committed}");
            assert_holds(store.pages(), &mut worlds[at], &mut random);
            go_on(&mut store, &batches, &mut |_| ()).unwrap();
            assert_holds(store.pages(), &mut worlds[BLOCKS], &mut random);
        }
    }
    // pages (3), parts, manifest (3), light commits (2), removal (2)
    assert!(killed >= 11 * rounds(8).min(4), "{killed} kills");
}

#[test]
fn a_power_loss_at_any_moment_goes_back_to_a_commit() {
    let (batches, mut worlds) = blocks(3);
    let disk = SimulatedDisk::default();
    let mut store = open(&disk).unwrap();
    // when commits began, were there, and which of them were checkpoints
    let mut moments = vec![(disk.now(), 0)];
    let mut checkpoints = vec![(disk.now(), 0)];
    go_on(&mut store, &batches, &mut |blocks| {
        moments.push((disk.now(), blocks));
        if blocks % 5 == 0 || blocks % 5 == 3 {
            checkpoints.push((disk.now(), blocks));
        }
    })
    .unwrap();
    assert!(store.pages().survey().compacted_bytes > 0, "no file was emptied");
    let mut random = Random::new(4);
    let mut tried = 0;
    let first = moments[0].0;
    for moment in spread(disk.now() + 1).filter(|moment| *moment >= first) {
        let last = checkpoints.iter().rev().find(|(at, _)| *at <= moment).map_or(0, |c| c.1);
        let next = moments.iter().find(|(at, _)| *at >= moment).map_or(BLOCKS, |m| m.1);
        for percent in [0, 100, 1 + random.below(99)] {
            let left = disk.lost_power(moment, &mut || random.below(100_u32) < percent);
            let mut store = match open(&left) {
                Ok(store) => store,
                Err(error) => panic!("moment {moment}, {percent} %: {error}"),
            };
            let at = store.batches() as usize;
            assert!((last..=next).contains(&at), "{at}, not {last} to {next}");
            if tried % 7 == 0 {
                assert_holds(store.pages(), &mut worlds[at], &mut random);
            } else {
                assert_eq!(store.pages().root(), worlds[at].root());
            }
            if tried % 50 == 0 {
                go_on(&mut store, &batches, &mut |_| ()).unwrap();
                assert_holds(store.pages(), &mut worlds[BLOCKS], &mut random);
            }
            tried += 1;
        }
    }
    assert!(tried > rounds(900), "{tried} power losses");
    println!("{tried} power losses");
}

#[test]
fn a_full_disk_loses_nothing_that_was_committed() {
    let (batches, mut worlds) = blocks(7);
    let needed = {
        let (disk, most) = (SimulatedDisk::default(), 1 << 30);
        disk.set_room(Some(most));
        go_on(&mut open(&disk).unwrap(), &batches, &mut |_| ()).unwrap();
        most - disk.room().unwrap()
    };
    let mut random = Random::new(8);
    for at in 0..rounds(200) {
        let disk = SimulatedDisk::default();
        disk.set_room(Some(needed * at / rounds(200)));
        let mut committed = 0;
        let done = open(&disk).and_then(|mut store| {
            let done = go_on(&mut store, &batches, &mut |blocks| committed = blocks);
            let later = [store.commit(), store.sync(), store.checkpoint()];
            assert!(later.iter().all(|later| matches!(later, Err(Error::Failed { .. }))));
            done
        });
        match done {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::StorageFull => {}
            other => panic!("{other:?}"),
        }
        disk.set_room(None);
        let mut store = open(&disk).unwrap();
        let found = store.batches() as usize;
        assert!((committed..=committed + 1).contains(&found), "{found} after {committed}");
        assert_holds(store.pages(), &mut worlds[found], &mut random);
        go_on(&mut store, &batches, &mut |_| ()).unwrap();
        assert_holds(store.pages(), &mut worlds[BLOCKS], &mut random);
    }
    println!("{} full disks, {needed} bytes needed", rounds(200));
}

#[test]
fn a_bit_that_turned_over_is_found() {
    let (batches, mut worlds) = blocks(5);
    let disk = SimulatedDisk::default();
    let mut store = open(&disk).unwrap();
    go_on(&mut store, &batches, &mut |_| ()).unwrap();
    store.checkpoint().unwrap();
    drop(store);
    let (keys, expected): (Vec<_>, Vec<_>) =
        worlds[BLOCKS].pairs().into_iter().map(|(key, value)| (key, Some(value))).unzip();
    let whole = |disk: &SimulatedDisk| -> Result<Vec<Option<Vec<u8>>>> {
        let store = open(disk)?;
        let mut values = vec![];
        for key in &keys {
            let mut out = vec![];
            values.push(store.pages().get(key, &mut out)?.then_some(out));
        }
        Ok(values)
    };
    assert_eq!(whole(&disk).unwrap(), expected);
    let mut names: Vec<_> = disk.list(Path::new(DIR)).unwrap();
    names.retain(|name| name.to_str().unwrap().starts_with("pages"));
    names.sort();
    assert!(names.len() > 2, "{names:?}");
    let mut random = Random::new(6);
    let (mut found, mut unread, few) = (0, 0, rounds(400));
    for round in 0..400 {
        // a dead page is hit once in some thirty
        if round >= few && unread > 0 {
            break;
        }
        let left = disk.lost_power(disk.now(), &mut || true);
        let name = random.pick(&names);
        let file = left.open(&Path::new(DIR).join(&name), Open::Write).unwrap();
        let mut byte = [0];
        let at = random.below(file.bytes().unwrap());
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 1 << random.below(8_u8)], at).unwrap();
        match whole(&left) {
            // a page of dead cells only
            Ok(values) => {
                assert_eq!(values, expected);
                unread += 1;
            }
            Err(Error::Corrupt { path, offset, .. }) => {
                assert_eq!(path.file_name(), Some(&*name));
                assert!(offset <= at, "{offset} {at}");
                found += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(found > unread && unread > 0, "{found} found, {unread} in dead pages");
}
