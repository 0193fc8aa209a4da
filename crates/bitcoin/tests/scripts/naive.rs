//! The naive way to ask the library: by its own interface, which reads the transaction anew for
//! each input. The judge of the way that reads it once.

use bitcoinconsensus::{Error, Utxo, verify_with_flags};
use blockmill_bitcoin::script::{BlockScripts, Flags};

/// The flags as the library names them.
pub fn bits(flags: Flags) -> u32 {
    let names = [
        (Flags::P2SH, bitcoinconsensus::VERIFY_P2SH),
        (Flags::DERSIG, bitcoinconsensus::VERIFY_DERSIG),
        (Flags::NULLDUMMY, bitcoinconsensus::VERIFY_NULLDUMMY),
        (Flags::CLTV, bitcoinconsensus::VERIFY_CHECKLOCKTIMEVERIFY),
        (Flags::CSV, bitcoinconsensus::VERIFY_CHECKSEQUENCEVERIFY),
        (Flags::WITNESS, bitcoinconsensus::VERIFY_WITNESS),
        (Flags::TAPROOT, bitcoinconsensus::VERIFY_TAPROOT),
    ];
    let bits = names.map(|(flag, bits)| if flags.has(flag) { bits } else { 0 });
    let bits = bits.into_iter().sum();
    // it ends the process when witnesses are asked for without P2SH
    if flags.has(Flags::WITNESS) { bits | bitcoinconsensus::VERIFY_P2SH } else { bits }
}

/// Input number `input` of the only transaction after the coinbase.
pub fn verify(part: &BlockScripts, input: usize) -> Result<(), Error> {
    let encoding = part.block.transactions[1].span.slice(&part.block.raw);
    let script = |coin: usize| part.coins[coin].script.slice(part.scripts);
    let coins: Vec<_> = (0..part.coins.len())
        .map(|coin| Utxo {
            script_pubkey: script(coin).as_ptr(),
            script_pubkey_len: script(coin).len() as u32,
            value: part.coins[coin].value.to_sat() as i64,
        })
        .collect();
    // the rules of taproot need the other coins
    let coins = part.flags.has(Flags::TAPROOT).then_some(&coins[..]);
    let value = part.coins[input].value;
    verify_with_flags(script(input), value.to_sat(), encoding, coins, input, bits(part.flags))
}

/// All inputs, up to the first that fails.
pub fn verify_all(part: &BlockScripts) -> Result<(), (usize, Error)> {
    (0..part.coins.len()).try_for_each(|input| verify(part, input).map_err(|error| (input, error)))
}
