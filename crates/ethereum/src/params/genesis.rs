//! Block 0 of a chain and the accounts that it begins with.

mod chainspec;
mod json;
pub(super) mod known;
mod object;
pub(crate) mod settings;

pub(crate) use json::from_json;

use crate::header::{EMPTY_OMMERS, EMPTY_ROOT, Header, INITIAL_BASE_FEE};
use crate::params::{Fork, SpecError};
use crate::{Address, Hash, U256};
use blockmill_rlp::ethereum::Account;
use blockmill_rlp::{Encode, Reader};
use object::{Object, missing};
use std::borrow::Cow;
use std::path::PathBuf;

/// An account of the first state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenesisAccount {
    /// Where it is.
    pub address: Address,
    /// Wei that it owns.
    pub balance: U256,
    /// Transactions that it sent, or contracts that it made.
    pub nonce: u64,
    /// Its code; empty for an ordinary account.
    pub code: Vec<u8>,
    /// Storage slots and their values, by key; none is 0.
    pub storage: Vec<(Hash, Hash)>,
}

/// Where the accounts come from.
#[derive(Clone, Debug)]
pub enum Alloc {
    /// A file that is part of the program, with the state root that a test recomputes.
    BuiltIn {
        /// The format of `genesis/README.md`.
        accounts: &'static [u8],
        /// The root of these accounts.
        state_root: Hash,
    },
    /// Accounts of a genesis.json, ordered by address.
    Given(Vec<GenesisAccount>),
    /// Accounts of a genesis.json that are still in the file.
    InFile {
        /// Where it is.
        path: PathBuf,
        /// The root of the accounts, from the header of the block that they are of.
        state_root: Hash,
    },
}

/// The accounts of a chain are not where they should be.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AccountsError {
    /// A file that is part of the program does not decode.
    #[error("a built-in file: {0}")]
    BuiltIn(#[from] blockmill_rlp::Error),
    /// A genesis.json cannot be read, or is not what it was.
    #[error("{}: {problem}", path.display())]
    File {
        /// Where it is.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

/// Header fields of a genesis.json. A field that is `None` gets the value that geth gives it.
#[allow(missing_docs)]
#[derive(Clone, Debug, Default)]
pub struct Fields {
    pub number: u64,
    pub timestamp: u64,
    pub parent_hash: Hash,
    pub coinbase: Address,
    pub difficulty: U256,
    pub gas_limit: u64,
    pub gas_used: u64,
    pub extra_data: Vec<u8>,
    pub mix_hash: Hash,
    pub nonce: u64,
    pub base_fee: Option<U256>,
    pub excess_blob_gas: Option<u64>,
    pub blob_gas_used: Option<u64>,
    pub slot_number: Option<u64>,
}

impl Fields {
    /// Reads the header fields of a genesis.json.
    fn read(file: &Object<'_>) -> Result<Self, SpecError> {
        let mix_hash = if file.text("mixHash").is_some() { "mixHash" } else { "mixhash" };
        Ok(Self {
            number: file.u64("number")?.unwrap_or(0),
            timestamp: file.u64("timestamp")?.unwrap_or(0),
            parent_hash: file.fixed("parentHash")?,
            coinbase: file.fixed("coinbase")?,
            difficulty: file.u256("difficulty")?.ok_or(missing("difficulty"))?,
            gas_limit: file.u64("gasLimit")?.ok_or(missing("gasLimit"))?,
            gas_used: file.u64("gasUsed")?.unwrap_or(0),
            extra_data: file.bytes("extraData")?,
            mix_hash: file.fixed(mix_hash)?,
            nonce: file.u64("nonce")?.unwrap_or(0),
            base_fee: file.u256("baseFeePerGas")?,
            excess_blob_gas: file.u64("excessBlobGas")?,
            blob_gas_used: file.u64("blobGasUsed")?,
            slot_number: file.u64("slotNumber")?,
        })
    }
}

/// Block 0 of a chain.
#[derive(Clone, Debug)]
pub struct Genesis {
    /// Its header.
    pub header: Header,
    /// The header's encoding.
    pub raw: Vec<u8>,
    /// The hash of the header, by which a chain is known.
    pub hash: Hash,
    alloc: Alloc,
}

/// Gas limit where a genesis.json says 0.
const DEFAULT_GAS_LIMIT: u64 = 4_712_388;

/// SHA-256 of nothing: the requests hash of a block without requests (EIP-7685).
const EMPTY_REQUESTS: Hash = [
    0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24,
    0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
];

impl Genesis {
    /// Block 0 under the rules of `fork`; `london` says whether it has a base fee.
    pub(crate) fn new(fields: &Fields, alloc: Alloc, london: bool, fork: Fork) -> Self {
        let state_root = match &alloc {
            Alloc::BuiltIn { state_root, .. } | Alloc::InFile { state_root, .. } => *state_root,
            Alloc::Given(accounts) => state_root(accounts),
        };
        let hash = |since, hash: Hash| (fork >= since).then_some(hash);
        let number = |since, given: Option<u64>| (fork >= since).then_some(given.unwrap_or(0));
        let header = Header {
            parent_hash: fields.parent_hash,
            beneficiary: fields.coinbase,
            state_root,
            difficulty: fields.difficulty,
            number: fields.number,
            gas_limit: match fields.gas_limit {
                0 => DEFAULT_GAS_LIMIT,
                limit => limit,
            },
            gas_used: fields.gas_used,
            timestamp: fields.timestamp,
            extra_data: fields.extra_data.clone(),
            mix_hash: fields.mix_hash,
            nonce: fields.nonce.to_be_bytes(),
            base_fee: london.then(|| fields.base_fee.unwrap_or(U256::from(INITIAL_BASE_FEE))),
            withdrawals_root: hash(Fork::Shanghai, EMPTY_ROOT),
            blob_gas_used: number(Fork::Cancun, fields.blob_gas_used),
            excess_blob_gas: number(Fork::Cancun, fields.excess_blob_gas),
            parent_beacon_root: hash(Fork::Cancun, [0; 32]),
            requests_hash: hash(Fork::Prague, EMPTY_REQUESTS),
            // an empty list is encoded like an empty list of ommers
            block_access_list_hash: hash(Fork::Amsterdam, EMPTY_OMMERS),
            slot_number: number(Fork::Amsterdam, fields.slot_number),
            ..Header::default()
        };
        let raw = header.encode();
        Self { hash: blockmill_hashes::keccak256(&raw), raw, header, alloc }
    }

    /// The accounts, ordered by address.
    ///
    /// # Errors
    /// A file that does not have them.
    pub fn accounts(&self) -> Result<Cow<'_, [GenesisAccount]>, AccountsError> {
        match &self.alloc {
            Alloc::Given(accounts) => Ok(Cow::Borrowed(accounts)),
            Alloc::BuiltIn { accounts, .. } => Ok(Cow::Owned(decode(accounts)?)),
            Alloc::InFile { path, state_root } => known::accounts(path, state_root).map(Cow::Owned),
        }
    }
}

/// Decodes the format of `genesis/README.md`.
fn decode(data: &[u8]) -> Result<Vec<GenesisAccount>, blockmill_rlp::Error> {
    let mut file = Reader::new(data);
    let mut list = file.list()?;
    file.finish()?;
    let mut accounts = Vec::new();
    while !list.is_empty() {
        let mut fields = list.list()?;
        let mut account = GenesisAccount {
            address: *fields.fixed()?,
            balance: fields.u256()?,
            nonce: 0,
            code: vec![],
            storage: vec![],
        };
        if !fields.is_empty() {
            let mut contract = fields.list()?;
            account.nonce = contract.u64()?;
            account.code = contract.bytes()?.to_vec();
            let mut slots = contract.list()?;
            while !slots.is_empty() {
                let mut slot = slots.list()?;
                account.storage.push((*slot.fixed()?, *slot.fixed()?));
                slot.finish()?;
            }
            contract.finish()?;
        }
        fields.finish()?;
        accounts.push(account);
    }
    Ok(accounts)
}

/// The RLP of a slot's value in place, without an allocation: there may be many millions.
struct SlotValue {
    bytes: [u8; 33],
    len: u8,
}

impl SlotValue {
    fn new(value: &Hash) -> Self {
        let encoded = U256::from_be_bytes(*value).encode();
        let mut bytes = [0; 33];
        bytes[..encoded.len()].copy_from_slice(&encoded);
        Self { bytes, len: encoded.len() as u8 }
    }
}

impl AsRef<[u8]> for SlotValue {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// The root of the state that holds exactly these accounts (Yellow Paper 4.1).
pub fn state_root(accounts: &[GenesisAccount]) -> Hash {
    blockmill_trie::secure_root(accounts.iter().map(|account| (account.address, encode(account))))
}

/// An account as the state trie holds it: nonce, balance, storage root, code hash.
fn encode(account: &GenesisAccount) -> Vec<u8> {
    let slots = account.storage.iter();
    let slots = slots.map(|(key, value)| (key, SlotValue::new(value)));
    Account {
        nonce: account.nonce,
        balance: account.balance,
        storage_root: &blockmill_trie::secure_root(slots),
        code_hash: &blockmill_hashes::keccak256(&account.code),
    }
    .encode()
}
