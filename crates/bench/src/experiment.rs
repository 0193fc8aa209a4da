//! The variants of a comparison: which variants a definition and an experiment have in each case,
//! and which of them are compared.

mod only;

use crate::comparison::{AGAIN, BASELINE};
use crate::definition::{Definition, Settings};
use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::thread::available_parallelism;

pub use only::{kept, only};

/// The name of our default.
pub const OURS: &str = "blockmill";

/// The name of the program that runs, among revisions.
pub const THIS: &str = ".";

/// What is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Experiment {
    /// The default with itself: how long it takes, and the noise of the machine.
    Alone,
    /// Each step of the ladder with the one before.
    Ladder,
    /// The default with each option at its other values, and the plainest options with each at its
    /// default.
    Ablation,
    /// The default over the values of a setting.
    Sweep {
        /// Its name.
        setting: String,
        /// Are peers compared at each value?
        peers: bool,
    },
    /// The default with other programs.
    Peers,
    /// The program with itself as of other revisions; [`THIS`] is the program that runs.
    Revisions(Vec<String>),
}

impl fmt::Display for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alone => f.write_str("alone"),
            Self::Ladder => f.write_str("ladder"),
            Self::Ablation => f.write_str("ablation"),
            Self::Sweep { setting, .. } => write!(f, "sweep {setting}"),
            Self::Peers => f.write_str("peers"),
            Self::Revisions(_) => f.write_str("revisions"),
        }
    }
}

impl Experiment {
    /// Every experiment of a definition, the most informative first.
    pub fn all_of(definition: &Definition) -> Vec<Self> {
        let has = |is_there: bool, experiment: Self| is_there.then_some(experiment);
        let mut all = vec![];
        all.extend(has(!definition.peers.is_empty(), Self::Peers));
        all.extend(has(!definition.ladder.is_empty(), Self::Ladder));
        all.extend(has(!definition.ablation.is_empty(), Self::Ablation));
        let sweep = |setting: &String| Self::Sweep { setting: setting.clone(), peers: false };
        all.extend(definition.sweep.keys().map(sweep));
        all.extend(has(all.is_empty(), Self::Alone));
        all
    }

    /// The flags of `bench` that ask for it.
    pub fn flags(&self) -> Vec<String> {
        let words: &[&str] = match self {
            Self::Alone => &[],
            Self::Ladder => &["--ladder"],
            Self::Ablation => &["--ablate"],
            Self::Sweep { setting, peers: false } => &["--sweep", setting],
            Self::Sweep { setting, peers: true } => &["--sweep", setting, "--peers"],
            Self::Peers => &["--peers"],
            Self::Revisions(revisions) => {
                let flag = std::iter::once("--history".to_owned());
                return flag.chain(revisions.iter().cloned()).collect();
            }
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }
}

/// An option of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionValues {
    /// Its name.
    pub name: String,
    /// Its values on this machine, the plainest first.
    pub values: Vec<String>,
    /// Its default value.
    pub default: String,
    /// What it chooses, in one line.
    pub about: String,
    /// What each value does, in one line; empty if nothing is said of values.
    pub said: Vec<String>,
}

impl OptionValues {
    /// What happens at `value`, in one line.
    #[must_use]
    pub fn about_value(&self, value: &str) -> String {
        let at = self.values.iter().position(|known| known == value);
        let said = at.and_then(|at| self.said.get(at)).filter(|said| !said.is_empty());
        said.unwrap_or(&self.about).clone()
    }
}

/// A participant of a comparison: our program with some options, another revision of it, or a peer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Its name in tables and charts.
    pub label: String,
    /// What it does or imitates, in one sentence; empty if the definition has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The options in which it differs from the default.
    #[serde(default)]
    pub with: Vec<String>,
    /// The settings in which it differs from the case.
    #[serde(default)]
    pub settings: Settings,
    /// The peer that runs instead of us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// The revision of us that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The place of the variant that it is compared with.
    pub against: usize,
}

impl Variant {
    /// Ourselves, compared with the baseline.
    fn ours(label: impl Into<String>, with: Vec<String>) -> Self {
        Self { label: label.into(), with, against: BASELINE, ..Self::default() }
    }

    fn against(self, against: usize) -> Self {
        Self { against, ..self }
    }
}

/// The variants of a case of `definition`: the baseline, its copy, and the others. `options` are
/// the options of the workload.
///
/// # Errors
/// When the definition has no such experiment, or names an option or a value that the workload does
/// not have.
pub fn variants(
    definition: &Definition,
    experiment: &Experiment,
    options: &[OptionValues],
) -> Result<Vec<Variant>> {
    let mut all = vec![Variant::ours(OURS, vec![]), Variant::ours("again", vec![])];
    match experiment {
        Experiment::Alone => {}
        Experiment::Ladder => {
            ensure!(!definition.ladder.is_empty(), "{}", lacks(definition, "ladder"));
            ladder(definition, options, &mut all)?;
        }
        Experiment::Ablation => {
            ensure!(!definition.ablation.is_empty(), "{}", lacks(definition, "ablation"));
            ablation(definition, options, &mut all)?;
        }
        Experiment::Sweep { setting, peers } => {
            let cores = available_parallelism().map_or(1, usize::from);
            sweep(definition, setting, cores, &mut all)?;
            if *peers {
                with_peers(definition, &mut all)?;
            }
        }
        Experiment::Peers => with_peers(definition, &mut all)?,
        Experiment::Revisions(revisions) => {
            for (at, revision) in revisions.iter().enumerate() {
                let is_this = revision == THIS;
                let label = if is_this { "this program" } else { revision };
                let built = (!is_this).then(|| revision.clone());
                let variant = Variant { revision: built, ..Variant::ours(label, vec![]) };
                // the first revision is the baseline
                if at == 0 {
                    let again = Variant { label: format!("{label} again"), ..variant.clone() };
                    all = vec![variant, again];
                } else {
                    all.push(variant);
                }
            }
        }
    }
    debug_assert!(all[AGAIN].against == BASELINE);
    Ok(all)
}

/// The sentence about a definition without such an experiment: which ones it has.
fn lacks(definition: &Definition, what: &str) -> String {
    let own: Vec<_> =
        Experiment::all_of(definition).iter().map(|own| own.flags().join(" ")).collect();
    // without an experiment it is measured alone, which has no flag
    let has = match own.concat().is_empty() {
        true => "no other experiment".to_owned(),
        false => own.join(", "),
    };
    format!("{} has no {what}; it has {has}", definition.name)
}

/// Each option at its plainest value.
fn plainest(options: &[OptionValues]) -> Vec<String> {
    let values = options.iter().filter_map(|option| setting(option, option.values.first()?));
    values.collect()
}

/// `name=value`; `None` for the default.
fn setting(option: &OptionValues, value: &str) -> Option<String> {
    (value != option.default).then(|| format!("{}={value}", option.name))
}

/// Applies `changes` to `with`; values that are the default are left out.
fn changed(with: &[String], changes: &[String], options: &[OptionValues]) -> Result<Vec<String>> {
    let mut with = with.to_vec();
    for change in changes {
        let (name, value) = change.split_once('=').unwrap_or((change, ""));
        let Some(option) = options.iter().find(|option| option.name == name) else {
            let names: Vec<&str> = options.iter().map(|option| option.name.as_str()).collect();
            bail!("unknown option '{change}'; available: {}", names.join(", "));
        };
        with.retain(|other| other.split_once('=').is_none_or(|(other, _)| other != name));
        // a value that this machine does not have: the best that it has
        let has = option.values.iter().any(|known| known == value);
        let value = if has { value } else { option.default.as_str() };
        with.extend(setting(option, value));
    }
    Ok(with)
}

/// The steps, each against the one before, then the default against the last.
fn ladder(definition: &Definition, options: &[OptionValues], all: &mut Vec<Variant>) -> Result<()> {
    let from_default = definition.ladder_from_default;
    let mut with = if from_default { vec![] } else { plainest(options) };
    for (at, step) in definition.ladder.iter().enumerate() {
        with = changed(&with, &step.with, options)?;
        let before = if at == 0 { all.len() } else { all.len() - 1 };
        let about = step.about.clone();
        let variant = Variant { about, ..Variant::ours(&step.name, with.clone()) };
        all.push(variant.against(before));
    }
    Ok(())
}

/// The default with each option at each of its other values, against the default; the plainest
/// setting; and that with each option at its default, against the plainest.
fn ablation(
    definition: &Definition,
    options: &[OptionValues],
    all: &mut Vec<Variant>,
) -> Result<()> {
    let mut turned = vec![];
    for name in &definition.ablation {
        // refuses unknown names
        changed(&[], std::slice::from_ref(name), options)?;
        turned.extend(options.iter().filter(|option| option.name == *name));
    }
    for option in &turned {
        for value in &option.values {
            let Some(other) = setting(option, value) else { continue };
            let about = option.about_value(value);
            all.push(Variant { about, ..Variant::ours(&other, vec![other.clone()]) });
        }
    }
    let mut with = vec![];
    for option in &turned {
        with.extend(option.values.first().and_then(|value| setting(option, value)));
    }
    let place = all.len();
    all.push(Variant::ours("all at the plainest value", with.clone()));
    for option in turned.iter().filter(|option| option.values.first() != Some(&option.default)) {
        let on = format!("{}={}", option.name, option.default);
        let with = changed(&with, std::slice::from_ref(&on), options)?;
        let about = option.about_value(&option.default);
        let variant = Variant { about, ..Variant::ours(format!("only {on}"), with) };
        all.push(variant.against(place));
    }
    Ok(())
}

/// The default at each value of a setting but the one that it has, against the default. More
/// threads than `cores` are left out, because they would share cores.
fn sweep(
    definition: &Definition,
    setting: &str,
    cores: usize,
    all: &mut Vec<Variant>,
) -> Result<()> {
    let Some(values) = definition.sweep.get(setting) else {
        let names: Vec<&str> = definition.sweep.keys().map(String::as_str).collect();
        ensure!(!names.is_empty(), "{}", lacks(definition, "sweep"));
        bail!("{}: no sweep of '{setting}'; available: {}", definition.name, names.join(", "));
    };
    let own = definition.settings.get(setting);
    let is_of_threads = setting == "threads";
    let too_many = |value: &String| is_of_threads && value.parse().is_ok_and(|n: usize| n > cores);
    for value in values.iter().filter(|value| own != Some(value) && !too_many(value)) {
        let settings = Settings::from([(setting.to_owned(), value.clone())]);
        let label = format!("{setting} {value}");
        all.push(Variant { settings, ..Variant::ours(label, vec![]) });
    }
    Ok(())
}

/// Appends each peer, once for each of our variants and with the same settings.
fn with_peers(definition: &Definition, all: &mut Vec<Variant>) -> Result<()> {
    ensure!(!definition.peers.is_empty(), "{}", lacks(definition, "peers"));
    let ours = all.clone();
    for peer in &definition.peers {
        for (at, one) in ours.iter().enumerate().filter(|(at, _)| *at != AGAIN) {
            let label = if at == BASELINE { peer } else { &format!("{peer}, {}", one.label) };
            let (peer, settings) = (Some(peer.clone()), one.settings.clone());
            all.push(Variant { peer, settings, ..Variant::ours(label, vec![]).against(at) });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
