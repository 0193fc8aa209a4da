//! Every optimisation as a named option: a table of them for each chain, settings of all options
//! of a table, and the rungs of its ladder.
//!
//! An option is set once, when the work is laid out. Ladder, ablation and run record are made by
//! walking the table.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// One option: its name, its values and what it changes.
#[derive(Clone, Copy, Debug)]
pub struct NamedOption {
    /// Name on the command line: `--with name=value`.
    pub name: &'static str,
    /// Allowed values, the slowest first. Every machine has the first, but for what a build lacks.
    pub values: &'static [&'static str],
    /// What it changes, and where the idea was published.
    pub what: &'static str,
    is_here: fn(&str) -> bool,
    /// Without it there is only the last value.
    needs: Option<Feature>,
}

/// A part of the program that not every build has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Its name: `--features NAME`.
    pub name: &'static str,
    /// Whether this build has it.
    pub is_built: bool,
}

impl NamedOption {
    /// An option whose values every machine has.
    pub const fn new(
        name: &'static str,
        values: &'static [&'static str],
        what: &'static str,
    ) -> Self {
        Self { name, values, what, is_here: |_| true, needs: None }
    }

    /// The same, but this machine has only the first value and those for which `is_here` says so.
    pub const fn only_where(self, is_here: fn(&str) -> bool) -> Self {
        Self { is_here, ..self }
    }

    /// The same, but a program that was built without `feature` has only the last value.
    pub const fn but_last_needs(self, feature: Feature) -> Self {
        Self { needs: Some(feature), ..self }
    }

    /// The values that this program has on this machine, the slowest first.
    pub fn available(&self) -> impl Iterator<Item = &'static str> + '_ {
        let first = self.slowest();
        let has = move |at: usize| at == first || at > first && (self.is_here)(self.values[at]);
        self.values.iter().enumerate().filter(move |(at, _)| has(*at)).map(|(_, value)| *value)
    }

    /// The place of the slowest value that there is.
    fn slowest(&self) -> usize {
        if self.lacks().is_some() { self.values.len() - 1 } else { 0 }
    }

    /// What all values but the last need and this program does not have.
    fn lacks(&self) -> Option<Feature> {
        self.needs.filter(|feature| !feature.is_built)
    }

    /// The place of the fastest value that this machine has.
    fn fastest(&self) -> usize {
        let last = self.values.iter().rposition(|value| (self.is_here)(value));
        last.unwrap_or(0)
    }

    fn position(&self, value: &str) -> Option<usize> {
        self.values.iter().position(|known| *known == value)
    }
}

/// A rung of a ladder: its name, and what it changes, as option and value, in the rung below it.
/// The lowest rung has all options at their slowest but for its changes.
pub type Rung = (&'static str, &'static [(&'static str, &'static str)]);

/// The highest rung of every ladder: all options at the fastest value that this machine has.
pub const HIGHEST_RUNG: &str = "blockmill";

/// The options of a chain, and what its stages make of their setting.
pub trait Table: Copy + Eq + 'static {
    /// The options, in the order of the ladder; at most [`MOST_OPTIONS`].
    const OPTIONS: &'static [NamedOption];
    /// The rungs of the ladder below [`HIGHEST_RUNG`].
    const RUNGS: &'static [Rung];
    /// What the stages need to know, in plain fields.
    type Plan;

    /// The plan of a setting.
    fn plan(setting: &Setting<Self>) -> Self::Plan;
}

/// Switches that a table may have.
pub const MOST_OPTIONS: usize = 40;

/// A setting of all options of a table; the default is the highest rung.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Setting<T> {
    /// The position of each option's value; 0 behind the last option.
    values: [u8; MOST_OPTIONS],
    table: PhantomData<T>,
}

/// A `--with` that cannot be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// There is no such option or no such value of it.
    Unknown {
        /// What was asked for.
        asked: String,
        /// What there is.
        known: String,
    },
    /// This machine cannot do it.
    NotHere {
        /// What was asked for.
        asked: String,
        /// What it can do.
        available: String,
    },
    /// This program was built without it.
    NotBuilt {
        /// What was asked for.
        asked: String,
        /// What it must be built with.
        feature: &'static str,
        /// What this one can do.
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

impl<T: Table> Default for Setting<T> {
    fn default() -> Self {
        Self::by_option(NamedOption::fastest)
    }
}

impl<T: Table> fmt::Debug for Setting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.to_map()).finish()
    }
}

impl<T: Table> Setting<T> {
    fn by_option(position: impl Fn(&NamedOption) -> usize) -> Self {
        const { assert!(T::OPTIONS.len() <= MOST_OPTIONS) };
        let position = |at| T::OPTIONS.get(at).map_or(0, |option| position(option) as u8);
        Self { values: std::array::from_fn(position), table: PhantomData }
    }

    /// All rungs of the ladder, the lowest first.
    pub fn rungs() -> impl Iterator<Item = (&'static str, Self)> {
        let lowest = Self::by_option(NamedOption::slowest);
        let climb = T::RUNGS.iter().scan(lowest, |setting, (rung, changes)| {
            changes.iter().for_each(|(option, value)| setting.choose(option, value));
            Some((*rung, *setting))
        });
        climb.chain([(HIGHEST_RUNG, Self::default())])
    }

    /// The setting of a named rung of the ladder.
    pub fn rung(name: &str) -> Option<Self> {
        Self::rungs().find(|(rung, _)| *rung == name).map(|(_, setting)| setting)
    }

    /// Sets one option from `name=value`.
    pub fn set(&mut self, assignment: &str) -> Result<(), OptionError> {
        let (name, value) = assignment.split_once('=').unwrap_or((assignment, ""));
        let asked = assignment.to_string();
        let Some(at) = position::<T>(name) else {
            let names: Vec<_> = T::OPTIONS.iter().map(|option| option.name).collect();
            return Err(OptionError::Unknown { asked, known: names.join(", ") });
        };
        let option = &T::OPTIONS[at];
        let Some(chosen) = option.position(value) else {
            let known = format!("{name}={}", option.values.join("|"));
            return Err(OptionError::Unknown { asked, known });
        };
        let available: Vec<_> = option.available().collect();
        if !available.contains(&value) {
            let available = format!("{name}={}", available.join("|"));
            return Err(match option.lacks() {
                Some(Feature { name, .. }) => {
                    OptionError::NotBuilt { asked, feature: name, available }
                }
                None => OptionError::NotHere { asked, available },
            });
        }
        self.values[at] = chosen as u8;
        Ok(())
    }

    /// This setting after each `name=value` of `assignments`.
    pub fn with(mut self, assignments: &[String]) -> Result<Self, OptionError> {
        assignments.iter().try_for_each(|assignment| self.set(assignment))?;
        Ok(self)
    }

    /// This setting with one option at each other value that this machine has: the rows of the
    /// ablation table.
    pub fn neighbours(&self) -> impl Iterator<Item = (&'static NamedOption, &'static str, Self)> {
        let this = *self;
        T::OPTIONS.iter().flat_map(move |option| {
            let others = option.available().filter(move |value| !this.is(option.name, value));
            others.map(move |value| {
                let mut other = this;
                other.choose(option.name, value);
                (option, value, other)
            })
        })
    }

    /// The value of an option; `None` if there is no such option.
    pub fn get(&self, name: &str) -> Option<&'static str> {
        let at = position::<T>(name)?;
        T::OPTIONS[at].values.get(usize::from(self.values[at])).copied()
    }

    /// Has the option `name` this value?
    pub fn is(&self, name: &str, value: &str) -> bool {
        self.get(name) == Some(value)
    }

    /// Names and values, for the run record.
    pub fn to_map(&self) -> BTreeMap<String, String> {
        let value = |(option, value): (&NamedOption, &u8)| {
            (option.name.to_string(), option.values[usize::from(*value)].to_string())
        };
        T::OPTIONS.iter().zip(&self.values).map(value).collect()
    }

    /// What the stages need to know, in plain fields.
    pub fn plan(&self) -> T::Plan {
        T::plan(self)
    }

    /// Sets an option to a value that stands in the table.
    fn choose(&mut self, name: &str, value: &str) {
        if let Some(at) = position::<T>(name)
            && let Some(chosen) = T::OPTIONS[at].position(value)
        {
            self.values[at] = chosen as u8;
        }
    }
}

/// The place of the option `name` in the table.
fn position<T: Table>(name: &str) -> Option<usize> {
    T::OPTIONS.iter().position(|option| option.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Toy;

    /// A machine that lacks the fastest width and the second, not the third.
    impl Table for Toy {
        const OPTIONS: &'static [NamedOption] = &[
            NamedOption::new("write", &["each", "batch"], "how it is written"),
            NamedOption::new("cache", &["0", "8M", "32M"], "how much is kept"),
            NamedOption::new("width", &["1", "2", "4", "8"], "how many at once")
                .only_where(|value| value == "4"),
            NamedOption::new("nowhere", &["scalar", "vector"], "what no machine has")
                .only_where(|_| false),
            NamedOption::new("place", &["beside", "inside"], "what this build has one of")
                .but_last_needs(Feature { name: "beside", is_built: false }),
        ];
        const RUNGS: &'static [Rung] = &[
            ("master", &[]),
            ("little", &[("cache", "8M")]),
            ("much", &[("cache", "32M"), ("write", "batch")]),
        ];
        type Plan = (bool, Option<&'static str>);

        fn plan(setting: &Setting<Self>) -> Self::Plan {
            (setting.is("write", "batch"), setting.get("cache"))
        }
    }

    fn values(setting: &Setting<Toy>) -> Vec<&'static str> {
        Toy::OPTIONS.iter().map(|option| setting.get(option.name).unwrap()).collect()
    }

    #[test]
    fn the_default_is_the_fastest_that_the_machine_has() {
        let default = Setting::<Toy>::default();
        assert_eq!(values(&default), ["batch", "32M", "4", "scalar", "inside"]);
        let map: Vec<_> = default.to_map().into_iter().collect();
        let recorded = [
            ("cache", "32M"),
            ("nowhere", "scalar"),
            ("place", "inside"),
            ("width", "4"),
            ("write", "batch"),
        ];
        assert_eq!(map, recorded.map(|(name, value)| (name.to_string(), value.to_string())));
        assert_eq!(format!("{default:?}").matches(r#""width": "4""#).count(), 1);
        assert_eq!(default.plan(), (true, Some("32M")));
    }

    #[test]
    fn each_rung_changes_the_one_below_it() {
        let rungs: Vec<_> = Setting::<Toy>::rungs().map(|(name, v)| (name, values(&v))).collect();
        let expected = [
            ("master", ["each", "0", "1", "scalar", "inside"]),
            ("little", ["each", "8M", "1", "scalar", "inside"]),
            ("much", ["batch", "32M", "1", "scalar", "inside"]),
            ("blockmill", ["batch", "32M", "4", "scalar", "inside"]),
        ];
        assert_eq!(rungs, expected.map(|(name, values)| (name, values.to_vec())));
        assert_eq!(Setting::<Toy>::rung("much").map(|much| values(&much)[0]), Some("batch"));
        assert_eq!(Setting::<Toy>::rung("blockmill"), Some(Setting::default()));
        assert_eq!(Setting::<Toy>::rung("more"), None);
    }

    #[test]
    fn every_value_that_the_machine_has_can_be_set_and_no_other() {
        for option in Toy::OPTIONS {
            let available: Vec<_> = option.available().collect();
            for value in option.values {
                let before = Setting::<Toy>::default();
                let mut setting = before;
                let outcome = setting.set(&format!("{}={value}", option.name));
                assert_eq!(outcome.is_ok(), available.contains(value), "{} {value}", option.name);
                let expected = if outcome.is_ok() { Some(*value) } else { before.get(option.name) };
                assert_eq!(setting.get(option.name), expected);
            }
        }
        let assignments = ["write=each".to_string(), "width=1".to_string()];
        let slow = Setting::<Toy>::default().with(&assignments).unwrap();
        assert_eq!(values(&slow), ["each", "32M", "1", "scalar", "inside"]);
        assert!(slow.with(&["width=2".to_string()]).is_err());
    }

    #[test]
    fn neighbours_differ_in_one_switch_and_can_run_here() {
        let master = Setting::<Toy>::rung("master").unwrap();
        let rows = |setting: Setting<Toy>| {
            let rows = setting.neighbours().map(|(option, value, other)| {
                let differ =
                    |option: &&NamedOption| other.get(option.name) != setting.get(option.name);
                let changed: Vec<_> = Toy::OPTIONS.iter().filter(differ).collect();
                assert!(changed.len() == 1 && changed[0].name == option.name);
                assert!(other.is(option.name, value));
                format!("{}={value}", option.name)
            });
            rows.collect::<Vec<_>>()
        };
        assert_eq!(rows(Setting::default()), ["write=each", "cache=0", "cache=8M", "width=1"]);
        assert_eq!(rows(master), ["write=batch", "cache=8M", "cache=32M", "width=4"]);
    }

    #[test]
    fn what_cannot_be_set_is_told_with_what_can() {
        let told = |assignment| Setting::<Toy>::default().set(assignment).unwrap_err().to_string();
        let names = "write, cache, width, nowhere, place";
        assert_eq!(told("speed=high"), format!("unknown option 'speed=high'; available: {names}"));
        assert_eq!(told(""), format!("unknown option ''; available: {names}"));
        assert_eq!(told("cache=9M"), "unknown option 'cache=9M'; available: cache=0|8M|32M");
        assert_eq!(told("cache"), "unknown option 'cache'; available: cache=0|8M|32M");
        assert_eq!(told("width=3"), "unknown option 'width=3'; available: width=1|2|4|8");
        let not_here = "this CPU cannot run option 'width=8'; available: width=1|4";
        assert_eq!(told("width=8"), not_here);
        let not_built = "option 'place=beside' needs a program that was built with \
             `--features beside`; available: place=inside";
        assert_eq!(told("place=beside"), not_built);
    }
}
