//! Objects put together from random parts. The parts are never freed.

use blockmill_rlp::List;
use blockmill_rlp::ethereum::{
    AccessListEntry, Authorization, Block, Body, Header, Transaction, TransactionType, Withdrawal,
};
use blockmill_testkit::Random;
use ruint::aliases::U256;

/// Numbers of fields of a header that forks have added up: none, London, Shanghai, Cancun, Prague,
/// Amsterdam.
pub const LATER_FIELDS: [usize; 6] = [0, 1, 2, 5, 6, 8];

/// A source of parts.
pub struct Parts(Random);

impl Parts {
    /// Creates reproducible parts from a seed.
    pub fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }

    fn below(&mut self, end: usize) -> usize {
        self.0.below(end)
    }

    /// A number of any length from 0 to 64 bits.
    fn number(&mut self) -> u64 {
        self.0.any_length()
    }

    /// A number of any length from 0 to 256 bits.
    fn wide(&mut self) -> U256 {
        let bits = self.below(257);
        U256::from_limbs(std::array::from_fn(|_| self.0.next_u64())) >> (256 - bits)
    }

    fn byte(&mut self) -> u8 {
        self.number() as u8
    }

    fn word(&mut self) -> [u8; 32] {
        std::array::from_fn(|_| self.byte())
    }

    fn fixed<const N: usize>(&mut self) -> &'static [u8; N] {
        Box::leak(Box::new(std::array::from_fn(|_| self.byte())))
    }

    /// Byte strings of the lengths at which prefixes change, too.
    fn bytes(&mut self) -> &'static [u8] {
        let any = self.below(600);
        let length = [0, 1, 2, 55, 56, 255, 256, any][self.below(8)];
        (0..length).map(|_| self.byte()).collect::<Vec<_>>().leak()
    }

    fn list<T>(&mut self, most: usize, mut part: impl FnMut(&mut Self) -> T) -> List<'static, T> {
        let count = self.below(most + 1);
        List::Values((0..count).map(|_| part(self)).collect::<Vec<_>>().leak())
    }

    /// A header with this many of the fields that later forks added.
    pub fn header(&mut self, later: usize) -> Header<'static> {
        Header {
            parent_hash: self.fixed(),
            ommers_hash: self.fixed(),
            beneficiary: self.fixed(),
            state_root: self.fixed(),
            transactions_root: self.fixed(),
            receipts_root: self.fixed(),
            logs_bloom: self.fixed(),
            difficulty: self.wide(),
            number: self.number(),
            gas_limit: self.number(),
            gas_used: self.number(),
            timestamp: self.number(),
            extra_data: self.bytes(),
            mix_hash: self.fixed(),
            nonce: self.fixed(),
            base_fee: (later > 0).then(|| self.wide()),
            withdrawals_root: (later > 1).then(|| self.fixed()),
            blob_gas_used: (later > 2).then(|| self.number()),
            excess_blob_gas: (later > 3).then(|| self.number()),
            parent_beacon_root: (later > 4).then(|| self.fixed()),
            requests_hash: (later > 5).then(|| self.fixed()),
            block_access_list_hash: (later > 6).then(|| self.fixed()),
            slot_number: (later > 7).then(|| self.number()),
        }
    }

    pub fn access_list_entry(&mut self) -> AccessListEntry<'static> {
        AccessListEntry { address: self.fixed(), storage_keys: self.list(4, Self::word) }
    }

    pub fn authorization(&mut self) -> Authorization<'static> {
        Authorization {
            chain_id: self.wide(),
            address: self.fixed(),
            nonce: self.number(),
            y_parity: self.byte(),
            r: self.wide(),
            s: self.wide(),
        }
    }

    pub fn transaction(&mut self, kind: TransactionType) -> Transaction<'static> {
        let creates = kind < TransactionType::Blob && self.below(4) == 0;
        let mut transaction = Transaction {
            nonce: self.number(),
            max_fee: self.wide(),
            gas_limit: self.number(),
            to: (!creates).then(|| self.fixed()),
            value: self.wide(),
            input: self.bytes(),
            v: U256::from(self.number()),
            r: self.wide(),
            s: self.wide(),
            ..Transaction::new(kind)
        };
        if kind == TransactionType::Legacy {
            transaction.v = self.wide();
        } else {
            transaction.chain_id = self.wide();
            transaction.access_list = self.list(4, Self::access_list_entry);
        }
        if kind >= TransactionType::DynamicFee {
            transaction.max_priority_fee = self.wide();
        }
        if kind == TransactionType::Blob {
            transaction.max_blob_fee = self.wide();
            transaction.blob_hashes = self.list(9, Self::word);
        }
        if kind == TransactionType::SetCode {
            transaction.authorizations = self.list(4, Self::authorization);
        }
        transaction
    }

    pub fn withdrawal(&mut self) -> Withdrawal<'static> {
        let (index, validator) = (self.number(), self.number());
        Withdrawal { index, validator, address: self.fixed(), amount: self.number() }
    }

    /// A body of a time when headers had this many more fields.
    pub fn body(&mut self, later: usize) -> Body<'static> {
        Body {
            transactions: self.list(12, |parts| {
                let kind = TransactionType::ALL[parts.below(5)];
                parts.transaction(kind)
            }),
            ommers: self.list(2, |parts| parts.header(later)),
            withdrawals: (later > 1).then(|| self.list(16, Self::withdrawal)),
        }
    }

    pub fn block(&mut self, later: usize) -> Block<'static> {
        Block::new(self.header(later), self.body(later))
    }
}
