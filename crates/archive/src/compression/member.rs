//! The file in a zip file, unpacked in order. The directory at the end of the zip file is read
//! first, so a zip file without its end is cut short, however much of it is there.

use std::error::Error;
use std::fmt;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom, Take};
use std::path::Path;

use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use memchr::memmem;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::BUFFER;
use crate::names::is_harmless;

/// First bytes of the record at the end.
const END: &[u8] = b"PK\x05\x06";

/// Bytes of the record at the end, without its comment.
const END_LENGTH: usize = 22;

/// Bytes of the longest comment.
const COMMENT: u64 = 0xffff;

/// Number of files that a message names.
const NAMED: usize = 4;

/// The bytes of the only file in a zip file.
pub(crate) struct Member<R: Read> {
    data: Data<R>,
    /// Why there is nothing to read, until somebody reads.
    fault: Option<io::Error>,
    place: Place,
    unpacked: u64,
    crc: Crc,
}

enum Data<R: Read> {
    Stored(Take<R>),
    Deflated(DeflateDecoder<BufReader<Take<R>>>),
}

/// What the directory says of a file.
#[derive(Clone, Copy, Default)]
struct Place {
    start: u64,
    packed: u64,
    size: u64,
    crc: u32,
    deflated: bool,
}

impl<R: Read + Seek> Member<R> {
    /// Finds the file. Errors are those of the first read.
    pub fn open(mut raw: R) -> Self {
        let found = find(&mut raw).and_then(|place| {
            raw.seek(SeekFrom::Start(place.start))?;
            Ok(place)
        });
        let (place, fault) = match found {
            Ok(place) => (place, None),
            Err(fault) => (Place::default(), Some(fault)),
        };
        let raw = raw.take(place.packed);
        let data = match place.deflated {
            true => Data::Deflated(DeflateDecoder::new(BufReader::with_capacity(BUFFER, raw))),
            false => Data::Stored(raw),
        };
        Self { data, fault, place, unpacked: 0, crc: Crc::new() }
    }
}

impl<R: Read> Member<R> {
    /// The source of the bytes.
    pub fn raw(&self) -> &R {
        match &self.data {
            Data::Stored(raw) => raw.get_ref(),
            Data::Deflated(decoder) => decoder.get_ref().get_ref().get_ref(),
        }
    }

    /// Compares what was unpacked with the directory.
    fn check_end(&self) -> io::Result<()> {
        let packed = match &self.data {
            Data::Stored(_) => self.place.packed,
            Data::Deflated(decoder) => decoder.total_in(),
        };
        let expected = (self.place.packed, self.place.size);
        if (packed, self.unpacked) != expected {
            let found = format!("{packed} bytes that unpack to {}", self.unpacked);
            let (packed, size) = expected;
            return Err(corrupt(format!(
                "{found}, where its directory has {packed} bytes that unpack to {size}"
            )));
        }
        let (found, expected) = (self.crc.sum(), self.place.crc);
        if found != expected {
            return Err(corrupt(format!(
                "checksum {found:#010x}, where its directory has {expected:#010x}"
            )));
        }
        Ok(())
    }
}

impl<R: Read> Read for Member<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(fault) = self.fault.take() {
            // a second read is no end of the file
            self.place.size = u64::MAX;
            return Err(fault);
        }
        let count = match &mut self.data {
            Data::Stored(raw) => raw.read(into),
            Data::Deflated(decoder) => decoder.read(into),
        };
        let count = count.map_err(|error| match error.kind() {
            // the directory is there, so the zip file is not cut short
            ErrorKind::UnexpectedEof => corrupt("fewer bytes than its directory has"),
            _ => error,
        })?;
        self.crc.update(&into[..count]);
        self.unpacked += count as u64;
        if self.unpacked > self.place.size || (count == 0 && !into.is_empty()) {
            self.check_end()?;
        }
        Ok(count)
    }
}

/// A zip file that is sound and not read.
#[derive(Debug)]
pub(crate) struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Refused {}

fn refused(found: impl fmt::Display) -> io::Error {
    io::Error::other(Refused(format!("{found}: unpack it, and give what is in it")))
}

fn corrupt(text: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, text.into())
}

/// The place of the only file.
fn find<R: Read + Seek>(raw: &mut R) -> io::Result<Place> {
    check_end_record(raw)?;
    let mut archive = ZipArchive::new(BufReader::new(raw)).map_err(fault_of)?;
    if archive.offset() > 0 {
        return Err(corrupt(format!("{} bytes before the zip file", archive.offset())));
    }
    if archive.has_duplicate_names() {
        return Err(corrupt("two files of one name"));
    }
    let index = only_file(&archive)?;
    let file = archive.by_index_raw(index).map_err(fault_of)?;
    if file.encrypted() {
        return Err(refused("an encrypted file"));
    }
    let deflated = file.compression() == CompressionMethod::DEFLATE;
    if !deflated && file.compression() != CompressionMethod::STORE {
        return Err(refused(format!("a file of another method ({:?})", file.compression())));
    }
    let start = file.data_start().ok_or_else(|| corrupt("no place of the file"))?;
    let (packed, size, crc) = (file.compressed_size(), file.size(), file.crc32());
    Ok(Place { start, packed, size, crc, deflated })
}

/// The index of the only file. Folders do not count, and texts only where there is nothing else.
fn only_file<R: Read + Seek>(archive: &ZipArchive<R>) -> io::Result<usize> {
    let (mut first, mut count, mut names) = (None, 0usize, vec![]);
    for (index, name) in archive.file_names_raw().enumerate() {
        let name = String::from_utf8_lossy(name);
        let is_text = archive.len() > 1 && is_harmless(Path::new(&*name));
        if is_text || name.ends_with('/') {
            continue;
        }
        first.get_or_insert(index);
        count += 1;
        if names.len() < NAMED {
            names.push(name.into_owned());
        }
    }
    match (first, count) {
        (Some(index), 1) => Ok(index),
        (None, _) => Err(refused("no archive in it")),
        (Some(_), _) => {
            let more = if count > NAMED { ", ..." } else { "" };
            Err(refused(format!("{count} files in it ({}{more})", names.join(", "))))
        }
    }
}

/// Checks that the record at the end is the end of the file.
fn check_end_record<R: Read + Seek>(raw: &mut R) -> io::Result<()> {
    let length = raw.seek(SeekFrom::End(0))?;
    let start = length.saturating_sub(END_LENGTH as u64 + COMMENT);
    raw.seek(SeekFrom::Start(start))?;
    let mut tail = vec![];
    raw.take(END_LENGTH as u64 + COMMENT).read_to_end(&mut tail)?;
    let mut trailing = 0;
    for at in memmem::find_iter(&tail, END) {
        let rest = tail.len() - at;
        let Some([low, high]) = tail.get(at + END_LENGTH - 2..at + END_LENGTH) else { continue };
        let record = END_LENGTH + usize::from(u16::from_le_bytes([*low, *high]));
        if record == rest {
            return Ok(());
        }
        trailing = rest.saturating_sub(record);
    }
    match trailing {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        count => Err(corrupt(format!("{count} bytes after the end of the zip file"))),
    }
}

/// The directory is there, so bytes that are missing are not those of a file cut short.
fn fault_of(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(source) if source.raw_os_error().is_some() => source,
        ZipError::Io(source) if source.get_ref().is_some_and(|inner| !inner.is::<ZipError>()) => {
            source
        }
        error => corrupt(error.to_string()),
    }
}
