//! Real archives, and chains that other clients made: they verify, their tips are the known ones,
//! and conversions give the published bytes.

#[path = "../program/mod.rs"]
mod program;

mod conversions;
mod ere;
mod imports;
mod resuming;

use program::{Scratch, blockmill, fixtures};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The two era1 files of the main network, in order.
const MAINNET: [&str; 2] = ["era1/mainnet-00000-5ec1ffb8.era1", "era1/mainnet-00001-a5364e9a.era1"];
const SEPOLIA: &str = "era1/sepolia-00000-643a00f7.era1";

/// Hashes of the last blocks, as go-ethereum has them.
const MAINNET_8191: &str = "0xa6860fefa339c963e1bb622526cc8dd4344eedd2a9b969e74de5cccc445fbed4";
const MAINNET_16383: &str = "0x05c64fc4842734317f8f1dfe29a7e16f676575ad82a7dae37cef1379cf8500b5";
const SEPOLIA_8191: &str = "0x8e3e7dc9ef199c05683417b4aa572f0b7a8bcfafca7edb6045baabc01aa4fb0c";

/// The folder of real data, and a scratch folder; none without real data.
fn set_up(test: &str) -> (PathBuf, Scratch) {
    (fixtures(), Scratch::new(test))
}

/// The era1 files of the main network.
fn mainnet(fixtures: &Path) -> [PathBuf; 2] {
    MAINNET.map(|file| fixtures.join(file))
}

/// An import into `store`; archives and flags are added by the caller.
fn import(store: &Path, flags: &str) -> Command {
    let mut command = blockmill("import --data");
    command.arg(store).args(flags.split_whitespace());
    command
}

/// Asserts number and hash of the last block in a run record.
fn assert_tip(record: &Value, number: u64, hash: &str) {
    assert_eq!(record["result"]["tip_number"], number);
    assert_eq!(record["result"]["tip_hash"], hash);
    assert_eq!(record["result"]["error"], Value::Null);
}
