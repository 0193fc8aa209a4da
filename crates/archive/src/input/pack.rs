//! Compresses, for tests.

use std::io::Write;

use super::Compression;

/// Every compression.
pub(crate) const ALL: [Compression; 4] =
    [Compression::Gzip, Compression::Zstd, Compression::Xz, Compression::Bzip2];

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
    }
}
