//! Inputs of the stateless guests of zisk and ere-guests: a call of `engine_newPayload` whose bytes
//! are lists of numbers, a witness, and the chain's rules. Public keys of senders are not needed:
//! senders are recovered from their signatures.

use super::document::Lists;
use super::payload::Payload;
use super::values::{Bytes, Fixed, Number};
use super::{Stated, Witness, WitnessError};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A proof input with a payload.
#[derive(Deserialize)]
pub(super) struct GuestInput {
    /// The call, under the name of its fork, as in `ElectraFulu`.
    new_payload_request: BTreeMap<String, Call>,
    witness: Lists,
    chain_config: GuestChain,
}

/// The parameters of the call. Hashes of blobs follow from the transactions.
#[derive(Deserialize)]
struct Call {
    execution_payload: Payload,
    parent_beacon_block_root: Option<Fixed<32>>,
    execution_requests: Option<Requests>,
}

/// Requests of the consensus layer, in the order of their types (EIP-7685).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Requests {
    deposits: Vec<Deposit>,
    withdrawals: Vec<WithdrawalRequest>,
    consolidations: Vec<Consolidation>,
}

/// A deposit (EIP-6110).
#[derive(Deserialize)]
struct Deposit {
    pubkey: Fixed<48>,
    withdrawal_credentials: Fixed<32>,
    amount: Number,
    signature: Fixed<96>,
    index: Number,
}

/// A withdrawal that the execution layer triggers (EIP-7002).
#[derive(Deserialize)]
struct WithdrawalRequest {
    source_address: Fixed<20>,
    validator_pubkey: Fixed<48>,
    amount: Number,
}

/// A consolidation of two validators (EIP-7251).
#[derive(Deserialize)]
struct Consolidation {
    source_address: Fixed<20>,
    source_pubkey: Fixed<48>,
    target_pubkey: Fixed<48>,
}

#[derive(Deserialize)]
struct GuestChain {
    chain_id: Number,
}

impl GuestInput {
    /// The witness of its block.
    ///
    /// # Errors
    /// [`WitnessError::Shape`] unless there is one call, [`WitnessError::Stated`] for another block
    /// hash than the payload says.
    pub fn witness(self) -> Result<Witness, WitnessError> {
        let Self { mut new_payload_request, witness, chain_config } = self;
        let count = new_payload_request.len();
        let Some((_, call)) = new_payload_request.pop_first().filter(|_| count == 1) else {
            let found = format!("a proof input with {count} payloads: expected one");
            return Err(WitnessError::Shape(found));
        };
        let Call { execution_payload, parent_beacon_block_root, execution_requests } = call;
        let requests = execution_requests.map(|requests| requests.encode());
        let block = execution_payload.encode_called(parent_beacon_block_root, requests)?;
        let (chain_id, parts) = (Some(chain_config.chain_id.0), witness.parts()?);
        Ok(Witness { chain_id, stated: Stated::default(), block, parts })
    }
}

impl Requests {
    /// A type and the SSZ of all its requests, for each type.
    fn encode(&self) -> Vec<Bytes> {
        let Self { deposits, withdrawals, consolidations } = self;
        let amount = |number: &Number| number.0.to_le_bytes();
        let (mut deposited, mut withdrawn, mut consolidated) = (vec![0], vec![1], vec![2]);
        for it in deposits {
            deposited.extend_from_slice(&it.pubkey.0);
            deposited.extend_from_slice(&it.withdrawal_credentials.0);
            deposited.extend_from_slice(&amount(&it.amount));
            deposited.extend_from_slice(&it.signature.0);
            deposited.extend_from_slice(&amount(&it.index));
        }
        for it in withdrawals {
            withdrawn.extend_from_slice(&it.source_address.0);
            withdrawn.extend_from_slice(&it.validator_pubkey.0);
            withdrawn.extend_from_slice(&amount(&it.amount));
        }
        for it in consolidations {
            consolidated.extend_from_slice(&it.source_address.0);
            consolidated.extend_from_slice(&it.source_pubkey.0);
            consolidated.extend_from_slice(&it.target_pubkey.0);
        }
        vec![Bytes(deposited), Bytes(withdrawn), Bytes(consolidated)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_encoded_as_the_consensus_layer_does() {
        let bytes = |length: usize, byte: u8| vec![byte; length];
        let requests = serde_json::json!({
            "deposits": [{
                "pubkey": bytes(48, 1), "withdrawal_credentials": bytes(32, 2), "amount": 3,
                "signature": bytes(96, 4), "index": 258,
            }],
            "withdrawals": [{
                "source_address": bytes(20, 5), "validator_pubkey": bytes(48, 6), "amount": 7,
            }],
            "consolidations": [{
                "source_address": bytes(20, 8), "source_pubkey": bytes(48, 9),
                "target_pubkey": bytes(48, 10),
            }],
        });
        let requests: Requests = serde_json::from_value(requests).unwrap();
        let [deposits, withdrawals, consolidations] = &requests.encode()[..] else { panic!() };
        // EIP-6110, EIP-7002, EIP-7251: fields without padding, numbers little-endian
        let expected = [&[0][..], &[1; 48], &[2; 32], &[3, 0, 0, 0, 0, 0, 0, 0], &[4; 96]];
        let expected = [&expected.concat()[..], &[2, 1, 0, 0, 0, 0, 0, 0]].concat();
        assert_eq!((deposits.0.len(), &deposits.0), (1 + 192, &expected));
        let expected = [&[1][..], &[5; 20], &[6; 48], &[7, 0, 0, 0, 0, 0, 0, 0]].concat();
        assert_eq!((withdrawals.0.len(), &withdrawals.0), (1 + 76, &expected));
        let expected = [&[2][..], &[8; 20], &[9; 48], &[10; 48]].concat();
        assert_eq!((consolidations.0.len(), &consolidations.0), (1 + 116, &expected));
    }
}
