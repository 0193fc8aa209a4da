//! Real block files cut at random places and with random flipped bits: good blocks are used, bad
//! ones are named with file and place, and nothing panics or hangs.

use crate::generated_headers::Random;
use crate::imports::{End, options, with};
use crate::real_blocks;
use blockmill_bitcoin::Error;
use blockmill_bitcoin::import::{Options, import};
use blockmill_bitcoin::params::Params;
use std::collections::HashMap;
use std::path::Path;

/// Files that are corrupt, each in many ways.
const CASES: usize = 80;
/// Blocks of the main network that are used: what is checked grows with their square.
const BLOCKS: usize = 700;

/// A file, its blocks, and what connecting the first of them comes to.
struct Good {
    params: Params,
    name: &'static str,
    bytes: Vec<u8>,
    blocks: Vec<Vec<u8>>,
    ends: HashMap<u32, End>,
}

impl Good {
    /// The first blocks of each fixture.
    fn all() -> Vec<Self> {
        let mut sources = real_blocks::all();
        sources.truncate(3);
        let networks = [Params::mainnet(), Params::testnet3(), Params::regtest()];
        let names = ["mainnet.dat", "testnet3.dat", "regtest.txt"];
        let mut all = vec![];
        for ((source, params), name) in sources.into_iter().zip(networks).zip(names) {
            let mut blocks = source.blocks;
            blocks.truncate(BLOCKS);
            let bytes = match name.ends_with("txt") {
                true => blocks.iter().flat_map(|block| hex_line(block)).collect(),
                false => blocks.iter().flat_map(|block| record(&params, block)).collect(),
            };
            if blocks[0] != params.genesis {
                blocks.insert(0, params.genesis.clone());
            }
            all.push(Self { params, name, bytes, blocks, ends: HashMap::new() });
        }
        all
    }

    /// What the blocks up to `height` come to.
    fn end(&mut self, height: u32) -> &End {
        let blocks = &self.blocks[..=height as usize];
        self.ends.entry(height).or_insert_with(|| End::naive(blocks))
    }

    /// Imports `bytes`, and checks what must hold however they are corrupted. Gives the height of
    /// the tip, and all that was reported.
    fn check(&mut self, bytes: &[u8], options: &Options, what: &str) -> (u32, String) {
        let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = folder.path().join(self.name);
        std::fs::write(&path, bytes).unwrap();
        let (height, text) = import_any(&path, options, data.path(), what);
        let mut found = End::of(data.path(), options);
        assert_eq!(found.tip.0, height, "{what}");
        let expected = self.end(height);
        if options.params.name == "regtest" {
            // any header is good with luck: another block with the same transactions
            found.tip.1.clone_from(&expected.tip.1);
        }
        found.assert_same(expected, what);
        (height, text)
    }
}

/// Imports a file that may hold no block at all.
fn import_any(path: &Path, options: &Options, data: &Path, what: &str) -> (u32, String) {
    let network = blockmill_archive::blkdat::Network::from_magic(options.params.magic);
    let files = match blockmill_archive::blkdat::open(&[path.to_path_buf()], network) {
        Ok(files) => files,
        Err(error) => return (0, error.to_string()),
    };
    let (run, outcome) = import(&files, options, data, |_| {});
    let lacks = run.shortfalls.iter().map(ToString::to_string);
    let mut text = lacks.chain(run.notes).collect::<Vec<_>>().join("\n");
    match outcome {
        Ok(()) => {}
        Err(
            error @ (Error::Fault(_) | Error::Empty | Error::NoBeginning(_) | Error::Archive(_)),
        ) => {
            text = format!("{error}\n{text}");
        }
        Err(error) => panic!("{what}: {error}"),
    }
    (run.tip.map_or(0, |tip| tip.height), text)
}

fn record(params: &Params, block: &[u8]) -> Vec<u8> {
    [&params.magic[..], &(block.len() as u32).to_le_bytes(), block].concat()
}

fn hex_line(block: &[u8]) -> Vec<u8> {
    let digits: String = block.iter().map(|byte| format!("{byte:02x}")).collect();
    (digits + "\n").into_bytes()
}

/// The height of the block whose record covers byte `at`, and where that record begins and ends.
fn block_at(good: &Good, at: usize) -> (usize, std::ops::Range<usize>) {
    let text = good.name.ends_with("txt");
    let mut end = 0;
    for (height, block) in good.blocks.iter().enumerate().skip(usize::from(text)) {
        let start = end;
        end += if text { 2 * block.len() + 1 } else { block.len() + 8 };
        if at < end {
            return (height, start..end);
        }
    }
    panic!("byte {at} of {}", good.name)
}

/// Options that differ from case to case.
fn case_options(good: &Good, random: &mut Random) -> Options {
    let ways: [&[&str]; 2] = [&[], &["stages=serial"]];
    let options = with(&options(good.params.clone()), ways[random.below(ways.len())]);
    Options { threads: 1 + random.below(4), memory: 1 << 20, ..options }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn files_that_are_cut_anywhere_give_the_blocks_before_the_cut() {
    let mut random = Random::new(21);
    for mut good in Good::all() {
        for case in 0..CASES {
            let cut = random.below(good.bytes.len());
            let (height, _) = block_at(&good, cut);
            let options = case_options(&good, &mut random);
            let what = format!("{} case {case}: cut at {cut}", good.name);
            let bytes = good.bytes[..cut].to_vec();
            let (tip, text) = good.check(&bytes, &options, &what);
            // the hex digits of a whole block need no end of line
            let whole = height as u32 - 1;
            assert!(tip == whole || tip == whole + 1, "{what}: {tip} {whole} {text}");
            let begun = cut > block_at(&good, cut).1.start + 8;
            assert!(tip != whole || !begun || text.contains(good.name), "{what}: {text:?}");
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn files_with_flipped_bits_give_the_blocks_before_them_and_name_the_bad_one() {
    let mut random = Random::new(22);
    for mut good in Good::all() {
        for case in 0..CASES {
            let mut bytes = good.bytes.clone();
            let mut first = usize::MAX;
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
                first = first.min(at);
            }
            if bytes == good.bytes {
                continue;
            }
            let (height, _) = block_at(&good, first);
            let options = case_options(&good, &mut random);
            let what = format!("{} case {case}: flips from {first}", good.name);
            let (tip, text) = good.check(&bytes, &options, &what);
            assert!(tip + 1 >= height as u32, "{what}: {tip} {height} {text}");
            let all = good.blocks.len() as u32 - 1;
            assert!(tip == all || text.contains(good.name), "{what}: tip {tip}: {text:?}");
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn parts_that_are_missing_repeated_or_overwritten_do_not_matter_to_the_others() {
    let mut random = Random::new(23);
    for mut good in Good::all() {
        for case in 0..CASES / 2 {
            let mut bytes = good.bytes.clone();
            let at = random.below(bytes.len());
            let end = at + random.below(3_000).min(bytes.len() - at);
            match random.below(4) {
                0 => drop(bytes.drain(at..end)),
                1 => {
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
                2 => bytes[at..end].fill(0),
                _ => bytes[at..end].fill_with(|| random.next_u64() as u8),
            }
            let (height, _) = block_at(&good, at);
            let options = case_options(&good, &mut random);
            let what = format!("{} case {case}: {at}..{end}", good.name);
            let (tip, text) = good.check(&bytes, &options, &what);
            assert!(tip + 1 >= height as u32, "{what}: {tip} {height} {text}");
        }
    }
}
