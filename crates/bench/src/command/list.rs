//! `--list`: what can be measured; of named benchmarks their settings, steps, options and cost.

use crate::comparison::rough;
use crate::definition::{Definition, LadderStep, Lists};
use crate::experiment::{Experiment, OptionValues};
use crate::meanings;
use crate::peers::Peer;
use crate::workloads;
use anyhow::Result;
use blockmill_cli::answer::Answer;
use blockmill_cli::print;
use blockmill_report::table::{Cell, Mark, Table};
use blockmill_report::{Colour, width, wrap};
use serde_json::{Value, json};

/// One row for each benchmark.
pub fn all(definitions: &[Definition], json: bool) -> Result<Answer> {
    if json {
        return Answer::ok().with(definitions.iter().map(row).collect::<Vec<_>>());
    }
    let mut table = Table::new(&["name", "what", "experiments", "at most"]);
    table.left = vec![1, 2];
    for one in definitions {
        table.rows.push(vec![
            Cell::from(one.name.as_str()).marked(Mark::Strong),
            one.title.as_str().into(),
            experiments(one).join(", ").into(),
            rough(one.budget_s).into(),
        ]);
    }
    table.notes =
        vec!["bench NAME --list shows a benchmark's settings, steps, options and cost.".to_owned()];
    print::out(format_args!("{}", table.terminal(Colour::of_stdout())));
    Ok(Answer::ok())
}

/// Everything about some benchmarks. `peers` are those that are known.
///
/// # Errors
/// When a definition does not fit its workload.
pub fn named(definitions: &[&Definition], peers: &[Peer], json: bool) -> Result<Answer> {
    if json {
        let rows = definitions.iter().map(|one| detailed(one, peers));
        let rows = rows.collect::<Result<Vec<_>>>()?;
        return Answer::ok().with(rows);
    }
    for one in definitions {
        print::out(format_args!("{}\n", text(one, peers, Colour::of_stdout())?));
    }
    Ok(Answer::ok())
}

fn experiments(definition: &Definition) -> Vec<String> {
    Experiment::all_of(definition).iter().map(Experiment::to_string).collect()
}

fn row(definition: &Definition) -> Value {
    json!({
        "name": definition.name,
        "title": definition.title,
        "about": definition.about(),
        "measures": definition.measures,
        "settings": definition.settings,
        "experiments": experiments(definition),
        "budget_s": definition.budget_s,
        "peers_budget_s": definition.peers_budget_s.unwrap_or(definition.budget_s),
    })
}

/// The options of a benchmark, of its first case.
fn options(definition: &Definition) -> Result<Vec<OptionValues>> {
    let workload = workloads::by_name(&definition.measures)?;
    for (_, settings) in definition.cases() {
        if workload.fits(&settings)? {
            return workload.options(&settings);
        }
    }
    Ok(vec![])
}

/// The options that the ablation changes.
fn changed(definition: &Definition) -> Result<Vec<OptionValues>> {
    let mut all = options(definition)?;
    all.retain(|option| definition.ablation.contains(&option.name));
    Ok(all)
}

fn option_row(option: &OptionValues) -> Value {
    let OptionValues { name, about, values, default, .. } = option;
    let each = values.iter().map(|value| (value.clone(), option.about_value(value).into()));
    let meanings: serde_json::Map<String, Value> = each.collect();
    json!({
        "name": name, "about": about, "values": values, "default": default, "meanings": meanings,
    })
}

fn detailed(definition: &Definition, peers: &[Peer]) -> Result<Value> {
    let mut row = row(definition);
    let step = |one: &LadderStep| json!({ "name": one.name, "about": one.about });
    row["options"] = changed(definition)?.iter().map(option_row).collect();
    row["steps"] = definition.ladder.iter().map(step).collect();
    row["sweeps"] = json!(definition.sweep);
    row["matrix"] = json!(definition.matrix);
    row["quick"] = json!(definition.quick);
    let peer = |name: &String| json!({ "name": name, "about": about_peer(name, peers) });
    row["peers"] = definition.peers.iter().map(peer).collect();
    row["reference"] = json!(definition.reference);
    Ok(row)
}

fn text(definition: &Definition, peers: &[Peer], colour: Colour) -> Result<String> {
    let Definition { name, title, .. } = definition;
    let columns = width();
    let mut text = wrap(&format!("{name}: {title}"), columns, "") + "\n";
    text += &(wrap(&definition.about(), columns, "") + "\n");
    let mut add = |heading: &str, table: Table| {
        if !table.rows.is_empty() {
            text += &format!("\n{heading}\n{}", table.terminal(colour));
        }
    };
    add("Settings (--set NAME=VALUE):", settings(definition));
    add("Cases, each with its own comparison:", values(&definition.matrix));
    add("Parts of a run, one after the other:", values(&definition.steps));
    let rows = definition.ladder.iter().map(|one| [one.name.clone(), one.about.clone()]);
    add("Steps (--ladder), the plainest first:", two_columns(["step", "what it does"], rows));
    add("Options (--ablate):", options_table(&changed(definition)?));
    let rows = definition.peers.iter().map(|name| [name.clone(), about_peer(name, peers)]);
    add("Peers (--peers):", two_columns(["peer", "what it is, and what it checks"], rows));
    if let Some(reference) = &definition.reference {
        let published = format!("Published by {}: {}", reference.who, reference.measured);
        text += &format!("\n{}\n", wrap(&published, columns, "  "));
    }
    text += &format!("\n{}\n", wrap(&cost(definition), columns, ""));
    Ok(text)
}

/// Names and what they mean.
fn two_columns(heads: [&str; 2], rows: impl Iterator<Item = [String; 2]>) -> Table {
    let mut table = Table::new(&heads);
    table.left = vec![1];
    table.rows = rows.map(|[name, about]| vec![name.into(), about.into()]).collect();
    table
}

/// A row for each value of each option.
fn options_table(options: &[OptionValues]) -> Table {
    let mut table = Table::new(&["option", "value", "what it does"]);
    table.left = vec![1, 2];
    for option in options {
        table.rows.push(vec![
            Cell::from(option.name.as_str()).marked(Mark::Strong),
            "".into(),
            option.about.as_str().into(),
        ]);
        for value in &option.values {
            let is_default = *value == option.default;
            let shown = if is_default { format!("{value} (default)") } else { value.clone() };
            table.rows.push(vec!["".into(), shown.into(), option.about_value(value).into()]);
        }
    }
    table
}

/// A row for each value of some settings.
fn values(of: &Lists) -> Table {
    let mut table = Table::new(&["setting", "value", "what it is"]);
    table.left = vec![1, 2];
    for (name, values) in of {
        let about = meanings::of_setting(name).unwrap_or_default();
        table.rows.push(vec![
            Cell::from(name.as_str()).marked(Mark::Strong),
            "".into(),
            about.into(),
        ]);
        for value in values {
            let about = meanings::of_value(name, value).unwrap_or_default();
            table.rows.push(vec!["".into(), value.as_str().into(), about.into()]);
        }
    }
    table
}

/// What a peer is, and what it checks; nothing without `peers.toml`.
fn about_peer(name: &str, peers: &[Peer]) -> String {
    peers.iter().find(|peer| peer.name() == name).map_or_else(String::new, Peer::about)
}

fn settings(definition: &Definition) -> Table {
    let mut table = Table::new(&["setting", "value", "what it is", "--quick", "--sweep"]);
    table.left = vec![1, 2, 3, 4];
    let list = |values: Option<&Vec<String>>| values.map_or(String::new(), |all| all.join(", "));
    let row = |name: &String, value: String| {
        let quick = definition.quick.get(name).cloned().unwrap_or_default();
        vec![
            name.as_str().into(),
            value.into(),
            meanings::of_setting(name).unwrap_or_default().into(),
            quick.into(),
            list(definition.sweep.get(name)).into(),
        ]
    };
    let each = definition.matrix.iter().map(|(name, values)| row(name, values.join(" and ")));
    let own = definition.settings.iter().map(|(name, value)| {
        let is_asked = value.is_empty() && definition.asks.contains(name);
        row(name, if is_asked { "(yours to give)".to_owned() } else { value.clone() })
    });
    table.rows = own.chain(each).collect();
    table
}

/// What an experiment costs.
fn cost(definition: &Definition) -> String {
    let peers = match definition.peers_budget_s {
        Some(seconds) => format!(", {} with peers", rough(seconds)),
        None => String::new(),
    };
    let quick = rough(definition.quickly().budget_s);
    format!(
        "Cost: at most {} of runs for an experiment{peers}, {quick} with --quick (--budget TIME \
         says otherwise); before it data is generated and peers are built, once.",
        rough(definition.budget_s)
    )
}
