//! Transfers in neo-go's application logs add up to the balances in its storage.

use crate::dumps::{Dump, oracle};
use blockmill_neo::logs::{
    self, CachedTable, Event, Movement, Standard, TRANSFERS, UPDATES, transfer_of,
};
use blockmill_neo::state::{Base, Direction, State};
use blockmill_neo::types::{UInt160, write};
use blockmill_store::{Store, StoreOptions, TableOptions};
use flate2::read::GzDecoder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};

/// Hash and id of the native contracts NEO and GAS, and the prefix of their balances.
const NEO: (&str, i32) = ("0xef4073a0f2b305a38ec4050e4d3d28bc40ea63f5", -5);
const GAS: (&str, i32) = ("0xd2a4cff31913016155e38e474a2c06d08be276cf", -6);
const BALANCES: u8 = 20;

fn base64(text: &str) -> Vec<u8> {
    let value = |digit: u8| match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.trim_end_matches('=').bytes().map(value).collect();
    let bits = |pair: &[u8]| pair.iter().fold(0_u32, |all, digit| all << 6 | u32::from(*digit));
    let group = |group: &[u8]| {
        let number = bits(group) << (6 * (4 - group.len()));
        number.to_be_bytes()[1..group.len()].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}

/// An item of an application log in its binary form.
fn item(value: &Value, out: &mut Vec<u8>) {
    match value["type"].as_str().unwrap() {
        "Any" => out.push(0),
        "Boolean" => out.extend([0x20, u8::from(value["value"].as_bool().unwrap())]),
        "Integer" => {
            let number: i128 = value["value"].as_str().unwrap().parse().unwrap();
            out.push(0x21);
            write::string(out, &number.to_le_bytes());
        }
        kind @ ("ByteString" | "Buffer") => {
            out.push(if kind == "Buffer" { 0x30 } else { 0x28 });
            write::string(out, &base64(value["value"].as_str().unwrap()));
        }
        kind @ ("Array" | "Struct") => {
            out.push(if kind == "Array" { 0x40 } else { 0x41 });
            let items = value["value"].as_array().unwrap();
            write::number(out, items.len() as u64);
            items.iter().for_each(|each| item(each, out));
        }
        other => panic!("{other}"),
    }
}

/// The transfers of each block: execution, contract, movement.
fn blocks(dump: Dump) -> Vec<Vec<(u32, i32, Movement)>> {
    let file = blockmill_testkit::read(format!("neo/oracle/{}.applog.jsonl.gz", dump.name));
    let lines = BufReader::new(GzDecoder::new(&file[..])).lines();
    lines.map(|line| movements(&serde_json::from_str(&line.unwrap()).unwrap())).collect()
}

fn movements(block: &Value) -> Vec<(u32, i32, Movement)> {
    let mut found = vec![];
    for (number, execution) in (0..).zip(block["executions"].as_array().unwrap()) {
        // a failed execution transfers nothing
        if execution["vmstate"] != "HALT" {
            continue;
        }
        for event in execution["notifications"].as_array().unwrap() {
            let contract = event["contract"].as_str().unwrap();
            let id = [NEO, GAS].into_iter().find(|(hash, _)| *hash == contract);
            let mut state = vec![];
            item(&event["state"], &mut state);
            let name = event["eventname"].as_str().unwrap();
            let contract = contract.parse().unwrap();
            let movement = transfer_of(&Event { contract, name, state: &state });
            // all other contracts get one id here
            let id = id.map_or(1, |(_, id)| id);
            found.extend(movement.map(|movement| (number, id, movement)));
        }
    }
    found
}

fn number(bytes: &[u8]) -> i128 {
    let sign = if bytes.last().is_some_and(|last| last & 0x80 != 0) { 0xff } else { 0 };
    let mut all = [sign; 16];
    all[..bytes.len()].copy_from_slice(bytes);
    i128::from_le_bytes(all)
}

/// The balances in storage: the first field of a struct, an integer.
fn balances(state: &State, id: i32) -> BTreeMap<UInt160, i128> {
    let pairs = state.find_all(id, &[BALANCES], Direction::Forwards);
    let balance = |value: &[u8]| {
        assert_eq!((value[0], value[2]), (0x41, 0x21));
        number(&value[4..4 + usize::from(value[3])])
    };
    let account = |key: &[u8]| UInt160::from_slice(&key[1..]).unwrap();
    pairs.map(|(key, value)| (account(key.key()), balance(&value))).collect()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn transfers_add_up_to_the_balances_in_storage() {
    for dump in Dump::ALL {
        let folder = tempfile::tempdir().unwrap();
        let mut opening = Store::open(folder.path(), &StoreOptions::default()).unwrap();
        let options = TableOptions { prefix_bytes: 20, ..TableOptions::new(8 << 20) };
        let mut transfers = opening.table(TRANSFERS, &options).unwrap();
        let mut updates = opening.table(UPDATES, &options).unwrap();
        let (mut store, _) = opening.finish().unwrap();
        let mut state = State::new(Base::default());
        let mut count = 0;
        for (height, movements) in (0..).zip(blocks(dump)) {
            count += movements.len();
            logs::entries(height, movements, |kept, key, value| {
                let table = match kept {
                    CachedTable::Transfers => &mut transfers,
                    CachedTable::Updates => &mut updates,
                    other => panic!("{other:?}"),
                };
                table.put(key, value).unwrap();
            });
            if height % 16 == 0 {
                let parts = &mut [(&mut transfers).into(), (&mut updates).into()];
                store.commit(parts, &[]).unwrap();
            }
        }
        store.commit(&mut [(&mut transfers).into(), (&mut updates).into()], &[]).unwrap();
        for (key, value) in oracle::changes(dump).into_iter().flatten() {
            match value {
                Some(value) => state.put(key.id(), key.key(), value),
                None => state.delete(key.id(), key.key()),
            }
        }
        let (mut accounts, mut seen) = (0, 0);
        for (_, id) in [NEO, GAS] {
            for (account, balance) in balances(&state, id) {
                let (mut sum, mut last) = (0, None);
                logs::of_account(&transfers.reader(), account, 17, |transfer| {
                    assert!(last < Some(transfer.place) && transfer.standard == Standard::Nep17);
                    last = Some(transfer.place);
                    seen += 1;
                    if transfer.asset == id {
                        let amount = number(&transfer.amount);
                        sum += if transfer.outgoing { -amount } else { amount };
                    }
                    true
                })
                .unwrap();
                assert_eq!(sum, balance, "{} {account} of {id}", dump.name);
                let updates = logs::last_updates(&updates.reader(), account).unwrap();
                assert!(updates.iter().any(|(asset, _)| *asset == id));
                let newest = updates.iter().map(|(_, height)| *height).max();
                assert_eq!(newest, last.map(|place| place.height));
                accounts += 1;
            }
        }
        println!("{}: {count} transfers, {accounts} balances, {seen} entries", dump.name);
        assert!(count >= 100 && accounts >= 3, "{count} {accounts}");
    }
}
