//! The layers of the state over a table on disk, against a plain map.

use blockmill_neo::state::{Base, Direction, State, StorageKey, Value};
use blockmill_store::{Store, StoreOptions, TableOptions};
use blockmill_testkit::Random;
use std::collections::BTreeMap;

type Map = BTreeMap<(i32, Vec<u8>), Vec<u8>>;

/// Short keys, many with common prefixes.
fn key(random: &mut Random) -> Vec<u8> {
    let length = random.below(4_usize);
    (0..length).map(|_| random.pick(&[0, 1, 2, 0xfe, 0xff])).collect()
}

fn id(random: &mut Random) -> i32 {
    random.pick(&[-1, 0, 1, 256])
}

fn change(random: &mut Random, state: &mut State, map: &mut Map) {
    let (id, key) = (id(random), key(random));
    if random.below(3_u8) == 0 {
        state.delete(id, &key);
        map.remove(&(id, key));
    } else {
        let length = random.below(5_usize);
        let value = random.bytes(length);
        state.put(id, &key, &value[..]);
        map.insert((id, key), value);
    }
}

fn expected(
    map: &Map,
    id: i32,
    prefix: &[u8],
    start: &[u8],
    direction: Direction,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let from = [prefix, start].concat();
    let is_in = |key: &Vec<u8>| match direction {
        _ if start.is_empty() => true,
        Direction::Forwards => *key >= from,
        Direction::Backwards => *key <= from,
    };
    let all = map
        .iter()
        .filter(|((other, key), _)| *other == id && key.starts_with(prefix) && is_in(key));
    let mut all: Vec<_> = all.map(|((_, key), value)| (key.clone(), value.clone())).collect();
    if direction == Direction::Backwards {
        all.reverse();
    }
    all
}

fn check(random: &mut Random, state: &State, map: &Map) {
    let (id, prefix) = (id(random), key(random));
    assert_eq!(
        state.get(id, &prefix).as_deref(),
        map.get(&(id, prefix.clone())).map(Vec::as_slice)
    );
    let prefix = prefix.get(..random.below(prefix.len() + 1)).unwrap();
    let start = if random.coin() { key(random) } else { vec![] };
    let direction = random.pick(&[Direction::Forwards, Direction::Backwards]);
    let mut find = state.find(id, prefix, &start, direction);
    let mut found = Vec::new();
    while let Some((key, value)) = state.next(&mut find) {
        assert_eq!(key.id(), id);
        found.push((key.key().to_vec(), value.to_vec()));
    }
    assert_eq!(
        found,
        expected(map, id, prefix, &start, direction),
        "{id} {prefix:?} {start:?} {direction:?}"
    );
}

#[test]
fn layers_over_a_table_equal_one_map() {
    let mut random = Random::new_each_run("layers_over_a_table_equal_one_map");
    let folder = tempfile::tempdir().unwrap();
    let mut opening = Store::open(folder.path(), &StoreOptions::default()).unwrap();
    let mut table = opening.table("storage", &TableOptions::new(1 << 22)).unwrap();
    let (mut on_disk, _) = opening.finish().unwrap();
    let mut state = State::new(Base::over(table.reader()));
    let mut maps = vec![Map::new()];
    let mut flushes = 0;
    for _ in 0..20_000 {
        match random.below(40_u8) {
            0 => {
                state.begin();
                maps.push(maps.last().unwrap().clone());
            }
            1 if maps.len() > 1 => {
                state.commit();
                let upper = maps.pop().unwrap();
                *maps.last_mut().unwrap() = upper;
            }
            2 if maps.len() > 1 => {
                state.rollback();
                maps.pop();
            }
            3 => {
                maps.truncate(1);
                let changes = state.end_block();
                assert!(changes.is_sorted_by(|one, other| one.0 < other.0));
            }
            4 if maps.len() == 1 => {
                // a flush while blocks are executed
                state.end_block();
                let layer = state.base_mut().begin_flush();
                for (key, value) in &*layer {
                    match value {
                        Some(value) => table.put(key.as_slice(), value).unwrap(),
                        None => table.delete(key.as_slice()).unwrap(),
                    }
                }
                for _ in 0..random.below(20_u8) {
                    change(&mut random, &mut state, maps.last_mut().unwrap());
                    check(&mut random, &state, maps.last().unwrap());
                }
                on_disk.commit(&mut [(&mut table).into()], &[]).unwrap();
                state.base_mut().end_flush();
                flushes += 1;
            }
            5..20 => change(&mut random, &mut state, maps.last_mut().unwrap()),
            _ => check(&mut random, &state, maps.last().unwrap()),
        }
    }
    assert!(flushes > 50, "{flushes}");
    state.failure().unwrap();
}

#[test]
fn iterations_of_a_long_block_see_all_its_layers() {
    let mut random = Random::new_each_run("iterations_of_a_long_block_see_all_its_layers");
    let mut state = State::new(Base::default());
    let mut maps = vec![Map::new()];
    // enough to sort the keys of the block
    for _ in 0..8_000 {
        match random.below(20_u8) {
            0 => {
                state.begin();
                maps.push(maps.last().unwrap().clone());
            }
            1 if maps.len() > 1 => {
                state.commit();
                let upper = maps.pop().unwrap();
                *maps.last_mut().unwrap() = upper;
            }
            2 if maps.len() > 1 => {
                state.rollback();
                maps.pop();
            }
            3..10 => change(&mut random, &mut state, maps.last_mut().unwrap()),
            _ => check(&mut random, &state, maps.last().unwrap()),
        }
    }
    let changes = state.end_block();
    assert!(changes.is_sorted_by(|one, other| one.0 < other.0));
    maps.truncate(1);
    check(&mut random, &state, &maps[0]);
    // without an open layer the whole block is rolled back
    change(&mut random, &mut state, &mut maps[0].clone());
    state.rollback();
    check(&mut random, &state, &maps[0]);
}

#[test]
fn an_iteration_sees_the_state_of_its_start() {
    let mut state = State::new(Base::default());
    for number in 0..100_u8 {
        state.put(1, &[number], &[number][..]);
    }
    state.end_block();
    for direction in [Direction::Forwards, Direction::Backwards] {
        state.begin();
        state.delete(1, &[50]);
        let mut find = state.find(1, &[], &[], direction);
        for number in 0..100_u8 {
            state.delete(1, &[number]);
        }
        let mut found: Vec<u8> = Vec::new();
        while let Some((key, value)) = state.next(&mut find) {
            assert_eq!(key.key(), &value[..]);
            found.push(value[0]);
        }
        state.rollback();
        let mut expected: Vec<u8> = (0..100).filter(|number| *number != 50).collect();
        if direction == Direction::Backwards {
            expected.reverse();
        }
        assert_eq!(found, expected);
    }
}

#[test]
fn an_iteration_skips_many_deleted_keys() {
    let folder = tempfile::tempdir().unwrap();
    let mut opening = Store::open(folder.path(), &StoreOptions::default()).unwrap();
    let mut table = opening.table("storage", &TableOptions::new(1 << 22)).unwrap();
    let (mut on_disk, _) = opening.finish().unwrap();
    let numbered = |number: u32| StorageKey::new(1, &number.to_be_bytes()).unwrap();
    for number in 0..20_000 {
        table.put(numbered(number).as_slice(), &[1]).unwrap();
    }
    on_disk.commit(&mut [(&mut table).into()], &[]).unwrap();
    let mut state = State::new(Base::over(table.reader()));
    for number in 3..19_998 {
        state.delete(1, numbered(number).key());
    }
    state.end_block();
    for direction in [Direction::Forwards, Direction::Backwards] {
        let found: Vec<StorageKey> = state.find_all(1, &[], direction).map(|pair| pair.0).collect();
        let mut expected = [0, 1, 2, 19_998, 19_999].map(numbered).to_vec();
        if direction == Direction::Backwards {
            expected.reverse();
        }
        assert_eq!(found, expected);
    }
}

#[test]
fn a_key_that_is_too_long_is_never_found() {
    let mut state = State::new(Base::default());
    state.put(1, &[7; 65], &[1][..]);
    state.put(1, &[7; 64], &[2][..]);
    assert_eq!(state.get(1, &[7; 65]), None);
    assert_eq!(state.get(1, &[7; 64]), Some(Value::from([2])));
    assert_eq!(state.find_all(1, &[7; 64], Direction::Forwards).count(), 1);
    assert_eq!(state.find_all(1, &[7; 65], Direction::Forwards).count(), 0);
    assert!(StorageKey::new(1, &[7; 65]).is_none());
    assert_eq!(state.end_block().len(), 1);
}
