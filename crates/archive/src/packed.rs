//! Files packed in a way that is not read: they must be unpacked first.

use std::io::Read;
use std::path::Path;

use blockmill_platform::input_file::InputFile;

use crate::compression::Compression;
use crate::input::Input;
use crate::names::PACKINGS;
use crate::{Error, listing};

/// Bytes that identify a packing.
const MAGIC: u64 = 8;

/// How a file is packed and what to do with it; `None` if it is not packed.
pub(crate) fn describe(path: &Path) -> Result<Option<String>, Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let by_name = |ending: &str| name.ends_with(&ending.to_lowercase());
    let known = match PACKINGS.iter().find(|packing| by_name(packing.ending)) {
        Some(known) => Some(known),
        None => {
            let head = head(path)?;
            if Compression::detect(&head) == Some(Compression::Zip) {
                return refused(path);
            }
            PACKINGS.iter().find(|it| !it.magic.is_empty() && head.starts_with(it.magic))
        }
    };
    Ok(known.map(|packing| format!("{}: unpack it, and give what is in it", packing.noun)))
}

/// Why a zip file is not read; `None` if it is read.
fn refused(path: &Path) -> Result<Option<String>, Error> {
    match Input::open(path)?.head(1).1 {
        Some(error) => Ok(error.refused_packing().map(|found| format!("a zip file with {found}"))),
        None => Ok(None),
    }
}

/// The first bytes of a file; empty if the path leads to something else.
fn head(path: &Path) -> Result<Vec<u8>, Error> {
    let mut head = vec![];
    if listing::is_file(path)? {
        let file = InputFile::open(path).map_err(Error::io("cannot open", path))?;
        file.reader().take(MAGIC).read_to_end(&mut head).map_err(Error::io("cannot read", path))?;
    }
    Ok(head)
}
