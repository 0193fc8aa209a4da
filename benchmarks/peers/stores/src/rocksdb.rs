//! RocksDB: a log-structured merge tree in C++.

mod driver;

use driver::keys::{Key, PREFIX_BYTES};
use driver::workload::{Change, Error, KeyValueStore};
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, DB, FlushOptions, Options, ReadOptions,
    SliceTransform, WriteBatch, WriteOptions,
};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    driver::main(&driver::Store { version: "rocksdb 0.20.1", open })
}

struct Rocks(DB);

/// A half of the memory for blocks, a half for changes; filters of ten bits on keys and prefixes.
fn open(dir: &Path, memory: usize) -> Result<Box<dyn KeyValueStore>, Error> {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(&Cache::new_lru_cache(memory / 2)?);
    blocks.set_bloom_filter(10.0, false);
    blocks.set_format_version(5);
    blocks.set_block_size(4096);
    // within the budget, as the filters and the index of our table are
    blocks.set_cache_index_and_filter_blocks(true);
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(true);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.increase_parallelism(std::thread::available_parallelism()?.get() as i32);
    options.set_block_based_table_factory(&blocks);
    options.set_prefix_extractor(SliceTransform::create_fixed_prefix(PREFIX_BYTES));
    options.set_write_buffer_size((memory / 4).min(64 << 20));
    options.set_db_write_buffer_size(memory / 2);
    options.set_compression_type(rocksdb::DBCompressionType::None);
    // named, so that the batched call can be given it
    let family = ColumnFamilyDescriptor::new("default", options.clone());
    Ok(Box::new(Rocks(DB::open_cf_descriptors(&options, dir, [family])?)))
}

impl KeyValueStore for Rocks {
    fn get(&mut self, key: &Key, out: &mut Vec<u8>) -> Result<bool, Error> {
        let found = self.0.get_pinned(key)?;
        Ok(found.map(|value| out.extend_from_slice(&value)).is_some())
    }

    fn get_many(&mut self, keys: &[Key], found: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        let family = self.0.cf_handle("default").ok_or("no default column family")?;
        for value in self.0.batched_multi_get_cf(&family, keys, false) {
            if let Some(value) = value? {
                found(&value);
            }
        }
        Ok(())
    }

    fn scan(&mut self, prefix: &[u8], found: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), Error> {
        let mut options = ReadOptions::default();
        options.set_prefix_same_as_start(true);
        let mut iterator = self.0.raw_iterator_opt(options);
        iterator.seek(prefix);
        while let Some((key, value)) = iterator.item() {
            if !key.starts_with(prefix) {
                break;
            }
            found(key, value);
            iterator.next();
        }
        Ok(iterator.status()?)
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), Error> {
        let mut batch = WriteBatch::default();
        for (key, value) in changes {
            match value {
                Some(value) => batch.put(key, value),
                None => batch.delete(key),
            }
        }
        let mut options = WriteOptions::default();
        options.set_sync(true);
        Ok(self.0.write_opt(batch, &options)?)
    }

    fn wait_for_background(&mut self) -> Result<(), Error> {
        let mut options = FlushOptions::default();
        options.set_wait(true);
        self.0.flush_opt(&options)?;
        let busy = |name| Ok::<_, Error>(self.0.property_int_value(name)?.unwrap_or(0) > 0);
        while busy("rocksdb.compaction-pending")? || busy("rocksdb.num-running-compactions")? {
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}
