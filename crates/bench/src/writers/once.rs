//! One operation of one of our writers on one object, in the process that was started for it.

use std::fmt;
use std::hint::black_box;

use anyhow::{Context, Result, ensure};
use chain::Hex;
use crypto::{ManyKeccak, keccak256};
use pipeline::writer_record::{WriterEngine, WriterLine};
use rlp::{Encode, Encoder};

use super::measure::measure;
use super::{Case, Op, Sampling, objects};
use crate::counting;

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
            Self::TwoPass => write!(f, "blockmill"),
            Self::OnePass => write!(f, "blockmill-one-pass"),
            Self::EncodeThenHash => write!(f, "blockmill-encode-then-hash"),
            Self::Width(hasher) => write!(f, "blockmill-{}", hasher.name()),
        }
    }
}

impl Writer {
    /// Those that this machine can run. Of the widths, those that the first one does not take.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let taken = ManyKeccak::detect().name();
        let narrower = ManyKeccak::all_available().into_iter().rev().filter(|w| w.name() != taken);
        let whole = [Self::TwoPass, Self::OnePass, Self::EncodeThenHash];
        whole.into_iter().chain(narrower.map(Self::Width)).collect()
    }

    /// The writer with this name.
    pub fn by_name(name: &str) -> Result<Self> {
        let widths = ManyKeccak::all_available().into_iter().map(Self::Width);
        let mut known = Self::all().into_iter().chain(widths);
        let found = known.find(|writer| writer.to_string() == name);
        found.with_context(|| format!("writer {name}: there is none of this name on this machine"))
    }

    /// Whether it does `op` in a way of its own.
    #[must_use]
    pub fn does(self, op: Op) -> bool {
        match self {
            Self::TwoPass => true,
            Self::OnePass => matches!(op, Op::Encode | Op::Hash),
            Self::EncodeThenHash => op == Op::Hash,
            Self::Width(_) => op == Op::HashEach,
        }
    }

    /// The engine, for the record.
    #[must_use]
    pub fn engine(self) -> WriterEngine {
        let label = match self {
            Self::TwoPass => "blockmill".to_owned(),
            Self::OnePass => "one pass".to_owned(),
            Self::EncodeThenHash => "encode, then hash".to_owned(),
            Self::Width(hasher) => format!("blockmill, {}", hasher.name()),
        };
        let version = env!("CARGO_PKG_VERSION").to_owned();
        WriterEngine { name: self.to_string(), label, client: "blockmill".to_owned(), version }
    }
}

/// Measures one operation.
///
/// # Errors
/// When the operation does not go with the object or the writer, and when the program does not
/// count allocations.
pub fn once(case: Case, op: Op, writer: Writer, sampling: Sampling) -> Result<WriterLine> {
    ensure!(case.takes(op) && writer.does(op), "{writer} has no {} for {case}", op.name());
    ensure!(counting::is_installed(), "the allocator of this program does not count");
    let job = Job { op, writer, sampling };
    let mut line = match case {
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
    };
    line.engine = writer.to_string();
    line.version = env!("CARGO_PKG_VERSION").to_owned();
    line.case = case.to_string();
    line.op = op.name().to_owned();
    Ok(line)
}

/// What to do with the object.
struct Job {
    op: Op,
    writer: Writer,
    sampling: Sampling,
}

impl Job {
    /// Encodes or hashes one object as a whole.
    fn whole<T: Encode + ?Sized>(&self, object: &T) -> WriterLine {
        let (line, digest) = match self.op {
            Op::Encode | Op::EncodeReused => self.encode(object),
            _ => self.hash(object),
        };
        with_answer(line, object.encoded_len(), digest)
    }

    fn encode<T: Encode + ?Sized>(&self, object: &T) -> (WriterLine, [u8; 32]) {
        let sampling = self.sampling;
        match (self.op, self.writer) {
            (Op::EncodeReused, _) if any_number_of_lists::<T>() => {
                let mut encoder = Encoder::default();
                let encode = || {
                    black_box(encoder.encode(black_box(object)));
                };
                let line = measure(sampling, encode);
                (line, keccak256(encoder.encode(object)))
            }
            (Op::EncodeReused, _) => {
                let mut buffer = vec![];
                let encode = || {
                    buffer.clear();
                    black_box(object).encode_into(&mut buffer);
                    black_box(&buffer);
                };
                let line = measure(sampling, encode);
                (line, keccak256(&buffer))
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

    fn hash<T: Encode + ?Sized>(&self, object: &T) -> (WriterLine, [u8; 32]) {
        let mut digest = [0; 32];
        let sampling = self.sampling;
        let line = match (self.op, self.writer) {
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
        (line, digest)
    }

    /// Hashes every object.
    fn each<T: Encode>(&self, objects: &[T]) -> WriterLine {
        let hasher = match self.writer {
            Writer::Width(hasher) => hasher,
            _ => ManyKeccak::detect(),
        };
        let mut hashes = vec![[0; 32]; objects.len()];
        let line = measure(self.sampling, || {
            rlp::hash_each(black_box(objects), &hasher, &mut hashes);
            black_box(&hashes);
        });
        let bytes = objects.iter().map(Encode::encoded_len).sum();
        with_answer(line, bytes, keccak256(hashes.as_flattened()))
    }
}

/// Whether an [`Encoder`] is the fast way for values of this type.
fn any_number_of_lists<T: Encode + ?Sized>() -> bool {
    T::LISTS == usize::MAX
}

fn with_answer(line: WriterLine, bytes: usize, digest: [u8; 32]) -> WriterLine {
    WriterLine { bytes: bytes as u64, digest: Hex(&digest).to_string(), ..line }
}
