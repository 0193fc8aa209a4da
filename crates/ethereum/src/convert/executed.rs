//! Converts a store of executed blocks into a format with receipts: a store imported from an
//! archive without receipts has none, so its blocks are executed again.

use super::{Conversion, ConvertError, Converted, State};
use crate::body::BodyView;
use crate::body::receipts;
use crate::commit::{Derive, Sink, Verified};
use crate::import::{Options, import};
use blockmill_archive::{Archive, ArchiveWriter, Chunk, ReceiptEncoding, WriteOptions};
use blockmill_verdict::{
    ConsumerError, DerivedRows, Level, Progress, ReceiveRows, Status, VerifiedConsumer,
};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Whether the target stores receipts that `archive` lacks and an execution can give.
#[must_use]
pub fn needs_execution(archive: &Archive, conversion: &Conversion<'_>) -> bool {
    let has_receipts = conversion.format.parts().receipts.is_some();
    has_receipts && archive.is_executed() && !archive.has_receipts()
}

/// Executes the blocks of `archive`, from its first one on, and writes those of the conversion with
/// their receipts to `out`. `options` say how the blocks are executed.
///
/// # Errors
/// Returns [`ConvertError::Execution`] if a block does not pass, and the errors of
/// [`convert`](super::convert()) otherwise.
pub fn convert_executed(
    archive: &Archive,
    conversion: &Conversion<'_>,
    options: Options,
    out: &Path,
) -> Result<Converted, ConvertError> {
    let network = options.spec.name.clone();
    let write = WriteOptions { gzip: conversion.gzip, network, replace: conversion.replace };
    let mut writer = ArchiveWriter::create(conversion.format, out, &write)?;
    let mut state = State::new(archive, *conversion)?;
    if let Some(genesis) = state.genesis_chunk()? {
        writer.append(&genesis)?;
    }
    let written = Arc::new(Mutex::new(Written { writer, first: state.first, last: None }));
    let encoding = conversion.format.parts().receipts.unwrap_or_default();
    let from = conversion.from.unwrap_or(0);
    let derive: Arc<Derive> = Arc::new(move |blocks| {
        let chunk = chunk_of(blocks, encoding, from)?;
        Ok(Box::new(chunk) as DerivedRows)
    });
    let receiver = written.clone();
    let write: Arc<ReceiveRows> = Arc::new(move |rows| {
        let Some(chunk) = rows.downcast_ref::<Chunk>().filter(|chunk| chunk.blocks() > 0) else {
            return Ok(());
        };
        receiver.lock().unwrap_or_else(PoisonError::into_inner).append(chunk)
    });
    let consumer = Some(VerifiedConsumer { derive, tasks: vec![], write });
    let options = Options { consumer, from: None, until: conversion.until, ..options };
    let live = options.cancel.live();
    live.verify(Level::Execution, archive.disk_bytes());
    let report = |progress: &Progress| live.progress(progress);
    let (run, outcome) = import(archive, &options, &mut Sink::Discard, report);
    drop(options);
    outcome.map_err(|error| ConvertError::Execution(Box::new(error)))?;
    if run.stopped {
        return Err(ConvertError::Stopped);
    }
    let written = Arc::into_inner(written).ok_or(ConvertError::Empty)?;
    let Written { writer, first, last } =
        written.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (Some(first), Some(last)) = (first, last) else { return Err(ConvertError::Empty) };
    writer.finish()?;
    let lists_left_out = if conversion.format.parts().access_lists { 0 } else { run.access_lists };
    let range = (first, last);
    Ok(Converted { range, lists_left_out, without_receipts: 0, note: None })
}

/// The output so far.
struct Written {
    writer: ArchiveWriter,
    first: Option<u64>,
    last: Option<u64>,
}

impl Written {
    fn append(&mut self, chunk: &Chunk) -> Result<(), ConsumerError> {
        self.writer.append(chunk).map_err(|error| ConsumerError {
            status: error.status(),
            message: error.to_string(),
        })?;
        let (first, blocks) = (chunk.first.unwrap_or(0), chunk.blocks() as u64);
        self.first.get_or_insert(first);
        self.last = Some(first + blocks - 1);
        Ok(())
    }
}

/// The blocks from number `from` on, with their receipts in an encoding.
fn chunk_of(
    blocks: &Verified<'_>,
    encoding: ReceiptEncoding,
    from: u64,
) -> Result<Chunk, ConsumerError> {
    let mut chunk = Chunk::new();
    chunk.receipt_encoding = encoding;
    for at in blocks.range().filter(|at| blocks.number(*at) >= from) {
        let body = blocks.body(at).unwrap_or_default();
        chunk.first.get_or_insert(blocks.number(at));
        chunk.headers.push(blocks.header(at));
        chunk.bodies.push(body);
        chunk.push_access_list(blocks.access_list(at));
        chunk.total_difficulties.push(blocks.total_difficulty(at).to_be_bytes());
        let lacking = |error: String| ConsumerError {
            status: Status::Corrupt,
            message: format!("block {}: receipts: {error}", blocks.number(at)),
        };
        let found = blocks.receipts(at).ok_or_else(|| lacking("expected some, found none".into()));
        let (list, own) = found?;
        let types = BodyView::decode(body).map(|body| body.transaction_types().collect::<Vec<_>>());
        let types = types.map_err(|error| lacking(error.to_string()))?;
        receipts::recode(&list, (own, encoding), types, &mut chunk.receipts.bytes)
            .map_err(|error| lacking(error.to_string()))?;
        chunk.receipts.end_item();
    }
    Ok(chunk)
}
