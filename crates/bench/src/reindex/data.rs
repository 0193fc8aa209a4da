//! The block files of each definition, made once and kept.

use super::Definition;
use super::once::network;
use crate::generate::bitcoin::{MOST_PADDING, Order, Recipe, generate};
use crate::generate::random::Random;
use anyhow::{Context, Result, bail};
use archive::blkdat::{self, BlockFiles, BlockLocation, BlockWriter, BodyReader, Network};
use archive::blkdat::{FRAME, WriterOptions, XorKey};
use bitcoin::index::scan::pass1;
use bitcoin::option_table::Setting;
use chain::Reversed;
use serde::{Deserialize, Serialize};
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

/// Bytes of the definition `pr` (Bitcoin Core PR 16981).
const PR_BYTES: u64 = 128 << 20;
/// Inputs of the chain whose largest block stands for a full one.
const PR_INPUTS: u64 = 20_000;
/// Inputs after which a block of `connect` is full.
const BLOCK_INPUTS: u64 = 7_000;
/// Empty blocks at the end of `connect`. Bitcoin Core runs the scripts of blocks that are worth
/// less than two weeks' work below the best header, whatever is assumed valid: 2,016 on regtest.
const EMPTY_BLOCKS: u64 = 2_100;
/// Mixes blocks of `mainnet`, and chooses the chains.
const SEED: u64 = 1;

/// Where data comes from, and how much is made.
#[derive(Clone, Debug)]
pub struct Sources {
    /// A file that begins with the block of `pr`; none to generate one.
    pub block: Option<PathBuf>,
    /// The block files of `mainnet`.
    pub mainnet: Vec<PathBuf>,
    /// GB of `index`, and of `pr` where that is less.
    pub gb: f64,
    /// Inputs of `connect`.
    pub inputs: u64,
}

/// The data of one definition.
#[derive(Clone, Debug)]
pub struct Data {
    /// Folder of the block files.
    pub blocks: PathBuf,
    /// Name of the network.
    pub chain: &'static str,
    /// Hash of the last block, where one is known.
    pub tip: Option<String>,
}

/// What stands beside the files when they are whole.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Made {
    /// Of what they were made.
    of: String,
    tip: Option<String>,
}

impl Sources {
    /// The data of `definition` below `scratch`, made if it is not there or was made of other
    /// things. `None` when what it is made of was not given.
    pub fn data(
        &self,
        definition: Definition,
        scratch: &Path,
        tell: &mut impl FnMut(&str),
    ) -> Result<Option<Data>> {
        if definition == Definition::Mainnet && self.mainnet.is_empty() {
            return Ok(None);
        }
        let name = match definition {
            Definition::ConnectAssumed => Definition::Connect.name(),
            other => other.name(),
        };
        fs::create_dir_all(scratch)
            .with_context(|| format!("cannot create {}", scratch.display()))?;
        let (blocks, note) = (scratch.join(name), scratch.join(format!("{name}.json")));
        let of = self.description(definition)?;
        let noted = fs::read(&note).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let made = match noted {
            Some(made @ Made { .. }) if made.of == of => made,
            _ => {
                tell(&format!("making the blocks of {name}"));
                remove(&note)?;
                remove(&blocks)?;
                let tip = self.make(definition, &blocks)?;
                let made = Made { of, tip };
                fs::write(&note, serde_json::to_vec(&made)?)
                    .with_context(|| format!("cannot write {}", note.display()))?;
                made
            }
        };
        let files = blkdat::open(std::slice::from_ref(&blocks), None)?;
        Ok(Some(Data { chain: network(&files)?.name, blocks, tip: made.tip }))
    }

    /// All that decides what the files hold, in words.
    fn description(&self, definition: Definition) -> Result<String> {
        Ok(match (definition, &self.block) {
            (Definition::Pr, None) => format!("{} bytes", self.pr_bytes()),
            (Definition::Pr, Some(block)) => {
                format!("{} bytes of {}", self.pr_bytes(), stamps(std::slice::from_ref(block))?)
            }
            (Definition::Index, _) => format!("{:?}", self.index()),
            (Definition::Mainnet, _) => stamps(&self.mainnet)?,
            (Definition::Connect | Definition::ConnectAssumed, _) => {
                format!("{:?}", chain(self.inputs, EMPTY_BLOCKS))
            }
        })
    }

    /// Makes the files; the hash of the last block where it is known.
    fn make(&self, definition: Definition, blocks: &Path) -> Result<Option<String>> {
        match definition {
            Definition::Pr => self.repeat(blocks).map(|()| None),
            Definition::Mainnet => shuffle(&self.mainnet, blocks).map(|()| None),
            Definition::Index => generated(&self.index(), blocks),
            Definition::Connect | Definition::ConnectAssumed => {
                generated(&chain(self.inputs, EMPTY_BLOCKS), blocks)
            }
        }
    }

    fn pr_bytes(&self) -> u64 {
        PR_BYTES.min((self.gb * 1e9) as u64)
    }

    /// Padded blocks, in any order.
    fn index(&self) -> Recipe {
        let blocks = (self.gb * 1e9 / MOST_PADDING as f64).ceil().max(1.0) as u32;
        Recipe { blocks, padding: MOST_PADDING, order: Order::Shuffled, ..chain(0, 0) }
    }

    /// One block again and again. Its parent is not among them.
    fn repeat(&self, out: &Path) -> Result<()> {
        let (block, network) = match &self.block {
            Some(path) => {
                let files = blkdat::open(std::slice::from_ref(path), Some(Network::Mainnet))?;
                (read(&files, |locations| locations.first().copied())?, files.network())
            }
            None => {
                let folder = tempfile::tempdir_in(out.parent().unwrap_or(out))?;
                let chain_folder = folder.path().join("chain");
                generated(&chain(PR_INPUTS, 0), &chain_folder)?;
                let files = blkdat::open(&[chain_folder], None)?;
                let largest = |locations: &[BlockLocation]| {
                    locations.iter().copied().max_by_key(|location| location.size)
                };
                (read(&files, largest)?, files.network())
            }
        };
        let count = (self.pr_bytes() / (FRAME + block.len() as u64)).max(1);
        let mut writer = writer(out, network)?;
        for _ in 0..count {
            writer.write(&block)?;
        }
        writer.finish()?;
        Ok(())
    }
}

/// A chain of signed spends with at least so many blocks behind the last one.
fn chain(inputs: u64, more: u64) -> Recipe {
    // weight ends a block before its inputs do; there are blocks for all inputs and as many again
    let filled = if inputs > 0 { 100 + 2 * inputs.div_ceil(BLOCK_INPUTS) } else { 0 };
    Recipe {
        inputs,
        blocks: u32::try_from(filled + more).unwrap_or(u32::MAX),
        block_inputs: BLOCK_INPUTS,
        coins: None,
        padding: 0,
        unlinked: false,
        unusual: 0,
        stale: 0,
        duplicates: 0,
        seed: SEED,
        order: Order::Height,
        xor: false,
        file_size: 128 << 20,
    }
}

fn generated(recipe: &Recipe, out: &Path) -> Result<Option<String>> {
    let threads = available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let made = generate(recipe, out, threads, |_| {})?;
    Ok(Some(Reversed(&made.tip).to_string()))
}

/// All blocks of the files in one file, in any order.
fn shuffle(paths: &[PathBuf], out: &Path) -> Result<()> {
    let files = blkdat::open(paths, None)?;
    let mut locations = locations(&files)?;
    let mut random = Random(SEED);
    for at in (1..locations.len()).rev() {
        locations.swap(at, random.below(at as u64 + 1) as usize);
    }
    let mut writer = writer(out, files.network())?;
    let (mut reader, mut block) = (BodyReader::new(&files, 8), vec![]);
    for location in locations {
        reader.read(location, &mut block)?;
        writer.write(&block)?;
    }
    writer.finish()?;
    Ok(())
}

/// Where the blocks of `files` are, in their order.
fn locations(files: &BlockFiles) -> Result<Vec<BlockLocation>> {
    let scan = pass1(files, &[], &Setting::default(), 1)?;
    Ok(scan.found.iter().map(|found| found.location()).collect())
}

/// The bytes of the block that `choose` takes.
fn read(
    files: &BlockFiles,
    choose: impl Fn(&[BlockLocation]) -> Option<BlockLocation>,
) -> Result<Vec<u8>> {
    let location = choose(&locations(files)?).context("there is no block")?;
    let mut block = vec![];
    BodyReader::new(files, 1).read(location, &mut block)?;
    Ok(block)
}

/// One file, whatever its size.
fn writer(out: &Path, network: Option<Network>) -> Result<BlockWriter> {
    let network = network.context("cannot tell the network of these blocks")?;
    let options = WriterOptions {
        network,
        key: XorKey::default(),
        max_file: u64::MAX,
        allocate: 0,
        trim: true,
    };
    Ok(BlockWriter::create(out, options)?)
}

/// Names and sizes of files or folders.
fn stamps(paths: &[PathBuf]) -> Result<String> {
    let stamp = |path: &PathBuf| {
        let found =
            fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
        let time = found.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let path = std::path::absolute(path)?;
        Ok(format!("{}, {} bytes, changed at {time:?}", path.display(), found.len()))
    };
    Ok(paths.iter().map(stamp).collect::<Result<Vec<_>>>()?.join("; "))
}

/// Removes a file or a folder that we made, if it is there.
fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            bail!("cannot remove {}: {error}", path.display())
        }
        _ => Ok(()),
    }
}
