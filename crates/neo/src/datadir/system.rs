//! Entries of the whole chain: state roots, header hashes, the last block, settings.

use super::source::SourceStore;
use super::{CURRENT_BLOCK, CURRENT_HEADER, HEADER_HASHES, ROOT, STORAGE, VERSION, key_of};
use crate::error::Error;
use crate::types::{UInt256, write};
use blockmill_leveldb::BulkWriter;
use std::ops::Bound;

/// The format of neo-go v0.122's database (`blockchain.go`).
const FORMAT: &[u8] = b"0.2.12";
/// The key of the height of the last state root (`prefixLocal`).
const LAST_ROOT: [u8; 2] = [ROOT, 0x02];
/// Header hashes in one entry (`headerBatchCount`).
const PAGE: u32 = 2000;
/// Settings that must not change (`dao.Version`).
const STATE_ROOT_IN_HEADER: u8 = 1;
const P2P_SIG_EXTENSIONS: u8 = 1 << 1;
const KEEP_ONLY_LATEST_STATE: u8 = 1 << 3;

/// Puts the state root after each block (`stateroot.addLocalStateRoot`).
pub(crate) fn put_roots(source: &SourceStore, into: &mut BulkWriter) -> Result<(), Error> {
    let mut last = Some(source.height.to_le_bytes());
    let runs = source.roots.snapshot();
    let mut scan = runs.scan((Bound::Unbounded, Bound::Unbounded))?;
    while let Some((height, root)) = scan.next()? {
        let key = key_of(ROOT, &[height]);
        // the key of two bytes sorts between the heights
        if key[..] > LAST_ROOT[..]
            && let Some(last) = last.take()
        {
            into.put(&LAST_ROOT, &last)?;
        }
        let height: Result<[u8; 4], _> = height.try_into();
        let Some((height, root)) = height.ok().zip(UInt256::from_slice(root)) else {
            return Err(Error::StoredFacts(format!("a state root of {} bytes", root.len())));
        };
        // version 0, no witness
        let mut value = vec![0];
        value.extend_from_slice(&u32::from_be_bytes(height).to_le_bytes());
        value.extend_from_slice(&root.0);
        value.push(0);
        into.put(&key, &value)?;
    }
    last.map_or(Ok(()), |last| into.put(&LAST_ROOT, &last))?;
    Ok(())
}

/// Puts contract storage. Returns the number of pairs.
pub(crate) fn put_storage(source: &SourceStore, into: &mut BulkWriter) -> Result<u64, Error> {
    let mut count = 0;
    let runs = source.storage.snapshot();
    let mut scan = runs.scan((Bound::Unbounded, Bound::Unbounded))?;
    while let Some((key, value)) = scan.next()? {
        into.put(&key_of(STORAGE, &[key]), value)?;
        count += 1;
    }
    Ok(count)
}

/// Puts the full pages of header hashes, the last block and the settings.
pub(crate) fn put_tip(source: &SourceStore, into: &mut BulkWriter) -> Result<(), Error> {
    for page in 0..(source.height / PAGE + u32::from(source.height % PAGE == PAGE - 1)) {
        let first = page * PAGE;
        let mut value = vec![];
        write::number(&mut value, PAGE.into());
        for height in first..first + PAGE {
            value.extend(source.store.hash_of(height.into())?.unwrap_or_default());
        }
        into.put(&key_of(HEADER_HASHES, &[&first.to_be_bytes()]), &value)?;
    }
    let (UInt256(mut hash), height) = (source.tip, source.height.to_le_bytes());
    into.put(&[CURRENT_BLOCK], &[&hash[..], &height].concat())?;
    // this entry has the hash reversed
    hash.reverse();
    into.put(&[CURRENT_HEADER], &[&hash[..], &height].concat())?;
    into.put(&[VERSION], &version(source)?)?;
    Ok(())
}

/// Format version and settings (`dao.Version.Bytes`).
fn version(source: &SourceStore) -> Result<Vec<u8>, Error> {
    let magic = source.configuration.value("Magic").and_then(|magic| magic.parse::<u32>().ok());
    let Some(magic) = magic else {
        return Err(Error::StoredFacts("a configuration without Magic".into()));
    };
    let mut settings = if source.history.is_none() { KEEP_ONLY_LATEST_STATE } else { 0 };
    for (name, bit) in
        [("StateRootInHeader", STATE_ROOT_IN_HEADER), ("P2PSigExtensions", P2P_SIG_EXTENSIONS)]
    {
        settings |= if source.holds(name) { bit } else { 0 };
    }
    Ok([FORMAT, &[0, STORAGE, settings], &magic.to_le_bytes()].concat())
}
