//! An inspection as JSON.

use super::{View, meaning, place_text};
use blockmill_archive::blkdat::{BlockFile, FileReport};
use blockmill_bitcoin::index::{Branch, Gap, RefusalReason, Refused};
use blockmill_bitcoin::inspect::{BodyFault, CheckedBodies, CorruptRange};
use serde_json::{Value, json};

impl View<'_> {
    /// The whole inspection.
    pub(super) fn json(&self) -> Value {
        let (tree, summary) = (&self.inspection.tree, &self.inspection.summary);
        let files = self.files.files().iter().zip(&self.inspection.reports);
        let linked = self.inspection.is_linked();
        json!({
            "network": self.inspection.params.as_ref().map(|params| params.name),
            "files": files
                .map(|(file, report)| json_file(file, report, &self.places(file)))
                .collect::<Vec<_>>(),
            "chain": linked.then(|| json!({
                "height": summary.height,
                "tip": tree.hash(summary.tip).to_string(),
                "time": tree.time(summary.tip),
                "work": format!("{:064x}", tree.chain_work(summary.tip)),
            })),
            "blocks": summary.records,
            "repeated": summary.repeated,
            "unlinked": summary.unlinked,
            "out_of_order": {
                "blocks": summary.parents_later,
                "rate": summary.out_of_order_rate(),
                "held_back": summary.held_back,
            },
            "stale": summary.branches.iter().map(|b| self.json_branch(b)).collect::<Vec<_>>(),
            "gaps": summary.gaps.iter().map(|gap| self.json_gap(gap)).collect::<Vec<_>>(),
            "refused": tree.refused().iter().map(|r| self.json_refused(r)).collect::<Vec<_>>(),
            "bodies": self.inspection.bodies.as_ref().map(json_bodies),
            "unread": self.files.left_out(),
            "sound": self.inspection.is_sound() && self.files.left_out().unread().is_empty(),
        })
    }

    fn json_branch(&self, branch: &Branch) -> Value {
        json!({
            "fork_height": branch.fork_height,
            "length": branch.length,
            "tip": self.inspection.tree.hash(branch.tip).to_string(),
        })
    }

    fn json_gap(&self, gap: &Gap) -> Value {
        let first = self.inspection.tree.found().get(gap.first as usize);
        json!({
            "missing": gap.missing.to_string(),
            "blocks": gap.records,
            "first": first.map(|found| json!({ "file": self.path(found), "offset": found.offset })),
        })
    }

    fn json_refused(&self, refused: &Refused) -> Value {
        let found = self.inspection.tree.found().get(refused.record as usize);
        let (height, rule) = match refused.reason {
            RefusalReason::Rule(height, violation) => (Some(height), violation.rule()),
            RefusalReason::Ancestor(_) => (None, "ancestor"),
        };
        json!({
            "height": height,
            "hash": found.map(|found| found.hash.to_string()),
            "file": found.map(|found| self.path(found)),
            "offset": found.map(|found| found.offset),
            "rule": rule,
            "text": self.refused(refused),
        })
    }
}

fn json_file(file: &BlockFile, report: &FileReport, places: &[&CorruptRange]) -> Value {
    let corruption = places.iter().map(|place| {
        json!({
            "offset": place.corruption.offset,
            "length": place.corruption.length,
            "meaning": meaning(place),
            "text": place_text(place),
        })
    });
    json!({
        "path": file.path().display().to_string(),
        "bytes": report.bytes,
        "blocks": report.records,
        "block_bytes": report.block_bytes,
        "obfuscated": !file.key().is_none(),
        "zero_tail": report.zero_tail,
        "corruption": corruption.collect::<Vec<_>>(),
        "corruption_count": report.corruption_count,
    })
}

fn json_bodies(bodies: &CheckedBodies) -> Value {
    let fault = |fault: &BodyFault| {
        json!({
            "height": fault.height,
            "hash": fault.hash.to_string(),
            "file": fault.file.display().to_string(),
            "offset": fault.offset,
            "text": fault.cause.to_string(),
        })
    };
    json!({
        "good": bodies.blocks,
        "transactions": bodies.transactions,
        "inputs": bodies.inputs,
        "outputs": bodies.outputs,
        "faults": bodies.faults.iter().map(fault).collect::<Vec<_>>(),
        "fault_count": bodies.fault_count,
    })
}
