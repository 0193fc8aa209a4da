//! What an input costs on each way, in processor time of one thread. Not run by default:
//! `cargo test --release -p blockmill-bitcoin --test scripts figures -- --ignored --nocapture`

use super::case::{ALL, Coins};
use super::forms::{Plan, Signed, block_of, is_multisig};
use super::real_blocks::thread_time;
use blockmill_bitcoin::script::{BlockScripts, Form, ScriptBatch, Scripts};
use blockmill_bitcoin::types::Block;
use blockmill_signatures::Signatures;
use std::time::Duration;

/// Microseconds for each of `inputs`: the work is repeated for at least 0.2 s, as the clock may
/// advance in steps of 4 ms.
fn measure(inputs: usize, mut work: impl FnMut()) -> f64 {
    let (start, mut rounds) = (thread_time(), 0);
    loop {
        work();
        rounds += 1;
        let time = thread_time() - start;
        if time >= Duration::from_millis(200) {
            return time.as_secs_f64() * 1e6 / (rounds * inputs) as f64;
        }
    }
}

fn times(name: &str, block: &Block, Coins { coins, scripts }: &Coins) {
    let transactions = 0..block.transactions.len();
    let part = BlockScripts { block, transactions, coins, scripts, flags: ALL };
    print!("{name:>20}: {:>6} inputs", coins.len());
    let ways = [
        ("library", Scripts::Library, Signatures::scalar()),
        ("templates, one at a time", Scripts::Templates, Signatures::scalar()),
        ("templates, batch", Scripts::Templates, Signatures::detect()),
    ];
    for (way, how, signatures) in ways {
        let mut batch = ScriptBatch::default();
        let time = measure(coins.len(), || {
            assert_eq!(batch.verify(std::slice::from_ref(&part), how, &signatures), Ok(()));
        });
        let asked = how == Scripts::Templates && batch.counts().library > 0;
        assert!(!asked, "{name}: {:?}", batch.counts());
        print!(", {way} {time:.1} us");
    }
    println!();
}

#[test]
#[ignore = "takes seconds; prints figures"]
fn each_form() {
    for form in Form::ALL {
        let (block, coins) = block_of(200, |_| form);
        let name =
            if is_multisig(form) { format!("{} 2/3", form.name()) } else { form.name().into() };
        times(&name, &block, &coins);
    }
}

#[test]
#[ignore = "takes seconds; prints figures"]
fn transactions_of_many_inputs() {
    for form in [Form::KeyHash, Form::WitnessKeyHash, Form::TaprootKey] {
        for count in [1, 10, 100, 1000, 3000] {
            let plans: Vec<_> =
                (0..count).map(|seed| Plan::new(form, seed, true, 1, &[])).collect();
            let mut signed = Signed::new(&plans, 2, |_| 1);
            signed.write_scripts();
            let case = signed.case().unwrap();
            times(form.name(), &case.block, &case.coins);
        }
    }
}
