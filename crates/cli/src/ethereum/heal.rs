//! `heal`: the flat values and the tries of a state, each put right from the other.

use crate::answer::Answer;
use crate::args::Heal;
use crate::check::Watch;
use crate::{data_folder, stop};
use anyhow::{Context, Result};
use blockmill_archive::Family;
use blockmill_ethereum::commit::executed_store::{ExecutedStore, HEAL_PIECES, Healing};
use blockmill_ethereum::state::Healed;
use blockmill_pipeline::Cancel;
use blockmill_report::runs::shell;
use blockmill_verdict::{FaultReport, Status, grouped};
use serde_json::json;

/// Corrupt places that are printed; all are in the document of `--json`.
const PRINTED: usize = 20;

/// `blockmill heal`.
pub fn run(args: &Heal, json: bool, cancel: &Cancel) -> Result<Answer> {
    stop::leaves("what was put right and committed stays; another run goes over all of it again");
    let data = &args.data;
    data_folder::expect_store_of(Family::Ethereum, data)?;
    let mut store = ExecutedStore::open_to_heal(data)
        .with_context(|| format!("cannot open the store {}", data.display()))?;
    let bytes = store.blocks().bytes_to_check(Some(&blockmill_state_store::PAGE_FORMAT));
    let watch = Watch::new("heal", bytes, cancel);
    let healing = store.heal(cancel, |_| _ = watch.read(bytes / HEAL_PIECES));
    let Healing { healed, damaged: corrupt, lost: places, is_whole } = healing?;
    let Healed { values, nodes, removed, lost } = healed;
    let is_replaced = is_whole && lost == 0;
    if !json {
        println!("store          {}", data.display());
        for place in corrupt.iter().take(PRINTED) {
            println!("corrupt        {place}");
        }
        if corrupt.len() > PRINTED {
            println!("               and {} more", corrupt.len() - PRINTED);
        }
        if !corrupt.is_empty() && is_replaced {
            println!("               these files were replaced");
        }
        println!("values         {} put right from the tries", grouped(values));
        println!("               {} removed that no trie has", grouped(removed));
        println!("nodes          {} made again from the values", grouped(nodes));
    }
    let status = match (is_whole, lost) {
        (false, _) => Status::Interrupted,
        (true, 0) => Status::Verified,
        (true, _) => Status::Corrupt,
    };
    let places: Vec<String> = places.iter().map(ToString::to_string).collect();
    let error = (lost > 0).then(|| {
        let what = "nodes are corrupt with the values below them, in both copies of the state";
        let store = shell(&[data.display().to_string()]);
        let again = format!(
            "`blockmill check {store} --repair` gives up the state, and importing the archive \
             again executes the blocks of the store; or `blockmill import {store} --data NEW` \
             imports them into a new folder"
        );
        let first = places.first().map_or("", String::as_str);
        FaultReport {
            hint: Some(again),
            ..FaultReport::new(format!("{} {what}; the first: {first}", grouped(lost)))
        }
    });
    Answer { error, ..Answer::with_status(status) }.with(json!({
        "data": data.display().to_string(),
        "values": values,
        "nodes": nodes,
        "removed": removed,
        "lost": lost,
        "lost_places": places,
        "corrupt": corrupt,
        "replaced": is_replaced && !corrupt.is_empty(),
    }))
}
