//! `verify --unit` and `verify --join`: parts of a chain verified apart, and joined. What a chain
//! makes of them stands in the `unit.rs` of its folder.

use crate::answer::Answer;
use crate::args::Verify;
use crate::import::family;
use crate::{bitcoin, ethereum};
use anyhow::{Context, Result, bail, ensure};
use archive::Family;
use pipeline::Cancel;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// `blockmill verify --unit`, `blockmill verify --join`.
pub fn run(args: &Verify, json: bool, cancel: Cancel) -> Result<Answer> {
    let asked = &args.verification;
    let flag = if args.unit { "--unit" } else { "--join" };
    ensure!(asked.record.is_none(), "{flag} writes no run record: --record is for whole runs");
    ensure!(asked.serve.is_none(), "{flag} shows no run: --serve is for whole runs");
    ensure!(!asked.profile, "{flag} writes no run record: --profile is for whole runs");
    if args.join {
        return match is_of_block_files(&asked.paths)? {
            true => bitcoin::unit::join(asked, json, cancel),
            false => ethereum::unit::join(asked, json, cancel),
        };
    }
    match family(asked) {
        Family::Ethereum => ethereum::unit::verify(args, json, cancel),
        Family::Bitcoin => bitcoin::unit::verify(args, json, cancel),
        Family::Neo => {
            bail!("--unit: expected an Ethereum archive or Bitcoin block files, found a Neo dump")
        }
    }
}

/// The answer that has `boundary` as its own part; without `json` that is printed in one line, so
/// that the lines of many units make one file.
pub fn with_boundary(answer: Answer, boundary: &impl Serialize, json: bool) -> Result<Answer> {
    if json {
        return answer.with(boundary);
    }
    println!("{}", serde_json::to_string(boundary)?);
    Ok(answer)
}

/// Are these documents of Bitcoin's units? Each of them says what it is.
fn is_of_block_files(paths: &[PathBuf]) -> Result<bool> {
    let Some(path) = paths.first() else { return Ok(false) };
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut documents = serde_json::Deserializer::from_reader(BufReader::new(file)).into_iter();
    let first: Option<serde_json::Result<Kind>> = documents.next();
    Ok(matches!(first, Some(Ok(Kind { document: Some(_) }))))
}

/// The field that names a document.
#[derive(Deserialize)]
struct Kind {
    document: Option<String>,
}

/// The boundaries in a file, one or one after the other.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let documents = serde_json::Deserializer::from_reader(BufReader::new(file)).into_iter();
    let boundaries: serde_json::Result<Vec<T>> = documents.collect();
    let what = "expected boundaries, as verify --unit prints them";
    let boundaries = boundaries.with_context(|| format!("{}: {what}", path.display()))?;
    ensure!(!boundaries.is_empty(), "{}: {what}, found nothing", path.display());
    Ok(boundaries)
}
