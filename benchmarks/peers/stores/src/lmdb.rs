//! LMDB: a copy-on-write B-tree in C, in a mapped file.

mod driver;

use driver::keys::Key;
use driver::workload::{Change, Error, KeyValueStore};
use heed::types::Bytes;
use heed::{Database, Env, EnvOpenOptions};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    driver::main(&driver::Store { version: "heed 0.22.1", open })
}

/// Room in the address space.
const MAP_BYTES: usize = 64 << 30;

struct Lmdb {
    env: Env,
    pairs: Database<Bytes, Bytes>,
}

/// It has no cache of its own, and takes what the page cache gives it, whatever `memory` is.
fn open(dir: &Path, _memory: usize) -> Result<Box<dyn KeyValueStore>, Error> {
    // SAFETY: no other process opens the file
    let env = unsafe { EnvOpenOptions::new().map_size(MAP_BYTES).open(dir)? };
    let mut transaction = env.write_txn()?;
    let pairs = env.create_database(&mut transaction, None)?;
    transaction.commit()?;
    Ok(Box::new(Lmdb { env, pairs }))
}

impl KeyValueStore for Lmdb {
    fn get(&mut self, key: &Key, out: &mut Vec<u8>) -> Result<bool, Error> {
        let transaction = self.env.read_txn()?;
        let found = self.pairs.get(&transaction, key)?;
        Ok(found.map(|value| out.extend_from_slice(value)).is_some())
    }

    // it has no call for many keys; in their order, neighbours share pages
    fn get_many(&mut self, keys: &[Key], found: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        let transaction = self.env.read_txn()?;
        let mut keys: Vec<&Key> = keys.iter().collect();
        keys.sort_unstable();
        for key in keys {
            if let Some(value) = self.pairs.get(&transaction, key)? {
                found(value);
            }
        }
        Ok(())
    }

    fn scan(&mut self, prefix: &[u8], found: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), Error> {
        let transaction = self.env.read_txn()?;
        for pair in self.pairs.prefix_iter(&transaction, prefix)? {
            let (key, value) = pair?;
            found(key, value);
        }
        Ok(())
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), Error> {
        let mut transaction = self.env.write_txn()?;
        for (key, value) in changes {
            match value {
                Some(value) => self.pairs.put(&mut transaction, key, value)?,
                None => drop(self.pairs.delete(&mut transaction, key)?),
            }
        }
        Ok(transaction.commit()?)
    }

    fn wait_for_background(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
