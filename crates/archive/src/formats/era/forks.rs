//! The beacon blocks of each fork as SSZ types (consensus-specs, `specs/*/beacon-chain.md`, main
//! network preset).
//!
//! A fork is recognised by the length of the fixed part of its block body, which is the first
//! offset in it. Fulu changed nothing in the block.

use super::ssz::Type;

static NUMBER: Type = Type::Bytes(8);
static ADDRESS: Type = Type::Bytes(20);
static HASH: Type = Type::Bytes(32);
static KEY: Type = Type::Bytes(48);
static SIGNATURE: Type = Type::Bytes(96);

static ETH1_DATA: Type = Type::Container(&[&HASH, &NUMBER, &HASH]);

// a header: slot, proposer, parent root, state root, body root
static BLOCK_HEADER: Type = Type::Container(&[&NUMBER, &NUMBER, &HASH, &HASH, &HASH]);
static SIGNED_HEADER: Type = Type::Container(&[&BLOCK_HEADER, &SIGNATURE]);
static PROPOSER_SLASHING: Type = Type::Container(&[&SIGNED_HEADER, &SIGNED_HEADER]);
static PROPOSER_SLASHINGS: Type = Type::List(&PROPOSER_SLASHING, 16);

// epoch, root
static CHECKPOINT: Type = Type::Container(&[&NUMBER, &HASH]);
// slot, committee, head, source, target
static VOTE: Type = Type::Container(&[&NUMBER, &NUMBER, &HASH, &CHECKPOINT, &CHECKPOINT]);

/// Validators in a committee; from Electra on an attestation has the bits of 64 committees.
const COMMITTEE: usize = 2048;
const COMMITTEES: usize = 64;

static VOTERS: Type = Type::Packed { size: 8, limit: COMMITTEE };
static INDEXED: Type = Type::Container(&[&VOTERS, &VOTE, &SIGNATURE]);
static ATTESTER_SLASHING: Type = Type::Container(&[&INDEXED, &INDEXED]);
static ATTESTER_SLASHINGS: Type = Type::List(&ATTESTER_SLASHING, 2);
static BITS: Type = Type::Bits(COMMITTEE);
static ATTESTATION: Type = Type::Container(&[&BITS, &VOTE, &SIGNATURE]);
static ATTESTATIONS: Type = Type::List(&ATTESTATION, 128);

static ELECTRA_VOTERS: Type = Type::Packed { size: 8, limit: COMMITTEE * COMMITTEES };
static ELECTRA_INDEXED: Type = Type::Container(&[&ELECTRA_VOTERS, &VOTE, &SIGNATURE]);
static ELECTRA_SLASHING: Type = Type::Container(&[&ELECTRA_INDEXED, &ELECTRA_INDEXED]);
static ELECTRA_SLASHINGS: Type = Type::List(&ELECTRA_SLASHING, 1);
static ELECTRA_BITS: Type = Type::Bits(COMMITTEE * COMMITTEES);
static COMMITTEE_BITS: Type = Type::Bytes(COMMITTEES / 8);
static ELECTRA_ATTESTATION: Type =
    Type::Container(&[&ELECTRA_BITS, &VOTE, &SIGNATURE, &COMMITTEE_BITS]);
static ELECTRA_ATTESTATIONS: Type = Type::List(&ELECTRA_ATTESTATION, 8);

// key, withdrawal credentials, amount, signature
static DEPOSIT_DATA: Type = Type::Container(&[&KEY, &HASH, &NUMBER, &SIGNATURE]);
static DEPOSIT_BRANCH: Type = Type::Hashes(33);
static DEPOSIT: Type = Type::Container(&[&DEPOSIT_BRANCH, &DEPOSIT_DATA]);
static DEPOSITS: Type = Type::List(&DEPOSIT, 16);

// epoch, validator
static EXIT: Type = Type::Container(&[&NUMBER, &NUMBER]);
static SIGNED_EXIT: Type = Type::Container(&[&EXIT, &SIGNATURE]);
static EXITS: Type = Type::List(&SIGNED_EXIT, 16);

static COMMITTEE_OF_512: Type = Type::Bytes(64);
static SYNC_AGGREGATE: Type = Type::Container(&[&COMMITTEE_OF_512, &SIGNATURE]);

// validator, its key, address
static CREDENTIALS: Type = Type::Container(&[&NUMBER, &KEY, &ADDRESS]);
static SIGNED_CREDENTIALS: Type = Type::Container(&[&CREDENTIALS, &SIGNATURE]);
static CREDENTIAL_CHANGES: Type = Type::List(&SIGNED_CREDENTIALS, 16);

static COMMITMENTS: Type = Type::List(&KEY, 4096);

// key, credentials, amount, signature, index
static DEPOSIT_REQUEST: Type = Type::Container(&[&KEY, &HASH, &NUMBER, &SIGNATURE, &NUMBER]);
static DEPOSIT_REQUESTS: Type = Type::List(&DEPOSIT_REQUEST, 8192);
// source, key, amount
static WITHDRAWAL_REQUEST: Type = Type::Container(&[&ADDRESS, &KEY, &NUMBER]);
static WITHDRAWAL_REQUESTS: Type = Type::List(&WITHDRAWAL_REQUEST, 16);
// source, its key, the target's key
static CONSOLIDATION_REQUEST: Type = Type::Container(&[&ADDRESS, &KEY, &KEY]);
static CONSOLIDATION_REQUESTS: Type = Type::List(&CONSOLIDATION_REQUEST, 2);
/// Requests of the execution layer, in the order of their types in EIP-7685.
pub(super) static REQUESTS: Type =
    Type::Container(&[&DEPOSIT_REQUESTS, &WITHDRAWAL_REQUESTS, &CONSOLIDATION_REQUESTS]);

static BLOOM: Type = Type::Bytes(256);
static EXTRA: Type = Type::Packed { size: 1, limit: 32 };
static TRANSACTION: Type = Type::Packed { size: 1, limit: 1 << 30 };
pub(super) static TRANSACTIONS: Type = Type::List(&TRANSACTION, 1 << 20);
// index, validator, address, amount
pub(super) static WITHDRAWAL: Type = Type::Container(&[&NUMBER, &NUMBER, &ADDRESS, &NUMBER]);
pub(super) static WITHDRAWALS: Type = Type::List(&WITHDRAWAL, 16);

/// The fields of every execution payload, then those of a fork: parent, fee recipient, state root,
/// receipts root, bloom, random value, number, gas limit, gas used, timestamp, extra data, base
/// fee, hash, transactions.
macro_rules! payload {
    ($($more:expr),*) => {
        Type::Container(&[
            &HASH, &ADDRESS, &HASH, &HASH, &BLOOM, &HASH, &NUMBER, &NUMBER, &NUMBER, &NUMBER,
            &EXTRA, &HASH, &HASH, &TRANSACTIONS, $($more),*
        ])
    };
}

static BELLATRIX_PAYLOAD: Type = payload!();
static CAPELLA_PAYLOAD: Type = payload!(&WITHDRAWALS);
// withdrawals, blob gas used, excess blob gas
static DENEB_PAYLOAD: Type = payload!(&WITHDRAWALS, &NUMBER, &NUMBER);

/// The fields of every block body, then those of a fork: randao reveal, eth1 data, graffiti,
/// slashings, attestations, deposits, exits.
macro_rules! body {
    ($slashings:expr, $attestations:expr; $($more:expr),*) => {
        Type::Container(&[
            &SIGNATURE, &ETH1_DATA, &HASH, &PROPOSER_SLASHINGS, $slashings, $attestations,
            &DEPOSITS, &EXITS, $($more),*
        ])
    };
}

/// A fork of the beacon chain, as far as its blocks differ from those of the fork before.
#[derive(Debug)]
pub(super) struct Fork {
    pub body: Type,
    /// The type of the execution payload; `None` before Bellatrix.
    pub payload: Option<&'static Type>,
}

/// Every known fork, from Phase 0 to Electra and Fulu, which have the same blocks.
pub(super) static FORKS: [Fork; 6] = [
    Fork { body: body!(&ATTESTER_SLASHINGS, &ATTESTATIONS;), payload: None },
    Fork { body: body!(&ATTESTER_SLASHINGS, &ATTESTATIONS; &SYNC_AGGREGATE), payload: None },
    Fork {
        body: body!(&ATTESTER_SLASHINGS, &ATTESTATIONS; &SYNC_AGGREGATE, &BELLATRIX_PAYLOAD),
        payload: Some(&BELLATRIX_PAYLOAD),
    },
    Fork {
        body: body!(
            &ATTESTER_SLASHINGS, &ATTESTATIONS;
            &SYNC_AGGREGATE, &CAPELLA_PAYLOAD, &CREDENTIAL_CHANGES
        ),
        payload: Some(&CAPELLA_PAYLOAD),
    },
    Fork {
        body: body!(
            &ATTESTER_SLASHINGS, &ATTESTATIONS;
            &SYNC_AGGREGATE, &DENEB_PAYLOAD, &CREDENTIAL_CHANGES, &COMMITMENTS
        ),
        payload: Some(&DENEB_PAYLOAD),
    },
    Fork {
        body: body!(
            &ELECTRA_SLASHINGS, &ELECTRA_ATTESTATIONS;
            &SYNC_AGGREGATE, &DENEB_PAYLOAD, &CREDENTIAL_CHANGES, &COMMITMENTS, &REQUESTS
        ),
        payload: Some(&DENEB_PAYLOAD),
    },
];

/// Place of the execution payload in a block body.
pub(super) const PAYLOAD: usize = 9;
/// Place of the requests in a block body, from Electra on.
pub(super) const EXECUTION_REQUESTS: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forks_differ_in_the_length_of_the_fixed_part_of_a_body() {
        let sizes: Vec<_> = FORKS.iter().map(|fork| fork.body.head_size()).collect();
        assert_eq!(sizes, [220, 380, 384, 388, 392, 396]);
    }

    #[test]
    fn payloads_have_the_lengths_of_the_specification() {
        let payloads = [&BELLATRIX_PAYLOAD, &CAPELLA_PAYLOAD, &DENEB_PAYLOAD];
        assert_eq!(payloads.map(Type::head_size), [508, 512, 528]);
    }
}
