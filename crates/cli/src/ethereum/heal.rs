//! `heal`: the flat values and the tries of a state, each put right from the other.

use crate::answer::Answer;
use crate::args::Heal;
use crate::check::Watch;
use crate::{data_folder, stop};
use anyhow::{Context, Result};
use archive::Family;
use chain::{FaultReport, Status, grouped};
use ethereum::durable::{ExecutedStore, HEALED_APART, Limits};
use ethereum::state::Healed;
use pipeline::Cancel;
use serde_json::json;

/// `blockmill heal`.
pub fn run(args: &Heal, json: bool, cancel: &Cancel) -> Result<Answer> {
    stop::leaves("what was put right and committed stays; another run goes over all of it again");
    let data = &args.data;
    data_folder::expect(data, Family::Ethereum)?;
    let (mut store, _) = ExecutedStore::open(data, &store::Options::default(), Limits::default())
        .with_context(|| format!("cannot open the store {}", data.display()))?;
    let bytes = store.blocks().bytes_to_check();
    let watch = Watch::new(bytes, json, cancel);
    let healed = store.heal(cancel, |_| _ = watch.read(bytes / HEALED_APART));
    watch.finish();
    let (healed, is_whole) = healed?;
    let Healed { values, nodes, removed, lost } = healed;
    if !json {
        println!("store          {}", data.display());
        println!("values         {} put right from the tries", grouped(values));
        println!("               {} removed that no trie has", grouped(removed));
        println!("nodes          {} made again from the values", grouped(nodes));
    }
    let status = match (is_whole, lost) {
        (false, _) => Status::Interrupted,
        (true, 0) => Status::Verified,
        (true, _) => Status::Damage,
    };
    let error = (lost > 0).then(|| {
        let what = "nodes that neither are there nor can be made from the values";
        let again = "`blockmill import DATA --data NEW` makes the state again from the blocks";
        FaultReport {
            hint: Some(again.into()),
            ..FaultReport::new(format!("{} {what}", grouped(lost)))
        }
    });
    Answer { error, ..Answer::of(status) }.with(json!({
        "data": data.display().to_string(),
        "values": values,
        "nodes": nodes,
        "removed": removed,
        "lost": lost,
    }))
}
