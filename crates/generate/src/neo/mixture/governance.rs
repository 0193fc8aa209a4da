//! Votes, candidates and settings of the committee.

use super::{Mixture, simple};
use crate::neo::draft::{Draft, GAS};
use crate::neo::participants::{COMMITTEE, Participants};
use crate::neo::script::Value;

impl Mixture {
    pub(super) fn vote(&mut self, participants: &Participants, from: usize) -> Draft {
        let candidate = participants.candidate(&mut self.random);
        let choice = match self.random.below(5) {
            0 => Value::Null,
            _ => Value::Bytes(&candidate),
        };
        let account = participants.hash(from);
        let values = [Value::Bytes(&account), choice];
        simple(from, &self.natives.neo, "vote", &values, GAS / 2)
    }

    /// A candidate unregisters or registers again; the owner pays.
    pub(super) fn candidate(&mut self, participants: &Participants) -> Draft {
        let number = self.random.below(participants.candidates.len() as u64) as usize;
        let method = match self.random.below(2) {
            0 => "unregisterCandidate",
            _ => "registerCandidate",
        };
        participants.candidacy(number, method)
    }

    /// The committee sets a fee, never above the paid one, or blocks an account.
    pub(super) fn policy(&mut self) -> Draft {
        let policy = self.natives.policy;
        let set = |method: &'static str, value| {
            simple(COMMITTEE, &policy, method, &[Value::Integer(value)], GAS)
        };
        match self.random.below(4) {
            0 => set("setFeePerByte", 500 + self.below(501)),
            // in units of 10^-12 since Faun
            1 => set("setExecFeeFactor", 200_000 + self.below(100_001)),
            2 => set("setStoragePrice", 50_000 + self.below(50_001)),
            _ => {
                let account = self.bytes(20, 20);
                simple(COMMITTEE, &policy, "blockAccount", &[Value::Bytes(&account)], GAS)
            }
        }
    }
}
