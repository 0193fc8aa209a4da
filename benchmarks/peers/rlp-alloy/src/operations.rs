//! The operations, written as a user of alloy writes them.

use std::hint::black_box;

use alloy_primitives::{B256, keccak256};
use alloy_rlp::Encodable;

use crate::arguments::{Arguments, Case, Op, Whole};
use crate::measure::{Costs, Sampling, measure};
use crate::objects;
use crate::{Answer, Failure};

/// Measures what the arguments name.
///
/// # Errors
/// When the case and the operation do not go together; when the system does not tell page faults.
pub fn run(arguments: &Arguments) -> Result<(Costs, Answer), Failure> {
    let sampling = arguments.sampling;
    match (arguments.case, arguments.op) {
        (Case::Transaction, Op::Whole(op)) => whole(&objects::transaction(0), op, sampling),
        (Case::Header, Op::Whole(op)) => whole(&objects::header(0), op, sampling),
        (Case::Transactions(n), Op::Whole(op)) => whole(&objects::transactions(n), op, sampling),
        (Case::Block(n), Op::Whole(op)) => whole(&objects::block(n), op, sampling),
        (Case::Transactions(n), Op::HashEach) => hash_each(&objects::transactions(n), sampling),
        (Case::Headers(n), Op::HashEach) => hash_each(&objects::headers(n), sampling),
        (Case::Headers(_), Op::Whole(_)) => {
            Err(Failure::Usage(format!("-case {}: for hash-each only", arguments.case_name)))
        }
        (Case::Transaction | Case::Header | Case::Block(_), Op::HashEach) => {
            Err(Failure::Usage("-op hash-each: for transactions-N and headers-N only".into()))
        }
    }
}

/// Encodes or hashes one object as a whole.
fn whole<T: Encodable>(
    object: &T,
    op: Whole,
    sampling: Sampling,
) -> Result<(Costs, Answer), Failure> {
    let mut buffer = vec![];
    let mut hash = B256::ZERO;
    let (costs, digest) = match op {
        Whole::Encode => {
            let costs =
                measure(sampling, || drop(black_box(alloy_rlp::encode(black_box(object)))))?;
            (costs, keccak256(alloy_rlp::encode(object)))
        }
        Whole::EncodeReused => {
            let costs = measure(sampling, || {
                encode_into(&mut buffer, object);
                black_box(&buffer);
            })?;
            (costs, keccak256(&buffer))
        }
        Whole::Hash => {
            let costs = measure(sampling, || {
                hash = black_box(keccak256(alloy_rlp::encode(black_box(object))));
            })?;
            (costs, hash)
        }
        Whole::HashReused => {
            let costs = measure(sampling, || {
                encode_into(&mut buffer, object);
                hash = black_box(keccak256(&buffer));
            })?;
            (costs, hash)
        }
    };
    Ok((costs, Answer { bytes: alloy_rlp::encode(object).len(), digest }))
}

/// Hashes objects one by one.
fn hash_each<T: Encodable>(objects: &[T], sampling: Sampling) -> Result<(Costs, Answer), Failure> {
    let mut buffer = vec![];
    let mut hashes = vec![B256::ZERO; objects.len()];
    let costs = measure(sampling, || {
        for (object, hash) in objects.iter().zip(&mut hashes) {
            encode_into(&mut buffer, object);
            *hash = keccak256(&buffer);
        }
        black_box(&hashes);
    })?;
    let bytes = objects.iter().map(Encodable::length).sum();
    let concatenated: Vec<u8> = hashes.iter().flat_map(|hash| hash.0).collect();
    Ok((costs, Answer { bytes, digest: keccak256(concatenated) }))
}

fn encode_into<T: Encodable>(buffer: &mut Vec<u8>, object: &T) {
    buffer.clear();
    black_box(object).encode(buffer);
}
