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
    if let Some(id) = &run.anchor {
        let proof = match is_proven(run) {
            true => "roots of the beacon chain prove",
            false => "nothing here proves",
        };
        notes.push(format!(
            "the archive begins in the middle of the chain: everything rests on block {} ({}), \
             which {proof}",
            id.number,
            Hex(&id.hash)
        ));
    }
    if run.beacon_proofs > 0 {
        let proofs = counted(run.beacon_proofs, "proof");
        notes.push(format!("{proofs} that blocks are canonical agree with --beacon-roots"));
    }
    if let Some(hint) = archive.network_hint().filter(|hint| *hint != options.spec.name) {
        let chain = &options.spec.name;
        notes.push(format!("the files are named after {hint}, and are verified as {chain}"));
    }
    notes.extend(unsealed(run, archive, options));
    if run.stopped {
        notes.push("stopped on request; the next run resumes here".into());
    }
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
    notes.extend(access_lists(run, options.level));
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
    if !options.trust.is_empty() && run.trusted.len() == options.trust.len() {
        notes.push(
            "every trusted hash was found: all blocks up to the last of them are the trusted ones"
                .into(),
        );
    }
    notes
}

/// What block access lists were good for (EIP-7928).
fn access_lists(run: &Run, level: Level) -> Vec<String> {
    let mut notes = vec![];
    let lists = |count| counted(count, "block access list");
    if run.access_lists > 0 {
        let lists = lists(run.access_lists);
        notes.push(format!("{lists} of the archive are covered by verified headers (EIP-7928)"));
    }
    if run.access_lists_absent > 0 && level == Level::Bodies {
        let lists = lists(run.access_lists_absent);
        notes.push(format!("{lists} were not checked, as the archive has none (EIP-7928)"));
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

/// The fields that seals would prove, if seals were not checked. The parent hash of the next block
/// proves all fields of a block but the last.
fn unsealed(run: &Run, archive: &Archive, options: &Options) -> Vec<String> {
    let mut notes = vec![];
    let fields = resting(archive, options);
    if let Consensus::Bft(bft) = &options.spec.consensus
        && run.seals_checked + run.seals_left > 0
    {
        let (blocks, engine) = (grouped(run.seals_checked + run.seals_left), bft.name());
        notes.push(format!(
            "{blocks} blocks name the validators that seal them ({engine}); whether votes made them \
             validators was not checked, so nothing covers {fields} of these blocks"
        ));
        if run.seals_left > 0 {
            let left = grouped(run.seals_left);
            notes.push(format!("the seals of {left} blocks were not checked (--seal all)"));
        }
    } else if run.seals_left > 0 {
        let seals = grouped(run.seals_left);
        notes.push(match options.spec.consensus.signed_by() {
            Some(engine) => format!(
                "{seals} blocks are signed as {engine} has it; whether their signers were allowed \
                 to sign was not checked, so nothing covers {fields} of these blocks"
            ),
            None => format!(
                "{seals} seals were not checked, so no proof of work covers {fields} of these \
                 blocks (--seal all)"
            ),
        });
    }
    let Some(tip) = run.tip.as_ref().filter(|tip| run.blocks > 0 && tip.id.number > 0) else {
        return notes;
    };
    let header = tip.header.view();
    let number = tip.id.number;
    let pinned = run.trusted.contains(&tip.id);
    if pinned || is_proven(run) || !header.difficulty.is_zero() && options.seal.selects(number) {
        return notes;
    }
    let rest = match header.difficulty.is_zero() {
        false => "its seal, which was not checked",
        true => "the hash that the consensus layer has of it (--trust)",
    };
    notes.push(format!("no block follows block {number}: its {fields} rest on {rest}"));
    notes
}

/// Whether roots of the beacon chain prove every block of the run.
fn is_proven(run: &Run) -> bool {
    run.beacon_proofs > 0 && run.beacon_proofs == run.blocks
}

/// The fields that neither rules nor content decide.
fn resting(archive: &Archive, options: &Options) -> &'static str {
    match (options.level, archive.has_receipts()) {
        (Level::Headers, _) => {
            "coinbase, roots, logs bloom, gas used, time, extra data, mix hash and nonce"
        }
        (Level::Execution, _) => {
            "coinbase, time, extra data, mix hash and nonce, and the state root as far as they \
             decide it,"
        }
        (_, false) => {
            "coinbase, state root, time, extra data, mix hash and nonce, and where there are \
             transactions receipts root, logs bloom and gas used"
        }
        (_, true) => "coinbase, state root, time, extra data, mix hash and nonce",
    }
}
