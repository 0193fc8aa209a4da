//! era files, built from the bytes of one input and from the state of a sound file.

use crate::archives::{frame, read_all, record, write};
use crate::input::{Input, folder, put_part};
use blockmill_archive::{Format, read_whole};
use std::path::Path;
use std::sync::LazyLock;

/// The first slot of the sample, and the number of its slots.
const FIRST_SLOT: u64 = 16_384;
const SLOTS: u64 = 8192;

/// A sound era file of three execution blocks.
static SAMPLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let name = "../crates/archive/tests/era/execapis-00003-1998ddb2.era.zst";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    read_whole(&path, 1 << 20).expect("the sample")
});

/// Types and contents of the records of the sample.
fn records() -> impl Iterator<Item = (u16, &'static [u8])> {
    let mut rest = &SAMPLE[..];
    std::iter::from_fn(move || {
        let (head, after) = rest.split_first_chunk::<8>()?;
        let (content, later) =
            after.split_at(u32::from_le_bytes([head[2], head[3], head[4], head[5]]) as usize);
        rest = later;
        Some((u16::from_le_bytes([head[0], head[1]]), content))
    })
}

/// The sample.
pub(crate) fn seed() -> Vec<u8> {
    SAMPLE.clone()
}

/// Blocks of the sample for `era_records`: as they are in the file, and unpacked.
pub(crate) fn record_seeds() -> Vec<Vec<u8>> {
    let (mut given, mut framed) = (vec![0], vec![1]);
    for ((_, content), slot) in records().filter(|(kind, _)| *kind == 1).zip([0_u16, 2, 4096]) {
        let mut block = vec![];
        let mut decoder = snap::read::FrameDecoder::new(content);
        std::io::Read::read_to_end(&mut decoder, &mut block).expect("a sound block");
        for (seed, part) in [(&mut given, content), (&mut framed, &block)] {
            seed.extend(slot.to_le_bytes());
            put_part(seed, part);
        }
    }
    vec![given, framed]
}

/// Any bytes as an era file.
pub fn era(data: &[u8]) -> bool {
    let folder = folder();
    let path = write(folder.path(), "x.era", data);
    read_all(&path).is_some_and(|(format, _)| format == Format::Era)
}

/// An era file with valid version and index records, the state of a sound file, and records of
/// blocks from the input: framed here, or as given. Only the blocks of the sound file have the
/// roots of its state.
pub fn era_records(data: &[u8]) -> bool {
    let mut input = Input(data);
    let framed = input.byte() == 1;
    let mut file = vec![];
    record(&mut file, 0x3265, &[]);
    let mut starts = vec![0_i64; SLOTS as usize];
    let mut next = 0;
    while !input.0.is_empty() {
        let slot = usize::from(u16::from_le_bytes(input.array()));
        let block = input.part();
        if slot < next || slot >= starts.len() {
            break;
        }
        starts[slot] = file.len() as i64;
        next = slot + 1;
        match framed {
            true => record(&mut file, 1, &frame(block)),
            false => record(&mut file, 1, block),
        }
    }
    let state_at = file.len() as i64;
    let (_, state) = records().find(|(kind, _)| *kind == 2).expect("the state of the sample");
    record(&mut file, 2, state);
    let index_at = file.len() as i64;
    let offset = |start: &i64| if *start == 0 { 0 } else { start - index_at };
    let offsets: Vec<_> = starts.iter().map(offset).collect();
    index(&mut file, FIRST_SLOT, &offsets);
    let state_offset = state_at - file.len() as i64;
    index(&mut file, FIRST_SLOT + SLOTS, &[state_offset]);
    let folder = folder();
    read_all(&write(folder.path(), "x.era", &file)).is_some()
}

/// Appends a slot index.
fn index(file: &mut Vec<u8>, first: u64, offsets: &[i64]) {
    let mut content = first.to_le_bytes().to_vec();
    content.extend(offsets.iter().flat_map(|offset| offset.to_le_bytes()));
    content.extend((offsets.len() as u64).to_le_bytes());
    record(file, 0x3269, &content);
}
