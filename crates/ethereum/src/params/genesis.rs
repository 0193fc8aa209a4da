//! Block 0 of a chain and the accounts that it begins with.

mod bft;
mod chainspec;
mod json;
pub(super) mod known;
mod object;
pub(crate) mod settings;

pub(crate) use json::from_json;

use crate::header::Header;
use crate::header::later::AtGenesis;
use crate::params::{Fork, SpecError};
use crate::state::EMPTY_CODE;
use crate::{Address, Hash, U256};
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::ethereum::{Account, EditLater, LaterField};
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
    /// Accounts of a test, ordered by address. Whoever executes the chain compares the root.
    Stated {
        /// The accounts.
        accounts: Vec<GenesisAccount>,
        /// The state root that the test states.
        state_root: Hash,
    },
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

/// Reads the header fields of a genesis.json. Later fields are those that the file states;
/// [`Genesis::new`] completes them.
fn header(file: &Object<'_>) -> Result<Header, SpecError> {
    let mix_hash = if file.text("mixHash").is_some() { "mixHash" } else { "mixhash" };
    let mut header = Header {
        number: file.u64("number")?.unwrap_or(0),
        timestamp: file.u64("timestamp")?.unwrap_or(0),
        parent_hash: file.fixed("parentHash")?,
        beneficiary: file.fixed("coinbase")?,
        difficulty: file.u256("difficulty")?.ok_or(missing("difficulty"))?,
        gas_limit: file.u64("gasLimit")?.ok_or(missing("gasLimit"))?,
        gas_used: file.u64("gasUsed")?.unwrap_or(0),
        extra_data: file.bytes("extraData")?,
        mix_hash: file.fixed(mix_hash)?,
        nonce: file.u64("nonce")?.unwrap_or(0).to_be_bytes(),
        ..Header::default()
    };
    header.edit_later(&mut Stated(file))?;
    Ok(header)
}

/// The later fields that a genesis.json states: numbers. Its settings admit no hash.
struct Stated<'f>(&'f Object<'f>);

impl EditLater for Stated<'_> {
    type Error = SpecError;

    fn wei(&mut self, field: &LaterField, _: Option<U256>) -> Result<Option<U256>, SpecError> {
        self.0.u256(&field.rpc_name())
    }

    fn number(&mut self, field: &LaterField, _: Option<u64>) -> Result<Option<u64>, SpecError> {
        self.0.u64(&field.rpc_name())
    }

    fn hash(&mut self, _: &LaterField, _: Option<Hash>) -> Result<Option<Hash>, SpecError> {
        Ok(None)
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

impl Genesis {
    /// Block 0 with these fields, but for its state root, under the rules of `fork`; `london` says
    /// whether it has a base fee.
    pub(crate) fn new(fields: &Header, alloc: Alloc, london: bool, fork: Fork) -> Self {
        let state_root = match &alloc {
            Alloc::BuiltIn { state_root, .. }
            | Alloc::Stated { state_root, .. }
            | Alloc::InFile { state_root, .. } => *state_root,
            Alloc::Given(accounts) => state_root(accounts),
        };
        let gas_limit = match fields.gas_limit {
            0 => DEFAULT_GAS_LIMIT,
            limit => limit,
        };
        let mut header = Header { state_root, gas_limit, ..fields.clone() };
        let Ok(()) = header.edit_later(&mut AtGenesis { fork, london });
        let raw = header.encode();
        Self { hash: blockmill_rlp::ethereum::block_hash(&raw), raw, header, alloc }
    }

    /// The accounts, ordered by address.
    ///
    /// # Errors
    /// A file that does not have them.
    pub fn accounts(&self) -> Result<Cow<'_, [GenesisAccount]>, AccountsError> {
        match &self.alloc {
            Alloc::Given(accounts) | Alloc::Stated { accounts, .. } => Ok(Cow::Borrowed(accounts)),
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
    let leaves = accounts.iter().zip(code_hashes(accounts));
    blockmill_trie::secure_root(
        leaves.map(|(account, code)| (account.address, encode(account, &code))),
    )
}

/// The hash of each account's code. Those of several accounts are computed in lanes.
pub(crate) fn code_hashes(accounts: &[GenesisAccount]) -> Vec<Hash> {
    let mut hashes = vec![EMPTY_CODE; accounts.len()];
    let with_code: Vec<usize> =
        (0..accounts.len()).filter(|at| !accounts[*at].code.is_empty()).collect();
    let codes: Vec<&[u8]> = with_code.iter().map(|at| &*accounts[*at].code).collect();
    let mut found = vec![[0; 32]; codes.len()];
    ManyKeccak::detect().keccak256(&codes, &mut found);
    with_code.into_iter().zip(found).for_each(|(at, hash)| hashes[at] = hash);
    hashes
}

/// An account as the state trie holds it: nonce, balance, storage root, code hash.
fn encode(account: &GenesisAccount, code_hash: &Hash) -> Vec<u8> {
    let slots = account.storage.iter();
    let slots = slots.map(|(key, value)| (key, SlotValue::new(value)));
    Account {
        nonce: account.nonce,
        balance: account.balance,
        storage_root: &blockmill_trie::secure_root(slots),
        code_hash,
    }
    .encode()
}
