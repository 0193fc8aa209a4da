//! What Ethereum archives hold, for a person or as JSON.

use super::network;
use crate::answer::Answer;
use crate::args::Inspect;
use crate::inspect::{print_answer, print_corruption, print_left_out};
use crate::library::Contents;
use anyhow::Result;
use blockmill_archive::{Archive, FileReport, Format, Inspection, TableReport};
use blockmill_verdict::grouped;

/// Inspects archives of any format, including stores.
pub fn run(args: &Inspect, json: bool) -> Result<Answer> {
    let mut inspection = blockmill_archive::inspect(&args.paths, args.deep)?;
    inspection.files.iter_mut().try_for_each(name_chain)?;
    let answer = Answer::with_status(inspection.status());
    if json {
        return Ok(answer.with_contents(Contents::Ethereum(inspection)));
    }
    print(&inspection, args.deep);
    Ok(answer)
}

/// Names the chain by its first block, which proves more than the file's name, or by a genesis.json
/// in the same folder.
fn name_chain(file: &mut FileReport) -> Result<()> {
    let paths = std::slice::from_ref(&file.path);
    let Ok(archive) = Archive::open(paths) else { return Ok(()) };
    // corruption is reported in its place; here it only means that the first block names no chain
    match network::by_first_block(&archive) {
        Ok(Some(spec)) => file.network = Some(spec.name),
        _ if file.network.is_some() => {
            file.notes.push("only the file's name says which network this is".into());
        }
        _ => {
            let sibling = network::genesis_next_to(&file.path)?;
            file.network = sibling.map(|genesis| format!("the chain of {}", genesis.display()));
        }
    }
    Ok(())
}

fn print(inspection: &Inspection, deep: bool) {
    let has_store = inspection.files.iter().any(|file| file.format == Some(Format::Store));
    let depth = match (deep, has_store) {
        (true, true) => "every block decoded; `check` reads the state",
        (true, false) => "every block decoded",
        (false, _) => "structure only; --deep decodes all",
    };
    print_answer(inspection, depth);
    for file in &inspection.files {
        print_file(file);
    }
    for gap in &inspection.gaps {
        println!("gap: {} should begin with block {}, ", gap.after.display(), gap.expected);
        println!("     as {} ends before it, but begins with {}", gap.before.display(), gap.found);
    }
    print_left_out(&inspection.left_out);
}

fn print_file(file: &FileReport) {
    println!("{}", file.path.display());
    let format = file.format.map_or("unknown format", Format::name);
    let network = file.network.as_deref().map_or(String::new(), |name| format!(", {name}"));
    let range = match (file.first, file.last) {
        (Some(first), Some(last)) => {
            format!("blocks {} to {} ({})", grouped(first), grouped(last), grouped(file.blocks))
        }
        _ => "no blocks".to_string(),
    };
    let compression = if file.compression == "none" { "plain" } else { file.compression };
    println!("  {format}{network}, {range}, {} bytes, {compression}", grouped(file.bytes));
    file.tables.iter().for_each(print_table);
    file.notes.iter().for_each(|note| println!("  note: {note}"));
    print_corruption(file);
}

fn print_table(table: &TableReport) {
    let items = grouped(table.items);
    let mut line = format!("  {:<9}{items:>12} items", table.name);
    if table.tail > 0 {
        line += &format!(", from {}", grouped(table.tail));
    }
    line += &format!(", {} files, {} bytes", table.files, grouped(table.bytes));
    line += &format!(", {}", if table.compression == "none" { "raw" } else { table.compression });
    match (table.meta_version, table.flush_offset) {
        (Some(version), Some(offset)) => {
            line += &format!(", meta v{version} (flushed up to index byte {})", grouped(offset));
        }
        (Some(version), None) => line += &format!(", meta v{version}"),
        (None, _) => line += ", no meta",
    }
    println!("{line}");
}
