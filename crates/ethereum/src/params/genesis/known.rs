//! A genesis.json with a first block that is known already: its accounts, which may be millions,
//! stay in the file until they are asked for.

use super::{AccountsError, Alloc, GenesisAccount, from_json, state_root};
use crate::Hash;
use crate::header::HeaderView;
use crate::params::{ChainSpec, Config, SpecError};
use blockmill_platform::input_file::InputFile;
use blockmill_verdict::Hex;
use std::io::{self, Read};
use std::path::Path;

/// Members of the file that hold accounts: geth's and Besu's, and Nethermind's.
const ACCOUNTS: [&str; 2] = ["alloc", "accounts"];
/// Bytes of a file that are read at a time.
const READ: usize = 1 << 20;
/// Bytes of everything but the accounts at most.
const MOST: usize = 1 << 20;

/// The chain of a genesis.json that begins with the block of this header; `None` if it does not, or
/// if only the whole file can show it.
///
/// Everything but the accounts is compared, and the state root is taken from the header. The
/// accounts are compared with it when they are read.
pub(in crate::params) fn behind(path: &Path, header: &[u8]) -> Option<ChainSpec> {
    let state_root = *HeaderView::decode(header).ok()?.state_root;
    let text = without_accounts(InputFile::open(path).ok()?.reader()).ok()??;
    let (config, fields, _) = from_json(&text).ok()?;
    let alloc = Alloc::InFile { path: path.into(), state_root };
    let spec = ChainSpec::new("custom", &config, &fields, alloc).ok()?;
    (spec.genesis.raw == header).then_some(spec)
}

/// The configuration in a file; of one that cannot be read without its accounts, with them.
pub(in crate::params) fn config_of(path: &Path) -> io::Result<Result<Config, SpecError>> {
    let text = match without_accounts(InputFile::open(path)?.reader())? {
        Some(text) => text,
        None => InputFile::open(path)?.read_text()?,
    };
    Ok(from_json(&text).map(|(config, ..)| config))
}

/// The accounts in a file, which must have this state root.
pub(super) fn accounts(path: &Path, root: &Hash) -> Result<Vec<GenesisAccount>, AccountsError> {
    let failed = |problem: String| AccountsError::File { path: path.into(), problem };
    let text = InputFile::open(path).and_then(|file| file.read_text());
    let text = text.map_err(|error| failed(error.to_string()))?;
    let (_, _, alloc) = from_json(&text).map_err(|error| failed(error.to_string()))?;
    let Alloc::Given(accounts) = alloc else { return Ok(vec![]) };
    let found = state_root(&accounts);
    if found != *root {
        let (expected, found) = (Hex(root), Hex(&found));
        let problem = format!("expected accounts with state root {expected}, found {found}");
        return Err(failed(problem));
    }
    Ok(accounts)
}

/// The text of a JSON object with the objects of accounts emptied; `None` if the rest is larger
/// than [`MOST`]. Of the accounts only the end is searched for.
fn without_accounts(mut file: impl Read) -> io::Result<Option<String>> {
    let mut block = vec![0; READ];
    let mut skeleton = Skeleton::default();
    loop {
        let read = match file.read(&mut block) {
            Ok(0) => return Ok(String::from_utf8(skeleton.kept).ok()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        skeleton.take(&block[..read]);
        if skeleton.kept.len() > MOST {
            return Ok(None);
        }
    }
}

/// How far a JSON object was read.
#[derive(Debug, Default)]
struct Skeleton {
    kept: Vec<u8>,
    /// Objects and lists that are open.
    depth: usize,
    /// In a string, and whether its next byte is escaped.
    string: Option<bool>,
    /// The last string of the outermost object, which is the name of what follows.
    name: Vec<u8>,
    /// Objects and lists that are open where accounts end.
    skipped: Option<usize>,
}

impl Skeleton {
    fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let of_interest = |byte: &u8| match self.string {
                Some(true) => true,
                Some(false) => matches!(byte, b'"' | b'\\'),
                None => matches!(byte, b'"' | b'{' | b'}' | b'[' | b']'),
            };
            let at = bytes.iter().position(of_interest).unwrap_or(bytes.len());
            let (plain, rest) = bytes.split_at(at);
            self.keep(plain);
            let Some((byte, rest)) = rest.split_first() else { return };
            self.step(*byte);
            bytes = rest;
        }
    }

    /// Takes a byte at which something may begin or end.
    fn step(&mut self, byte: u8) {
        match (self.string, byte) {
            (Some(true), _) => self.string = Some(false),
            (Some(false), b'\\') => self.string = Some(true),
            (Some(false), _) => self.string = None,
            (None, b'"') => {
                self.string = Some(false);
                if self.depth == 1 {
                    self.name.clear();
                }
            }
            (None, b'{' | b'[') => {
                self.depth += 1;
                let is_one = |name: &&str| self.name.eq_ignore_ascii_case(name.as_bytes());
                if byte == b'{' && self.depth == 2 && ACCOUNTS.iter().any(is_one) {
                    self.kept.push(byte);
                    self.skipped = Some(1);
                }
            }
            (None, _) => {
                self.depth = self.depth.saturating_sub(1);
                if self.skipped == Some(self.depth) {
                    self.skipped = None;
                }
            }
        }
        self.keep(&[byte]);
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.skipped.is_some() {
            return;
        }
        if self.depth == 1 && self.string.is_some() && bytes != b"\"" {
            self.name.extend_from_slice(bytes);
        }
        self.kept.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text without accounts, read in pieces of so many bytes.
    fn skeleton(text: &str, piece: usize) -> String {
        let mut skeleton = Skeleton::default();
        text.as_bytes().chunks(piece).for_each(|piece| skeleton.take(piece));
        String::from_utf8(skeleton.kept).unwrap()
    }

    #[test]
    fn accounts_are_left_out_and_nothing_else() {
        let cases = [
            (r#"{"alloc": {"a": {"b": "}"}, "c": [{}]}, "d": 1}"#, r#"{"alloc": {}, "d": 1}"#),
            (
                r#"{"d": {"alloc": {"e": 1}}, "Alloc":{"x\"}":1}}"#,
                r#"{"d": {"alloc": {"e": 1}}, "Alloc":{}}"#,
            ),
            (
                r#"{"accounts":{"\\":"{"},"alloc":[{"a":1}]}"#,
                r#"{"accounts":{},"alloc":[{"a":1}]}"#,
            ),
            (r#"{"e": "alloc", "f": {"a": 1}}"#, r#"{"e": "alloc", "f": {"a": 1}}"#),
            (r#"{"\u0061lloc": {"a": 1}}"#, r#"{"\u0061lloc": {"a": 1}}"#),
            ("{\"alloc\": {\"a\"", "{\"alloc\": {"),
            ("}}]{", "}}]{"),
        ];
        for (text, expected) in cases {
            for piece in 1..=text.len() {
                assert_eq!(skeleton(text, piece), expected, "{text} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn a_chain_is_known_by_its_first_header_and_reads_its_accounts_when_asked() {
        let text = r#"{
            "config": {"chainId": 7, "homesteadBlock": 0},
            "difficulty": "0x20000", "gasLimit": "0x1000000",
            "alloc": {"0x00000000000000000000000000000000000000aa": {"balance": "0x1",
                "storage": {"0x01": "0x02"}}}
        }"#;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("genesis.json");
        std::fs::write(&path, text).unwrap();
        let whole = ChainSpec::from_genesis_json(text).unwrap();
        let known = behind(&path, &whole.genesis.raw).unwrap();
        let seven = crate::U256::from(7);
        assert_eq!((known.chain_id, &known.genesis.raw), (seven, &whole.genesis.raw));
        assert_eq!(known.genesis.accounts().unwrap(), whole.genesis.accounts().unwrap());
        // another chain's, and what is no header
        let other = text.replace("0x20000", "0x20001");
        let other = ChainSpec::from_genesis_json(&other).unwrap();
        assert!(behind(&path, &other.genesis.raw).is_none());
        assert!(behind(&path, &[]).is_none());
        // accounts that are not those of the header
        std::fs::write(&path, text.replace("\"0x02\"", "\"0x03\"")).unwrap();
        let known = behind(&path, &whole.genesis.raw).unwrap();
        let error = known.genesis.accounts().unwrap_err().to_string();
        assert!(error.contains("genesis.json: expected accounts with state root 0x"), "{error}");
        std::fs::remove_file(&path).unwrap();
        assert!(known.genesis.accounts().is_err());
        assert!(behind(&path, &whole.genesis.raw).is_none());
    }
}
