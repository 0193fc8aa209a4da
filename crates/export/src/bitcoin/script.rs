//! What an output script is: its standard type under the name that Bitcoin Core's RPC has for it
//! (`Solver` in script/solver.cpp), and its address.

use rust_bitcoin::{Address, Network, Script};

const OP_PUSHDATA1: u8 = 0x4c;
const OP_PUSHDATA4: u8 = 0x4e;
const OP_1NEGATE: u8 = 0x4f;
const OP_1: u8 = 0x51;
const OP_16: u8 = 0x60;
const OP_RETURN: u8 = 0x6a;
const OP_CHECKSIG: u8 = 0xac;
const OP_CHECKMULTISIG: u8 = 0xae;

/// Most keys of a script with several signatures.
const MAX_KEYS: usize = 20;

/// The network of this name, whose addresses have its prefix.
pub(super) fn network(name: &str) -> Network {
    match name {
        "mainnet" => Network::Bitcoin,
        "regtest" => Network::Regtest,
        // signet and both test networks have the same prefixes
        _ => Network::Testnet,
    }
}

/// The address of an output script. As in Core, a bare key and a script with several signatures
/// have none.
pub(super) fn address(script: &[u8], network: Network) -> Option<String> {
    let address = Address::from_script(Script::from_bytes(script), network).ok();
    address.map(|address| address.to_string())
}

/// The type of an output script.
pub(super) fn kind(script: &[u8]) -> &'static str {
    match script {
        [0xa9, 0x14, middle @ .., 0x87] if middle.len() == 20 => "scripthash",
        [version, length, program @ ..] if is_witness(*version, *length, program) => {
            match (*version, program) {
                (0, _) if program.len() == 20 => "witness_v0_keyhash",
                (0, _) if program.len() == 32 => "witness_v0_scripthash",
                (0, _) => "nonstandard",
                (OP_1, _) if program.len() == 32 => "witness_v1_taproot",
                (OP_1, [0x4e, 0x73]) => "anchor",
                _ => "witness_unknown",
            }
        }
        [OP_RETURN, data @ ..] if Items(data).all(|item| item.is_some_and(Item::is_push)) => {
            "nulldata"
        }
        [length, key @ .., OP_CHECKSIG] if usize::from(*length) == key.len() && is_key(key) => {
            "pubkey"
        }
        [0x76, 0xa9, 0x14, hash @ .., 0x88, OP_CHECKSIG] if hash.len() == 20 => "pubkeyhash",
        [items @ .., OP_CHECKMULTISIG] if is_multisig(items).unwrap_or(false) => "multisig",
        _ => "nonstandard",
    }
}

/// Is it a version and a program of 2 to 40 bytes (BIP141)?
fn is_witness(version: u8, length: u8, program: &[u8]) -> bool {
    let is_version = version == 0 || (OP_1..=OP_16).contains(&version);
    is_version && usize::from(length) == program.len() && (2..=40).contains(&program.len())
}

/// Has it the size that its first byte says?
fn is_key(key: &[u8]) -> bool {
    match key.first() {
        Some(2 | 3) => key.len() == 33,
        Some(4 | 6 | 7) => key.len() == 65,
        _ => false,
    }
}

/// Is it a number, as many keys as the last number says, and this number, which is not less?
fn is_multisig(script: &[u8]) -> Option<bool> {
    let mut items = Items(script);
    let needed = items.next()??.number()?;
    let mut keys = 0;
    loop {
        let item = items.next()??;
        if is_key(item.data) {
            keys += 1;
            continue;
        }
        let count = item.number()?;
        let fits = 1 <= needed && needed <= count && count <= MAX_KEYS;
        return Some(fits && keys == count && items.0.is_empty());
    }
}

/// An instruction with the data that it pushes.
#[derive(Clone, Copy)]
struct Item<'a> {
    code: u8,
    data: &'a [u8],
}

impl Item<'_> {
    fn is_push(self) -> bool {
        self.code <= OP_16
    }

    /// A number from 1 on, in its shortest form.
    fn number(self) -> Option<usize> {
        match (self.code, self.data) {
            (OP_1..=OP_16, _) => Some(usize::from(self.code - OP_1) + 1),
            (1, [byte @ 17..=0x7f]) => Some(usize::from(*byte)),
            _ => None,
        }
    }
}

/// The instructions of a script; `None` for one whose data is cut off.
struct Items<'a>(&'a [u8]);

impl<'a> Iterator for Items<'a> {
    type Item = Option<Item<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let (code, rest) = self.0.split_first()?;
        let cut = |bytes: usize| {
            let (length, rest) = rest.split_at_checked(bytes)?;
            let length = length.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            rest.split_at_checked(length)
        };
        let found = match code {
            OP_PUSHDATA1..=OP_PUSHDATA4 => cut(1 << (code - OP_PUSHDATA1)),
            0..OP_PUSHDATA1 => rest.split_at_checked(usize::from(*code)),
            OP_1NEGATE.. => Some((&[][..], rest)),
        };
        let Some((data, rest)) = found else {
            self.0 = &[];
            return Some(None);
        };
        self.0 = rest;
        Some(Some(Item { code: *code, data }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        blockmill_testkit::hex::decode(text)
    }

    /// Type, mainnet's address and regtest's.
    fn of(text: &str) -> (&'static str, Option<String>, Option<String>) {
        let script = bytes(text);
        let address = |name| address(&script, network(name));
        (kind(&script), address("mainnet"), address("regtest"))
    }

    const KEY: &str = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";

    #[test]
    fn every_standard_type_has_its_name_and_its_address() {
        // addresses of BIP173, BIP350 and of the key 1
        let hash = "751e76e8199196d454941c45d1b3a323f1433bd6";
        let long = "1863143c14c5166804bd19203356da136c985678cd4d27a1b8c6329604903262";
        let x_only = &KEY[2..];
        for (script, name, address) in [
            (format!("76a914{hash}88ac"), "pubkeyhash", "1BgGZ9tcN4rm9KBzDn7KprQz87SZ26SAMH"),
            (
                "a914bcfeb728b584253d5f3f70bcb780e9ef218a68f487".into(),
                "scripthash",
                "3JvL6Ymt8MVWiCNHC7oWU6nLeHNJKLZGLN",
            ),
            (
                format!("0014{hash}"),
                "witness_v0_keyhash",
                "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
            ),
            (
                format!("0020{long}"),
                "witness_v0_scripthash",
                "bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3",
            ),
            (
                format!("5120{x_only}"),
                "witness_v1_taproot",
                "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
            ),
            ("51024e73".into(), "anchor", "bc1pfeessrawgf"),
            (
                "5210751e76e8199196d454941c45d1b3a323".into(),
                "witness_unknown",
                "bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs",
            ),
        ] {
            let (found, main, regtest) = of(&script);
            assert_eq!((found, main.as_deref()), (name, Some(address)), "{script}");
            assert_ne!(main, regtest, "{script}");
        }
        assert_eq!(of("51024e73").2.as_deref(), Some("bcrt1pfeesnyr2tx"));
    }

    #[test]
    fn what_has_no_address_has_a_type() {
        let long = format!("04{}", "11".repeat(64));
        let many = |count: usize| KEY_PUSH.repeat(count);
        for (script, name) in [
            (format!("21{KEY}ac"), "pubkey"),
            (format!("41{long}ac"), "pubkey"),
            (format!("5121{KEY}21{KEY}52ae"), "multisig"),
            (format!("52{}53ae", many(3)), "multisig"),
            // 20 keys are counted by a byte, 16 never are
            (format!("51{}0114ae", many(20)), "multisig"),
            (format!("51{}0110ae", many(16)), "nonstandard"),
            (format!("51{}0115ae", many(21)), "nonstandard"),
            (format!("52{}51ae", many(1)), "nonstandard"),
            (format!("51{}52ae", many(1)), "nonstandard"),
            ("6a".into(), "nulldata"),
            ("6a0568656c6c6f51".into(), "nulldata"),
            ("6a0568656c6c".into(), "nonstandard"),
            ("6aac".into(), "nonstandard"),
            ("0014".into(), "nonstandard"),
            ("0003010203".into(), "nonstandard"),
            (String::new(), "nonstandard"),
            ("51".into(), "nonstandard"),
            ("4d".into(), "nonstandard"),
            ("51ae".into(), "nonstandard"),
        ] {
            assert_eq!((of(&script).0, of(&script).1), (name, None), "{script}");
        }
    }

    #[blockmill_testkit::needs(core_source)]
    #[test]
    fn addresses_are_those_of_core() {
        let path = blockmill_testkit::path_of("core_source").join("test/data/key_io_valid.json");
        let cases: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let mut seen = 0;
        for case in cases.as_array().unwrap() {
            let settings = &case[2];
            if settings["isPrivkey"].as_bool().unwrap() {
                continue;
            }
            let name = match settings["chain"].as_str().unwrap() {
                "main" => "mainnet",
                "test" => "testnet3",
                other => other,
            };
            let script = bytes(case[1].as_str().unwrap());
            let found = address(&script, network(name));
            assert_eq!(found.as_deref(), case[0].as_str(), "{case}");
            assert_ne!(kind(&script), "nonstandard", "{case}");
            seen += 1;
        }
        assert!(seen > 40, "{seen}");
    }

    const KEY_PUSH: &str = "210279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
}
