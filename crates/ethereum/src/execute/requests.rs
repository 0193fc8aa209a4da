//! Requests to the beacon chain (EIP-7685).

use super::evm::Outcome;
use super::verify::ExecutionError;
use crate::rule::{Rule, Violation};
use crate::{Address, Hash};
use blockmill_verdict::Hex;

/// Keccak-256 of `DepositEvent(bytes,bytes,bytes,bytes,bytes)`.
const DEPOSIT_EVENT: Hash = [
    0x64, 0x9b, 0xbc, 0x62, 0xd0, 0xe3, 0x13, 0x42, 0xaf, 0xea, 0x4e, 0x5c, 0xd8, 0x2d, 0x40, 0x49,
    0xe7, 0xe1, 0xee, 0x91, 0x2f, 0xc0, 0x88, 0x9a, 0xa7, 0x90, 0x80, 0x3b, 0xe3, 0x90, 0x38, 0xc5,
];
/// Bytes of the event's data: five offsets, and five values, each after its length and padded with
/// zeros.
const DEPOSIT_DATA: usize = 576;
/// Offsets and lengths of the values in the data: public key, credentials, amount, signature, index
/// (EIP-6110).
const DEPOSIT_FIELDS: [(usize, usize); 5] = [(192, 48), (288, 32), (352, 8), (416, 96), (544, 8)];
/// The required offset of each value, at which its length is.
const DEPOSIT_LAYOUT: [usize; 5] = [160, 256, 320, 384, 512];

/// The deposits of the transactions as a request of type 0 (EIP-6110); `None` without deposits.
pub(super) fn deposits(
    contract: &Address,
    outcomes: &[Outcome],
) -> Result<Option<Vec<u8>>, ExecutionError> {
    let mut request = vec![0];
    for log in outcomes.iter().flat_map(|outcome| &outcome.logs) {
        if log.address() == contract && log.topics().next() == Some(&DEPOSIT_EVENT) {
            let data = deposit_data(log.data())?;
            for (start, length) in DEPOSIT_FIELDS {
                request.extend(&data[start..start + length]);
            }
        }
    }
    Ok((request.len() > 1).then_some(request))
}

/// Checks the layout of a deposit event, of which only one is valid (EIP-6110).
fn deposit_data(data: &[u8]) -> Result<&[u8], ExecutionError> {
    let word = |at: usize| {
        let word = data.get(at..at + 32)?;
        let (zeros, low) = word.split_at(24);
        let number = u64::from_be_bytes(low.try_into().ok()?);
        zeros.iter().all(|byte| *byte == 0).then_some(number)
    };
    let fits = DEPOSIT_LAYOUT.iter().zip(DEPOSIT_FIELDS).enumerate().all(|(i, (at, (_, len)))| {
        word(32 * i) == Some(*at as u64) && word(*at) == Some(len as u64)
    });
    if data.len() == DEPOSIT_DATA && fits {
        return Ok(data);
    }
    let found = format!("{} bytes of another layout", data.len());
    let expected = format!("a deposit event of {DEPOSIT_DATA} bytes");
    Err(ExecutionError::Rule(Violation::new(Rule::DepositEvent, expected, found)))
}

/// SHA-256 over the SHA-256 of each request, in the order of types (EIP-7685).
pub(super) fn requests_hash(requests: &[Vec<u8>]) -> Hash {
    let mut all = blockmill_hashes::Sha256::new();
    requests.iter().for_each(|request| all.update(&blockmill_hashes::sha256(request)));
    all.finalize()
}

/// Compares the hash of the requests with the header's, if it has one (EIP-7685).
pub(super) fn verify_requests(expected: Option<&Hash>, found: &Hash) -> Result<(), Violation> {
    match expected {
        Some(expected) if expected != found => {
            Err(Violation::new(Rule::Requests, Hex(expected), Hex(found)))
        }
        _ => Ok(()),
    }
}
