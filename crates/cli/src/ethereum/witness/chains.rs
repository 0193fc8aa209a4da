//! The chains of witnesses, each built once, and the codes that their blocks share.

use crate::args;
use crate::ethereum::network;
use anyhow::{Result, bail};
use blockmill_ethereum::U256;
use blockmill_ethereum::execute::CodeCache;
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::witness::{Reading, Witness};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What the blocks of a run share.
pub struct Chains {
    /// The chain that the user named, for all blocks.
    named: Option<Arc<ChainSpec>>,
    known: Mutex<HashMap<u64, Arc<ChainSpec>>>,
    /// Analysed codes.
    pub codes: Arc<CodeCache>,
    /// What is read where a node is missing.
    pub reading: Reading,
}

impl Chains {
    /// With the chain that the user named, if any.
    pub fn new(args: &args::Witness) -> Result<Self> {
        let named = match args.chain.as_deref() {
            Some(chain) => Some(Arc::new(network::named(chain, None)?.spec)),
            None => None,
        };
        let reading = if args.lenient { Reading::Lenient } else { Reading::Strict };
        Ok(Self { named, known: Mutex::default(), codes: Arc::default(), reading })
    }

    /// The chain that was named, or the network with the witness' number.
    pub fn of(&self, witness: &Witness) -> Result<Arc<ChainSpec>> {
        if let Some(named) = &self.named {
            return Ok(named.clone());
        }
        let Some(chain_id) = witness.chain_id else {
            bail!("the file does not say which chain this is: name it with --chain");
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(spec) = known.get(&chain_id) {
            return Ok(spec.clone());
        }
        let mut all = ChainSpec::NETWORKS.iter().filter_map(|name| ChainSpec::by_name(name));
        match all.find(|spec| spec.chain_id == U256::from(chain_id)) {
            Some(spec) => Ok(known.entry(chain_id).or_insert(Arc::new(spec)).clone()),
            None => bail!("chain {chain_id}: name it with --chain genesis.json"),
        }
    }
}
