//! A machine under the rules of a block.

use super::super::block::BlockTerms;
use super::wide::{self, Wide};
use super::{MachineKeccak, MachineOptions, keccak, signatures};
use crate::U256;
use crate::params::{CodeLimits, Fork};
use revm::bytecode::opcode;
use revm::context::{BlockEnv, CfgEnv, Context, ContextSetters, Journal, TxEnv};
use revm::context_interface::block::BlobExcessGasAndPrice;
use revm::context_interface::cfg::gas_params::GasId;
use revm::database_interface::Database;
use revm::handler::instructions::EthInstructions;
use revm::interpreter::instructions::host::sstore_with_gas_accounting;
use revm::interpreter::{
    Host, Instruction, InstructionContext, InstructionExecResult, InstructionResult,
    InterpreterTypes,
};
use revm::primitives::hardfork::SpecId;
use revm::{MainBuilder, MainContext, MainnetEvm};

/// The context of a machine.
pub(super) type Surroundings<D> = Context<BlockEnv, TxEnv, CfgEnv, D, Journal<D>, Wide>;
/// A machine over some state, with an inspector.
pub(super) type Machine<D, I = ()> = MainnetEvm<Surroundings<D>, I>;

/// A machine for the chain with this id.
pub(super) fn machine<D: Database>(database: D, chain_id: U256) -> Machine<D> {
    inspected(database, chain_id, ())
}

/// A machine with an inspector.
pub(super) fn inspected<D: Database, I>(
    database: D,
    chain_id: U256,
    inspector: I,
) -> Machine<D, I> {
    let context = Context::mainnet().with_db(database).with_chain(Wide::default());
    let mut machine = context.build_mainnet_with_inspector(inspector);
    set_chain(&mut machine, chain_id);
    machine
}

/// Sets the chain id of a machine.
pub(super) fn set_chain<D: Database, I>(machine: &mut Machine<D, I>, chain_id: U256) {
    signatures::install();
    machine.ctx.chain.chain_id = chain_id;
    machine.ctx.modify_cfg(|cfg| {
        // `wide` handles larger ids
        cfg.chain_id = u64::try_from(chain_id).unwrap_or(wide::OWN);
        // transactions from before EIP-155 name no chain; the others were verified
        cfg.tx_chain_id_check = false;
    });
}

/// The rules that a machine is set to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rules {
    /// `None` before the first block.
    pub fork: Option<Fork>,
    pub options: MachineOptions,
    pub code: CodeLimits,
}

impl Rules {
    /// Sets a machine to the rules of a block. `None` if a fee or the chain id exceeds the
    /// machine's integers.
    pub fn begin<D: Database, I>(
        &mut self,
        machine: &mut Machine<D, I>,
        terms: &BlockTerms,
    ) -> Option<()> {
        let is_narrow = !wide::is_wide(terms, &machine.ctx.chain.chain_id);
        is_narrow.then(|| self.set(machine, terms))
    }

    /// The same for fees of any width: fees that exceed the machine's integers are 0, for [`wide`].
    pub fn set<D: Database, I>(&mut self, machine: &mut Machine<D, I>, terms: &BlockTerms) {
        let spec = spec_of(terms.fork);
        self.set_code_limits(machine, &terms.code);
        if self.fork != Some(terms.fork) {
            self.fork = Some(terms.fork);
            machine.ctx.modify_cfg(|cfg| cfg.set_spec_and_mainnet_gas_params(spec));
            machine.instruction = EthInstructions::new_mainnet_with_spec(spec);
            if terms.fork == Fork::Constantinople {
                meter_net_changes(machine);
            }
            if self.options.keccak != MachineKeccak::Library {
                let keccak = Instruction::new(keccak::keccak256);
                machine.instruction.insert_instruction(opcode::KECCAK256, keccak, 30);
            }
        }
        let blobs = match terms.blob_fee {
            Some((excess_blob_gas, fee)) => {
                let blob_gasprice = fee.try_into().unwrap_or(0);
                Some(BlobExcessGasAndPrice { excess_blob_gas, blob_gasprice })
            }
            None => None,
        };
        machine.ctx.set_block(BlockEnv {
            number: U256::from(terms.number),
            beneficiary: terms.beneficiary.into(),
            timestamp: U256::from(terms.timestamp),
            gas_limit: terms.gas_limit,
            basefee: terms.base_fee.try_into().unwrap_or(0),
            difficulty: terms.difficulty,
            prevrandao: (spec >= SpecId::MERGE).then_some(terms.mix_hash.into()),
            blob_excess_gas_and_price: blobs,
            slot_num: terms.slot,
        });
    }

    /// Sets the limits of code sizes.
    fn set_code_limits<D: Database, I>(
        &mut self,
        machine: &mut Machine<D, I>,
        limits: &CodeLimits,
    ) {
        if self.code != *limits {
            self.code = *limits;
            machine.ctx.modify_cfg(|cfg| {
                cfg.limit_contract_code_size = Some(limits.code);
                cfg.limit_contract_initcode_size = Some(limits.initcode);
            });
        }
    }
}

/// Sets the gas of SSTORE of EIP-1283, which Constantinople introduced and Petersburg removed: that
/// of EIP-2200 with SLOAD at 200 and without the check of the remaining gas.
fn meter_net_changes<D: Database, I>(machine: &mut Machine<D, I>) {
    const SLOAD: u64 = 200;
    let gas = [
        (GasId::sstore_static(), SLOAD),
        (GasId::sstore_set_without_load_cost(), 20_000 - SLOAD),
        (GasId::sstore_reset_without_cold_load_cost(), 5_000 - SLOAD),
        (GasId::sstore_set_refund(), 20_000 - SLOAD),
        (GasId::sstore_reset_refund(), 5_000 - SLOAD),
    ];
    machine.ctx.modify_cfg(|cfg| cfg.gas_params.override_gas(gas));
    let sstore = Instruction::new(sstore_of_net_changes);
    machine.instruction.insert_instruction(opcode::SSTORE, sstore, 0);
}

/// SSTORE with the gas of net changes: see [`meter_net_changes`].
pub(super) fn sstore_of_net_changes<W: InterpreterTypes, H: Host + ?Sized>(
    context: InstructionContext<'_, H, W>,
) -> InstructionExecResult {
    sstore_with_gas_accounting(context, |context, _, change| {
        let gas = context.host.gas_params();
        let (cost, refund) = (
            gas.sstore_dynamic_gas(true, &change.data, false),
            gas.sstore_refund(true, &change.data),
        );
        if !context.interpreter.gas.record_regular_cost(cost) {
            return Err(InstructionResult::OutOfGas);
        }
        context.interpreter.gas.record_refund(refund);
        Ok(())
    })
}

/// The machine's name of a fork.
pub(super) fn spec_of(fork: Fork) -> SpecId {
    match fork {
        Fork::Frontier => SpecId::FRONTIER,
        Fork::Homestead => SpecId::HOMESTEAD,
        Fork::TangerineWhistle => SpecId::TANGERINE,
        Fork::SpuriousDragon => SpecId::SPURIOUS_DRAGON,
        Fork::Byzantium => SpecId::BYZANTIUM,
        Fork::Constantinople | Fork::Petersburg => SpecId::PETERSBURG,
        Fork::Istanbul | Fork::MuirGlacier => SpecId::ISTANBUL,
        Fork::Berlin => SpecId::BERLIN,
        Fork::London | Fork::ArrowGlacier | Fork::GrayGlacier => SpecId::LONDON,
        Fork::Paris => SpecId::MERGE,
        Fork::Shanghai => SpecId::SHANGHAI,
        Fork::Cancun => SpecId::CANCUN,
        Fork::Prague => SpecId::PRAGUE,
        Fork::Osaka => SpecId::OSAKA,
        Fork::Amsterdam => SpecId::AMSTERDAM,
    }
}
