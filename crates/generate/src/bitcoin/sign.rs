//! Signs transactions on many threads, those without parents in the block first.

use super::coins::Coin;
use super::plan::{Draft, Pay, Spend};
use super::wallet::{Locked, Wallet};
use crate::random::Random;
use anyhow::{Context, Result, anyhow};
use rust_bitcoin::absolute::LockTime;
use rust_bitcoin::consensus::encode::serialize;
use rust_bitcoin::script::{PushBytesBuf, ScriptBuf};
use rust_bitcoin::sighash::SighashCache;
use rust_bitcoin::transaction::Version;
use rust_bitcoin::{Amount, OutPoint, Sequence, Transaction, TxIn, TxOut, Txid, Witness, Wtxid};
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of transactions that a thread signs at a time.
const BATCH: usize = 16;

/// A signed transaction of a block.
#[derive(Clone, Debug)]
pub struct Signed {
    pub bytes: Vec<u8>,
    pub txid: Txid,
    pub wtxid: Wtxid,
}

/// Signs the transactions of a block; the result is the same with any number of threads.
pub fn sign(wallet: &Wallet, drafts: &[Draft], threads: NonZero<usize>) -> Result<Vec<Signed>> {
    let mut signed: Vec<Option<Signed>> = vec![None; drafts.len()];
    let ranks = drafts.iter().map(|draft| draft.rank + 1).max().unwrap_or(0);
    for rank in 0..ranks {
        let ready: Vec<usize> = (0..drafts.len()).filter(|at| drafts[*at].rank == rank).collect();
        for (at, transaction) in sign_ready(wallet, drafts, &ready, &signed, threads)? {
            signed[at] = Some(transaction);
        }
    }
    signed.into_iter().collect::<Option<_>>().context("a transaction was not signed")
}

/// Signs the `ready` transactions; all their parents are `signed`.
fn sign_ready(
    wallet: &Wallet,
    drafts: &[Draft],
    ready: &[usize],
    signed: &[Option<Signed>],
    threads: NonZero<usize>,
) -> Result<Vec<(usize, Signed)>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = vec![];
        loop {
            let from = next.fetch_add(BATCH, Ordering::Relaxed);
            let Some(batch) = ready.get(from..) else { return Ok(done) };
            if batch.is_empty() {
                return Ok(done);
            }
            for at in batch.iter().take(BATCH) {
                done.push((*at, sign_one(wallet, &drafts[*at], signed)?));
            }
        }
    };
    let threads = threads.get().min(ready.len().div_ceil(BATCH));
    std::thread::scope(|scope| {
        let more = || std::thread::Builder::new().spawn_scoped(scope, work).ok();
        // if no thread can be started, this one signs
        let workers: Vec<_> = (1..threads).map_while(|_| more()).collect();
        let mut all: Vec<_> = work()?;
        for worker in workers {
            let done: Result<Vec<_>> =
                worker.join().map_err(|_| anyhow!("a thread that signs ended"))?;
            all.extend(done?);
        }
        Ok(all)
    })
}

fn sign_one(wallet: &Wallet, draft: &Draft, signed: &[Option<Signed>]) -> Result<Signed> {
    let mut transaction = unsigned(wallet, draft, signed)?;
    let spent: Vec<TxOut> = draft.spends.iter().map(|spend| spent(wallet, &spend.coin)).collect();
    let mut cache = SighashCache::new(&transaction);
    let mut unlocked = Vec::with_capacity(draft.spends.len());
    for (at, Spend { coin, covers, .. }) in draft.spends.iter().enumerate() {
        let value = Amount::from_sat(coin.value);
        let key = usize::from(coin.key);
        let input = Locked { at, kind: coin.kind, key, value, covers: *covers };
        unlocked.push(wallet.unlock(&mut cache, &input, &spent)?);
    }
    for (input, (script, witness)) in transaction.input.iter_mut().zip(unlocked) {
        input.script_sig = script;
        input.witness = witness;
    }
    let (txid, wtxid) = (transaction.compute_txid(), transaction.compute_wtxid());
    Ok(Signed { bytes: serialize(&transaction), txid, wtxid })
}

fn unsigned(wallet: &Wallet, draft: &Draft, signed: &[Option<Signed>]) -> Result<Transaction> {
    let input = |spend: &Spend| {
        let txid = match spend.parent {
            Some(at) => signed[at].as_ref().context("a parent is signed first")?.txid,
            None => spend.coin.txid,
        };
        anyhow::Ok(TxIn {
            previous_output: OutPoint { txid, vout: spend.coin.vout },
            script_sig: ScriptBuf::new(),
            sequence: Sequence(spend.sequence),
            witness: Witness::new(),
        })
    };
    Ok(Transaction {
        version: Version(draft.version),
        lock_time: LockTime::from_consensus(draft.lock_time),
        input: draft.spends.iter().map(input).collect::<Result<_>>()?,
        output: draft.pays.iter().map(|pay| output(wallet, pay)).collect::<Result<_>>()?,
    })
}

fn output(wallet: &Wallet, pay: &Pay) -> Result<TxOut> {
    match *pay {
        Pay::To { kind, key, value } => Ok(TxOut {
            value: Amount::from_sat(value),
            script_pubkey: wallet.script(kind, usize::from(key)).clone(),
        }),
        Pay::Data(number) => {
            let mut data = vec![0; 20 + (number % 61) as usize];
            Random(number).fill(&mut data);
            let script = ScriptBuf::new_op_return(PushBytesBuf::try_from(data)?);
            Ok(TxOut { value: Amount::ZERO, script_pubkey: script })
        }
    }
}

/// The output of a coin.
fn spent(wallet: &Wallet, coin: &Coin) -> TxOut {
    TxOut {
        value: Amount::from_sat(coin.value),
        script_pubkey: wallet.script(coin.kind, usize::from(coin.key)).clone(),
    }
}
