//! The seals of a chunk.

use super::{Checked, Checks, Content, Verdict};
use crate::Level;
use crate::body::BodyView;
use crate::fault::Cause;
use crate::header::bft;
use crate::header::ethash::{self, EPOCH_LENGTH, Seal};
use crate::header::seal::SealMode;
use crate::header::{EMPTY_OMMERS, HeaderView, rules};
use crate::params::{Bft, Consensus};
use crate::rule::{Rule, Violation};
use blockmill_archive::Part;

/// The last epoch that a cache is generated for, as in go-ethereum: a made-up block number must not
/// cost gigabytes. It ends with block 61,439,999; proof of work ended before block 16,000,000.
const LAST_EPOCH: u64 = 2047;

impl Checks<'_> {
    /// Checks the seals of the selected headers and of the ommers in their blocks.
    pub(super) fn check_seals(
        &self,
        checked: Checked<'_>,
        content: &mut Content,
        verdict: &mut Verdict,
    ) {
        if self.known {
            return;
        }
        let blocks = checked.blocks;
        // the genesis block has no seal, nor has any under proof of stake
        let is_mined = |i: usize| blocks.number(i) > 0 && !checked.difficulty(i).is_zero();
        if let Consensus::Bft(bft) = &self.spec.consensus {
            return self.check_committed_seals(bft, checked, content, verdict);
        }
        if self.spec.consensus.signed_by().is_some() {
            let signed = (0..verdict.good).filter(|i| is_mined(*i));
            content.unsealed.extend(signed.clone());
            // who signed gets the fees
            let author = |i: usize| rules::author(self.spec, &checked.header(i)).err();
            let mut unsigned = signed.filter_map(|i| Some((i, author(i)?)));
            if self.level == Level::Execution
                && let Some((i, violation)) = unsigned.next()
            {
                verdict.refuse(blocks, i, Part::Header, Cause::Rule(violation));
            }
            return;
        }
        if self.seal.mode == SealMode::Off {
            content.unsealed.extend((0..verdict.good).filter(|i| is_mined(*i)));
            return;
        }
        let mut seals: Vec<Seal> = vec![];
        let mut owners: Vec<(usize, Part)> = vec![];
        let mut add = |i, part, header: &HeaderView<'_>| {
            seals.push(Seal {
                seal_hash: header.seal_hash(),
                nonce: header.nonce(),
                mix_hash: *header.mix_hash,
                difficulty: header.difficulty,
                number: header.number,
            });
            owners.push((i, part));
        };
        for i in 0..verdict.good {
            if !is_mined(i) {
                continue;
            }
            if !self.seal.selects(blocks.number(i)) {
                content.unsealed.push(i);
                continue;
            }
            let header = checked.header(i);
            add(i, Part::Header, &header);
            if *header.ommers_hash == EMPTY_OMMERS || i >= blocks.chunk.bodies.len() {
                continue;
            }
            // every good body was decoded before
            let Ok(body) = BodyView::decode(blocks.chunk.bodies.get(i)) else { continue };
            body.ommers().for_each(|ommer| add(i, Part::Body, &ommer));
        }
        content.sealed.extend(owners.iter().map(|(i, _)| *i));
        if let Some((index, violation)) = self.first_wrong_seal(&seals) {
            let (i, part) = owners[index];
            verdict.refuse(blocks, i, part, Cause::Rule(violation));
        }
    }

    /// Checks the seals of validators on the selected blocks, by the validators that these list.
    fn check_committed_seals(
        &self,
        bft: &Bft,
        checked: Checked<'_>,
        content: &mut Content,
        verdict: &mut Verdict,
    ) {
        let (mut seals, mut sealed) = (bft::Seals::default(), vec![]);
        // nobody seals the genesis block
        for i in (0..verdict.good).filter(|i| checked.blocks.number(*i) > 0) {
            if !self.seal.selects(checked.blocks.number(i)) {
                content.unsealed.push(i);
                continue;
            }
            seals.add(&checked.header(i));
            sealed.push(i);
        }
        content.sealed.extend_from_slice(&sealed);
        for (i, makers) in sealed.into_iter().zip(seals.makers(self.signatures)) {
            if let Err(violation) = bft::verify_seals(bft, &checked.header(i), &makers) {
                verdict.refuse(checked.blocks, i, Part::Header, Cause::Rule(violation));
                return;
            }
        }
    }

    /// Checks seals, epoch by epoch: consecutive ones share a cache.
    fn first_wrong_seal(&self, seals: &[Seal]) -> Option<(usize, Violation)> {
        let epoch = |seal: &Seal| ethash::epoch_of(seal.number);
        let mut verdicts = vec![];
        let mut before = 0;
        for of_epoch in seals.chunk_by(|a, b| epoch(a) == epoch(b)) {
            let (first, last) = (&of_epoch[0], &of_epoch[of_epoch.len() - 1]);
            if epoch(first) > LAST_EPOCH {
                let expected = format!("at most {}", (LAST_EPOCH + 1) * EPOCH_LENGTH - 1);
                let violation = Violation::new(Rule::SealEpoch, expected, first.number);
                return Some((before, violation));
            }
            if last.number % EPOCH_LENGTH > EPOCH_LENGTH * 3 / 4 {
                self.caches.prefetch(epoch(last) + 1);
            }
            let cache = match self.caches.get(epoch(first)) {
                Ok(cache) => cache,
                Err(error) => return Some((before, error.into())),
            };
            ethash::check_seals(&cache, of_epoch, &mut verdicts);
            let wrong = verdicts.iter().enumerate().find_map(|(i, v)| Some((i, v.err()?)));
            if let Some((i, error)) = wrong {
                return Some((before + i, error.into()));
            }
            before += of_epoch.len();
        }
        None
    }
}
