//! Disconnects blocks from the coins.

use crate::coins::key;
use crate::types::{Block, OutPoint};
use blockmill_store::Table;

/// Disconnects the first `transactions` transactions of `block`, and the first `spent` of its
/// inputs (without that of the coinbase). `coin` returns the encoded coin that an input spent.
pub(crate) fn unwind<'a>(
    coins: &mut Table,
    block: &Block,
    transactions: usize,
    mut spent: usize,
    coin: impl Fn(usize) -> &'a [u8],
) -> Result<(), blockmill_store::Error> {
    let mut gone = vec![];
    for number in (0..block.transactions.len().min(transactions + 1)).rev() {
        let transaction = &block.transactions[number];
        if number < transactions {
            for vout in 0..transaction.outputs.len() as u32 {
                gone.clear();
                // unspendable outputs have no coins
                coins.take(&key(&OutPoint { txid: block.txid(number), vout }), None, &mut gone)?;
            }
        }
        // the input of the coinbase is not counted
        let first = (transaction.inputs.start as usize).saturating_sub(1);
        while number > 0 && spent > first {
            spent -= 1;
            let input = &block.inputs[spent + 1];
            coins.insert(&key(&block.outpoint(input)), coin(spent))?;
        }
    }
    Ok(())
}
