//! Notes of a run record: what a reader should know besides its figures.

use crate::Level;
use crate::body::senders::BATCH;
use crate::execute::evm::Tally;
use crate::link::BlockId;
use crate::options::Options;
use crate::params::Consensus;
use crate::run::Run;
use crate::settings::SenderBatches;
use blockmill_archive::Archive;
use blockmill_verdict::{Hex, counted, grouped};

pub(super) fn of(run: &Run, archive: &Archive, options: &Options) -> Vec<String> {
    let mut notes = run.notes.clone();
    if let Some(id) = &run.resumed {
        notes.push(resumed(run, id));
    }
    if let Some(id) = run.anchor.as_ref().filter(|_| is_proven(run)) {
        notes.push(rests(id, "roots of the beacon chain prove"));
    }
    if let Some(hint) = archive.network_hint().filter(|hint| *hint != options.spec.name) {
        let chain = &options.spec.name;
        notes.push(format!("the files are named after {hint}, and are verified as {chain}"));
    }
    if !options.trust.is_empty() && run.trusted.len() == options.trust.len() {
        notes.push(
            "every trusted hash was found: all blocks up to the last of them are the trusted ones"
                .into(),
        );
    }
    notes
}

/// How the work was done.
pub(super) fn details(run: &Run, archive: &Archive, options: &Options) -> Vec<String> {
    let mut notes = uncovered(run, archive, options);
    let caches = options.caches.stats();
    if caches.generated + caches.loaded > 0 {
        let (generated, loaded) = (caches.generated, caches.loaded);
        notes.push(format!("ethash caches: {generated} generated, {loaded} read from disk"));
    }
    if run.sync_s >= 0.001 {
        notes.push(format!("of the wall time, the last sync to disk took {:.3} s", run.sync_s));
    }
    if run.transactions > 0 {
        let transactions = grouped(run.transactions);
        notes.push(format!("{transactions} transactions are covered by verified roots"));
    }
    notes.extend(access_lists(run));
    if run.senders > 0 {
        let unit = match options.settings.sender_batches {
            SenderBatches::Block => "block",
            SenderBatches::Chunk => "chunk",
        };
        let together = format!("up to {BATCH} of a {unit} together");
        let by = options.settings.signatures.verifier().width().name();
        let senders = grouped(run.senders);
        notes.push(format!("{senders} senders recovered by signatures={by}, {together}"));
    }
    if run.speculation != Tally::default() {
        let Tally { committed, aborted, aborted_gas, .. } = run.speculation;
        notes.push(format!(
            "{} speculative transactions were committed, {} aborted ({} gas)",
            grouped(committed),
            grouped(aborted),
            grouped(aborted_gas)
        ));
    }
    notes
}

/// What was checked of every block.
pub(super) fn checked(run: &Run, archive: &Archive, options: &Options) -> Vec<String> {
    let mut checked = vec!["links".into(), "header rules".into()];
    if run.seals_checked > 0 {
        let share = match run.seals_left {
            0 => "all ",
            _ => "",
        };
        checked.push(format!("{share}{}", counted(run.seals_checked, "seal")));
    }
    if run.beacon_proofs > 0 {
        checked.push(format!("{} of the beacon chain", counted(run.beacon_proofs, "proof")));
    }
    if options.level >= Level::Bodies {
        checked.extend(["transactions", "senders", "ommers", "withdrawals"].map(String::from));
        if archive.has_receipts() || options.level == Level::Execution {
            checked.push("receipts".into());
        }
    }
    if options.level == Level::Execution {
        checked.push("state roots".into());
    }
    checked
}

/// What was not checked, although the level asks for it.
pub(crate) fn unchecked(run: &Run, options: &Options) -> Vec<String> {
    let mut unchecked = run.unchecked.clone();
    if let Some(id) = run.anchor.as_ref().filter(|_| !is_proven(run)) {
        unchecked.push(rests(id, "nothing here proves"));
    }
    if run.unchecked_ommers > 0 {
        let ommers = counted(run.unchecked_ommers, "ommer");
        unchecked.push(format!("{ommers}, as their parents come before the first block"));
    }
    unchecked.extend(unsealed(run, options));
    if run.access_lists_absent > 0 && options.level == Level::Bodies {
        let lists = counted(run.access_lists_absent, "block access list");
        unchecked.push(format!("{lists}, as the archive has none (EIP-7928)"));
    }
    unchecked
}

/// On what an archive rests that begins in the middle of its chain.
fn rests(id: &BlockId, proof: &str) -> String {
    format!(
        "the archive begins in the middle of the chain: everything rests on block {} ({}), which \
         {proof}",
        id.number,
        Hex(&id.hash)
    )
}

/// What block access lists were good for (EIP-7928).
fn access_lists(run: &Run) -> Vec<String> {
    let mut notes = vec![];
    if run.access_lists > 0 {
        let lists = counted(run.access_lists, "block access list");
        notes.push(format!("{lists} of the archive are covered by verified headers (EIP-7928)"));
    }
    if run.by_access_list > 0 {
        let blocks = counted(run.by_access_list, "block");
        notes.push(format!("{blocks} executed concurrently, by their access lists"));
    }
    notes
}

/// The note of a run that resumed after an earlier one.
fn resumed(run: &Run, id: &BlockId) -> String {
    let number = id.number;
    match run.compared {
        Some(blocks) => format!(
            "none of the archive's blocks is new: {blocks} were read and are those of the store, \
             which ends with block {number}"
        ),
        None => format!(
            "resumed after block {number}, committed by an earlier run; blocks of the archive \
             before it were not read again"
        ),
    }
}

/// What seals and the hash of the last block would prove, where they were not checked.
fn unsealed(run: &Run, options: &Options) -> Vec<String> {
    let mut unchecked = vec![];
    let seals = counted(run.seals_left, "seal");
    match &options.spec.consensus {
        Consensus::Bft(bft) if run.seals_checked + run.seals_left > 0 => {
            let blocks = grouped(run.seals_checked + run.seals_left);
            let engine = bft.name();
            unchecked.push(format!(
                "whether votes made the validators that {blocks} blocks name ({engine})"
            ));
            unchecked.extend((run.seals_left > 0).then(|| format!("{seals} (--seal all)")));
        }
        _ if run.seals_left == 0 => {}
        consensus => unchecked.push(match consensus.signed_by() {
            Some(engine) => {
                let blocks = counted(run.seals_left, "block");
                format!("whether the signers of {blocks} were allowed to sign ({engine})")
            }
            None => format!("{seals} (--seal all)"),
        }),
    }
    if let Some((number, true)) = unconfirmed(run, options) {
        unchecked.push(format!(
            "whether block {}, the last one, is the one of the consensus layer (--trust HASH)",
            grouped(number)
        ));
    }
    unchecked
}

/// The last block, if nothing confirms its hash; whether it is one of proof of stake.
fn unconfirmed(run: &Run, options: &Options) -> Option<(u64, bool)> {
    let tip = run.tip.as_ref().filter(|tip| run.blocks > 0 && tip.id.number > 0)?;
    let (number, difficulty) = (tip.id.number, tip.header.view().difficulty);
    let is_sealed = !difficulty.is_zero() && options.seal.selects(number);
    let confirmed = run.trusted.contains(&tip.id) || is_proven(run) || is_sealed;
    (!confirmed).then_some((number, difficulty.is_zero()))
}

/// The fields that seals would prove, if seals were not checked. The parent hash of the next block
/// proves all fields of a block but the last.
fn uncovered(run: &Run, archive: &Archive, options: &Options) -> Vec<String> {
    let mut notes = vec![];
    let is_bft = matches!(options.spec.consensus, Consensus::Bft(_));
    if run.seals_left > 0 || is_bft && run.seals_checked > 0 {
        let fields = resting(archive, options, false);
        notes.push(format!("no seal that was checked covers {fields} of all blocks"));
    }
    if let Some((number, of_stake)) = unconfirmed(run, options) {
        let rest = match of_stake {
            false => "its seal, which was not checked",
            true => "the hash that the consensus layer has of it (--trust)",
        };
        let (number, fields) = (grouped(number), resting(archive, options, of_stake));
        notes.push(format!("no block follows block {number}: its {fields} rest on {rest}"));
    }
    notes
}

/// Whether roots of the beacon chain prove every block of the run.
fn is_proven(run: &Run) -> bool {
    run.beacon_proofs > 0 && run.beacon_proofs == run.blocks
}

/// The fields that neither rules nor content decide, in blocks of proof of stake or in others.
fn resting(archive: &Archive, options: &Options, of_stake: bool) -> String {
    // rules fix the nonce under proof of stake, the mix hash under clique, and both under BFT
    let own = match &options.spec.consensus {
        _ if of_stake => "time, extra data and mix hash",
        Consensus::Bft(_) => "time and extra data",
        Consensus::Clique(_) => "time, extra data and nonce",
        Consensus::Work | Consensus::FixedDifficulty(_) => "time, extra data, mix hash and nonce",
    };
    match (options.level, archive.has_receipts()) {
        (Level::Headers, _) => format!("coinbase, roots, logs bloom, gas used, {own}"),
        (Level::Execution, _) => {
            format!("coinbase, {own}, and the state root as far as they decide it,")
        }
        (_, false) => format!(
            "coinbase, state root, {own}, and where there are transactions receipts root, logs \
             bloom and gas used"
        ),
        (_, true) => format!("coinbase, state root, {own}"),
    }
}
