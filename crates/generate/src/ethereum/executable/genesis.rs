//! The genesis.json of a chain.

use blockmill_ethereum::params::Fork;
use blockmill_ethereum::params::genesis::GenesisAccount;
use std::fmt::Write;

/// The chain id.
pub const CHAIN_ID: u64 = 1_337;
/// Gas limit of every block.
pub const GAS_LIMIT: u64 = 60_000_000;
/// The time of the genesis block: in the past of every clock, because proof-of-work blocks must not
/// be from the future.
pub const FIRST_TIME: u64 = 1_700_000_000;
/// The deposit contract.
pub const DEPOSITS: [u8; 20] = [0xde; 20];

/// The possible forks of a chain, oldest first, each with its name and its additions to the
/// `config` of a genesis.json. Constantinople is missing: for go-ethereum it comes with Petersburg.
pub const FORKS: [(&str, Fork, &[&str]); 15] = [
    ("frontier", Fork::Frontier, &[]),
    ("homestead", Fork::Homestead, &["homesteadBlock"]),
    ("tangerine-whistle", Fork::TangerineWhistle, &["eip150Block"]),
    ("spurious-dragon", Fork::SpuriousDragon, &["eip155Block", "eip158Block"]),
    ("byzantium", Fork::Byzantium, &["byzantiumBlock"]),
    ("petersburg", Fork::Petersburg, &["constantinopleBlock", "petersburgBlock"]),
    ("istanbul", Fork::Istanbul, &["istanbulBlock"]),
    ("berlin", Fork::Berlin, &["muirGlacierBlock", "berlinBlock"]),
    ("london", Fork::London, &["londonBlock"]),
    (
        "paris",
        Fork::Paris,
        &["arrowGlacierBlock", "grayGlacierBlock", "mergeNetsplitBlock", "terminalTotalDifficulty"],
    ),
    ("shanghai", Fork::Shanghai, &["shanghaiTime"]),
    ("cancun", Fork::Cancun, &["cancunTime"]),
    ("prague", Fork::Prague, &["pragueTime"]),
    ("osaka", Fork::Osaka, &["osakaTime"]),
    ("amsterdam", Fork::Amsterdam, &["amsterdamTime"]),
];

/// Blob schedules of EIP-4844 and EIP-7691, which go-ethereum requires.
const BLOBS: &str = ",\n    \"blobSchedule\": {\n      \
    \"cancun\": { \"target\": 3, \"max\": 6, \"baseFeeUpdateFraction\": 3338477 },\n      \
    \"prague\": { \"target\": 6, \"max\": 9, \"baseFeeUpdateFraction\": 5007716 }\n    }";

/// The genesis.json of a chain with this fork and these accounts; with `next`, the chain changes to
/// that fork at that time. `None` if a fork is not in [`FORKS`], or a fork of `next` does not begin
/// at a time.
pub fn text(fork: Fork, next: Option<(Fork, u64)>, accounts: &[GenesisAccount]) -> Option<String> {
    FORKS.iter().find(|(_, known, _)| *known == fork)?;
    let (last, time) = next.unwrap_or((fork, 0));
    FORKS.iter().find(|(_, known, _)| *known == last)?;
    let mut text = String::new();
    // writing to a String does not fail
    let _ = write!(text, "{{\n  \"config\": {{\n    \"chainId\": {CHAIN_ID}");
    for (_, known, keys) in FORKS.iter().filter(|(_, known, _)| *known <= last) {
        let start = if *known <= fork { 0 } else { time };
        for key in *keys {
            if start > 0 && !key.ends_with("Time") {
                return None;
            }
            let _ = write!(text, ",\n    \"{key}\": {start}");
        }
    }
    if last >= Fork::Cancun {
        text.push_str(BLOBS);
    }
    if last >= Fork::Prague {
        let _ = write!(text, ",\n    \"depositContractAddress\": \"0x{}\"", hex(&DEPOSITS));
    }
    let difficulty = if fork >= Fork::Paris { 0 } else { 131_072 };
    let _ = write!(text, "\n  }},\n  \"timestamp\": {FIRST_TIME},\n  \"gasLimit\": {GAS_LIMIT},");
    let _ = write!(text, "\n  \"difficulty\": {difficulty},\n  \"alloc\": {{");
    for (i, account) in accounts.iter().enumerate() {
        text.push_str(if i == 0 { "\n    " } else { ",\n    " });
        write_account(&mut text, account);
    }
    text.push_str("\n  }\n}\n");
    Some(text)
}

fn write_account(text: &mut String, account: &GenesisAccount) {
    let (address, balance, nonce) = (hex(&account.address), account.balance, account.nonce);
    let _ = write!(text, "\"{address}\": {{ \"balance\": \"{balance:#x}\"");
    if nonce > 0 {
        let _ = write!(text, ", \"nonce\": {nonce}");
    }
    if !account.code.is_empty() {
        let _ = write!(text, ", \"code\": \"0x{}\"", hex(&account.code));
    }
    if !account.storage.is_empty() {
        text.push_str(", \"storage\": {");
        for (i, (slot, value)) in account.storage.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let _ = write!(text, "{comma}\n      \"0x{}\": \"0x{}\"", hex(slot), hex(value));
        }
        text.push_str("\n    }");
    }
    text.push_str(" }");
}

/// Bytes in hexadecimal.
fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}
