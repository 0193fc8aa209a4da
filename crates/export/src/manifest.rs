//! The manifest of a folder of tables: written last, and the only file that says that all of them
//! together are one verified chain.

use crate::error::Error;
use blockmill_archive::output::OutputFile;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Write;
use std::path::Path;

/// Its name.
pub const NAME: &str = "manifest.json";

/// Version of its layout.
pub(crate) const SCHEMA: u32 = 1;

/// One file of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its path in the folder, with `/`.
    pub file: String,
    /// The table.
    pub table: String,
    /// Number of its first block.
    pub first: u64,
    /// Number of its last block.
    pub last: u64,
    /// How many rows it has.
    pub rows: u64,
    /// How many bytes.
    pub bytes: u64,
    /// The file that its blocks come from, where one file is the partition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// SHA-256 of that file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_sha256: Option<String>,
}

/// What was exported, and what that can be relied on for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this layout.
    pub schema: u32,
    /// `chain`: all files together are one chain, verified at `level`; `partial`: the same of what
    /// was there, where blocks were missing and the user knew.
    pub verified: String,
    /// The network.
    pub chain: String,
    /// Hash of its first block.
    pub genesis: String,
    /// How deep blocks were verified.
    pub level: String,
    /// Number of the first block.
    pub first: u64,
    /// Number of the last block.
    pub last: u64,
    /// Hash of the last block.
    pub tip: String,
    /// The block that was believed without its parent, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    /// Name, version and revision of the program.
    pub program: String,
    /// What else decides on the verdict.
    pub rules: String,
    /// How blocks are divided into files, unless by files of the source or by 100,000 numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Every file, in the order of their blocks.
    pub files: Vec<FileEntry>,
}

impl Manifest {
    /// Writes it into `folder`; one that is there goes with `replace` only.
    ///
    /// # Errors
    /// Those of the file.
    pub fn write(&self, folder: &Path, replace: bool) -> Result<(), Error> {
        let path = folder.join(NAME);
        if replace {
            remove(folder)?;
        }
        self.written(OutputFile::create(&path)?, &path)?.finish(&path)?;
        Ok(())
    }

    /// Replaces that of `folder` in one step: after a power failure, one of both is there.
    ///
    /// # Errors
    /// Those of the file.
    pub fn replace(&self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(NAME);
        self.written(OutputFile::replacing(&path)?, &path)?.replace(&path)?;
        Ok(())
    }

    fn written(&self, mut file: OutputFile, path: &Path) -> Result<OutputFile, Error> {
        let error = |error| Error::Source { file: path.display().to_string(), error };
        let ours = Self { schema: SCHEMA, ..self.clone() };
        let text = serde_json::to_vec_pretty(&ours).map_err(|e| error(e.into()))?;
        file.write_all(&text).and_then(|()| file.write_all(b"\n")).map_err(error)?;
        Ok(file)
    }

    /// Reads that of `folder`.
    ///
    /// # Errors
    /// When there is none, or another one.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(NAME);
        let error = |error| Error::Source { file: path.display().to_string(), error };
        let text = fs::read(&path).map_err(error)?;
        serde_json::from_slice(&text).map_err(|e| error(e.into()))
    }
}

/// Removes the manifest of a folder whose files are about to be replaced.
///
/// # Errors
/// When the system refuses.
pub fn remove(folder: &Path) -> Result<(), Error> {
    let path = folder.join(NAME);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::Source { file: path.display().to_string(), error })
        }
        _ => Ok(()),
    }
}
