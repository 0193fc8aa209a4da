//! Neo: the code of contracts, their manifests, and scripts that run.

use blockmill_neo::execute::block::{Executor, machine};
use blockmill_neo::execute::chain_view::ChainView;
use blockmill_neo::execute::contract::{Contract, Manifest, Nef, check_script};
use blockmill_neo::execute::engine::{Chain, Contracts, Engine, Shared, Trigger};
use blockmill_neo::execute::native::Natives;
use blockmill_neo::params::Protocol;
use blockmill_neo::state::{Base, State};
use blockmill_neo::types::Block;

/// What a script may spend, in units of 10^-8 GAS.
const GAS: u64 = 2_000_000;

/// Any bytes as the code of a contract: what is decoded is encoded to the same bytes.
pub fn neo_nef(data: &[u8]) -> bool {
    let Ok(nef) = Nef::decode(data) else { return false };
    assert_eq!(nef.encode(), data);
    true
}

/// Any bytes as a manifest: what is read is the same when storage has kept it.
pub fn neo_manifest(data: &[u8]) -> bool {
    let Ok(manifest) = Manifest::parse(data) else { return false };
    let valid = manifest.check().is_ok();
    let contract = Contract::new(1, 0, [7; 20], Nef::new("fuzz", vec![0x40]), manifest);
    // one with more items than the machine takes cannot be kept
    if let Ok(again) = Contract::decode(&contract.encode()) {
        assert_eq!(again.manifest, contract.manifest);
        assert_eq!((again.nef, again.id), (contract.nef, contract.id));
    }
    valid
}

/// Any bytes as a script: it ends, within its gas, and twice alike; and it keeps no layer of the
/// state.
pub fn neo_script(data: &[u8]) -> bool {
    let protocol = Protocol::by_name("mainnet").expect("a built-in network");
    let mut genesis = Block { raw: protocol.genesis_block(), ..Block::default() };
    genesis.decode(false, &blockmill_hashes::ManySha256::scalar()).expect("the first block");
    let chain = Chain { protocol, natives: Natives::default(), view: ChainView::empty() };
    let (mut executor, mut vm) = (Executor::default(), machine());
    let mut state = State::new(Base::default());
    executor.execute(&mut vm, &chain, &mut state, &genesis).expect("the first block");
    let mut block = Block::default();
    block.header.index = 1;
    let mut run = || {
        let contracts = &mut Contracts::default();
        let shared = Shared { chain: &chain, state: &mut state, contracts, block: &block };
        let mut engine = Engine::new(&mut vm, shared, Trigger::Application, None, Some(GAS));
        engine.load_entry(data).expect("the first script");
        let execution = engine.run();
        state.rollback();
        execution
    };
    let first = run();
    assert!(first.fault.is_some() || first.gas <= GAS);
    assert_eq!(run(), first);
    check_script(data).is_ok() && first.fault.is_none()
}
