//! Headers under IBFT 2.0 and QBFT, where validators agree on each block (Hyperledger Besu): the
//! rules that a header and its parent decide, and the committed seals.
//!
//! Who may be a validator follows from the votes in all blocks since the last epoch. It is not
//! checked: a header is believed what it says of that.

use super::rules::Verdict;
use super::{EMPTY_OMMERS, HeaderView};
use crate::body::signing::address_of;
use crate::params::Bft;
use crate::rule::{Rule, Violation};
use crate::{Address, U256};
use blockmill_rlp::Decode as _;
use blockmill_rlp::ethereum::{BFT_MIX_HASH, BftExtraData};
use blockmill_signatures::{Recovery, Signatures};
use blockmill_verdict::Hex;

/// The extra data of a header of this engine.
fn extra_data<'h>(bft: &Bft, header: &HeaderView<'h>) -> Result<BftExtraData<'h>, Violation> {
    let refused = |found: String| {
        let expected =
            format!("the list of {}: vanity, validators, vote, round, seals", bft.name());
        Violation::new(Rule::BftExtraData, expected, found)
    };
    match BftExtraData::decode(header.extra_data) {
        Ok(found) if found.engine == bft.engine => Ok(found),
        Ok(_) => Err(refused("that of the other engine".into())),
        Err(error) => Err(refused(error.to_string())),
    }
}

/// The rules that hold whatever the parent is.
pub(super) fn alone(bft: &Bft, header: &HeaderView<'_>) -> Verdict {
    let extra_data = extra_data(bft, header)?;
    let validators = &extra_data.validators;
    if validators.is_empty() || !validators.iter().is_sorted_by(|one, next| one < next) {
        let expected = "one at least, in ascending order";
        let found = match validators.len() {
            0 => "none".into(),
            many => format!("{many} in another order"),
        };
        return Err(Violation::new(Rule::BftValidators, expected, found));
    }
    if !validators.iter().any(|validator| validator == header.beneficiary) {
        let (expected, found) = ("a validator of the block", Hex(header.beneficiary));
        return Err(Violation::new(Rule::BftProposer, expected, found));
    }
    if *header.mix_hash != BFT_MIX_HASH {
        let (expected, found) = (Hex(&BFT_MIX_HASH), Hex(header.mix_hash));
        return Err(Violation::new(Rule::BftMixHash, expected, found));
    }
    if *header.ommers_hash != EMPTY_OMMERS {
        let (expected, found) = (Hex(&EMPTY_OMMERS), Hex(header.ommers_hash));
        return Err(Violation::new(Rule::BftOmmers, expected, found));
    }
    if header.difficulty != U256::ONE {
        return Err(Violation::new(Rule::BftDifficulty, 1, header.difficulty));
    }
    if *header.nonce != [0; 8] {
        return Err(Violation::new(Rule::BftNonce, Hex(&[0; 8]), Hex(header.nonce)));
    }
    Ok(())
}

/// At least the period later than the parent.
pub(super) fn timestamp(bft: &Bft, parent: u64, timestamp: u64) -> Verdict {
    let earliest = parent.saturating_add(bft.period);
    if timestamp < earliest {
        let expected = format!("at least {earliest}");
        return Err(Violation::new(Rule::BftPeriod, expected, timestamp));
    }
    Ok(())
}

/// How many of so many validators must seal a block: two thirds, rounded up.
fn quorum(validators: usize) -> usize {
    validators.saturating_mul(2).div_ceil(3)
}

/// The committed seals of several headers, whose keys are recovered together.
#[derive(Default)]
pub(crate) struct Seals {
    signatures: Vec<Recovery>,
    /// Of each header how many seals, up to it, there are.
    ends: Vec<usize>,
}

impl Seals {
    /// Adds the seals of a header that keeps the other rules.
    pub fn add(&mut self, header: &HeaderView<'_>) {
        if let (Some(extra_data), Some(digest)) = (header.bft(), header.bft_seal_hash()) {
            self.signatures.extend(extra_data.seals.iter().map(|seal| {
                let mut parts = [[0; 32]; 2];
                for (part, bytes) in parts.iter_mut().zip(seal.chunks_exact(32)) {
                    part.copy_from_slice(bytes);
                }
                Recovery { digest, r: parts[0], s: parts[1], recovery_id: seal[64] }
            }));
        }
        self.ends.push(self.signatures.len());
    }

    /// Who made each seal of each header, in order; `None` for what is no signature.
    pub fn makers(&self, signatures: Signatures) -> Vec<Vec<Option<Address>>> {
        let mut keys = vec![None; self.signatures.len()];
        signatures.recover(&self.signatures, &mut keys);
        let makers = keys.iter().zip(&self.signatures).map(|(key, signature)| {
            // other numbers than the parity of y name points that no signature has here
            key.as_ref().filter(|_| signature.recovery_id < 2).map(address_of)
        });
        let makers: Vec<Option<Address>> = makers.collect();
        let start = |i: usize| i.checked_sub(1).map_or(0, |before| self.ends[before]);
        (0..self.ends.len()).map(|i| makers[start(i)..self.ends[i]].to_vec()).collect()
    }
}

/// Enough validators of the block made its seals, each of them one.
pub(crate) fn verify_seals(
    bft: &Bft,
    header: &HeaderView<'_>,
    makers: &[Option<Address>],
) -> Verdict {
    let validators: Vec<&Address> = extra_data(bft, header)?.validators.iter().collect();
    let mut seen: Vec<&Address> = Vec::with_capacity(makers.len());
    for (i, maker) in makers.iter().enumerate() {
        let refused = |expected, found: String| Violation::new(Rule::BftSeal, expected, found);
        let Some(maker) = maker else {
            return Err(refused(
                "65 bytes: r, s, and 0 or 1",
                format!("none that a key made: seal {i}"),
            ));
        };
        if validators.binary_search(&maker).is_err() {
            let found = format!("{} of another account: seal {i}", Hex(maker));
            return Err(refused("seals of validators of the block", found));
        }
        if seen.contains(&maker) {
            return Err(refused("one seal of a validator", format!("two of {}", Hex(maker))));
        }
        seen.push(maker);
    }
    let least = quorum(validators.len());
    if makers.len() < least {
        let expected = format!("at least {least}, as there are {} validators", validators.len());
        return Err(Violation::new(Rule::BftSeals, expected, makers.len()));
    }
    Ok(())
}
