//! Inspects dumps.

use super::{Batch, Dump, Dumps, Reader};
use crate::ChunkLimit;
use crate::listing::disk_bytes;
use crate::report::{Corruption, FileReport, Inspection, gaps};

/// Inspects each dump by itself: every length, and the height of every block. The content of blocks
/// is up to the caller, who knows the chain: `each` gets every batch and returns its corruption.
pub fn inspect(dumps: &Dumps, mut each: impl FnMut(&Batch) -> Vec<Corruption>) -> Inspection {
    let files: Vec<FileReport> = dumps.files().iter().map(|dump| one(dump, &mut each)).collect();
    let gaps = gaps(&files);
    Inspection { files, gaps, left_out: dumps.left_out().clone() }
}

fn one(dump: &Dump, each: &mut impl FnMut(&Batch) -> Vec<Corruption>) -> FileReport {
    let mut report = FileReport {
        path: dump.path.clone(),
        bytes: disk_bytes(&dump.path),
        compression: "none",
        ..FileReport::default()
    };
    if let Some(compression) = dump.compression {
        report.compression = compression.name();
        report.notes.push("offsets count the unpacked bytes".into());
    }
    let kind = if dump.head.incremental { "incremental" } else { "whole" };
    report.notes.push(format!("{kind} dump, says that it has {} blocks", dump.head.count));
    let mut reader = Reader::new(&Dumps::of(dump), 0, ChunkLimit::default());
    let mut batch = Batch::default();
    loop {
        match reader.read(&mut batch) {
            Ok(true) => {}
            Ok(false) => return report,
            Err(error) => {
                report.add_error(&error);
                return report;
            }
        }
        let count = batch.len() as u64;
        report.first.get_or_insert(batch.first().into());
        report.last = Some(u64::from(batch.first()) + count - 1);
        report.blocks += count;
        each(&batch).into_iter().for_each(|corruption| report.add(corruption));
    }
}
