//! Reads transfers from notifications (`Blockchain.handleNotification`).

use super::transfers::{Movement, Standard};
use crate::state::MAX_STORAGE_KEY;
use crate::types::{Error, Reader, UInt160};

/// A notification of a successful execution.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The contract that sent it.
    pub contract: UInt160,
    /// Its name.
    pub name: &'a str,
    /// Its arguments: an array of stack items in binary form (`stackitem.Serialize`).
    pub state: &'a [u8],
}

/// Types of stack items in their binary form.
const ANY: u8 = 0x00;
const BOOLEAN: u8 = 0x20;
const INTEGER: u8 = 0x21;
const BYTE_STRING: u8 = 0x28;
const BUFFER: u8 = 0x30;
const ARRAY: u8 = 0x40;
/// The longest integer, in bytes.
const MAX_INTEGER: usize = 32;
/// Limit of an item (`stackitem.MaxSize`, rounded up: a notification is shorter).
const MAX_ITEM: u64 = 0x1_0000;

/// An item that can be part of a transfer.
enum Item<'a> {
    Null,
    Boolean(bool),
    Integer(&'a [u8]),
    Bytes(&'a [u8]),
}

impl<'a> Item<'a> {
    /// Reads an item; `None` for a compound, which no transfer contains.
    fn read(raw: &'a [u8], reader: &mut Reader<'a>) -> Result<Option<Self>, Error> {
        Ok(Some(match reader.byte()? {
            ANY => Self::Null,
            BOOLEAN => Self::Boolean(reader.byte()? != 0),
            INTEGER => Self::Integer(reader.string("integer", MAX_INTEGER as u64)?.slice(raw)),
            BYTE_STRING | BUFFER => Self::Bytes(reader.string("bytes", MAX_ITEM)?.slice(raw)),
            _ => return Ok(None),
        }))
    }

    /// The account in this item; zero for null (`parseUint160`).
    fn account(&self) -> Option<UInt160> {
        match self {
            Self::Null => Some(UInt160::ZERO),
            Self::Integer(bytes) | Self::Bytes(bytes) => UInt160::from_slice(bytes),
            Self::Boolean(_) => None,
        }
    }

    /// The integer in this item, as two's complement in little endian (`TryInteger`).
    fn amount(&self) -> Option<Vec<u8>> {
        match self {
            Self::Null => None,
            Self::Boolean(value) => Some(if *value { vec![1] } else { vec![] }),
            Self::Integer(bytes) | Self::Bytes(bytes) => {
                (bytes.len() <= MAX_INTEGER).then(|| shortest(bytes).to_vec())
            }
        }
    }

    /// The token id in this item (`TryBytes`).
    fn token(&self) -> Option<Vec<u8>> {
        match self {
            Self::Null => None,
            Self::Boolean(value) => Some(vec![u8::from(*value)]),
            Self::Integer(bytes) | Self::Bytes(bytes) => Some(bytes.to_vec()),
        }
    }
}

/// Removes leading bytes that only repeat the sign.
fn shortest(bytes: &[u8]) -> &[u8] {
    let mut bytes = bytes;
    while let [rest @ .., last] = bytes {
        let sign = rest.last().map_or(0, |byte| byte & 0x80);
        let repeats = (*last == 0 && sign == 0) || (*last == 0xff && sign != 0);
        if !repeats {
            break;
        }
        bytes = rest;
    }
    bytes
}

/// Reads the transfer in a notification: `Transfer` with sender, receiver, amount, and for NEP-11
/// the token id. `None` for any other notification.
#[must_use]
pub fn transfer_of(event: &Event<'_>) -> Option<Movement> {
    if event.name != "Transfer" {
        return None;
    }
    read(event.state).ok().flatten()
}

fn read(state: &[u8]) -> Result<Option<Movement>, Error> {
    let mut reader = Reader::new(state);
    if reader.byte()? != ARRAY {
        return Ok(None);
    }
    let count = reader.number()?;
    if !matches!(count, 3 | 4) {
        return Ok(None);
    }
    let mut items = Vec::with_capacity(4);
    for _ in 0..count {
        let Some(item) = Item::read(state, &mut reader)? else { return Ok(None) };
        items.push(item);
    }
    let [from, to, amount, token @ ..] = &items[..] else { return Ok(None) };
    let standard = match token {
        [] => Standard::Nep17,
        [token, ..] => match token.token().filter(|token| token.len() <= MAX_STORAGE_KEY) {
            Some(token) => Standard::Nep11(token),
            None => return Ok(None),
        },
    };
    let (from, to, amount) = (from.account(), to.account(), amount.amount());
    let (Some(from), Some(to), Some(amount)) = (from, to, amount) else { return Ok(None) };
    Ok(Some(Movement { from, to, amount, standard }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_movement(name: &str, state: &[u8]) -> Option<Movement> {
        transfer_of(&Event { contract: UInt160::ZERO, name, state })
    }

    fn state(count: u8, items: &[&[u8]]) -> Vec<u8> {
        [&[ARRAY, count][..], &items.concat()].concat()
    }

    #[test]
    fn transfers_of_both_standards_are_read() {
        let account = [&[BYTE_STRING, 20][..], &[7; 20]].concat();
        let nep17 = state(3, &[&[ANY], &account, &[INTEGER, 2, 0, 1]]);
        let movement = read_movement("Transfer", &nep17).unwrap();
        assert_eq!((movement.from, movement.to), (UInt160::ZERO, UInt160([7; 20])));
        assert_eq!((movement.amount, movement.standard), (vec![0, 1], Standard::Nep17));
        let nep11 = state(4, &[&account, &[ANY], &[INTEGER, 1, 1], &[BUFFER, 2, 8, 9]]);
        let movement = read_movement("Transfer", &nep11).unwrap();
        assert_eq!((movement.from, movement.to), (UInt160([7; 20]), UInt160::ZERO));
        assert_eq!(movement.standard, Standard::Nep11(vec![8, 9]));
        assert_eq!(read_movement("transfer", &nep17), None);
    }

    #[test]
    fn a_notification_that_neo_go_ignores_is_no_transfer() {
        let account = [&[BYTE_STRING, 20][..], &[7; 20]].concat();
        let number: &[u8] = &[INTEGER, 1, 1];
        let cases: [&[&[u8]]; 7] = [
            &[&account, &account],
            &[&account, &[BYTE_STRING, 1, 7], number],
            &[&account, &account, &[ANY]],
            &[&account, &account, &[ARRAY, 0]],
            &[&account, &[BOOLEAN, 1], number],
            &[&account, &account, number, &[ANY]],
            &[&account, &account, number, number, number],
        ];
        for items in cases {
            assert_eq!(read_movement("Transfer", &state(items.len() as u8, items)), None);
        }
        let whole = state(3, &[&account, &account, number]);
        for length in 0..whole.len() {
            assert_eq!(read_movement("Transfer", &whole[..length]), None);
        }
        let long = [&[BYTE_STRING, 33][..], &[1; 33]].concat();
        assert_eq!(read_movement("Transfer", &state(3, &[&account, &account, &long])), None);
        let id = [&[BYTE_STRING, 65][..], &[1; 65]].concat();
        assert_eq!(read_movement("Transfer", &state(4, &[&account, &account, number, &id])), None);
    }

    #[test]
    fn numbers_are_kept_in_as_few_bytes_as_possible() {
        let none: &[u8] = &[];
        assert_eq!(shortest(&[0, 0]), none);
        assert_eq!(shortest(&[0x80, 0, 0]), [0x80, 0]);
        assert_eq!(shortest(&[0xff, 0xff]), [0xff]);
        assert_eq!(shortest(&[0x7f, 0xff]), [0x7f, 0xff]);
        assert_eq!(shortest(&[1]), [1]);
    }
}
