//! The order of blocks in the files.

use super::Order;
use crate::random::Random;
use anyhow::{Context, Result};
use blockmill_archive::blkdat::{BlockWriter, Network, WriterOptions, XorKey};
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Bitcoin Core's download window, in blocks.
const WINDOW: u64 = 1024;

/// Reorders blocks: it gets them by height and writes them in another order.
pub struct Archive {
    files: BlockWriter,
    order: Order,
    random: Random,
    /// A temporary file for blocks that are written later; `None` if blocks are written by height.
    waiting: Option<BufWriter<File>>,
    /// Offset and length of each block in it.
    places: Vec<(u64, usize)>,
    end: u64,
}

impl Archive {
    /// Opens an empty or new folder for files of at most `limit` bytes. With `xor` they are
    /// obfuscated with a key from the seed.
    pub fn create(folder: &Path, order: Order, limit: u64, xor: bool, seed: u64) -> Result<Self> {
        let mut random = Random(seed ^ 0x6669_6c65);
        let mut key = XorKey::default();
        if xor {
            random.fill(&mut key.0);
        }
        let options = WriterOptions {
            network: Network::Regtest,
            key,
            max_file: limit,
            allocate: 0,
            trim: true,
        };
        let files = BlockWriter::create(folder, options)?;
        let waiting = match order {
            Order::Height => None,
            _ => Some(BufWriter::new(tempfile::tempfile_in(files.folder())?)),
        };
        Ok(Self { files, order, random, waiting, places: vec![], end: 0 })
    }

    /// Adds the next block.
    pub fn append(&mut self, block: &[u8]) -> Result<()> {
        let Some(waiting) = &mut self.waiting else {
            self.files.write(block)?;
            return Ok(());
        };
        waiting.write_all(block)?;
        self.places.push((self.end, block.len()));
        self.end += block.len() as u64;
        Ok(())
    }

    /// Writes the remaining blocks.
    pub fn finish(mut self) -> Result<()> {
        if let Some(waiting) = self.waiting.take() {
            arrange(&mut self.places, self.order, &mut self.random);
            let mut waiting = waiting.into_inner().context("blocks that wait")?;
            let mut block = vec![];
            for (at, len) in &self.places {
                block.resize(*len, 0);
                waiting.seek(SeekFrom::Start(*at))?;
                waiting.read_exact(&mut block)?;
                self.files.write(&block)?;
            }
        }
        self.files.finish()?;
        Ok(())
    }
}

/// Permutes blocks that are sorted by height.
fn arrange(places: &mut [(u64, usize)], order: Order, random: &mut Random) {
    match order {
        Order::Height => {}
        Order::Reversed => places.reverse(),
        Order::Download => {
            let keys =
                (0..).zip(places.iter()).map(|(at, place)| (at + random.below(WINDOW), *place));
            let mut keys: Vec<(u64, (u64, usize))> = keys.collect();
            keys.sort_unstable();
            places.iter_mut().zip(keys).for_each(|(place, (_, next))| *place = next);
        }
        Order::Shuffled => {
            for at in (1..places.len()).rev() {
                places.swap(at, random.below(at as u64 + 1) as usize);
            }
        }
    }
}
