//! `--list`: what can be measured; of named benchmarks their settings, steps, options and cost.

use crate::comparison::rough;
use crate::definition::Definition;
use crate::experiment::{Experiment, OptionValues};
use crate::workloads;
use anyhow::Result;
use blockmill_cli::answer::Answer;
use blockmill_cli::print;
use blockmill_report::Colour;
use blockmill_report::table::{Cell, Mark, Table};
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

/// Everything about some benchmarks.
///
/// # Errors
/// When a definition does not fit its workload.
pub fn named(definitions: &[&Definition], json: bool) -> Result<Answer> {
    if json {
        let rows = definitions.iter().map(|one| detailed(one)).collect::<Result<Vec<_>>>()?;
        return Answer::ok().with(rows);
    }
    for one in definitions {
        print::out(format_args!("{}\n", text(one, Colour::of_stdout())?));
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

fn option_row(OptionValues { name, about, values, default, .. }: &OptionValues) -> Value {
    json!({ "name": name, "about": about, "values": values, "default": default })
}

fn detailed(definition: &Definition) -> Result<Value> {
    let mut row = row(definition);
    let step =
        |one: &crate::definition::LadderStep| json!({ "name": one.name, "about": one.about });
    row["options"] = changed(definition)?.iter().map(option_row).collect();
    row["steps"] = definition.ladder.iter().map(step).collect();
    row["sweeps"] = json!(definition.sweep);
    row["matrix"] = json!(definition.matrix);
    row["quick"] = json!(definition.quick);
    row["peers"] = json!(definition.peers);
    row["reference"] = json!(definition.reference);
    Ok(row)
}

fn text(definition: &Definition, colour: Colour) -> Result<String> {
    let Definition { name, title, .. } = definition;
    let mut text = format!("{name}: {title}\n{}\n", definition.about());
    let mut add = |heading: &str, table: Table| {
        if !table.rows.is_empty() {
            text += &format!("\n{heading}\n{}", table.terminal(colour));
        }
    };
    add("Settings (--set NAME=VALUE):", settings(definition));
    let mut steps = Table::new(&["step", "what it does"]);
    steps.left = vec![1];
    let step = |one: &crate::definition::LadderStep| {
        vec![Cell::from(one.name.as_str()), one.about.as_str().into()]
    };
    steps.rows = definition.ladder.iter().map(step).collect();
    add("Steps (--ladder), the plainest first:", steps);
    let mut options = Table::new(&["option", "values, the default last", "what it chooses"]);
    options.left = vec![1, 2];
    for one in changed(definition)? {
        let mut values = one.values.clone();
        values.retain(|value| *value != one.default);
        values.push(one.default.clone());
        options.rows.push(vec![one.name.into(), values.join(", ").into(), one.about.into()]);
    }
    add("Options (--ablate):", options);
    if !definition.peers.is_empty() {
        text += &format!("\nPeers (--peers): {}\n", definition.peers.join(", "));
    }
    if let Some(reference) = &definition.reference {
        text += &format!("\nPublished by {}: {}\n", reference.who, reference.measured);
    }
    text += &cost(definition);
    Ok(text)
}

fn settings(definition: &Definition) -> Table {
    let mut table = Table::new(&["setting", "value", "--sweep", "--quick"]);
    table.left = vec![1, 2, 3];
    let list = |values: Option<&Vec<String>>| values.map_or(String::new(), |all| all.join(", "));
    let row = |name: &String, value: String| {
        let quick = definition.quick.get(name).cloned().unwrap_or_default();
        vec![
            name.as_str().into(),
            value.into(),
            list(definition.sweep.get(name)).into(),
            quick.into(),
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
        "\nCost: at most {} of runs for an experiment{peers}, {quick} with --quick (--budget TIME \
         says otherwise); before it data is generated and peers are built, once.\n",
        rough(definition.budget_s)
    )
}
