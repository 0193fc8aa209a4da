//! `verify --unit` and `verify --join`: parts of a chain verified apart, and joined. What a chain
//! makes of them stands in the `unit.rs` of its folder.

use crate::answer::Answer;
use crate::args::{Verification, Verify};
use crate::ethereum;
use crate::import::family;
use ::ethereum::unit::boundary::Boundary;
use anyhow::{Context, Result, bail, ensure};
use archive::Family;
use pipeline::Cancel;
use serde::Serialize;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// What files of boundaries hold.
pub const EXPECTED: &str = "expected boundaries, as verify --unit prints them";

/// `blockmill verify --unit`, `blockmill verify --join`.
pub fn run(args: &Verify, json: bool, cancel: Cancel) -> Result<Answer> {
    let asked = &args.verification;
    if args.join {
        let mut units = vec![];
        for path in &asked.paths {
            units.extend(read(path)?);
        }
        return join(args, &units, json, cancel);
    }
    let after = args.after.as_deref().map(before).transpose()?;
    verify(args, after.as_ref(), json, cancel)
}

/// Verifies an archive as a unit, behind the blocks of `after`.
pub fn verify(
    args: &Verify,
    after: Option<&Boundary>,
    json: bool,
    cancel: Cancel,
) -> Result<Answer> {
    let asked = &args.verification;
    expect_no_record(asked, "--unit")?;
    match family(asked) {
        Family::Ethereum => ethereum::unit::verify(asked, after, json, cancel),
        Family::Bitcoin | Family::Neo => {
            bail!("--unit: expected an Ethereum archive, which can be verified in parts")
        }
    }
}

/// Joins boundaries.
pub fn join(args: &Verify, units: &[Boundary], json: bool, cancel: Cancel) -> Result<Answer> {
    expect_no_record(&args.verification, "--join")?;
    ethereum::unit::join(&args.verification, units, json, cancel)
}

/// A unit and a join leave no record.
pub fn expect_no_record(asked: &Verification, flag: &str) -> Result<()> {
    ensure!(asked.record.is_none(), "{flag} writes no run record: --record is for whole runs");
    ensure!(asked.serve.is_none(), "{flag} shows no run: --serve is for whole runs");
    ensure!(!asked.profile, "{flag} writes no run record: --profile is for whole runs");
    Ok(())
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
fn read(path: &Path) -> Result<Vec<Boundary>> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let documents = serde_json::Deserializer::from_reader(BufReader::new(file)).into_iter();
    let boundaries: serde_json::Result<Vec<Boundary>> = documents.collect();
    let boundaries = boundaries.with_context(|| format!("{}: {EXPECTED}", path.display()))?;
    ensure!(!boundaries.is_empty(), "{}: {EXPECTED}, found nothing", path.display());
    Ok(boundaries)
}

/// The one boundary that a unit is verified after.
fn before(path: &Path) -> Result<Boundary> {
    let mut boundaries = read(path)?;
    match (boundaries.pop(), boundaries.pop()) {
        (Some(one), None) => Ok(one),
        _ => bail!("--after {}: expected one boundary: join several first", path.display()),
    }
}
