//! `inspect` of Neo dumps.

use super::network;
use crate::answer::Answer;
use crate::args::Inspect;
use crate::inspect::{print_answer, print_corruption, print_left_out};
use crate::library::{Contents, NeoDumps};
use anyhow::Result;
use blockmill_archive::acc::{self, Batch, Dumps};
use blockmill_archive::{Corruption, FileReport, Inspection};
use blockmill_neo::types::Block;
use blockmill_verdict::{ShortfallKind, Status, grouped};

/// The name of the format of dumps.
const FORMAT: &str = "acc";

/// Inspects dumps.
pub fn run(args: &Inspect, json: bool) -> Result<Answer> {
    let dumps = acc::open(&args.paths)?;
    let (inspection, transactions) = look(&dumps, args.deep);
    let answer = Answer::with_status(inspection.status());
    if json {
        let dumps = NeoDumps { inspection, format: FORMAT, transactions };
        return Ok(answer.with_contents(Contents::Neo(dumps)));
    }
    print(&inspection, transactions);
    Ok(answer)
}

/// Inspects every block. With `deep` it decodes them if the network is known: the encoding does not
/// say whether headers have state roots.
fn look(dumps: &Dumps, deep: bool) -> (Inspection, Option<u64>) {
    let protocol = network::detect(None, dumps, None).ok();
    let decode = protocol.as_ref().filter(|_| deep);
    let (mut block, mut transactions) = (Block::default(), 0);
    let mut inspection = acc::inspect(dumps, |batch| match decode {
        None => vec![],
        Some(protocol) => {
            let root = protocol.state_root_in_header;
            let faults = (0..batch.len())
                .filter_map(|at| corruption(&mut block, batch, at, root, &mut transactions));
            faults.collect()
        }
    });
    if let Some(protocol) = &protocol {
        for file in &mut inspection.files {
            file.network = Some(format!("{} (magic {})", protocol.name, protocol.magic));
        }
    }
    (inspection, decode.map(|_| transactions))
}

/// Decodes a block and reports its error.
fn corruption(
    block: &mut Block,
    batch: &Batch,
    at: usize,
    state_root: bool,
    transactions: &mut u64,
) -> Option<Corruption> {
    block.raw.clear();
    block.raw.extend_from_slice(batch.block(at));
    let error = block.parse(state_root).err();
    *transactions += block.transactions.len() as u64;
    let location = batch.location(at);
    error.map(|error| Corruption {
        text: format!("{location}: block encoding: {error}"),
        location: Some(location),
        kind: ShortfallKind::CorruptRecord,
        status: Status::Corrupt,
    })
}

fn print(inspection: &Inspection, transactions: Option<u64>) {
    let depth = match transactions {
        Some(count) => format!("every block decoded, {} transactions", grouped(count)),
        None => "lengths and heights only; --deep decodes all where the network is known".into(),
    };
    print_answer(inspection, &depth);
    inspection.files.iter().for_each(print_file);
    for gap in &inspection.gaps {
        println!("gap: {} should begin with block {}, ", gap.after.display(), gap.expected);
        println!("     as {} ends before it, but begins with {}", gap.before.display(), gap.found);
    }
    print_left_out(&inspection.left_out);
}

fn print_file(file: &FileReport) {
    println!("{}", file.path.display());
    let network = file.network.as_deref().map_or(String::new(), |name| format!(", {name}"));
    let range = match (file.first, file.last) {
        (Some(first), Some(last)) => {
            format!("blocks {} to {} ({})", grouped(first), grouped(last), grouped(file.blocks))
        }
        _ => "no blocks".to_string(),
    };
    let compression = if file.compression == "none" { "plain" } else { file.compression };
    println!("  acc{network}, {range}, {} bytes, {compression}", grouped(file.bytes));
    file.notes.iter().for_each(|note| println!("  note: {note}"));
    print_corruption(file);
}
