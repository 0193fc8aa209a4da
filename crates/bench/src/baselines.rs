//! Baselines: the designs of earlier versions and of other clients, which the product does not
//! have. Each works through a trait that its chain's crate defines.

pub mod bitcoin_index;
pub mod ethereum_headers;
mod file_map;

use crate::experiment::OptionValues;
use std::collections::BTreeMap;

/// An option that only a comparison sets.
#[derive(Clone, Copy, Debug)]
pub struct BaselineOption {
    /// Its name.
    pub name: &'static str,
    /// Its values, the plainest first; the last one is what the product does.
    pub values: &'static [&'static str],
    /// What it imitates.
    pub about: &'static str,
    /// What each value does.
    pub said: &'static [&'static str],
}

impl BaselineOption {
    /// The option as ladders and ablations see it.
    #[must_use]
    pub fn values(&self) -> OptionValues {
        let values: Vec<String> = self.values.iter().map(|value| (*value).to_owned()).collect();
        let default = values.last().cloned().unwrap_or_default();
        let (name, about) = (self.name.to_owned(), self.about.to_owned());
        let said = self.said.iter().map(|said| (*said).to_owned()).collect();
        OptionValues { name, values, default, about, said }
    }
}

/// The values of `options` after the assignments `name=value` of `with`, for the run record.
#[must_use]
pub fn recorded(options: &[BaselineOption], with: &[String]) -> BTreeMap<String, String> {
    let value = |option: &BaselineOption| {
        let given = with.iter().rev().filter_map(|assignment| assignment.split_once('='));
        let given = given.filter(|(name, _)| *name == option.name).map(|(_, value)| value).next();
        let value = given.or(option.values.last().copied()).unwrap_or_default();
        (option.name.to_owned(), value.to_owned())
    };
    options.iter().map(value).collect()
}
