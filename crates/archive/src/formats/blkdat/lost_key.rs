//! Detects blocks that are obfuscated with another key than that in `xor.dat`, or not at all, by
//! known bytes of every block.

use std::io;
use std::path::{Path, PathBuf};

use blockmill_platform::files;

use super::files::BlockFile;
use super::probe::{of_other_chain, probe};
use super::{HEADER, Network, XOR_FILE, XorKey};
use crate::Error;
use crate::input::Input;

/// Number of files of a folder that are read to explain why no blocks were found.
const FEW: usize = 16;

/// Offset of zeros in every record of a block of at most 65,535 transactions: in the previous
/// output of the coinbase, after frame, header, a count of 1 or 3 bytes and version, with or
/// without the witness marker.
const ZEROS: usize = 98;

/// Bytes of a record that reveal its key: up to the end of these zeros.
const TELLING: usize = 126;

/// The key of the record that begins with the bytes `raw` at `offset` of a file, if it is not
/// `key`; zeros for a plain record. `None` if no record of a known network begins there.
fn other_key(raw: &[u8], offset: u64, key: XorKey) -> Option<(XorKey, Network)> {
    let zeros = raw.get(ZEROS..TELLING)?;
    let mut found = XorKey::default();
    for (i, byte) in (offset + ZEROS as u64..).zip(&zeros[..8]) {
        found.0[(i % 8) as usize] = *byte;
    }
    // the zeros after the first eight repeat the key
    let repeats = zeros.iter().zip(&zeros[8..]).all(|(one, next)| one == next);
    if !repeats || found == key {
        return None;
    }
    let mut record = raw[..TELLING].to_vec();
    found.apply(&mut record, offset);
    let network = Network::from_magic(*record.first_chunk()?)?;
    let header: [u8; HEADER] = *record.get(8..)?.first_chunk()?;
    network.is_proof_of_work(&header).then_some((found, network))
}

/// Describes blocks with this key.
fn described(key: XorKey, network: Network) -> String {
    match key.is_none() {
        true => format!("plain blocks of {network}"),
        false => format!("blocks of {network} obfuscated with the key {key}"),
    }
}

/// Explains why no blocks were found in `path`, which has these `files`, read with `key`.
pub(super) fn no_blocks(path: &Path, files: &[PathBuf], key: XorKey) -> Result<Error, Error> {
    let mut found = "no Bitcoin block: no known magic in the first MiB, and no raw block; \
                     obfuscated files need their xor.dat next to them"
        .to_owned();
    for file in files.iter().take(FEW) {
        let (head, _) = Input::open(file)?.head(TELLING);
        if let Some((other, network)) = other_key(&head, 0, key) {
            found = described(other, network) + &advice(other, key);
            break;
        }
        if let Some(chain) = head.first_chunk().and_then(|magic| of_other_chain(*magic)) {
            found = format!("block files of {chain}, by their magic; not of Bitcoin");
            break;
        }
    }
    Ok(Error::UnknownFormat { path: path.to_path_buf(), found })
}

/// Describes a file of any name that begins with an obfuscated block; `None` for another file.
///
/// # Errors
///
/// [`Error::Io`] if the file cannot be read.
pub(crate) fn lost_key(path: &Path) -> Result<Option<String>, Error> {
    if !files::is_file(path).map_err(Error::io("cannot open", path))? {
        return Ok(None);
    }
    let key = XorKey::of_folder(path.parent().unwrap_or(Path::new("")))?;
    let (head, _) = Input::open(path)?.head(TELLING);
    let found = other_key(&head, 0, key);
    Ok(found.map(|(other, network)| described(other, network) + &advice(other, key)))
}

/// The advice for blocks with the key `other` instead of `key`.
fn advice(other: XorKey, key: XorKey) -> String {
    match (other.is_none(), key.is_none()) {
        (true, _) => {
            format!("; {XOR_FILE} next to them holds the key {key}: it is of other files")
        }
        (false, true) => format!(
            "; {XOR_FILE} next to them is missing or holds zeros: write these 8 bytes to it"
        ),
        (false, false) => {
            format!("; {XOR_FILE} next to them holds another, {key}: write these 8 bytes to it")
        }
    }
}

/// Rejects a folder in which some block files are obfuscated with `key`, and some are not.
pub(super) fn expect_one_key(paths: &[PathBuf], key: XorKey) -> Result<(), Error> {
    let (mut own, mut other) = (None, None);
    for path in paths {
        let (head, _) = Input::open(path)?.head(TELLING);
        match other_key(&head, 0, key) {
            // the rest of the file may be as it should be
            Some(found) if probe(path, key, Some(found.1))?.is_none() => {
                other.get_or_insert((path, found));
            }
            Some(_) => {}
            None if begins_block_file(&head, key) => {
                own.get_or_insert(path);
            }
            None => {}
        }
        if let (Some(own), Some((path, (other, network)))) = (own, other) {
            let (name, blocks) = (own.display(), described(other, network));
            let how = match key.is_none() {
                true => "plain".to_owned(),
                false => format!("obfuscated with the key of {XOR_FILE}, {key}"),
            };
            let found = format!(
                "{blocks}, while {name} is {how}: the folder was converted in part; give all files \
                 one key"
            );
            return Err(Error::UnknownFormat { path: path.clone(), found });
        }
    }
    Ok(())
}

/// Whether a file with this head begins with a record of a known network.
fn begins_block_file(head: &[u8], key: XorKey) -> bool {
    let mut magic = head.first_chunk::<4>().copied().unwrap_or_default();
    key.apply(&mut magic, 0);
    Network::from_magic(magic).is_some()
}

/// Describes how the record at `offset` of a file is obfuscated, if that is not with the file's
/// key; `None` if no record begins there.
///
/// # Errors
///
/// Returns the error of the operating system if the file cannot be read.
pub fn otherwise_obfuscated(file: &BlockFile, offset: u64) -> io::Result<Option<String>> {
    let mut raw = [0; TELLING];
    let read = file.open()?.read_full_at(&mut raw, offset)?;
    let found = other_key(&raw[..read], offset, file.key());
    Ok(found.map(|(key, network)| described(key, network)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first bytes of the genesis block's record of the main network.
    fn record() -> Vec<u8> {
        let mut record =
            [&[0xf9, 0xbe, 0xb4, 0xd9, 0x1d, 1, 0, 0, 1, 0, 0, 0][..], &[0; 32]].concat();
        let root = "3ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a";
        let root = blockmill_testkit::hex::decode(root);
        record.extend([&root[..], &[0x29, 0xab, 0x5f, 0x49, 0xff, 0xff, 0, 0x1d]].concat());
        record.extend([0x1d, 0xac, 0x2b, 0x7c, 1, 1, 0, 0, 0, 1]);
        record.extend([0; 32]);
        record
    }

    #[test]
    fn a_record_tells_its_key_at_every_offset() {
        for offset in 0..16 {
            let key = XorKey([1, 107, 101, 121, 255, 128, 32, 55]);
            let mut raw = record();
            key.apply(&mut raw, offset);
            let found = other_key(&raw, offset, XorKey::default());
            assert_eq!(found, Some((key, Network::Mainnet)), "{offset}");
            assert_eq!(other_key(&raw, offset, key), None);
            let plain = other_key(&record(), offset, key);
            assert_eq!(plain, Some((XorKey::default(), Network::Mainnet)));
        }
        let mut other = record();
        other[20] ^= 1;
        assert_eq!(other_key(&other, 0, XorKey([1; 8])), None);
    }
}
