//! Where the rows of an export go.

use crate::encode::Piece;
use crate::error::Error;
use crate::write::FileWriter;
use arrow_array::RecordBatch;
use std::sync::mpsc::SyncSender;

/// Takes every piece, in order.
pub(crate) enum Outlet {
    /// Into files.
    Files(Box<FileWriter>),
    /// To a reader, which may be slower than the export: that waits.
    Reader(SyncSender<RecordBatch>),
}

impl Outlet {
    /// Takes a piece that every encoder has taken.
    pub fn take(&mut self, piece: &Piece) -> Result<(), Error> {
        match self {
            Self::Files(writer) => writer.take(piece),
            Self::Reader(reader) => {
                let mut batches = piece.tables.iter().flat_map(|rows| &rows.batches);
                let send = |batch: &RecordBatch| reader.send(batch.clone());
                batches.try_for_each(send).map_err(|_| Error::NoReader)
            }
        }
    }
}
