//! What is measured: a file of `benchmarks/definitions` for each benchmark, as
//! `docs/formats/benchmark-definition.md` describes it.

use crate::shape::Shape;
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use toml::Value;

/// The definitions of this repository: their names and texts.
const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/definitions.rs"));

/// Names and values, such as `level = "headers"`.
pub type Settings = BTreeMap<String, String>;

/// A benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The name of its file.
    pub name: String,
    /// What it is called in tables and charts.
    pub title: String,
    /// What is measured, and why, in a sentence or two.
    pub about: String,
    /// The kind of thing that is measured: `import`, `rlp`, ...
    pub measures: String,
    /// The facts that are compared, the one that leads first.
    pub compare: Vec<String>,
    /// How long all runs of a shape may take, in seconds.
    pub budget_s: f64,
    /// The same beside peers, which may be slower by far.
    pub peers_budget_s: f64,
    /// What the kind is told.
    pub settings: Settings,
    /// Settings of which each value is measured with each of the others.
    pub matrix: BTreeMap<String, Vec<String>>,
    /// What each run must find, with the settings as they stand here.
    pub answer: Settings,
    /// Do the rungs begin at the default, with the first one's options turned back, and not at the
    /// setting in which every option has its plainest value?
    pub ladder_from_default: bool,
    /// The rungs below the default, the plainest first.
    pub ladder: Vec<Rung>,
    /// The options that the ablation turns.
    pub ablation: Vec<String>,
    /// Settings, and the values that a sweep over each of them takes.
    pub sweep: BTreeMap<String, Vec<String>>,
    /// A setting whose values every run goes through, one after the other, each in a process of its
    /// own: its name and the values.
    pub steps: Option<(String, Vec<String>)>,
    /// Settings that only the user can give.
    pub asks: Vec<String>,
    /// Are its operations short enough to be counted in instructions?
    pub instructions: bool,
    /// Names of peers in `engines.toml`.
    pub peers: Vec<String>,
    /// What others have published about the same thing.
    pub reference: Option<Reference>,
    /// What the user said otherwise, as `name=value`.
    pub assignments: Vec<String>,
}

/// A line of a ladder.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rung {
    /// What it is called.
    pub name: String,
    /// The options in which it differs from the rung before; the first one from where the ladder
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
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    about: String,
    measures: String,
    compare: Vec<String>,
    budget_s: f64,
    peers_budget_s: Option<f64>,
    #[serde(default)]
    settings: BTreeMap<String, Value>,
    #[serde(default)]
    matrix: BTreeMap<String, Vec<Value>>,
    #[serde(default)]
    answer: BTreeMap<String, Value>,
    #[serde(default)]
    ladder_from_default: bool,
    #[serde(default)]
    ladder: Vec<Rung>,
    #[serde(default)]
    ablation: Vec<String>,
    #[serde(default)]
    sweep: BTreeMap<String, Vec<Value>>,
    #[serde(default)]
    steps: BTreeMap<String, Vec<Value>>,
    #[serde(default)]
    asks: Vec<String>,
    #[serde(default)]
    instructions: bool,
    #[serde(default)]
    peers: Vec<String>,
    reference: Option<Reference>,
}

impl Definition {
    /// How long all runs of `shape` may take, in seconds.
    #[must_use]
    pub fn seconds(&self, shape: &Shape) -> f64 {
        if *shape == Shape::Peers { self.peers_budget_s } else { self.budget_s }
    }

    /// Those that are part of the program, by name, and those in `folder`, which count first.
    ///
    /// # Errors
    /// When one of them is not as described.
    pub fn all(folder: &Path) -> Result<Vec<Self>> {
        let mut all = vec![];
        if let Ok(entries) = fs::read_dir(folder) {
            for entry in entries {
                let path = entry?.path();
                if path.extension().is_some_and(|extension| extension == "toml") {
                    all.push(Self::read(&path)?);
                }
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
        let file: File = toml::from_str(text)?;
        ensure!(!file.compare.is_empty(), "compare: expected the names of facts, found none");
        ensure!(file.steps.len() <= 1, "steps: expected one setting, found {}", file.steps.len());
        let peers_budget_s = file.peers_budget_s.unwrap_or(file.budget_s);
        for (name, found) in [("budget_s", file.budget_s), ("peers_budget_s", peers_budget_s)] {
            ensure!(found > 0.0, "{name}: expected seconds, found {found}");
        }
        let definition = Self {
            name: name.to_owned(),
            title: file.title,
            about: file.about,
            measures: file.measures,
            compare: file.compare,
            budget_s: file.budget_s,
            peers_budget_s,
            settings: texts(file.settings)?,
            matrix: lists(file.matrix)?,
            answer: texts(file.answer)?,
            ladder_from_default: file.ladder_from_default,
            ladder: file.ladder,
            ablation: file.ablation,
            sweep: lists(file.sweep)?,
            steps: lists(file.steps)?.into_iter().next(),
            asks: file.asks,
            instructions: file.instructions,
            peers: file.peers,
            reference: file.reference,
            assignments: vec![],
        };
        for name in definition.matrix.keys() {
            ensure!(!definition.settings.contains_key(name), "{name}: both in settings and matrix");
        }
        for name in definition.sweep.keys() {
            let is_set = definition.settings.contains_key(name);
            ensure!(is_set, "sweep.{name}: expected a name of settings");
        }
        Ok(definition)
    }

    /// Sets what a definition leaves open or says otherwise; its answer does not hold any more.
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

    /// The settings that the user has yet to give.
    pub fn missing(&self) -> Vec<&str> {
        let is_open = |name: &&String| self.settings.get(*name).is_none_or(String::is_empty);
        self.asks.iter().filter(is_open).map(String::as_str).collect()
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

fn texts(values: BTreeMap<String, Value>) -> Result<Settings> {
    values.into_iter().map(|(name, value)| Ok((name.clone(), text(&name, value)?))).collect()
}

fn lists(values: BTreeMap<String, Vec<Value>>) -> Result<BTreeMap<String, Vec<String>>> {
    let list = |(name, values): (String, Vec<Value>)| {
        let texts = values.into_iter().map(|value| text(&name, value));
        Ok((name.clone(), texts.collect::<Result<Vec<_>>>()?))
    };
    values.into_iter().map(list).collect()
}

/// A setting as the kind reads it.
fn text(name: &str, value: Value) -> Result<String> {
    Ok(match value {
        Value::String(text) => text,
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(flag) => flag.to_string(),
        other => bail!("{name}: expected a text or a number, found {}", other.type_str()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADERS: &str = r#"
        title = "Headers"
        about = "What the rules of headers cost."
        measures = "import"
        compare = ["wall_s"]
        budget_s = 60
        peers = ["geth"]
        ablation = ["hash"]
        [settings]
        headers = 1000
        level = "headers"
        [answer]
        tip_number = 1000
        [[ladder]]
        name = "master"
        [[ladder]]
        name = "lanes"
        with = ["hash=lanes"]
        [sweep]
        headers = [10, 100]
        [reference]
        who = "someone"
        measured = "more"
        differs = "another machine"
    "#;

    #[test]
    fn a_file_gives_its_settings_as_texts() {
        let headers = Definition::parse("headers", HEADERS).unwrap();
        assert_eq!(headers.settings["headers"], "1000");
        assert_eq!(headers.answer["tip_number"], "1000");
        assert_eq!(headers.sweep["headers"], ["10", "100"]);
        assert_eq!(headers.ladder[1].with, ["hash=lanes"]);
        assert_eq!(headers.cases(), [(String::new(), headers.settings.clone())]);
        assert_eq!(headers.reference.unwrap().who, "someone");
    }

    #[test]
    fn what_is_set_must_be_there_and_takes_the_answer_away() {
        let mut headers = Definition::parse("headers", HEADERS).unwrap();
        let error = headers.set("header=7").unwrap_err().to_string();
        assert_eq!(error, "headers: no setting 'header'; available: headers, level");
        assert!(headers.set("headers").is_err() && !headers.answer.is_empty());
        headers.set("headers=7").unwrap();
        assert_eq!((&*headers.settings["headers"], headers.answer.len()), ("7", 0));
    }

    #[test]
    fn those_of_the_program_are_sound_and_a_folder_adds_to_them() {
        let folder = tempfile::tempdir().unwrap();
        let built_in = Definition::all(folder.path()).unwrap();
        assert_eq!(built_in.len(), BUILT_IN.len());
        for definition in &built_in {
            let kind = crate::kinds::by_name(&definition.measures).unwrap();
            for (_, settings) in definition.cases() {
                let options = kind.options(&settings).unwrap();
                for shape in Shape::all_of(definition) {
                    crate::shape::contestants(definition, &shape, &options).unwrap();
                }
            }
        }
        fs::write(folder.path().join("mine.toml"), HEADERS).unwrap();
        fs::write(folder.path().join("rlp.toml"), HEADERS).unwrap();
        let all = Definition::all(folder.path()).unwrap();
        assert_eq!(all.len(), BUILT_IN.len() + 1);
        let title = |name: &str| &all.iter().find(|one| one.name == name).unwrap().title;
        assert_eq!((title("mine"), title("rlp")), (&"Headers".into(), &"Headers".into()));
        fs::write(folder.path().join("broken.toml"), "title = 7").unwrap();
        let error = format!("{:#}", Definition::all(folder.path()).unwrap_err());
        assert!(error.contains("broken.toml"), "{error}");
    }

    #[test]
    fn a_matrix_has_every_combination() {
        let text = "title='t'\nabout='a'\nmeasures='rlp'\ncompare=['time_ns']\nbudget_s=1\n\
                    [settings]\nx=1\n[matrix]\ncase=['block-8','header']\nop=['encode','hash']";
        let mut rlp = Definition::parse("rlp", text).unwrap();
        let names =
            |rlp: &Definition| rlp.cases().into_iter().map(|case| case.0).collect::<Vec<_>>();
        let all = ["block-8, encode", "block-8, hash", "header, encode", "header, hash"];
        assert_eq!(names(&rlp), all);
        assert_eq!(rlp.cases()[3].1["op"], "hash");
        rlp.set("case=header,block-80").unwrap();
        rlp.set("op=hash").unwrap();
        assert_eq!(names(&rlp), ["header, hash", "block-80, hash"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |from: &str, to: &str| {
            let error = Definition::parse("headers", &HEADERS.replace(from, to)).unwrap_err();
            format!("{error:#}")
        };
        assert!(wrong("compare = [\"wall_s\"]", "compare = []").contains("compare: expected"));
        assert!(wrong("budget_s = 60", "budget_s = 0").contains("budget_s: expected seconds"));
        let peers = wrong("budget_s = 60", "budget_s = 60\npeers_budget_s = 0");
        assert!(peers.contains("peers_budget_s: expected seconds"));
        assert!(wrong("headers = [10, 100]", "blocks = [1]").contains("sweep.blocks: expected"));
        assert!(wrong("who =", "whom =").contains("unknown field `whom`"));
        assert!(wrong("headers = 1000", "headers = [1]").contains("headers: expected a text or"));
    }
}
