//! The access list of an executed block, compared with its header (EIP-7928).

use super::block::PreparedBlock;
use crate::access_list::{
    AccountChanges, BlockAccessList, Difference, ITEM_COST, first_difference,
};
use crate::rule::{Rule, Violation};
use blockmill_rlp::Encode;
use blockmill_verdict::Hex;

/// Names the first entry in which the list of the archive differs from the one of the execution,
/// which is the header's; `violation` says that their hashes differ.
pub(crate) fn name_difference(
    violation: &Violation,
    list: &BlockAccessList,
    given: &[u8],
) -> Violation {
    match first_difference(&list.encode(), given) {
        Ok(Some(Difference { entry, expected, found })) => {
            Violation::new(violation.rule, format!("{expected} for {entry}"), found)
        }
        _ => violation.clone(),
    }
}

/// Compares the list that execution recorded with the header: the gas limit bounds its number of
/// accounts and slots, and its hash is the header's. `given` is the list of the archive, if that
/// has the header's hash: it is compared byte by byte, and a fault names the first entry that
/// differs.
///
/// # Errors
/// [`Rule::AccessListSize`] or [`Rule::AccessList`].
pub(crate) fn verify_access_list(
    block: &PreparedBlock,
    list: Option<&BlockAccessList>,
    given: Option<&[u8]>,
) -> Result<(), Violation> {
    let Some(list) = list else { return Ok(()) };
    let most = block.header.gas_limit / ITEM_COST;
    let items: u64 = list.accounts.iter().map(items).sum();
    if items > most {
        let expected = format!("at most {most} addresses and slots");
        return Err(Violation::new(Rule::AccessListSize, expected, items));
    }
    let encoded = list.encode();
    if given == Some(&encoded) {
        return Ok(());
    }
    let found = blockmill_hashes::keccak256(&encoded);
    match &block.header.block_access_list_hash {
        Some(expected) if *expected != found => {
            let difference = given.and_then(|given| first_difference(&encoded, given).ok()?);
            Err(match difference {
                Some(difference) => {
                    let expected = format!("{} for {}", difference.expected, difference.entry);
                    Violation::new(Rule::AccessList, expected, difference.found)
                }
                None => Violation::new(Rule::AccessList, Hex(&found), Hex(expected)),
            })
        }
        _ => Ok(()),
    }
}

/// The address and the slots of an account.
fn items(account: &AccountChanges) -> u64 {
    1 + (account.storage_changes.len() + account.storage_reads.len()) as u64
}
