//! A transaction under test with the coins that it spends.

use super::naive;
use bitcoinconsensus::Error;
use blockmill_bitcoin::script::{
    BlockScripts, Counts, Flags, Reason, ScriptBatch, ScriptFault, Scripts, SpentCoin,
};
use blockmill_bitcoin::types::{Amount, Block};
use blockmill_signatures::Signatures;
pub use blockmill_testkit::Random;
pub use blockmill_testkit::hex::decode as hex;
use blockmill_verdict::Span;
use serde_json::Value;

/// All rules of today.
pub const ALL: Flags = Flags::P2SH
    .with(Flags::WITNESS)
    .with(Flags::TAPROOT)
    .with(Flags::DERSIG)
    .with(Flags::CLTV)
    .with(Flags::CSV)
    .with(Flags::NULLDUMMY);

/// One of Bitcoin Core's test vector files.
pub fn vectors(name: &str) -> Vec<Value> {
    let path = blockmill_testkit::path_of("core_source").join("test/data").join(name);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Coins with their scripts in one buffer.
#[derive(Clone, Default)]
pub struct Coins {
    pub coins: Vec<SpentCoin>,
    pub scripts: Vec<u8>,
}

impl Coins {
    pub fn push(&mut self, value: u64, script: &[u8]) {
        let start = self.scripts.len() as u32;
        self.scripts.extend_from_slice(script);
        let script = Span { start, end: self.scripts.len() as u32 };
        self.coins.push(SpentCoin {
            value: Amount::from_sat(value),
            script,
            ..SpentCoin::default()
        });
    }
}

/// What a way of verification says.
pub type Verdict = (Result<(), ScriptFault>, Counts);

pub fn verify(part: &BlockScripts, scripts: Scripts) -> Verdict {
    let mut batch = ScriptBatch::default();
    let result = batch.verify(std::slice::from_ref(part), scripts, &Signatures::detect());
    (result, *batch.counts())
}

/// A block of an empty coinbase and one transaction.
pub struct Case {
    pub block: Block,
    pub coins: Coins,
}

impl Case {
    /// How a block of so many transactions begins: a header and a coinbase, both empty.
    pub fn head(transactions: u8) -> Vec<u8> {
        let mut raw = vec![0; 80];
        raw.extend_from_slice(&[transactions, 1, 0, 0, 0, 1]);
        raw.extend_from_slice(&[0; 32]);
        raw.extend_from_slice(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]);
        raw.extend_from_slice(&[0; 13]);
        raw
    }

    /// None if the bytes are no transaction.
    pub fn new(transaction: &[u8], coins: Coins) -> Option<Case> {
        let mut raw = Case::head(2);
        raw.extend_from_slice(transaction);
        let mut block = Block { raw, ..Block::default() };
        block.decode().ok()?;
        Some(Case { block, coins })
    }

    pub fn part(&self, flags: Flags) -> BlockScripts<'_> {
        let Case { block, coins } = self;
        let Coins { coins, scripts } = coins;
        BlockScripts { block, transactions: 0..2, coins, scripts, flags }
    }

    /// The library's verdict on all inputs; the templates' has to be the same, and that of the
    /// library when it reads the transaction anew for each input.
    pub fn verdict(&self, flags: Flags) -> Verdict {
        let part = self.part(flags);
        let (library, _) = verify(&part, Scripts::Library);
        let found = library.map_err(|fault| match fault.reason {
            Reason::Refused => (fault.input, Error::ERR_SCRIPT),
            Reason::NotTaken(error) => (fault.input, error),
            reason => panic!("{reason}"),
        });
        assert_eq!(found, naive::verify_all(&part), "{flags:?}");
        let (templates, counts) = verify(&part, Scripts::Templates);
        assert_eq!(templates, library, "{counts:?} {flags:?}");
        (library, counts)
    }

    pub fn accepts(&self, flags: Flags) -> bool {
        match self.verdict(flags).0 {
            Ok(()) => true,
            Err(ScriptFault { reason: Reason::Refused, .. }) => false,
            Err(fault) => panic!("{fault}"),
        }
    }
}
