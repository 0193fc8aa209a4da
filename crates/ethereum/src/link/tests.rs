//! One batch, tied to nothing before it.

use super::*;
use crate::header::ethash::Caches;
use crate::header::seal::SealPolicy;
use crate::header::{Header, HeaderView};
use crate::params::ChainSpec;
use crate::settings::Settings;
use crate::verify::{Blocks, ChainRules, Headers};
use blockmill_archive::Want;
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::Encode;

/// A batch of one header that the check phase has passed.
struct Batch {
    blocks: Blocks,
    headers: Headers,
    verdict: Verdict,
}

/// What linking one batch, the first of a run, finds wrong.
fn fault_of(batch: &mut Batch) -> Option<String> {
    let spec = ChainSpec::by_name("mainnet").unwrap();
    let caches = Caches::new(None, 1);
    let settings = Settings::default();
    let checks = Checks {
        spec: &spec,
        level: Level::Headers,
        want: Want::default(),
        headers: &ChainRules,
        seal: SealPolicy::OFF,
        signatures: settings.signatures.verifier(),
        sender_batches: settings.sender_batches,
        caches: &caches,
        hasher: ManyKeccak::detect(),
        now: None,
        known: false,
        content_later: false,
        keep_signers: false,
    };
    let mut link = Link::new(Beginning::default(), HashSet::new());
    let Batch { blocks, headers, verdict } = batch;
    let (checked, mut linked) = (Checked { blocks, headers }, Linked::default());
    link.extend(&checks, checked, verdict, &mut linked);
    assert!(linked.range(verdict).is_empty() || verdict.fault.is_none());
    verdict.fault.as_ref().map(ToString::to_string)
}

/// One header that the container calls block `stated`, with a total difficulty.
fn batch(header: &Header, stated: u64) -> Batch {
    let (mut blocks, mut headers) = (Blocks::default(), Headers::default());
    let raw = header.encode();
    headers.extend(&[HeaderView::decode(&raw).unwrap()]);
    blocks.chunk.headers.push(&raw);
    blocks.chunk.total_difficulties.push(U256::from(2_000_000).to_be_bytes());
    blocks.hashes.push(header.hash());
    blocks.first_number = stated;
    Batch { blocks, headers, verdict: Verdict { good: 1, fault: None } }
}

fn block(number: u64) -> Header {
    let difficulty = U256::from(1_000_000);
    Header { number, difficulty, gas_limit: 5_000, ..Header::default() }
}

#[test]
fn an_anchor_has_the_number_that_its_container_states() {
    assert_eq!(fault_of(&mut batch(&block(8_192), 8_192)), None);
    let fault = fault_of(&mut batch(&block(8_192), 8_193)).unwrap();
    assert!(fault.contains("number") && fault.contains("expected 8193, found 8192"), "{fault}");
}

#[test]
fn an_anchor_keeps_the_rules_that_need_no_parent() {
    let fault = fault_of(&mut batch(&Header { gas_used: 5_001, ..block(8_192) }, 8_192));
    assert!(fault.unwrap().contains("gas used within the limit"));
}

#[test]
fn a_first_header_that_was_refused_before_leaves_nothing_to_link() {
    let mut batch = batch(&block(8_192), 8_192);
    batch.headers.clear();
    batch.verdict.good = 0;
    assert_eq!(fault_of(&mut batch), None);
}
