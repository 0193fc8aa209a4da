//! The accounts of a test, without a genesis.json between: a release has gigabytes of them.

use super::{SuiteError, json};
use crate::U256;
use crate::params::genesis::GenesisAccount;
use crate::state::State;
use blockmill_verdict::Hex;
use hashbrown::HashMap;
use serde_json::Value;

/// The accounts of `pre` or `postState`, ordered by address.
pub(super) fn read(accounts: &Value) -> Result<Vec<GenesisAccount>, SuiteError> {
    let accounts = accounts.as_object().ok_or_else(|| json::wrong("pre", "accounts"))?;
    let mut read = Vec::with_capacity(accounts.len());
    for (address, account) in accounts {
        read.push(self::account(address, account)?);
    }
    read.sort_by_key(|account| account.address);
    match read.windows(2).find(|pair| pair[0].address == pair[1].address) {
        Some(pair) => Err(json::wrong(&Hex(&pair[0].address).to_string(), "an account once")),
        None => Ok(read),
    }
}

/// The first difference of a state that is in memory as a whole from these accounts, as what was
/// expected and what was found. `None` if there is none. It takes a fraction of the time that the
/// root of the accounts takes.
pub(super) fn differs(state: &State, accounts: &[GenesisAccount]) -> Option<(String, String)> {
    let count = state.accounts().count();
    if count != accounts.len() {
        let expected = format!("{} accounts in the post state", accounts.len());
        return Some((expected, count.to_string()));
    }
    for given in accounts {
        let of = |what: &str| format!("{what} of {} in the post state", Hex(&given.address));
        let Some((id, found, _)) = state.found(&given.address) else {
            return Some((of("the account"), "none".into()));
        };
        if (found.nonce, found.balance) != (given.nonce, given.balance) {
            let expected = format!("{} {}", given.nonce, given.balance);
            let expected = of(&format!("nonce and balance {expected}"));
            return Some((expected, format!("{} {}", found.nonce, found.balance)));
        }
        match state.code(&found.code_hash) {
            Ok(code) if code.bytes() == given.code => {}
            code => {
                let found = code.map_or("none".into(), |code| Hex(code.bytes()).to_string());
                return Some((of(&format!("code {}", Hex(&given.code))), found));
            }
        }
        let slots: HashMap<&U256, &U256> = state.slots(id).collect();
        if slots.len() != given.storage.len() {
            let expected = of(&format!("{} slots", given.storage.len()));
            return Some((expected, slots.len().to_string()));
        }
        for (slot, value) in &given.storage {
            let found = slots.get(&U256::from_be_bytes(*slot)).copied().copied();
            let found = found.unwrap_or_default();
            if found != U256::from_be_bytes(*value) {
                let expected = format!("{} in slot {}", Hex(value), Hex(slot));
                return Some((of(&expected), format!("{found:#x}")));
            }
        }
    }
    None
}

fn account(address: &str, account: &Value) -> Result<GenesisAccount, SuiteError> {
    let parsed = json::decode(address).and_then(|bytes| bytes.try_into().ok());
    let mut storage = vec![];
    for (slot, value) in account["storage"].as_object().into_iter().flatten() {
        let value = value.as_str().and_then(word);
        let expected = || json::wrong(address, "slots of at most 32 bytes");
        let (slot, value) = word(slot).zip(value).ok_or_else(expected)?;
        // a slot that holds 0 is no slot
        if !value.is_zero() {
            storage.push((slot.to_be_bytes(), value.to_be_bytes()));
        }
    }
    let code = match account["code"].as_str() {
        Some(code) => json::decode(code),
        None => Some(vec![]),
    };
    Ok(GenesisAccount {
        address: parsed.ok_or_else(|| json::wrong(address, "an address of 20 bytes"))?,
        balance: json::maybe_number(account, "balance")?
            .ok_or_else(|| json::wrong(address, "a balance"))?,
        nonce: match account["nonce"].is_null() {
            true => 0,
            false => json::small(account, "nonce")?,
        },
        code: code.ok_or_else(|| json::wrong(address, "0x and hexadecimal digits of code"))?,
        storage,
    })
}

/// A number in hexadecimal digits, with or without 0x.
fn word(text: &str) -> Option<U256> {
    let digits = text.strip_prefix("0x").unwrap_or(text).trim_start_matches('0').as_bytes();
    let (mut padded, mut word) = ([b'0'; 64], [0; 32]);
    let start = padded.len().checked_sub(digits.len())?;
    padded[start..].copy_from_slice(digits);
    const_hex::decode_to_slice(padded, &mut word).ok()?;
    Some(U256::from_be_bytes(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::ChainSpec;
    use serde_json::json;

    #[test]
    fn accounts_are_those_of_a_genesis_json() {
        let accounts = json!({
            "0x00000000000000000000000000000000000000bb": {
                "balance": "0x10", "nonce": "0x1", "code": "0x6001",
                "storage": { "0x": "0xff", "0x01": "0x02", "0x03": "0x00" },
            },
            "00000000000000000000000000000000000000aa": { "balance": "20" },
        });
        let genesis = json!({
            "config": {}, "difficulty": "0x1", "gasLimit": "0x5000", "alloc": accounts,
        });
        let genesis = genesis.to_string().replace("\"0x\":\"0xff\"", "\"0x00\":\"0xff\"");
        let spec = ChainSpec::from_genesis_json(&genesis).unwrap();
        assert_eq!(read(&accounts).unwrap(), spec.genesis.accounts().unwrap().into_owned());
    }

    #[test]
    fn every_difference_from_a_state_is_found() {
        let code = |byte| vec![byte, 0];
        let account = |last: u8| GenesisAccount {
            address: [last; 20],
            balance: U256::from(last),
            nonce: 1,
            code: if last > 1 { code(last) } else { vec![] },
            storage: vec![([last; 32], [1; 32]), ([9; 32], [last; 32])],
        };
        let all: Vec<_> = (1..4).map(account).collect();
        let state = State::from_accounts(&all).unwrap();
        assert_eq!(differs(&state, &all), None);
        let changes: [fn(&mut GenesisAccount); 8] = [
            |one| one.address[0] += 1,
            |one| one.balance += U256::ONE,
            |one| one.nonce += 1,
            |one| one.code.push(1),
            |one| one.code.clear(),
            |one| one.storage.truncate(1),
            |one| one.storage[0].0[31] += 1,
            |one| one.storage[1].1[0] += 1,
        ];
        for (at, change) in changes.iter().enumerate() {
            let mut other = all.clone();
            change(&mut other[2]);
            assert!(differs(&state, &other).is_some(), "change {at}");
        }
        assert!(differs(&state, &all[1..]).is_some());
        assert!(differs(&state, &[all.clone(), vec![account(7)]].concat()).is_some());
    }

    #[test]
    fn odd_accounts_are_refused() {
        let address = "0x00000000000000000000000000000000000000bb";
        for (name, account) in [
            ("0xbb", json!({ "balance": "1" })),
            (address, json!({})),
            (address, json!({ "balance": "1", "code": "0x6" })),
            (address, json!({ "balance": "1", "storage": { "0xg": "0x1" } })),
            (address, json!({ "balance": "1", "nonce": "0x10000000000000000" })),
        ] {
            assert!(read(&json!({ name: account })).is_err(), "{account}");
        }
        let twice = json!({ address: { "balance": "1" }, &address[2..]: { "balance": "1" } });
        assert!(read(&twice).is_err());
    }
}
