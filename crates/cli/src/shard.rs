//! `verify --shard` and `verify --merge`: verifies parts of a chain, and merges them. The module
//! `shard` of each chain has its part.

use crate::answer::Answer;
use crate::args::{Verification, Verify};
use crate::import::family;
use crate::{bitcoin, ethereum};
use anyhow::{Context, Result, bail, ensure};
use blockmill_archive::Family;
use blockmill_pipeline::Cancel;
use blockmill_verdict::{Digits, FaultReport};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// The text of documents of shards: one, or several of one file.
pub struct Documents<'a> {
    /// Their source, for messages.
    pub from: String,
    /// The JSON text of each.
    texts: Vec<Cow<'a, RawValue>>,
}

/// Runs `blockmill verify --shard` or `blockmill verify --merge`.
pub fn run(args: &Verify, json: bool, cancel: Cancel) -> Result<Answer> {
    let asked = &args.verification;
    if args.merge {
        let shards: Result<Vec<_>> = asked.paths.iter().map(|path| Documents::read(path)).collect();
        return merge(asked, &args.of, &shards?, json, cancel);
    }
    let after = args.after.as_deref().map(Documents::read).transpose()?;
    verify(asked, after.as_ref(), json, cancel)
}

/// Verifies an archive as a shard, after the documents of `after`.
pub fn verify(
    asked: &Verification,
    after: Option<&Documents<'_>>,
    json: bool,
    cancel: Cancel,
) -> Result<Answer> {
    expect_no_record(asked, "--shard")?;
    if bitcoin::shard::is_of_coins(&asked.paths)? {
        return bitcoin::shard::verify(asked, after, json, cancel);
    }
    match family(asked)? {
        Family::Ethereum => {
            let after = after.map(Documents::one).transpose()?;
            ethereum::shard::verify(asked, after.as_ref(), json, cancel)
        }
        Family::Bitcoin => bitcoin::shard::verify(asked, after, json, cancel),
        Family::Neo => {
            bail!("--shard: expected an Ethereum archive or Bitcoin block files, found a Neo dump")
        }
    }
}

/// Merges the documents of shards, which are parts of the archive `of`, if that is given.
pub fn merge(
    asked: &Verification,
    of: &[PathBuf],
    shards: &[Documents<'_>],
    json: bool,
    cancel: Cancel,
) -> Result<Answer> {
    expect_no_record(asked, "--merge")?;
    if shards.first().is_some_and(Documents::are_of_block_files) {
        return bitcoin::shard::merge(asked, of, shards, json, cancel);
    }
    ensure!(of.is_empty(), "--of: expected shards of Bitcoin block files, found others");
    let mut summaries = vec![];
    for shard in shards {
        summaries.append(&mut shard.parsed()?);
    }
    ethereum::shard::merge(asked, &summaries, json, cancel)
}

/// Refuses options of run records, which shards and merges do not write.
pub fn expect_no_record(asked: &Verification, flag: &str) -> Result<()> {
    ensure!(asked.record.is_none(), "{flag} writes no run record: --record is for whole runs");
    ensure!(asked.serve.is_none(), "{flag} shows no run: --serve is for whole runs");
    ensure!(!asked.profile, "{flag} writes no run record: --profile is for whole runs");
    Ok(())
}

/// The answer with `summary` as its result. Without `json`, prints the summary on one line, so that
/// the lines of many shards can be concatenated.
#[cfg(any(feature = "bitcoin", feature = "ethereum"))]
pub fn with_summary(answer: Answer, summary: &impl serde::Serialize, json: bool) -> Result<Answer> {
    let sealed = sealed(summary)?;
    if json {
        return answer.with(sealed);
    }
    crate::print::raw(format_args!("{}\n", sealed.get()));
    Ok(answer)
}

/// The notes on what a merge did not check.
#[cfg(any(feature = "bitcoin", feature = "ethereum"))]
pub fn not_checked(what: impl IntoIterator<Item = String>) -> impl Iterator<Item = String> {
    what.into_iter().map(|what| format!("not checked: {what}"))
}

/// Name of the member with the checksum of a document.
const CHECKSUM: &str = "checksum";

/// A document with its checksum as the last member. The checksum detects accidents, not intent.
#[cfg(any(feature = "bitcoin", feature = "ethereum"))]
pub fn sealed(document: &impl serde::Serialize) -> Result<Box<RawValue>> {
    let text = serde_json::to_string(document)?;
    let sum = checksum(&text)?;
    let open = text.strip_suffix('}').context("a document is no object")?;
    Ok(RawValue::from_string(format!("{open},\"{CHECKSUM}\":\"{sum}\"}}"))?)
}

/// SHA-256 of a document without its checksum, as JSON without spaces, with sorted members.
fn checksum(text: &str) -> Result<String> {
    let mut document: Value = serde_json::from_str(text)?;
    if let Some(members) = document.as_object_mut() {
        members.remove(CHECKSUM);
    }
    document.sort_all_objects();
    let bytes = serde_json::to_vec(&document)?;
    Ok(Digits(&blockmill_hashes::sha256(&bytes)).to_string())
}

/// A document was changed since it was written.
#[derive(Debug)]
pub struct Changed {
    /// File and number of the document.
    document: String,
    expected: String,
    found: String,
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { document, expected, found } = self;
        write!(f, "{document}: changed since it was written: {CHECKSUM}: expected {expected}, ")?;
        write!(f, "found {found}")
    }
}

impl std::error::Error for Changed {}

impl Changed {
    /// The fields of the report.
    pub fn report(&self) -> FaultReport {
        FaultReport {
            rule: Some(CHECKSUM.into()),
            expected: Some(self.expected.clone()),
            found: Some(self.found.clone()),
            hint: Some("verify the shard again".into()),
            ..FaultReport::new(self.to_string())
        }
    }
}

/// The field with the checksum of a document.
#[derive(Deserialize)]
struct Checksum {
    checksum: Option<String>,
}

/// The field with the type of a Bitcoin document.
#[derive(Deserialize)]
struct DocumentType {
    document: Option<String>,
}

impl<'a> Documents<'a> {
    const EXPECTED: &'static str = "expected summaries, as verify --shard prints them";

    /// Parses documents in memory.
    pub fn new(from: &str, text: &'a str) -> Result<Self> {
        let documents = serde_json::Deserializer::from_str(text).into_iter();
        Self::collect(from.into(), documents.map(|text| text.map(Cow::Borrowed)))
    }

    /// Reads documents from a file.
    fn read(path: &Path) -> Result<Self> {
        let from = path.display().to_string();
        let file = File::open(path).with_context(|| format!("cannot open {from}"))?;
        let documents = serde_json::Deserializer::from_reader(BufReader::new(file)).into_iter();
        Self::collect(from, documents.map(|text| text.map(Cow::Owned)))
    }

    /// Collects one or more documents.
    fn collect(
        from: String,
        texts: impl Iterator<Item = serde_json::Result<Cow<'a, RawValue>>>,
    ) -> Result<Self> {
        let texts: serde_json::Result<Vec<_>> = texts.collect();
        let texts = texts.with_context(|| format!("{from}: {}", Self::EXPECTED))?;
        ensure!(!texts.is_empty(), "{from}: {}, found nothing", Self::EXPECTED);
        Ok(Self { from, texts })
    }

    /// Deserialises all documents.
    pub fn parsed<T: DeserializeOwned>(&self) -> Result<Vec<T>> {
        let what = || format!("{}: {}", self.from, Self::EXPECTED);
        self.expect_checksums()?;
        self.texts.iter().map(|text| serde_json::from_str(text.get()).with_context(what)).collect()
    }

    /// Checks the checksum of each document.
    fn expect_checksums(&self) -> Result<()> {
        for (number, text) in (1..).zip(&self.texts) {
            let Checksum { checksum: found } = serde_json::from_str(text.get())
                .with_context(|| format!("{}: {}", self.from, Self::EXPECTED))?;
            let from = || format!("{}: document {number}", self.from);
            let Some(found) = found else {
                bail!(
                    "{}: expected a checksum, found none: an earlier version wrote it; verify the \
                     shard again",
                    from()
                )
            };
            let expected = checksum(text.get())?;
            if expected != found {
                let document = from();
                return Err(Changed { document, expected, found }.into());
            }
        }
        Ok(())
    }

    /// Deserialises the only document.
    pub fn one<T: DeserializeOwned>(&self) -> Result<T> {
        let mut parsed = self.parsed()?;
        match (parsed.pop(), parsed.pop()) {
            (Some(one), None) => Ok(one),
            _ => bail!("--after {}: expected one summary: merge several first", self.from),
        }
    }

    /// Returns whether these are documents of Bitcoin shards, which have a type.
    fn are_of_block_files(&self) -> bool {
        let first = self.texts.first().map(|text| serde_json::from_str(text.get()));
        matches!(first, Some(Ok(DocumentType { document: Some(_) })))
    }
}
