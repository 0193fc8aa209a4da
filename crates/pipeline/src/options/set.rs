//! Settings of all options of a chain: parsing, defaults, ablation and record.

use super::{Description, Needs, Value};
use std::collections::BTreeMap;
use std::fmt;

/// A value of each option of a chain. [`option_settings!`](crate::option_settings) implements it.
pub trait OptionSet: Copy + Default + Eq + 'static {
    /// The options, in the order of the fields.
    const OPTIONS: &'static [Description];

    /// The position of each option's value.
    fn positions(&self) -> Vec<usize>;

    /// The settings with the values at these positions.
    #[must_use]
    fn at(positions: &[usize]) -> Self;

    /// Each option at the plainest value that this machine has.
    #[must_use]
    fn plainest() -> Self {
        Self::at(&Self::OPTIONS.iter().map(Description::plainest).collect::<Vec<_>>())
    }

    /// Parses `NAME=VALUE` and sets the option.
    ///
    /// # Errors
    /// [`OptionError::Unknown`] if there is no such option or value, [`OptionError::NotHere`] or
    /// [`OptionError::NotBuilt`] if this machine or this program lacks what the value needs.
    fn set(&mut self, assignment: &str) -> Result<(), OptionError> {
        let (option, value) = parse(Self::OPTIONS, assignment)?;
        *self = self.replaced(option, value);
        Ok(())
    }

    /// These settings after each `NAME=VALUE` of `assignments`.
    ///
    /// # Errors
    /// As [`OptionSet::set`].
    fn with<S: AsRef<str>>(mut self, assignments: &[S]) -> Result<Self, OptionError> {
        assignments.iter().try_for_each(|assignment| self.set(assignment.as_ref()))?;
        Ok(self)
    }

    /// These settings with one option at each other available value: the rows of an ablation.
    fn neighbours(&self) -> impl Iterator<Item = (&'static Description, &'static Value, Self)> {
        let (this, own) = (*self, self.positions());
        let options = Self::OPTIONS.iter().enumerate().zip(own);
        options.flat_map(move |((at, option), own)| {
            let others = option.available().filter(move |(position, _)| *position != own);
            others.map(move |(position, value)| (option, value, this.replaced(at, position)))
        })
    }

    /// Names and values, for the run record.
    fn to_map(&self) -> BTreeMap<String, String> {
        let value = |(option, at): (&Description, usize)| {
            (option.name.to_owned(), option.values[at].name.to_owned())
        };
        Self::OPTIONS.iter().zip(self.positions()).map(value).collect()
    }

    /// These settings with option number `option` at the value of this position.
    #[doc(hidden)]
    #[must_use]
    fn replaced(&self, option: usize, position: usize) -> Self {
        let mut positions = self.positions();
        positions[option] = position;
        Self::at(&positions)
    }
}

/// A `--with` that cannot be set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionError {
    /// There is no such option, or no such value of it.
    Unknown {
        /// The assignment.
        asked: String,
        /// The options, or the values of the option.
        known: String,
    },
    /// This CPU cannot run it.
    NotHere {
        /// The assignment.
        asked: String,
        /// The values that it can run.
        available: String,
    },
    /// This program was built without it.
    NotBuilt {
        /// The assignment.
        asked: String,
        /// The feature that the value needs.
        feature: &'static str,
        /// The values that this program has.
        available: String,
    },
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { asked, known } => {
                write!(f, "unknown option '{asked}'; available: {known}")
            }
            Self::NotHere { asked, available } => {
                write!(f, "this CPU cannot run option '{asked}'; available: {available}")
            }
            Self::NotBuilt { asked, feature, available } => write!(
                f,
                "option '{asked}' needs a program that was built with `--features {feature}`; \
                 available: {available}"
            ),
        }
    }
}

impl std::error::Error for OptionError {}

/// The positions of the option and of its value in `NAME=VALUE`.
fn parse(options: &[Description], assignment: &str) -> Result<(usize, usize), OptionError> {
    let (name, _) = split(assignment);
    let Some(at) = options.iter().position(|option| option.name == name) else {
        let known = joined(options, ", ", |it| it.name);
        return Err(OptionError::Unknown { asked: assignment.to_owned(), known });
    };
    let position = value_of(&options[at], assignment)?;
    check_available(&options[at], position)?;
    Ok((at, position))
}

/// The name and the value of `NAME=VALUE`.
fn split(assignment: &str) -> (&str, &str) {
    assignment.split_once('=').unwrap_or((assignment, ""))
}

/// The position of the value in `NAME=VALUE`, an assignment to this option.
pub(super) fn value_of(option: &Description, assignment: &str) -> Result<usize, OptionError> {
    let (name, value) = split(assignment);
    let position = option.values.iter().position(|known| known.name == value);
    position.filter(|_| name == option.name).ok_or_else(|| OptionError::Unknown {
        asked: assignment.to_owned(),
        known: format!("{}={}", option.name, joined(option.values, "|", |it| it.name)),
    })
}

/// Fails unless this program can use the value at `position` on this machine.
pub(super) fn check_available(option: &Description, position: usize) -> Result<(), OptionError> {
    let found = &option.values[position];
    if found.is_available() {
        return Ok(());
    }
    let asked = format!("{}={}", option.name, found.name);
    let values: Vec<&Value> = option.available().map(|(_, value)| value).collect();
    let available = format!("{}={}", option.name, joined(&values, "|", |it| it.name));
    Err(match found.needs {
        Needs::Feature { name: feature, .. } => OptionError::NotBuilt { asked, feature, available },
        Needs::Nothing | Needs::Cpu(_) => OptionError::NotHere { asked, available },
    })
}

fn joined<T>(all: &[T], with: &str, name: impl Fn(&T) -> &'static str) -> String {
    all.iter().map(name).collect::<Vec<_>>().join(with)
}
