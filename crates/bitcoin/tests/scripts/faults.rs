//! Which input is named when scripts fail.

use super::case::{ALL, Random};
use super::forms::block_of;
use blockmill_bitcoin::script::{BlockScripts, Form, Reason, ScriptBatch, ScriptFault, Scripts};
use blockmill_signatures::Signatures;

#[test]
fn the_first_failing_input_in_order_is_named() {
    let mut random = Random::new(8);
    let blocks = [block_of(120, |i| Form::ALL[i as usize % 10]), block_of(3, |_| Form::TaprootKey)];
    for round in 0..12 {
        // amounts are signed by witnesses only, scripts by all
        let mut changed = blocks.clone();
        let mut expected = None;
        for part in (0..2).rev() {
            let coins = &mut changed[part].1;
            for _ in 0..if part == 0 { round % 3 } else { 1 } {
                let coin = random.below(coins.coins.len());
                // a byte of the key, the hash or the program
                coins.scripts[coins.coins[coin].script.start as usize + 4] ^= 1;
            }
            let is_changed = |coin: &usize| {
                let script = |coins: &super::case::Coins| {
                    coins.coins[*coin].script.slice(&coins.scripts).to_vec()
                };
                script(&changed[part].1) != script(&blocks[part].1)
            };
            let first = (0..changed[part].1.coins.len()).find(is_changed);
            // taproot signs the scripts of all inputs, so that the first of the transaction fails
            let input = |coin: usize| if part == 1 || coin % 10 == 5 { 0 } else { coin % 2 };
            expected = first.map(|coin| (part, 1 + coin / 2, input(coin))).or(expected);
        }
        let parts = [&changed[0], &changed[1]].map(|(block, coins)| BlockScripts {
            block,
            transactions: 0..block.transactions.len(),
            coins: &coins.coins,
            scripts: &coins.scripts,
            flags: ALL,
        });
        let mut batch = ScriptBatch::default();
        for scripts in [Scripts::Templates, Scripts::Library, Scripts::Templates] {
            let fault = batch.verify(&parts, scripts, &Signatures::detect()).err();
            let found = fault.map(|fault| (fault.part, fault.transaction, fault.input));
            assert_eq!(found, expected, "{fault:?}");
        }
        // the blocks as they were, in the same buffers
        let parts = [&blocks[0], &blocks[1]].map(|(block, coins)| BlockScripts {
            block,
            transactions: 0..block.transactions.len(),
            coins: &coins.coins,
            scripts: &coins.scripts,
            flags: ALL,
        });
        assert_eq!(batch.verify(&parts, Scripts::Templates, &Signatures::detect()), Ok(()));
    }
}

#[test]
fn coins_that_are_missing_are_no_panic() {
    let (block, coins) = block_of(3, |_| Form::KeyHash);
    for found in 0..6 {
        let coins_given = &coins.coins[..found];
        let scripts = &coins.scripts[..];
        let part = BlockScripts {
            block: &block,
            transactions: 0..9,
            coins: coins_given,
            scripts,
            flags: ALL,
        };
        let fault = ScriptBatch::default()
            .verify(&[part], Scripts::Templates, &Signatures::scalar())
            .unwrap_err();
        let reason = Reason::Coins { expected: 6, found };
        assert_eq!(fault, ScriptFault { part: 0, transaction: 1 + found / 2, input: 0, reason });
    }
}
