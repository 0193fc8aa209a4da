//! Taproot spends: by the output key, or by a script with one signature.

use super::{Indexes, Input, SEGWIT, Templates};
use crate::script::pushes::{MOST_PUSHED, OP_CHECKSIG, Operations, is_true};
use crate::script::{Flags, Form, signature};
use blockmill_signatures::SchnorrCheck;

const OP_IF: u8 = 0x63;
const OP_ENDIF: u8 = 0x68;

/// The key of a script `key OP_CHECKSIG`, optionally followed by `OP_0 OP_IF push ... OP_ENDIF` any
/// number of times: data that never runs. The length of such scripts is not limited. They contain
/// only pushes, so no opcode that makes a script succeed (BIP342).
fn key_and_data(script: &[u8]) -> Option<&[u8; 32]> {
    let (key, rest) = script.strip_prefix(&[0x20])?.split_first_chunk()?;
    let mut rest = rest.strip_prefix(&[OP_CHECKSIG])?;
    while !rest.is_empty() {
        let mut data = Operations(rest.strip_prefix(&[0, OP_IF])?);
        // the limit on the length of items applies even to data that never runs
        let end = data.find(|(opcode, pushed)| !is_push(*opcode) || pushed.len() > MOST_PUSHED)?;
        (end.0 == OP_ENDIF).then_some(())?;
        rest = data.0;
    }
    Some(key)
}

/// Opcodes up to OP_16, except the reserved one, which makes scripts succeed (BIP342).
fn is_push(opcode: u8) -> bool {
    opcode <= 0x60 && opcode != 0x50
}

impl Templates {
    /// Version 1 witness program of 32 bytes (BIP341), without annex: witness `signature`, or
    /// `signature script control` with a script of `key OP_CHECKSIG` and data (BIP342). One
    /// signature is within the budget of every witness.
    pub(super) fn taproot(&mut self, at: &mut Input, output: &[u8; 32]) -> Option<(Form, Indexes)> {
        let in_force = at.flags.has(SEGWIT.with(Flags::TAPROOT));
        (in_force && at.script.is_empty() && is_true(output)).then_some(())?;
        if let Some([bytes]) = at.witness() {
            let signature = self.schnorr(at, bytes, output, None)?;
            return Some((Form::TaprootKey, Indexes::Schnorr(signature)));
        }
        // the version byte of `control` excludes an annex
        let [bytes, script, control] = at.witness()?;
        let key = key_and_data(script)?;
        let leaf = self.tags.leaf(script);
        let commitment = self.tags.commitment(output, control, leaf)?;
        let signature = self.schnorr(at, bytes, key, Some(&leaf))?;
        at.checks.tweaks.push(commitment);
        let commitment = at.checks.tweaks.len() - 1;
        Some((Form::TaprootScript, Indexes::Tapscript { signature, commitment }))
    }

    /// Adds a Schnorr check. Returns its index.
    fn schnorr(
        &mut self,
        at: &mut Input,
        bytes: &[u8],
        key: &[u8; 32],
        leaf: Option<&[u8; 32]>,
    ) -> Option<usize> {
        let (signature, hash_type) = signature::schnorr(bytes)?;
        let segwit = &mut self.segwit;
        let message = self.taproot.hash(segwit, at.spend, at.index, leaf, hash_type)?;
        at.checks.schnorr.push(SchnorrCheck { message, signature, key: *key });
        Some(at.checks.schnorr.len() - 1)
    }
}
