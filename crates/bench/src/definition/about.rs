//! What a benchmark measures, in words: the text of its definition with the values of this
//! comparison.
//!
//! A text names settings in braces: `{blocks}`, or a product such as `{blocks*block-transactions}`.
//! Each name is replaced by the value that is measured, so that no other number can be said of it.

use super::{Definition, Settings};
use crate::experiment::Experiment;
use anyhow::{Context, Result, ensure};
use blockmill_report::format;

/// Settings of which no text speaks. Others change what is measured.
const NEUTRAL: [&str; 5] = ["min-ms", "rounds", "samples", "seed", "threads"];

/// A part of a text: words, or the product of the settings of these names.
#[derive(Debug, PartialEq)]
enum Part<'a> {
    Words(&'a str),
    Value(Vec<&'a str>),
}

/// The parts of `text`.
fn parts(text: &str) -> Result<Vec<Part<'_>>> {
    let (mut parts, mut rest) = (vec![], text);
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').context("about: expected }, found the end")?;
        parts.extend([Part::Words(before), Part::Value(name.split('*').collect())]);
        rest = after;
    }
    parts.push(Part::Words(rest));
    Ok(parts)
}

/// The settings that `text` names.
fn names(text: &str) -> Result<Vec<&str>> {
    let of = |part| if let Part::Value(names) = part { names } else { vec![] };
    Ok(parts(text)?.into_iter().flat_map(of).collect())
}

/// A value as people read it: numbers have their thousands set apart.
fn shown(value: &str) -> String {
    value.parse().map_or_else(|_| value.to_owned(), format::count)
}

/// `a`, `a and b`, `a, b and c`.
fn listed(values: &[String]) -> String {
    match values {
        [] => String::new(),
        [one] => one.clone(),
        [more @ .., last] => format!("{} and {last}", more.join(", ")),
    }
}

impl Definition {
    /// Fails unless each name in the text is one of a setting.
    ///
    /// # Errors
    /// When a name is unknown, a brace is not closed, or a factor is no number.
    pub(super) fn check_about(&self) -> Result<()> {
        for part in parts(&self.about)? {
            let Part::Value(names) = part else { continue };
            for name in &names {
                let values = self.values(name);
                ensure!(!values.is_empty(), "about: no setting '{name}'");
                let numbers = values.iter().all(|value| value.parse::<u64>().is_ok());
                ensure!(names.len() == 1 || numbers, "about: {name} is no number to multiply");
            }
        }
        Ok(())
    }

    /// Each value that a setting has in this definition.
    fn values(&self, name: &str) -> Vec<String> {
        let listed = self.matrix.get(name).or_else(|| self.steps.get(name)).cloned();
        listed.or_else(|| Some(vec![self.settings.get(name)?.clone()])).unwrap_or_default()
    }

    /// What is measured, in a sentence or two: in all its cases.
    #[must_use]
    pub fn about(&self) -> String {
        self.about_with(&|name| self.values(name), &[])
    }

    /// What one case of an experiment measures, in a sentence or two.
    #[must_use]
    pub fn about_case(&self, experiment: &Experiment, case: &Settings) -> String {
        let swept = match experiment {
            Experiment::Sweep { setting, .. } => self.swept(setting),
            _ => None,
        };
        let values = |name: &str| match (&swept, self.steps.get(name), case.get(name)) {
            (Some((setting, values)), ..) if setting == name => values.clone(),
            (_, Some(steps), _) => steps.clone(),
            (_, _, Some(value)) => vec![value.clone()],
            _ => vec![],
        };
        let sweep = swept.as_ref().map(|(name, _)| {
            let shown: Vec<String> = values(name).iter().map(|value| shown(value)).collect();
            format!("Measured with {name} {}.", listed(&shown))
        });
        self.about_with(&values, &sweep.into_iter().collect::<Vec<_>>())
    }

    /// A setting with the values of its sweep and its own, in the order of numbers.
    fn swept(&self, setting: &str) -> Option<(String, Vec<String>)> {
        let mut values = self.sweep.get(setting)?.clone();
        values.extend(self.settings.get(setting).filter(|own| !values.contains(own)).cloned());
        let number = |value: &String| value.parse::<f64>().unwrap_or(0.0);
        values.sort_by(|a, b| number(a).total_cmp(&number(b)));
        Some((setting.to_owned(), values))
    }

    /// The text with these values. It is left out where a setting was changed of which it does not
    /// speak: it could be wrong then.
    fn about_with(&self, values: &dyn Fn(&str) -> Vec<String>, more: &[String]) -> String {
        // checked when the definition was read
        let all = parts(&self.about).unwrap_or_default();
        let spoken = names(&self.about).unwrap_or_default();
        let (neutral, rest): (Vec<_>, Vec<_>) = self
            .changes()
            .filter(|(name, _)| !spoken.contains(name))
            .partition(|(name, _)| NEUTRAL.contains(name));
        let texts = |changes: &[(&str, &str)]| {
            let texts = changes.iter().map(|(name, value)| format!("{name}={value}"));
            texts.collect::<Vec<_>>().join(", ")
        };
        if !rest.is_empty() {
            let all: Vec<_> = self.changes().collect();
            let text = format!("{}, with other settings than its own: {}.", self.name, texts(&all));
            return [&[text], more].concat().join(" ");
        }
        let filled = all.iter().map(|part| match part {
            Part::Words(words) => (*words).to_owned(),
            Part::Value(names) => product(names, values),
        });
        let neutral = (!neutral.is_empty()).then(|| format!("With {}.", texts(&neutral)));
        let sentences = [filled.collect::<String>()].into_iter().chain(neutral);
        sentences.chain(more.iter().cloned()).collect::<Vec<_>>().join(" ")
    }
}

/// The products of the values of `names`, listed.
fn product(names: &[&str], values: &dyn Fn(&str) -> Vec<String>) -> String {
    if let [one] = names {
        let shown: Vec<String> = values(one).iter().map(|value| shown(value)).collect();
        return listed(&shown);
    }
    let mut products = vec![Some(1u64)];
    for name in names {
        let factors: Vec<Option<u64>> =
            values(name).iter().map(|value| value.parse().ok()).collect();
        let by = |product: &Option<u64>| {
            let product = *product;
            factors.iter().map(move |factor| product?.checked_mul((*factor)?)).collect::<Vec<_>>()
        };
        products = products.iter().flat_map(by).collect();
    }
    let shown = |product: Option<u64>| product.map_or("many".to_owned(), format::count);
    listed(&products.into_iter().map(shown).collect::<Vec<_>>())
}
