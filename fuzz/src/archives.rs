//! Archives of every format, built from the bytes of one input and read through
//! [`blockmill_archive::Archive`].

use crate::input::{Input, folder};
use blockmill_archive::{
    Archive, ArchiveWriter, Chunk, ChunkLimit, Error, Format, Packed, Part, Want, WriteOptions,
    inspect,
};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

const WANT: Want = Want { bodies: true, receipts: true };

/// The files of an ancient folder that an input can make.
pub(crate) const TABLE_FILES: [&str; 18] = [
    "headers.cidx",
    "headers.meta",
    "headers.0000.cdat",
    "headers.0001.cdat",
    "hashes.ridx",
    "hashes.meta",
    "hashes.0000.rdat",
    "bodies.cidx",
    "bodies.meta",
    "bodies.0000.cdat",
    "bodies.0001.cdat",
    "receipts.cidx",
    "receipts.meta",
    "receipts.0000.cdat",
    "receipts.0001.cdat",
    "diffs.ridx",
    "diffs.meta",
    "diffs.0000.rdat",
];

/// Any bytes as an era1 file.
pub fn era1(data: &[u8]) -> bool {
    let folder = folder();
    let path = write(folder.path(), "mainnet-00000-5ec1ffb8.era1", data);
    read_all(&path).is_some_and(|(format, _)| format == Format::Era1)
}

/// An era1 file with valid version, index and accumulator records, and blocks with records from the
/// input: either framed here, and then they must be read unchanged, or as given.
pub fn era1_records(data: &[u8]) -> bool {
    let mut input = Input(data);
    let framed = input.byte() == 1;
    let mut file = vec![];
    record(&mut file, 0x3265, &[]);
    let (mut starts, mut contents) = (vec![], vec![]);
    while starts.is_empty() || !input.0.is_empty() && starts.len() < 8 {
        starts.push(file.len() as i64);
        for kind in 3..=5 {
            let content = input.part();
            contents.push(content);
            match framed {
                true => record(&mut file, kind, &frame(content)),
                false => record(&mut file, kind, content),
            }
        }
        record(&mut file, 6, &input.array::<32>());
    }
    record(&mut file, 7, &[0; 32]);
    let index_at = file.len() as i64;
    let mut index = 0u64.to_le_bytes().to_vec();
    index.extend(starts.iter().flat_map(|start| (start - index_at).to_le_bytes()));
    index.extend((starts.len() as u64).to_le_bytes());
    record(&mut file, 0x3266, &index);

    let folder = folder();
    let path = write(folder.path(), "x.era1", &file);
    let read = read_all(&path);
    if framed && let Some((_, chunk)) = &read {
        let columns = [&chunk.headers, &chunk.bodies, &chunk.receipts];
        for (i, content) in contents.iter().enumerate() {
            assert_eq!(columns[i % 3].get(i / 3), *content, "part {i}");
        }
    }
    read.is_some()
}

/// Any bytes as an ere file.
pub fn ere(data: &[u8]) -> bool {
    let folder = folder();
    let path = write(folder.path(), "x.ere", data);
    read_all(&path).is_some_and(|(format, _)| format == Format::Ere)
}

/// An ere file with valid version, index and accumulator records, and sections with records from
/// the input: either framed here, and then they must be read unchanged, or as given.
pub fn ere_records(data: &[u8]) -> bool {
    let mut input = Input(data);
    let framed = input.byte() == 1;
    let mut blocks = vec![];
    while blocks.is_empty() || !input.0.is_empty() && blocks.len() < 8 {
        let contents = [input.part(), input.part(), input.part()];
        blocks.push((contents, input.array::<32>()));
    }
    let mut file = vec![];
    record(&mut file, 0x3265, &[]);
    let mut offsets = vec![vec![]; blocks.len()];
    for (section, kind) in [3, 4, 0x0a].into_iter().enumerate() {
        for ((contents, _), offsets) in blocks.iter().zip(&mut offsets) {
            offsets.push(file.len() as i64);
            match framed {
                true => record(&mut file, kind, &frame(contents[section])),
                false => record(&mut file, kind, contents[section]),
            }
        }
    }
    for ((_, total), offsets) in blocks.iter().zip(&mut offsets) {
        offsets.push(file.len() as i64);
        record(&mut file, 6, total);
    }
    record(&mut file, 7, &[0; 32]);
    let index_at = file.len() as i64;
    let mut index = 0u64.to_le_bytes().to_vec();
    index.extend(offsets.iter().flatten().flat_map(|start| (start - index_at).to_le_bytes()));
    index.extend(4u64.to_le_bytes());
    index.extend((blocks.len() as u64).to_le_bytes());
    record(&mut file, 0x3267, &index);

    let folder = folder();
    let read = read_all(&write(folder.path(), "x.ere", &file));
    if framed && let Some((_, chunk)) = &read {
        let columns = [&chunk.headers, &chunk.bodies, &chunk.receipts];
        for (i, (contents, _)) in blocks.iter().enumerate() {
            for (column, content) in columns.iter().zip(contents) {
                assert_eq!(column.get(i), *content, "block {i}");
            }
        }
    }
    read.is_some()
}

/// Appends an e2store record.
pub(crate) fn record(file: &mut Vec<u8>, kind: u16, content: &[u8]) {
    file.extend(kind.to_le_bytes());
    file.extend((content.len() as u32).to_le_bytes());
    file.extend([0, 0]);
    file.extend(content);
}

/// `content` in Snappy's framing format, which writes no chunk for no content.
pub(crate) fn frame(content: &[u8]) -> Vec<u8> {
    let mut encoder = snap::write::FrameEncoder::new(vec![]);
    encoder.write_all(content).expect("a vector takes bytes");
    let framed = encoder.into_inner().expect("a vector takes bytes");
    if framed.is_empty() { b"\xff\x06\0\0sNaPpY".to_vec() } else { framed }
}

/// Any files as an ancient folder.
pub fn freezer(data: &[u8]) -> bool {
    let folder = folder();
    Input(data).files(&TABLE_FILES, folder.path()).expect("the folder takes files");
    read_all(folder.path()).is_some()
}

/// Any bytes as a stream of blocks; see `stream`.
pub fn rlp_export(data: &[u8]) -> bool {
    stream(data) == Some(Format::RlpExport)
}

/// Any bytes as a stream of headers; see `stream`.
pub fn header_stream(data: &[u8]) -> bool {
    stream(data) == Some(Format::HeaderStream)
}

/// A stream reads the same plain and compressed, and writing the blocks gives the same bytes.
fn stream(data: &[u8]) -> Option<Format> {
    let folder = folder();
    let plain = read_all(&write(folder.path(), "plain.rlp", data));
    // a stream that looks like gzip is no plain one, whatever is in it
    if !data.starts_with(&[0x1f, 0x8b]) {
        let mut encoder = GzEncoder::new(vec![], Compression::fast());
        encoder.write_all(data).expect("a vector takes bytes");
        let packed = encoder.finish().expect("a vector takes bytes");
        let unpacked = read_all(&write(folder.path(), "packed.rlp.gz", &packed));
        assert_eq!(plain.is_some(), unpacked.is_some());
        if let (Some((_, plain)), Some((_, unpacked))) = (&plain, &unpacked) {
            assert_same(plain, unpacked);
        }
    }
    let (format, chunk) = plain?;
    if data.starts_with(&[0x1f, 0x8b]) {
        return Some(format);
    }
    let again = folder.path().join("again.rlp");
    let mut writer = ArchiveWriter::create(format, &again, &WriteOptions::default())
        .expect("the folder takes files");
    writer.append(&chunk).expect("blocks that were read");
    writer.finish().expect("the folder takes files");
    let again = fs::read(&again).expect("the file was written");
    // lists of block accesses (EIP-7928) are read over
    assert!(again == data || again.len() < data.len() && format == Format::RlpExport);
    Some(format)
}

/// Any bytes as a compressed stream: it reads as its unpacked content.
pub fn gzip(data: &[u8]) -> bool {
    let folder = folder();
    let packed = read_all(&write(folder.path(), "packed.rlp.gz", data));
    let mut plain = vec![];
    // one stream of gzip at most, and no more of it than any genuine input unpacks to
    let unpacked = GzDecoder::new(data).take(1 << 20).read_to_end(&mut plain);
    if let (Some((format, packed)), Ok(_)) = (&packed, unpacked)
        && let Some((plain_format, plain)) = read_all(&write(folder.path(), "plain.rlp", &plain))
        && plain.blocks() == packed.blocks()
    {
        assert_eq!(*format, plain_format);
        assert_same(&plain, packed);
    }
    packed.is_some()
}

pub(crate) fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).expect("the folder takes files");
    path
}

/// Reads and inspects what is at `path`. All blocks in one chunk, if nothing is wrong with them.
/// Small and large chunks must agree, and so must the inspection, which may refuse only what does
/// not open.
pub(crate) fn read_all(path: &Path) -> Option<(Format, Chunk)> {
    let paths = [path.to_path_buf()];
    let report = inspect(&paths, true);
    assert_eq!(report.is_ok(), inspect(&paths, false).is_ok());
    let archive = match Archive::open(&paths) {
        Ok(archive) => archive,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return None;
        }
    };
    let report = report.expect("what opens is inspected");
    let large = read(&archive, ChunkLimit::default(), WANT);
    let small = read(&archive, ChunkLimit { blocks: 1, bytes: 1 }, WANT);
    let sparse = read(&archive, ChunkLimit::default(), Want::default());
    let Ok(large) = large else {
        assert!(small.is_err(), "small chunks are read, large ones are not");
        assert!(!report.is_sound(), "inspection finds nothing, reading fails");
        return None;
    };
    assert_same(&large, &small.expect("large chunks are read, small ones are not"));
    assert_eq!(large.headers, sparse.expect("bodies are read, headers are not").headers);
    Some((archive.format(), large))
}

/// Reads to the end.
fn read(archive: &Archive, limit: ChunkLimit, want: Want) -> Result<Chunk, Error> {
    let mut reader = archive.reader(want, limit, 0..=u64::MAX)?;
    let (mut packed, mut chunk, mut all) = (Packed::new(), Chunk::new(), Chunk::new());
    while reader.read(&mut packed)? {
        let blocks = packed.blocks();
        assert!(blocks > 0 && blocks <= limit.blocks, "{blocks} blocks in a chunk");
        packed.unpack(&mut chunk)?;
        assert_eq!(chunk.blocks(), blocks);
        for column in [&chunk.bodies, &chunk.receipts] {
            assert!(column.is_empty() || column.len() == blocks);
        }
        for i in 0..blocks {
            assert!(chunk.location(Part::Header, i).is_some());
            all.headers.push(chunk.headers.get(i));
        }
        chunk.bodies.iter().for_each(|body| all.bodies.push(body));
        chunk.receipts.iter().for_each(|receipts| all.receipts.push(receipts));
        all.total_difficulties.extend(&chunk.total_difficulties);
        all.stated_hashes.extend(&chunk.stated_hashes);
    }
    Ok(all)
}

fn assert_same(one: &Chunk, two: &Chunk) {
    assert_eq!(one.headers, two.headers);
    assert_eq!(one.bodies, two.bodies);
    assert_eq!(one.receipts, two.receipts);
    assert_eq!(one.total_difficulties, two.total_difficulties);
    assert_eq!(one.stated_hashes, two.stated_hashes);
}
