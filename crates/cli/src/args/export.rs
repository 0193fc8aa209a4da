//! The command line of `export`.

use super::Verification;
use super::verification::archives;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
#[command(mut_arg("serve", |serve| serve.hide_short_help(true)))]
#[command(mut_arg("paths", |paths| paths.help(archives(&["headers", "btc-headers"]))))]
pub struct Export {
    #[command(flatten)]
    pub verification: Verification,
    /// Folder to write
    ///
    /// It gets one file for each partition and table, and a manifest at the end.
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
    #[command(flatten)]
    pub rows: Rows,
    /// Folders that query engines discover: blocks=N or date
    ///
    /// DuckDB, Polars, PyArrow and Spark know folders of this form: TABLE/block_range=... for
    /// blocks=N, and TABLE/date=... in UTC for date. Without it, all files are in one folder: one
    /// for each file of the source, or for 100,000 blocks.
    #[arg(long, value_name = "BY")]
    pub partition: Option<String>,
    /// Add the blocks after the last one of the export there
    ///
    /// The other options are those of the export. It stays as it is until all new files are
    /// complete.
    #[arg(long, conflicts_with = "force")]
    pub append: bool,
    /// Say what would be written, and write nothing
    ///
    /// It prints tables with their columns and types, about how many rows, and the files. Nothing
    /// is verified.
    #[arg(long)]
    pub dry_run: bool,
}

/// Which rows there are, and how they look.
#[derive(Args, Clone, Debug)]
pub struct Rows {
    /// Tables, or all
    ///
    /// All are those that this level and archive give. Ethereum: blocks, ommers, transactions,
    /// receipts, logs, withdrawals, block_access_list, and with --level execution balance_diffs,
    /// nonce_diffs, code_diffs, storage_diffs; Bitcoin: blocks, transactions, inputs, outputs; Neo:
    /// blocks, transactions, notifications, transfers.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    #[arg(default_value = "blocks,transactions")]
    pub tables: Vec<String>,
    /// Write all binary columns as text: 0x and digits
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
