//! `verify --unit` and `verify --join`: parts of a chain verified apart, and joined. What a chain
//! makes of them stands in the `unit.rs` of its folder.

use crate::answer::Answer;
use crate::args::Verify;
use crate::ethereum;
use crate::import::family;
use anyhow::{Context, Result, bail, ensure};
use archive::Family;
use pipeline::Cancel;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// `blockmill verify --unit`, `blockmill verify --join`.
pub fn run(args: &Verify, json: bool, cancel: Cancel) -> Result<Answer> {
    let asked = &args.verification;
    let flag = if args.unit { "--unit" } else { "--join" };
    ensure!(asked.record.is_none(), "{flag} writes no run record: --record is for whole runs");
    ensure!(asked.serve.is_none(), "{flag} shows no run: --serve is for whole runs");
    ensure!(!asked.profile, "{flag} writes no run record: --profile is for whole runs");
    if args.join {
        return ethereum::unit::join(asked, json, cancel);
    }
    match family(asked) {
        Family::Ethereum => ethereum::unit::verify(args, json, cancel),
        Family::Bitcoin | Family::Neo => {
            bail!("--unit: expected an Ethereum archive, which can be verified in parts")
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
