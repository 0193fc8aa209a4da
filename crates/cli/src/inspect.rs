//! `inspect`: what is in an archive, or in a store of coins.

use crate::answer::Answer;
use crate::args::Inspect;
use crate::{bitcoin, checksums, data_folder, ethereum, neo, outputs, stop};
use anyhow::{Context, Result, ensure};
#[cfg(any(feature = "ethereum", feature = "neo"))]
use blockmill_archive::FileReport;
use blockmill_archive::output::Shape;
use blockmill_archive::{Family, LeftOut};
use blockmill_pipeline::Cancel;
#[cfg(any(feature = "ethereum", feature = "neo"))]
use blockmill_verdict::{Status, counted};

/// `blockmill inspect`.
pub fn run(args: &Inspect, json: bool) -> Result<Answer> {
    // the system ends the program at a signal
    let never = Cancel::shown_to(stop::cancel().live());
    let checked = checksums::compare(args.checksums.as_deref(), &args.paths, json, &never)?;
    if let Some(out) = &args.checksums_out {
        // it may be in the folder whose files it lists, and replaces none of these
        let files = checksums::files(&args.paths)?;
        let claim = outputs::claim(out, &files, Shape::File, args.replace)?;
        checksums::write(out, &args.paths, &never)?;
        claim.done()?;
    }
    Ok(checked.with(contents(args, json)?))
}

fn contents(args: &Inspect, json: bool) -> Result<Answer> {
    for store in &args.paths {
        // a store of Ethereum is an archive, too
        let Some(family @ (Family::Bitcoin | Family::Neo)) = data_folder::family_of(store)? else {
            continue;
        };
        let name = store.display();
        ensure!(args.paths.len() == 1, "{name} is a store: inspect it alone, found other paths");
        return match family {
            Family::Neo => neo::query::run(store, args, json),
            _ => bitcoin::coins::run(store, json),
        };
    }
    let asks = args.block.is_some() || args.transaction.is_some() || args.account.is_some();
    ensure!(!asks, "--block, --transaction and --account are for the store of a Neo import");
    if let [path] = &args.paths[..]
        && ethereum::snapshot::is_snapshot(path)
            .with_context(|| format!("cannot read {}", path.display()))?
    {
        return ethereum::snapshot::inspect(path, args.deep, json);
    }
    match Family::detect(&args.paths)? {
        Family::Ethereum => ethereum::inspect::run(args, json),
        Family::Bitcoin => bitcoin::inspect::run(args, json),
        Family::Neo => neo::inspect::run(args, json),
    }
}

/// What was found in archives, in a line.
#[cfg(any(feature = "ethereum", feature = "neo"))]
pub fn print_answer(found: &blockmill_archive::Inspection, depth: &str) {
    let files = |status| found.files.iter().filter(|file| file.status() == status).count();
    let parts: Vec<_> = [
        (files(Status::Environment), "unreadable file"),
        (files(Status::Unrecognised), "unrecognised file"),
        (files(Status::Corrupt), "corrupt file"),
        (files(Status::Incomplete), "incomplete file"),
        (found.gaps.len(), "gap"),
        (found.left_out.unread().len(), "unread file"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| counted(count as u64, what))
    .collect();
    let parts = parts.join(", ");
    match found.status() {
        Status::Ok => println!("No corruption, no gaps ({depth})."),
        Status::Incomplete => println!("Incomplete: {parts} ({depth})."),
        Status::Corrupt => println!("Corrupt: {parts} ({depth})."),
        Status::Unrecognised => println!("Unrecognised: {parts} ({depth})."),
        _ => println!("Not all could be read: {parts} ({depth})."),
    }
}

/// What is wrong with a file, in a line for each place.
#[cfg(any(feature = "ethereum", feature = "neo"))]
pub fn print_corruption(file: &FileReport) {
    for corruption in &file.corruption {
        let label = match corruption.class() {
            Status::Incomplete => "INCOMPLETE",
            Status::Unrecognised => "UNRECOGNISED",
            Status::Environment => "UNREADABLE",
            _ => "CORRUPT",
        };
        println!("  {label}: {}", corruption.text);
    }
}

/// Names the files of a folder that were not read.
pub fn print_left_out(left_out: &LeftOut) {
    let (unread, notes) = left_out.judge(false);
    unread.iter().for_each(|shortfall| println!("missing: {shortfall}"));
    notes.iter().for_each(|note| println!("note: {note}"));
}
