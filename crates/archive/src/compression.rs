//! Decompression in order and in bounded memory.

mod frames;
mod member;

use std::fmt;
use std::io::{self, BufReader, Read, Seek};

use flate2::read::MultiGzDecoder;
use serde::Serialize;

use frames::Frames;
use member::{Member, Refused};

/// Number of compressed bytes that are read at once.
const BUFFER: usize = 64 << 10;

/// Largest window of Zstandard, as a power of two: the limit of its own program. Data with a larger
/// window (`--long=31`) is rejected.
const ZSTD_WINDOW_LOG: u32 = 27;

/// Memory for unpacking xz: twice the need of its strongest preset (65 MiB).
const XZ_MEMORY: u64 = 130 << 20;

/// A compression of whole files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compression {
    /// RFC 1952; several members in a row count as one.
    Gzip,
    /// RFC 8878; several frames in a row count as one.
    Zstd,
    /// The .xz format; several streams in a row count as one.
    Xz,
    /// Several streams in a row count as one.
    Bzip2,
    /// The frame format of lz4; several frames in a row count as one.
    Lz4,
    /// A zip file with one file in it.
    Zip,
}

impl Compression {
    /// The compression that the first bytes of a file identify. File names are not considered.
    pub(crate) fn detect(head: &[u8]) -> Option<Self> {
        match head {
            // deflate is the only method, and the upper flags are reserved
            [0x1f, 0x8b, 0x08, flags, ..] if flags & 0xe0 == 0 => Some(Self::Gzip),
            // a frame, or one to be skipped, with which some writers begin
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            // the magic of a first block, or of the end when there is none
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31 | 0x17, 0x41 | 0x72, ..] => Some(Self::Bzip2),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some(Self::Lz4),
            // the header of a first file
            [b'P', b'K', 3, 4, ..] => Some(Self::Zip),
            _ => None,
        }
    }

    /// All compressions that are read.
    pub const ALL: [Self; 6] =
        [Self::Gzip, Self::Zstd, Self::Xz, Self::Bzip2, Self::Lz4, Self::Zip];

    /// The format's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
            Self::Lz4 => "lz4",
            Self::Zip => "zip",
        }
    }

    /// The usual endings of file names.
    pub(crate) const ENDINGS: [&'static str; 7] =
        [".gz", ".zst", ".zstd", ".xz", ".bz2", ".lz4", ".zip"];
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The bytes of `R`, plain or unpacked.
pub(crate) enum Decoder<R: Read> {
    Plain(R),
    Gzip(Box<MultiGzDecoder<BufReader<R>>>),
    Zstd(Box<zstd::stream::read::Decoder<'static, BufReader<R>>>),
    Xz(Box<liblzma::bufread::XzDecoder<BufReader<R>>>),
    Bzip2(Box<bzip2::bufread::MultiBzDecoder<BufReader<R>>>),
    Lz4(Box<Frames<R>>),
    Zip(Box<Member<R>>),
}

impl<R: Read + Seek> Decoder<R> {
    /// Unpacks the bytes of `raw`, which is at its first byte.
    pub fn new(raw: R, compression: Option<Compression>) -> io::Result<Self> {
        let Some(compression) = compression else { return Ok(Self::Plain(raw)) };
        let buffered = |raw| BufReader::with_capacity(BUFFER, raw);
        Ok(match compression {
            Compression::Gzip => Self::Gzip(Box::new(MultiGzDecoder::new(buffered(raw)))),
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered(raw))?;
                decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                Self::Zstd(Box::new(decoder))
            }
            Compression::Xz => {
                let flags = liblzma::stream::CONCATENATED;
                let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, flags)?;
                let decoder = liblzma::bufread::XzDecoder::new_stream(buffered(raw), stream);
                Self::Xz(Box::new(decoder))
            }
            Compression::Bzip2 => {
                Self::Bzip2(Box::new(bzip2::bufread::MultiBzDecoder::new(buffered(raw))))
            }
            Compression::Lz4 => Self::Lz4(Box::new(Frames::new(raw))),
            Compression::Zip => Self::Zip(Box::new(Member::open(raw))),
        })
    }
}

impl<R: Read> Decoder<R> {
    /// The source of the bytes.
    pub fn raw(&self) -> &R {
        match self {
            Self::Plain(raw) => raw,
            Self::Gzip(decoder) => decoder.get_ref().get_ref(),
            Self::Zstd(decoder) => decoder.get_ref().get_ref(),
            Self::Xz(decoder) => decoder.get_ref().get_ref(),
            Self::Bzip2(decoder) => decoder.get_ref().get_ref(),
            Self::Lz4(frames) => frames.raw(),
            Self::Zip(member) => member.raw(),
        }
    }
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(raw) => raw.read(into),
            Self::Gzip(decoder) => decoder.read(into),
            Self::Zstd(decoder) => decoder.read(into),
            Self::Xz(decoder) => decoder.read(into),
            Self::Bzip2(decoder) => decoder.read(into),
            Self::Lz4(frames) => frames.read(into),
            Self::Zip(member) => member.read(into),
        }
    }
}

/// A fault in compressed data.
#[derive(Debug)]
pub enum CompressionFault {
    /// The data is cut short.
    Cut,
    /// Unpacking needs more memory than this program allows.
    Window,
    /// A zip file that is not read: with several files, or an encrypted one.
    Refused(String),
    /// The data violates the format, or its checksum does not match.
    Corrupt(String),
}

impl CompressionFault {
    /// The fault that a decoder's error means; `None` if it is an error of the operating system.
    pub(crate) fn from_io(error: &io::Error) -> Option<Self> {
        if error.raw_os_error().is_some() || error.kind() == io::ErrorKind::Interrupted {
            return None;
        }
        let lzma = error.get_ref().and_then(|e| e.downcast_ref::<liblzma::stream::Error>());
        let text = error.to_string();
        if error.get_ref().is_some_and(|inner| inner.is::<Refused>()) {
            return Some(Self::Refused(text));
        }
        let zstd_window = text.contains("requires too much memory");
        Some(match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Cut,
            _ if zstd_window || lzma == Some(&liblzma::stream::Error::MemLimit) => Self::Window,
            _ => Self::Corrupt(text),
        })
    }
}

impl fmt::Display for CompressionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut => f.write_str("an end in the middle of it"),
            Self::Window => f.write_str(
                "a window of more than 128 MiB, which is too much memory; unpack it beforehand",
            ),
            Self::Refused(text) => f.write_str(text),
            Self::Corrupt(text) => write!(f, "an error: {text}"),
        }
    }
}
