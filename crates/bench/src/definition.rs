//! What is measured: a file of `benchmarks/definitions` for each benchmark, as
//! `docs/formats/benchmark-definition.md` describes it.

mod about;

use crate::experiment::Experiment;
use anyhow::{Context, Result, bail, ensure};
use blockmill_platform::files;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use toml::Value;

/// The definitions of this repository: their names and texts.
const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/definitions.rs"));

/// What not every build has, and whether this one does.
const FEATURES: [(&str, bool); 1] = [("rocksdb", blockmill_ethereum::state::HAS_ROCKSDB)];

/// How long all runs of a comparison may take for a first look, in seconds.
const QUICK_S: f64 = 30.0;

/// Names and values, such as `level = "headers"`.
pub type Settings = BTreeMap<String, String>;

/// Names, each with a list of values.
pub type Lists = BTreeMap<String, Vec<String>>;

/// A benchmark.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// The name of its file.
    #[serde(skip)]
    pub name: String,
    /// Its title in tables and charts.
    pub title: String,
    /// What is measured, and why, in a sentence or two, with names of settings in braces; see
    /// [`Self::about`].
    about: String,
    /// The workload: `import`, `rlp`, ...
    pub measures: String,
    /// The facts that are compared, the one that leads first.
    pub compare: Vec<String>,
    /// How long all runs of an experiment may take, in seconds.
    pub budget_s: f64,
    /// The same for comparisons with peers, which may be much slower.
    pub peers_budget_s: Option<f64>,
    /// The settings of the workload.
    #[serde(default, deserialize_with = "texts")]
    pub settings: Settings,
    /// Settings of which each value is measured with each of the others.
    #[serde(default, deserialize_with = "lists")]
    pub matrix: Lists,
    /// The answers that each run must have, with the settings of the file.
    #[serde(default, deserialize_with = "texts")]
    pub answer: Settings,
    /// Does the first step start from the default options? Otherwise it starts from the plainest
    /// value of every option.
    #[serde(default)]
    pub ladder_from_default: bool,
    /// The steps below the default, the plainest first.
    #[serde(default)]
    pub ladder: Vec<LadderStep>,
    /// The options that the ablation changes, one at a time.
    #[serde(default)]
    pub ablation: Vec<String>,
    /// Settings that can be swept, with their values.
    #[serde(default, deserialize_with = "lists")]
    pub sweep: Lists,
    /// At most one setting, whose values every run goes through, one after the other, each in a
    /// process of its own.
    #[serde(default, deserialize_with = "lists")]
    pub steps: Lists,
    /// Does each variant run once before runs count?
    #[serde(default = "yes")]
    pub warm_up: bool,
    /// Where all are measured, and time may not be enough: 1 is measured first.
    #[serde(default = "last")]
    pub rank: u8,
    /// Does it take too long to be one of all?
    #[serde(default)]
    pub only_by_name: bool,
    /// Settings that only the user can give.
    #[serde(default)]
    pub asks: Vec<String>,
    /// Features that the program must have been built with.
    #[serde(default)]
    pub features: Vec<String>,
    /// Are its operations short enough to be counted in instructions?
    #[serde(default)]
    pub instructions: bool,
    /// Names of peers in `peers.toml`.
    #[serde(default)]
    pub peers: Vec<String>,
    /// The settings of a first look, and of the matrix.
    #[serde(default, deserialize_with = "texts")]
    pub quick: Settings,
    /// What others have published about the same thing.
    pub reference: Option<Reference>,
    /// What the user said otherwise, as `name=value`.
    #[serde(skip)]
    pub assignments: Vec<String>,
    /// The settings and the matrix of the file.
    #[serde(skip)]
    own: (Settings, Lists),
}

/// A line of a ladder.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LadderStep {
    /// Its name in tables and charts.
    pub name: String,
    /// What it does or imitates, in one sentence.
    #[serde(default)]
    pub about: String,
    /// The options in which it differs from the step before; the first one from where the ladder
    /// begins.
    #[serde(default)]
    pub with: Vec<String>,
}

/// A published measurement that this one answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Who published it.
    pub who: String,
    /// What they measured.
    pub measured: String,
    /// Why ours is not the same.
    pub differs: String,
    /// Where it is published.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// What they published of single steps, cases or peers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
}

/// A published figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The name of a step, or of a case, that answers it.
    pub of: String,
    /// The figure with its unit.
    pub value: String,
}

impl Definition {
    /// How long all runs of `experiment` may take, in seconds.
    #[must_use]
    pub fn seconds(&self, experiment: &Experiment) -> f64 {
        let has_peers =
            matches!(experiment, Experiment::Peers | Experiment::Sweep { peers: true, .. });
        let of_peers = self.peers_budget_s.filter(|_| has_peers);
        of_peers.unwrap_or(self.budget_s)
    }

    /// The definitions of the program and of `folder`, by name. A file in `folder` replaces a
    /// definition of the program that has the same name.
    ///
    /// # Errors
    /// When one of them is not as described.
    pub fn all(folder: &Path) -> Result<Vec<Self>> {
        let mut all = vec![];
        let inside = files::list(folder);
        for path in inside.with_context(|| format!("cannot list {}", folder.display()))? {
            if path.extension().is_some_and(|extension| extension == "toml") {
                all.push(Self::read(&path)?);
            }
        }
        for (name, text) in BUILT_IN {
            if !all.iter().any(|known| known.name == *name) {
                all.push(Self::parse(name, text).with_context(|| (*name).to_owned())?);
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// Reads the definition in `path`.
    fn read(path: &Path) -> Result<Self> {
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let text = fs::read_to_string(path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(name, &text).with_context(|| path.display().to_string())
    }

    /// A definition called `name`.
    ///
    /// # Errors
    /// When the text is not as described.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let mut definition = Self { name: name.to_owned(), ..toml::from_str(text)? };
        definition.own = (definition.settings.clone(), definition.matrix.clone());
        let Self { compare, steps, budget_s, peers_budget_s, .. } = &definition;
        ensure!(!compare.is_empty(), "compare: expected the names of facts, found none");
        ensure!(steps.len() <= 1, "steps: expected one setting, found {}", steps.len());
        let budgets = [("budget_s", Some(*budget_s)), ("peers_budget_s", *peers_budget_s)];
        for (name, budget) in budgets {
            let found = budget.unwrap_or(*budget_s);
            ensure!(found > 0.0, "{name}: expected seconds, found {found}");
        }
        for name in &definition.features {
            let is_known = FEATURES.iter().any(|(known, _)| known == name);
            ensure!(is_known, "features: expected one that a build can have, found {name}");
        }
        for name in definition.matrix.keys() {
            ensure!(!definition.settings.contains_key(name), "{name}: both in settings and matrix");
        }
        for name in definition.sweep.keys() {
            let is_set = definition.settings.contains_key(name);
            ensure!(is_set, "sweep.{name}: expected a name of settings");
        }
        definition.check_about()?;
        for (name, value) in &definition.quick {
            let mut changed = definition.clone();
            changed.set(&format!("{name}={value}")).context("quick")?;
        }
        Ok(definition)
    }

    /// Changes a setting. The answers of the definition no longer apply.
    ///
    /// # Errors
    /// When `assignment` is not `name=value`, or no setting has that name.
    pub fn set(&mut self, assignment: &str) -> Result<()> {
        let (name, value) = assignment
            .split_once('=')
            .with_context(|| format!("expected name=value, found {assignment}"))?;
        if let Some(values) = self.matrix.get_mut(name) {
            *values = value.split(',').map(str::to_owned).collect();
        } else if let Some(known) = self.settings.get_mut(name) {
            value.clone_into(known);
        } else {
            let names: Vec<&str> =
                self.settings.keys().chain(self.matrix.keys()).map(String::as_str).collect();
            bail!("{}: no setting '{name}'; available: {}", self.name, names.join(", "));
        }
        self.answer.clear();
        self.assignments.push(assignment.to_owned());
        Ok(())
    }

    /// This benchmark for a first look: the settings of [`Self::quick`], and little time.
    #[must_use]
    pub fn quickly(&self) -> Self {
        let mut quick = self.clone();
        for (name, value) in &self.quick {
            // checked when the definition was read
            let _ = quick.set(&format!("{name}={value}"));
        }
        // the flag says it
        quick.assignments.clone_from(&self.assignments);
        quick.budget_s = self.budget_s.min(QUICK_S);
        quick.peers_budget_s = self.peers_budget_s.map(|seconds| seconds.min(QUICK_S));
        quick
    }

    /// The settings that have another value than in the file, apart from those that only the user
    /// can give, and the values of the matrix that do.
    fn changes(&self) -> impl Iterator<Item = (&str, &str)> {
        let (settings, matrix) = &self.own;
        let is_asked = |name: &String| self.asks.contains(name);
        let changed = self
            .settings
            .iter()
            .filter(move |(name, value)| settings.get(*name) != Some(*value) && !is_asked(name));
        let lists = self.matrix.iter().flat_map(|(name, values)| {
            let own = matrix.get(name);
            let is_new = move |value: &&String| own.is_none_or(|own| !own.contains(value));
            values.iter().filter(is_new).map(move |value| (name, value))
        });
        changed.chain(lists).map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// What others have published, where this measures what the file says.
    #[must_use]
    pub fn reference(&self) -> Option<Reference> {
        self.reference.clone().filter(|_| self.changes().next().is_none())
    }

    /// The settings that the user must set and has not.
    pub fn missing(&self) -> Vec<&str> {
        let is_open = |name: &&String| self.settings.get(*name).is_none_or(String::is_empty);
        self.asks.iter().filter(is_open).map(String::as_str).collect()
    }

    /// The features that this program was built without.
    pub fn lacks(&self) -> Vec<&str> {
        let is_built = |name: &str| FEATURES.contains(&(name, true));
        self.features.iter().map(String::as_str).filter(|name| !is_built(name)).collect()
    }

    /// The fact that leads.
    pub fn figure(&self) -> &str {
        self.compare.first().map_or("", String::as_str)
    }

    /// The settings of each case: every combination of the matrix. Without one there is one case,
    /// whose name is empty.
    pub fn cases(&self) -> Vec<(String, Settings)> {
        let mut cases = vec![(vec![], self.settings.clone())];
        for (name, values) in &self.matrix {
            let with_each = |(words, settings): &(Vec<String>, Settings)| {
                let with = |value: &String| {
                    let (mut words, mut settings) = (words.clone(), settings.clone());
                    words.push(value.clone());
                    settings.insert(name.clone(), value.clone());
                    (words, settings)
                };
                values.iter().map(with).collect::<Vec<_>>()
            };
            cases = cases.iter().flat_map(with_each).collect();
        }
        cases.into_iter().map(|(words, settings)| (words.join(", "), settings)).collect()
    }
}

fn yes() -> bool {
    true
}

fn last() -> u8 {
    9
}

fn texts<'de, D: Deserializer<'de>>(values: D) -> Result<Settings, D::Error> {
    let values = BTreeMap::<String, Value>::deserialize(values)?.into_iter();
    values.map(|(name, value)| Ok((name.clone(), text(&name, value)?))).collect()
}

fn lists<'de, D: Deserializer<'de>>(values: D) -> Result<Lists, D::Error> {
    let list = |(name, values): (String, Vec<Value>)| {
        let texts = values.into_iter().map(|value| text(&name, value));
        Ok((name.clone(), texts.collect::<Result<_, _>>()?))
    };
    BTreeMap::deserialize(values)?.into_iter().map(list).collect()
}

/// A setting as the workload reads it.
fn text<E: Error>(name: &str, value: Value) -> Result<String, E> {
    Ok(match value {
        Value::String(text) => text,
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(flag) => flag.to_string(),
        other => {
            let found = other.type_str();
            return Err(E::custom(format!("{name}: expected a text or a number, found {found}")));
        }
    })
}

#[cfg(test)]
mod tests;
