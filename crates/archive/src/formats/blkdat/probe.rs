//! Detects the shape and the network of a file that may have Bitcoin blocks.

use std::path::Path;

use memchr::memmem;

use super::extent::{Tiny, block_length};
use super::{FRAME, HEADER, MAX_BLOCK, MIN_BLOCK, Network, XorKey, headers, hex};
use crate::input::Input;
use crate::names::is_block_file;
use crate::{Compression, Error};

/// Bytes of a file in which the first record is searched.
const SEARCHED: usize = 1 << 20;

/// Number of occurrences of a magic that are checked, for each network.
const TRIES: usize = 1000;

/// The shape of a file with blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Records: each block after its magic and size.
    Records {
        /// The magic.
        magic: [u8; 4],
    },
    /// A single block and nothing else.
    Raw,
    /// Blocks in hex digits, each on a line of its own.
    Hex,
    /// Headers without blocks.
    Headers,
}

/// The detected properties of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Probe {
    pub shape: Shape,
    /// The network, if a magic identifies it.
    pub network: Option<Network>,
    /// The compression of the file.
    pub compression: Option<Compression>,
}

/// Detects the shape of a file by its first bytes; `None` if it has no blocks. With `network` only
/// records of that network are searched.
pub(super) fn probe(
    path: &Path,
    key: XorKey,
    network: Option<Network>,
) -> Result<Option<Probe>, Error> {
    let mut input = Input::open(path)?;
    let compression = input.compression();
    let (mut bytes, fault) = input.head(SEARCHED);
    if fault.as_ref().is_some_and(|it| it.refused_packing().is_some()) && !is_block_file(path) {
        return Ok(None);
    }
    if let (Some(fault), true) = (fault, compression.is_none() || bytes.is_empty()) {
        return Err(fault);
    }
    let found = |shape, network| Some(Probe { shape, network, compression });
    if is_hex(&bytes) {
        return Ok(found(Shape::Hex, network));
    }
    let raw = is_raw(&mut input, &bytes)?;
    if let (false, Some(network)) = (raw, headers::network_of(&bytes, network)) {
        return Ok(found(Shape::Headers, Some(network)));
    }
    key.apply(&mut bytes, 0);
    if let Some(network) = network_of(&bytes, network) {
        return Ok(found(Shape::Records { magic: network.magic() }, Some(network)));
    }
    Ok(if raw { found(Shape::Raw, network) } else { None })
}

/// The network of the first record with proof of work, else of a record at the beginning or before
/// another one.
fn network_of(bytes: &[u8], given: Option<Network>) -> Option<Network> {
    let networks = match &given {
        Some(network) => std::slice::from_ref(network),
        None => &Network::NAMED[..],
    };
    let mut first: Option<(bool, usize, Network)> = None;
    for network in networks {
        let magic = network.magic();
        for at in memmem::find_iter(bytes, &magic).take(TRIES) {
            let Some((header, size)) = frame(bytes, at) else { continue };
            let worked = network.is_proof_of_work(&header);
            let next = at + FRAME as usize + size;
            let sound = at == 0 || bytes.get(next..next + 4) == Some(&magic[..]);
            // false sorts before true
            let found = (!worked, at, *network);
            if (worked || sound) && first.is_none_or(|best| (found.0, at) < (best.0, best.1)) {
                first = Some(found);
            }
            if worked {
                break;
            }
        }
    }
    first
        .map(|(_, _, network)| network)
        .or_else(|| custom_signet(bytes).filter(|_| given.is_none()))
}

/// Timestamp of the genesis block of all signets, in seconds since 1970.
const SIGNET_GENESIS: u32 = 1_598_918_400;

/// A custom signet: a record at the beginning with an unknown magic, whose header has the time and
/// the proof of work of a signet. One in 280,000 random headers would have both.
fn custom_signet(bytes: &[u8]) -> Option<Network> {
    let (header, _) = frame(bytes, 0)?;
    let magic = *bytes.first_chunk()?;
    let time = u32::from_le_bytes([header[68], header[69], header[70], header[71]]);
    let network = Network::Signet { magic };
    let is_signet = time >= SIGNET_GENESIS && of_other_chain(magic).is_none();
    (is_signet && network.could_have(&header)).then_some(network)
}

/// The other chain whose block files have this magic.
pub(super) fn of_other_chain(magic: [u8; 4]) -> Option<&'static str> {
    const CASH: &str = "Bitcoin Cash or Bitcoin SV";
    Some(match magic {
        [0xe3, 0xe1, 0xf3, 0xe8] => CASH,
        [0xf4, 0xe5, 0xf3, 0xf4] | [0xda, 0xb5, 0xbf, 0xfa] => "a test network of Bitcoin Cash",
        [0xe2, 0xb7, 0xda, 0xaf] | [0xc3, 0xaf, 0xe1, 0xa2] => "a test network of Bitcoin Cash",
        [0xfb, 0xce, 0xc4, 0xf9] => "a test network of Bitcoin SV",
        [0xfb, 0xc0, 0xb6, 0xdb] => "Litecoin",
        [0xfd, 0xd2, 0xc8, 0xf1] => "a test network of Litecoin",
        [0xc0, 0xc0, 0xc0, 0xc0] => "Dogecoin",
        [0xf9, 0xbe, 0xb4, 0xfe] => "Namecoin",
        [0xbf, 0x0c, 0x6b, 0xbd] => "Dash",
        [0x24, 0xe9, 0x27, 0x64] => "Zcash",
        _ => return None,
    })
}

/// Header and size of a possible record at `at`.
fn frame(bytes: &[u8], at: usize) -> Option<([u8; HEADER], usize)> {
    let bytes = bytes.get(at..)?;
    let size = u32::from_le_bytes(*bytes.get(4..)?.first_chunk()?);
    let header = *bytes.get(FRAME as usize..)?.first_chunk()?;
    (MIN_BLOCK..=MAX_BLOCK).contains(&size).then_some((header, size as usize))
}

/// Whether the file begins with hex digits of at least a block.
fn is_hex(bytes: &[u8]) -> bool {
    let first = bytes.get(..2 * MIN_BLOCK as usize);
    first.is_some_and(|digits| hex::decode(digits, &mut Vec::new()).is_some())
}

/// Whether the whole file is one block. `first` is its beginning, which was read from `input`.
fn is_raw(input: &mut Input, first: &[u8]) -> Result<bool, Error> {
    let mut bytes = first.to_vec();
    if first.len() == SEARCHED {
        // one byte more than a block can have
        bytes.extend(input.head(MAX_BLOCK as usize + 1 - SEARCHED).0);
    }
    let length = bytes.len() as u64;
    if !(u64::from(MIN_BLOCK)..=u64::from(MAX_BLOCK)).contains(&length) {
        return Ok(false);
    }
    let look = |at: u64| Ok::<_, Error>(Tiny::new(&bytes[bytes.len().min(at as usize)..]));
    Ok(block_length(length, &mut (2 * length), look)? == Some(length))
}
