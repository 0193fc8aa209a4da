//! Treasury: funds that the committee has recovered.

use std::sync::LazyLock;

use super::{Definition, Method, no_state, nothing};
use crate::execute::{
    contract::{ParamType, native_hash},
    engine::{Engine, flags},
    vm::{Fault, Item},
};
use crate::params::Hardfork;

/// The contract's id.
pub(super) const ID: i32 = -11;

use ParamType::{Any, Boolean, ByteArray, Hash160, Integer, Void};

const NEP_11: &[(&str, ParamType)] =
    &[("from", Hash160), ("amount", Integer), ("tokenId", ByteArray), ("data", Any)];
const NEP_17: &[(&str, ParamType)] = &[("from", Hash160), ("amount", Integer), ("data", Any)];
const NONE: u8 = flags::NONE;

pub(super) static DEFINITION: Definition = Definition {
    name: "Treasury",
    id: ID,
    active_in: Some(Hardfork::Faun),
    methods: &[&[
        Method::new("verify", &[], Boolean, 1 << 5, flags::READ, verify),
        Method::new("onNEP11Payment", NEP_11, Void, 1 << 5, NONE, on_nep11_payment),
        Method::new("onNEP17Payment", NEP_17, Void, 1 << 5, NONE, on_nep17_payment),
    ]],
    events: &[],
    standards: &[("NEP-26", None), ("NEP-27", None), ("NEP-30", None)],
    initialize: no_state,
    on_persist: nothing,
    post_persist: nothing,
};

/// The contract's hash.
pub(super) fn hash() -> [u8; 20] {
    static HASH: LazyLock<[u8; 20]> = LazyLock::new(|| native_hash("Treasury"));
    *HASH
}

fn verify(engine: &mut Engine<'_>, _: &[Item]) -> Result<Option<Item>, Fault> {
    let committee = super::neo::committee_account(engine.state)?;
    engine.check_witness(&committee).map(|agrees| Some(Item::Bool(agrees)))
}

fn on_nep11_payment(_: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    arguments[0].to_array::<20>()?;
    arguments[1].to_integer()?;
    arguments[2].to_bytes()?;
    Ok(Some(Item::Null))
}

fn on_nep17_payment(_: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    arguments[0].to_array::<20>()?;
    arguments[1].to_integer()?;
    Ok(Some(Item::Null))
}
