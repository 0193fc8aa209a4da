//! Compresses, for tests.

use std::io::{Cursor, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::Compression;

/// Every compression.
pub(crate) const ALL: [Compression; 6] = Compression::ALL;

/// `bytes` in one member, frame or stream.
pub(crate) fn pack(compression: Compression, bytes: &[u8]) -> Vec<u8> {
    match compression {
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        // with the checksum that the program writes
        Compression::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(vec![], 1).unwrap();
            encoder.include_checksum(true).unwrap();
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Xz => liblzma::encode_all(bytes, 0).unwrap(),
        Compression::Bzip2 => {
            let mut encoder = bzip2::write::BzEncoder::new(vec![], bzip2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        // with the checksum that the program writes
        Compression::Lz4 => {
            let info = lz4_flex::frame::FrameInfo::new().content_checksum(true);
            let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, vec![]);
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Zip => zip(&[("archive", bytes)], SimpleFileOptions::default()),
    }
}

/// A zip file.
pub(crate) fn zip(files: &[(&str, &[u8])], options: SimpleFileOptions) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(vec![]));
    for (name, bytes) in files {
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}
