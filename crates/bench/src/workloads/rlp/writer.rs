//! One operation of one of our writers on one object, in the process that was started for it.

use std::fmt;
use std::hint::black_box;

use anyhow::{Context, Result, ensure};
use blockmill_hashes::{ManyKeccak, keccak256};
use blockmill_pipeline::record::RunRecord;
use blockmill_rlp::{Encode, Encoder};
use blockmill_verdict::Hex;

use super::measure::measure;
use super::{Case, Op, Sampling, objects};

/// One of our ways to encode and to hash.
#[derive(Clone, Copy, Debug)]
pub enum Writer {
    /// Two passes; hashes are taken without storing the encoding.
    TwoPass,
    /// One pass, in which the items of a list are moved when its prefix is known.
    OnePass,
    /// Two passes into a buffer, which is then hashed.
    EncodeThenHash,
    /// Hashes of many objects in vectors of one width.
    Width(ManyKeccak),
}

impl fmt::Display for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TwoPass => write!(f, "two-pass"),
            Self::OnePass => write!(f, "one-pass"),
            Self::EncodeThenHash => write!(f, "encode-then-hash"),
            Self::Width(hasher) => write!(f, "{}", hasher.name()),
        }
    }
}

impl Writer {
    /// What it does, in one line.
    #[must_use]
    pub fn about(&self) -> &'static str {
        match self {
            Self::TwoPass => "Computes lengths, then writes; hashes without storing the encoding",
            Self::OnePass => "Writes items, then moves those of a list after its prefix",
            Self::EncodeThenHash => "Computes lengths, writes into a buffer, then hashes it",
            Self::Width(hasher) if hasher.name() == "scalar" => "Hashes one object after the other",
            Self::Width(_) => "Hashes several objects at once, in vector lanes",
        }
    }

    /// The writers that do `op` in a way of their own on this machine; the default is the last.
    #[must_use]
    pub fn for_operation(op: Op) -> Vec<Self> {
        match op {
            Op::Encode => vec![Self::OnePass, Self::TwoPass],
            Op::Hash => vec![Self::OnePass, Self::EncodeThenHash, Self::TwoPass],
            Op::EncodeReused | Op::HashReused => vec![Self::TwoPass],
            Op::HashEach => {
                let best = ManyKeccak::detect();
                let mut widths = ManyKeccak::all_available();
                widths.retain(|width| width.name() != best.name());
                widths.into_iter().chain([best]).map(Self::Width).collect()
            }
        }
    }

    /// The default, or the one that `writer=NAME` asks for.
    pub fn asked_for(op: Op, with: &[String]) -> Result<Self> {
        let all = Self::for_operation(op);
        let mut writer = all.last().copied();
        for option in with {
            let name = option.strip_prefix("writer=").with_context(|| format!("no {option}"))?;
            writer = all.iter().copied().find(|writer| writer.to_string() == name);
        }
        writer.with_context(|| format!("{with:?}: no writer of {} on this machine", op.name()))
    }
}

/// Measures one operation.
///
/// # Errors
/// When the operation does not go with the object.
pub fn once(case: Case, op: Op, writer: Writer, sampling: Sampling) -> Result<RunRecord> {
    ensure!(case.takes(op), "there is no {} of {case}", op.name());
    let job = Job { op, writer, sampling };
    Ok(match case {
        Case::Transaction => job.whole(&objects::transaction(0)),
        Case::Header => job.whole(&objects::header(0)),
        Case::Block(count) => job.whole(&objects::block(&objects::transactions(count))),
        Case::Headers(count) => job.each(&objects::headers(count)),
        Case::Transactions(count) => {
            let transactions = objects::transactions(count);
            match op {
                Op::HashEach => job.each(&transactions),
                _ => job.whole(&transactions[..]),
            }
        }
    })
}

/// What to do with the object.
struct Job {
    op: Op,
    writer: Writer,
    sampling: Sampling,
}

impl Job {
    /// Encodes or hashes one object as a whole.
    fn whole<T: Encode + ?Sized>(&self, object: &T) -> RunRecord {
        let (record, digest) = match self.op {
            Op::Encode | Op::EncodeReused => self.encode(object),
            _ => self.hash(object),
        };
        with_answer(record, object.encoded_len(), digest)
    }

    fn encode<T: Encode + ?Sized>(&self, object: &T) -> (RunRecord, [u8; 32]) {
        let sampling = self.sampling;
        match (self.op, self.writer) {
            (Op::EncodeReused, _) if any_number_of_lists::<T>() => {
                let mut encoder = Encoder::default();
                let encode = || {
                    black_box(encoder.encode(black_box(object)));
                };
                let record = measure(sampling, encode);
                (record, keccak256(encoder.encode(object)))
            }
            (Op::EncodeReused, _) => {
                let mut buffer = vec![];
                let encode = || {
                    buffer.clear();
                    black_box(object).encode_into(&mut buffer);
                    black_box(&buffer);
                };
                let record = measure(sampling, encode);
                (record, keccak256(&buffer))
            }
            (_, Writer::OnePass) => {
                let encode = || drop(black_box(black_box(object).encode_in_one_pass()));
                (measure(sampling, encode), keccak256(&object.encode_in_one_pass()))
            }
            _ => {
                let encode = || drop(black_box(black_box(object).encode()));
                (measure(sampling, encode), keccak256(&object.encode()))
            }
        }
    }

    fn hash<T: Encode + ?Sized>(&self, object: &T) -> (RunRecord, [u8; 32]) {
        let mut digest = [0; 32];
        let sampling = self.sampling;
        let record = match (self.op, self.writer) {
            (Op::HashReused, _) if any_number_of_lists::<T>() => {
                let mut encoder = Encoder::default();
                measure(sampling, || digest = black_box(encoder.hash(black_box(object))))
            }
            (_, Writer::OnePass) => measure(sampling, || {
                digest = black_box(keccak256(&black_box(object).encode_in_one_pass()));
            }),
            (_, Writer::EncodeThenHash) => {
                measure(sampling, || digest = black_box(keccak256(&black_box(object).encode())))
            }
            _ => measure(sampling, || digest = black_box(black_box(object).hash())),
        };
        (record, digest)
    }

    /// Hashes every object.
    fn each<T: Encode>(&self, objects: &[T]) -> RunRecord {
        let hasher = match self.writer {
            Writer::Width(hasher) => hasher,
            _ => ManyKeccak::detect(),
        };
        let mut hashes = vec![[0; 32]; objects.len()];
        let record = measure(self.sampling, || {
            blockmill_rlp::hash_each(black_box(objects), &hasher, &mut hashes);
            black_box(&hashes);
        });
        let bytes = objects.iter().map(Encode::encoded_len).sum();
        with_answer(record, bytes, keccak256(hashes.as_flattened()))
    }
}

/// Whether an [`Encoder`] is the fast way for values of this type.
fn any_number_of_lists<T: Encode + ?Sized>() -> bool {
    T::LISTS == usize::MAX
}

fn with_answer(mut record: RunRecord, bytes: usize, digest: [u8; 32]) -> RunRecord {
    record.answer.insert("bytes".into(), bytes.to_string());
    record.answer.insert("digest".into(), Hex(&digest).to_string());
    record
}
