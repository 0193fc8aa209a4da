//! The command line of `export`.

use super::Verification;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
pub struct Export {
    #[command(flatten)]
    pub verification: Verification,
    /// Folder to write; one file for each partition and table, and a manifest at the end
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
    #[command(flatten)]
    pub rows: Rows,
    /// Divide blocks into folders that DuckDB, PyArrow and Spark discover: blocks=N (in folders
    /// TABLE/block_range=...) or date (TABLE/date=..., in UTC) [default: one folder for all; files
    /// of the source, or 100,000 blocks]
    #[arg(long, value_name = "BY")]
    pub partition: Option<String>,
    /// Continue the export in the folder, with the same options: write the blocks after its last
    /// one
    #[arg(long, conflicts_with = "force")]
    pub append: bool,
    /// Say what would be written, without verifying and writing: tables with their columns and
    /// types, about how many rows, and the files
    #[arg(long)]
    pub dry_run: bool,
}

/// Which rows there are, and how they look.
#[derive(Args, Clone, Debug)]
pub struct Rows {
    /// Tables, or all: every table that this level and archive give. Ethereum: blocks, ommers,
    /// transactions, receipts, logs, withdrawals, block_access_list, and with --level execution
    /// balance_diffs, nonce_diffs, code_diffs, storage_diffs; Bitcoin: blocks, transactions,
    /// inputs, outputs; Neo: blocks, transactions, notifications, transfers
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    #[arg(default_value = "blocks,transactions")]
    pub tables: Vec<String>,
    /// Write hashes, addresses and all other bytes as text, 0x and digits, not as binary columns
    #[arg(long)]
    pub hex: bool,
    /// Whose names columns and files have
    #[arg(long, value_enum, default_value = "etl")]
    pub names: ExportNames,
}

/// Whose names columns and files have.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ExportNames {
    /// ethereum-etl and bitcoin-etl, as in public data sets
    Etl,
    /// cryo
    Cryo,
}

#[cfg(feature = "export")]
impl ExportNames {
    /// The scheme of this name on the command line.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::from_str(name, false).ok()
    }
}
