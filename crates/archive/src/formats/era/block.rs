//! Beacon blocks, and the execution blocks in them.
//!
//! The header of an execution block is computed from the payload: roots of transactions and
//! withdrawals, the hash of the requests (EIP-7685), the root of the parent beacon block
//! (EIP-4788). Its hash must be the one in the payload, so every field of it is right.

use blockmill_hashes::sha256;
use blockmill_rlp::ethereum::EMPTY_OMMERS;
use blockmill_rlp::{OnePass, Write};
use blockmill_trie::RootBuilder;

use super::forks::{
    EXECUTION_REQUESTS, FORKS, Fork, PAYLOAD, REQUESTS, TRANSACTIONS, WITHDRAWAL, WITHDRAWALS,
};
use super::ssz::{Fault, Type};

/// Bytes before the block: its offset and the signature.
const BEFORE_BLOCK: usize = 4 + 96;
/// Bytes before the block's body: slot, proposer, parent root, state root, offset of the body.
const BEFORE_BODY: usize = 8 + 8 + 32 + 32 + 4;
/// Place of the first offset in a body, which is the length of its fixed part.
const FIRST_OFFSET: usize = 96 + 72 + 32;

/// A beacon block, borrowed from its encoding.
#[derive(Debug)]
pub(super) struct BeaconBlock<'a> {
    pub slot: u64,
    fork: &'static Fork,
    /// Slot, proposer, parent root, state root.
    head: [&'a [u8]; 4],
    body: &'a [u8],
    fields: Vec<&'a [u8]>,
}

impl<'a> BeaconBlock<'a> {
    /// Reads an encoded `SignedBeaconBlock`. The fork is recognised by the length of the fixed part
    /// of the body.
    pub fn read(signed: &'a [u8]) -> Result<Self, Fault> {
        let block = after_offset(signed, 0, BEFORE_BLOCK, "block")?;
        let body = after_offset(block, BEFORE_BODY - 4, BEFORE_BODY, "body")?;
        let length = offset_at(body, FIRST_OFFSET);
        let fork = FORKS.iter().find(|fork| Some(fork.body.head_size()) == length);
        let fork = fork.ok_or_else(|| {
            let found = length.map_or("less".into(), |length| format!("{length} bytes"));
            Fault::new("a block body of a known fork, fixed part of 220 to 396 bytes", found)
        })?;
        let head = [&block[..8], &block[8..16], &block[16..48], &block[48..80]];
        let fields = fork.body.parts(body)?;
        Ok(Self { slot: number(head[0]), fork, head, body, fields })
    }

    /// The hash tree root of the block, without its signature.
    pub fn root(&self) -> Result<[u8; 32], Fault> {
        static HEADER: Type = Type::Container(&[
            &Type::Bytes(8),
            &Type::Bytes(8),
            &Type::Bytes(32),
            &Type::Bytes(32),
            &Type::Bytes(32),
        ]);
        // a block and its header, which has the root of the body, have the same root
        let body = self.fork.body.root(self.body)?;
        HEADER.root(&[&self.head.concat()[..], &body].concat())
    }

    /// The execution payload; `None` in a block from before the merge, which has none or an empty
    /// one.
    pub fn payload(&self) -> Result<Option<Payload<'a>>, Fault> {
        let Some(kind) = self.fork.payload else { return Ok(None) };
        let fields = kind.parts(self.fields[PAYLOAD])?;
        // an empty payload has the hash 0
        if is_empty(&fields) {
            return Ok(None);
        }
        let requests = match self.fields.get(EXECUTION_REQUESTS) {
            Some(requests) => Some(REQUESTS.parts(requests)?),
            None => None,
        };
        let parent_beacon_root = fixed(self.head[2]);
        Ok(Some(Payload { fields, parent_beacon_root, requests }))
    }
}

/// Whether the fields are those of an empty payload: zeros, and empty lists.
fn is_empty(fields: &[&[u8]]) -> bool {
    fields.iter().all(|field| field.iter().all(|byte| *byte == 0))
}

/// An execution payload, borrowed from its beacon block.
#[derive(Debug)]
pub(super) struct Payload<'a> {
    fields: Vec<&'a [u8]>,
    /// Root of the parent of the beacon block.
    parent_beacon_root: [u8; 32],
    /// Deposits, withdrawals and consolidations, from Electra on.
    requests: Option<Vec<&'a [u8]>>,
}

impl Payload<'_> {
    /// The number of the execution block.
    pub fn number(&self) -> u64 {
        number(self.fields[6])
    }

    /// The hash of the execution block, as the payload states it.
    pub fn hash(&self) -> [u8; 32] {
        fixed(self.fields[12])
    }

    /// The RLP of the execution block's header.
    pub fn header(&self, roots: &mut RootBuilder) -> Result<Vec<u8>, Fault> {
        let transactions = roots.ordered(TRANSACTIONS.parts(self.fields[13])?.into_iter());
        let withdrawals = self.withdrawals()?;
        let withdrawals = withdrawals.map(|items| roots.ordered(items.iter().map(Vec::as_slice)));
        let requests = self.requests.as_ref().map(|requests| requests_hash(requests));
        let fields = &self.fields;
        let base_fee: Vec<u8> = fields[11].iter().rev().copied().collect();
        let zeros = base_fee.iter().take_while(|byte| **byte == 0).count();
        let mut out = OnePass::default();
        out.list(|out| {
            out.bytes(fields[0]);
            out.fixed(&EMPTY_OMMERS);
            [1, 2].iter().for_each(|i| out.bytes(fields[*i]));
            out.fixed(&transactions);
            [3, 4].iter().for_each(|i| out.bytes(fields[*i]));
            out.u64(0);
            [6, 7, 8, 9].iter().for_each(|i| out.u64(number(fields[*i])));
            [10, 5].iter().for_each(|i| out.bytes(fields[*i]));
            out.fixed(&[0; 8]);
            out.bytes(&base_fee[zeros..]);
            withdrawals.iter().for_each(|root| out.fixed(root));
            if let [used, excess] = fields[15.min(fields.len())..] {
                [used, excess].iter().for_each(|field| out.u64(number(field)));
                out.fixed(&self.parent_beacon_root);
            }
            requests.iter().for_each(|hash| out.fixed(hash));
        });
        Ok(out.into_bytes())
    }

    /// The RLP of the execution block's body.
    pub fn body(&self) -> Result<Vec<u8>, Fault> {
        let transactions = TRANSACTIONS.parts(self.fields[13])?;
        let withdrawals = self.withdrawals()?;
        let mut out = OnePass::default();
        out.list(|out| {
            out.list(|out| {
                for transaction in &transactions {
                    // a transaction without a type is a list, one with a type a string
                    match transaction.first() {
                        Some(0xc0..) => out.raw(transaction),
                        _ => out.bytes(transaction),
                    }
                }
            });
            out.list(|_| ());
            if let Some(withdrawals) = &withdrawals {
                out.list(|out| withdrawals.iter().for_each(|withdrawal| out.raw(withdrawal)));
            }
        });
        Ok(out.into_bytes())
    }

    /// The RLP of each withdrawal; `None` before Capella.
    fn withdrawals(&self) -> Result<Option<Vec<Vec<u8>>>, Fault> {
        let Some(withdrawals) = self.fields.get(14) else { return Ok(None) };
        let encode = |withdrawal: &[u8]| {
            let fields = WITHDRAWAL.parts(withdrawal)?;
            let mut out = OnePass::default();
            out.list(|out| {
                out.u64(number(fields[0]));
                out.u64(number(fields[1]));
                out.bytes(fields[2]);
                out.u64(number(fields[3]));
            });
            Ok(out.into_bytes())
        };
        WITHDRAWALS.parts(withdrawals)?.into_iter().map(encode).collect::<Result<_, _>>().map(Some)
    }
}

/// The hash of requests (EIP-7685): each list that is not empty after the number of its type.
fn requests_hash(requests: &[&[u8]]) -> [u8; 32] {
    let lists = requests.iter().enumerate().filter(|(_, list)| !list.is_empty());
    let hashes = lists.map(|(kind, list)| sha256(&[&[kind as u8], *list].concat()));
    sha256(&hashes.collect::<Vec<_>>().concat())
}

/// The bytes of the only field of variable length, of which the offset is at `at`.
fn after_offset<'a>(
    bytes: &'a [u8],
    at: usize,
    from: usize,
    what: &str,
) -> Result<&'a [u8], Fault> {
    match offset_at(bytes, at) {
        Some(offset) if offset == from => Ok(&bytes[from.min(bytes.len())..]),
        found => {
            let found = found.map_or("less".into(), |found| found.to_string());
            Err(Fault::new(format!("a {what} at offset {from}"), found))
        }
    }
}

fn offset_at(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes) as usize)
}

/// A field of eight bytes.
fn number(field: &[u8]) -> u64 {
    field.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// A field of 32 bytes.
fn fixed(field: &[u8]) -> [u8; 32] {
    field.first_chunk().copied().unwrap_or_default()
}
