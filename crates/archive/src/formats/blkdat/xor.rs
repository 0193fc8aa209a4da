//! The obfuscation of block files: eight bytes, XORed repeatedly over the whole file.

use blockmill_verdict::{Digits, Location};
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;

use blockmill_platform::files;
use blockmill_platform::input_file::InputFile;

use crate::Error;

/// Name of the file with the key, next to the block files.
pub const XOR_FILE: &str = "xor.dat";

/// The key of obfuscated block files (Bitcoin Core PR 28052). It applies by the offset in the file,
/// so any part can be read by itself. All zeros mean no obfuscation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XorKey(pub [u8; 8]);

impl XorKey {
    /// Generates a unique key, as Bitcoin Core does for each datadir. It need not be secret.
    #[must_use]
    pub fn random() -> Self {
        Self(RandomState::new().build_hasher().finish().to_le_bytes())
    }

    /// Whether the key changes nothing.
    #[must_use]
    pub fn is_none(self) -> bool {
        self.0 == [0; 8]
    }

    /// Obfuscates `bytes`, which are at `offset` of their file, or reverts it.
    #[inline]
    pub fn apply(self, bytes: &mut [u8], offset: u64) {
        if self.is_none() {
            return;
        }
        let key = u64::from_le_bytes(self.0).rotate_right((offset % 8) as u32 * 8);
        let (words, rest) = bytes.as_chunks_mut::<8>();
        for word in words {
            *word = (u64::from_le_bytes(*word) ^ key).to_le_bytes();
        }
        for (byte, key) in rest.iter_mut().zip(key.to_le_bytes()) {
            *byte ^= key;
        }
    }

    /// Reads the key in `folder`; the zero key if there is no such file.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the file cannot be read, and [`Error::BadRecord`] if it does not
    /// have 8 bytes.
    pub fn of_folder(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(XOR_FILE);
        let bytes =
            files::if_there(&path, InputFile::open(&path).and_then(|file| file.read_whole()));
        let Some(bytes) = bytes.map_err(Error::io("cannot read", &path))? else {
            return Ok(Self::default());
        };
        bytes.as_slice().try_into().map(Self).map_err(|_| Error::BadRecord {
            location: Location::new(path, 0),
            what: "key of obfuscated block files",
            expected: "8 bytes".into(),
            found: format!("{} bytes", bytes.len()),
        })
    }
}

impl fmt::Display for XorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Digits(&self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn any_stretch_is_obfuscated_as_the_whole_would_be() {
        let key = XorKey(*b"\x01key\xff\x80 7");
        let clear: Vec<u8> = (0..100).map(|i| (i * 37) as u8).collect();
        let whole: Vec<u8> = clear.iter().zip(key.0.iter().cycle()).map(|(b, k)| b ^ k).collect();
        for start in 0..clear.len() {
            for end in start..clear.len() {
                let mut part = clear[start..end].to_vec();
                key.apply(&mut part, start as u64);
                assert_eq!(part, whole[start..end], "{start}..{end}");
            }
        }
    }

    #[test]
    fn no_file_means_no_key_and_a_wrong_length_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(XorKey::of_folder(folder.path()).unwrap().is_none());
        fs::write(folder.path().join(XOR_FILE), [7; 8]).unwrap();
        assert_eq!(XorKey::of_folder(folder.path()).unwrap(), XorKey([7; 8]));
        fs::write(folder.path().join(XOR_FILE), [7; 9]).unwrap();
        let error = XorKey::of_folder(folder.path()).unwrap_err().to_string();
        assert!(error.contains("expected 8 bytes, found 9 bytes"), "{error}");
    }
}
