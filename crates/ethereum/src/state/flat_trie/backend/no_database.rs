//! In the place of RocksDB where the program was built without it: none can be opened.

use super::RocksDbOptions;
use super::commits::Purpose;
use super::family::{Family, Write};
use blockmill_store::{Error, Result};
use std::path::Path;

/// Whether the program was built with RocksDB.
pub const HAS_ROCKSDB: bool = false;

/// There is none.
pub(super) enum Database {}

impl Database {
    pub fn open(_: &Path, _: usize, _: &RocksDbOptions, _: Purpose) -> Result<Self> {
        Err(Error::Mismatch {
            what: "state in RocksDB (flat-store=rocksdb)",
            expected: "a program that was built with `--features rocksdb`".into(),
            found: "one without it".into(),
        })
    }

    pub fn get(&self, _: Family, _: &[u8], _: &mut Vec<u8>) -> Result<bool> {
        match *self {}
    }

    pub fn fetch(
        &self,
        _: Family,
        _: &[&[u8]],
        _: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        match *self {}
    }

    pub fn scan(&self, _: Family, _: &[u8]) -> Result<Cursor<'_>> {
        match *self {}
    }

    pub fn write<'w>(&self, _: impl IntoIterator<Item = Write<'w>>, _: bool) -> Result<()> {
        match *self {}
    }
}

/// Goes through pairs of no database.
pub(super) struct Cursor<'a>(&'a Database);

impl Cursor<'_> {
    pub fn next(&mut self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        match *self.0 {}
    }
}
