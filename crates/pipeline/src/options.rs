//! Options of an import, which users set with `--with NAME=VALUE`.
//!
//! - An option is an enum, declared with [`named_option!`](crate::named_option) next to the code
//!   that it controls.
//! - The struct of a chain's settings, declared with
//!   [`option_settings!`](crate::option_settings), lists the options of the chain.
//!
//! The parser, the run record, the ablation and `docs/reference/options.md` read the
//! [`Description`]s that the two macros generate. Engines read the typed fields.

mod set;

#[doc(hidden)]
pub use blockmill_verdict::Level;
pub use set::{OptionError, OptionSet};

/// What users and documents need to know about an option.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// Name on the command line.
    pub name: &'static str,
    /// Lines of documentation; the first paragraph says what the option chooses.
    pub documentation: &'static [&'static str],
    /// The lowest level at which the option has an effect.
    pub level: Level,
    /// The values, the plainest first. The default is the last one that is available.
    pub values: &'static [Value],
}

/// One value of an option.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Name on the command line.
    pub name: &'static str,
    /// Lines of documentation.
    pub documentation: &'static [&'static str],
    /// What the value needs.
    pub needs: Needs,
}

/// What a value of an option needs.
#[derive(Clone, Copy, Debug)]
pub enum Needs {
    /// The value is always available.
    Nothing,
    /// A CPU for which the function returns true.
    Cpu(fn() -> bool),
    /// A program that was built with a cargo feature.
    Feature {
        /// `--features NAME`.
        name: &'static str,
        /// Whether this program was built with it.
        is_built: bool,
    },
}

impl Value {
    /// Whether this program can use the value on this machine.
    #[must_use]
    pub fn is_available(&self) -> bool {
        match self.needs {
            Needs::Nothing => true,
            Needs::Cpu(has) => has(),
            Needs::Feature { is_built, .. } => is_built,
        }
    }
}

impl Description {
    /// The values that this program can use on this machine, with their positions.
    pub fn available(&self) -> impl DoubleEndedIterator<Item = (usize, &'static Value)> + use<> {
        self.values.iter().enumerate().filter(|(_, value)| value.is_available())
    }

    /// The position of the plainest value.
    #[must_use]
    pub fn plainest(&self) -> usize {
        self.available().next().map_or(0, |(position, _)| position)
    }

    /// The position of the default value.
    #[must_use]
    pub fn default(&self) -> usize {
        self.available().next_back().map_or(0, |(position, _)| position)
    }
}

/// An enum of the values of one option. [`named_option!`](crate::named_option) implements it.
pub trait NamedOption: Copy + Default + Eq + 'static {
    /// What users and documents need to know.
    const DESCRIPTION: Description;
    /// The values, in the order of the description.
    const VALUES: &'static [Self];

    /// The position of this value.
    fn position(self) -> usize;

    /// The values that this program can use on this machine.
    fn available() -> impl Iterator<Item = Self> {
        Self::DESCRIPTION.available().map(|(position, _)| Self::at(position))
    }

    /// Parses `NAME=VALUE`. The value may be one that this machine or this program lacks.
    ///
    /// # Errors
    /// [`OptionError::Unknown`] if it names another option, or no value of this one.
    fn parse(assignment: &str) -> Result<Self, OptionError> {
        set::value_of(&Self::DESCRIPTION, assignment).map(Self::at)
    }

    /// Fails unless this program can use this value on this machine.
    ///
    /// # Errors
    /// [`OptionError::NotHere`] or [`OptionError::NotBuilt`].
    fn check_available(self) -> Result<(), OptionError> {
        set::check_available(&Self::DESCRIPTION, self.position())
    }

    /// The value at `position`; the default if there is none.
    #[must_use]
    fn at(position: usize) -> Self {
        Self::VALUES.get(position).copied().unwrap_or_default()
    }
}

/// Declares an option: an enum, its name and the names of its values.
///
/// Doc comments become the reference page. The first paragraph of the enum's comment says what the
/// option chooses. `level LEVEL` names the lowest level at which the option has an effect;
/// `if NEEDS` after a value says what that value [`Needs`]. Values are listed plainest first: the
/// default is the last one that the machine and the build have. `Default` selects it, `name`
/// returns the name of a value, and `Display` writes `NAME=VALUE`.
///
/// ```
/// blockmill_pipeline::named_option! {
///     /// How records are written.
///     pub enum Writes: "writes", level Bodies {
///         /// One by one.
///         Each = "each",
///         /// Many together.
///         Batch = "batch",
///     }
/// }
/// assert_eq!(Writes::default(), Writes::Batch);
/// assert_eq!(Writes::Each.to_string(), "writes=each");
/// ```
#[macro_export]
macro_rules! named_option {
    (
        $(#[doc = $doc:literal])+
        $vis:vis enum $option:ident: $name:literal $(, level $level:ident)? {
            $(
                $(#[doc = $value_doc:literal])+
                $value:ident = $value_name:literal $(if $needs:expr)?
            ),+ $(,)?
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $option {
            $( $(#[doc = $value_doc])+ $value ),+
        }

        impl $option {
            /// Name of the value on the command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$value => $value_name ),+
                }
            }
        }

        impl $crate::options::NamedOption for $option {
            const DESCRIPTION: $crate::options::Description = $crate::options::Description {
                name: $name,
                documentation: &[$($doc),+],
                level: [$($crate::options::Level::$level,)? $crate::options::Level::Headers][0],
                values: &[$(
                    $crate::options::Value {
                        name: $value_name,
                        documentation: &[$($value_doc),+],
                        needs: [$($needs,)? $crate::options::Needs::Nothing][0],
                    }
                ),+],
            };
            const VALUES: &'static [Self] = &[$( Self::$value ),+];

            fn position(self) -> usize {
                self as usize
            }
        }

        impl Default for $option {
            fn default() -> Self {
                let default = <Self as $crate::options::NamedOption>::DESCRIPTION.default();
                [$( Self::$value ),+][default]
            }
        }

        impl std::fmt::Display for $option {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($name, "={}"), self.name())
            }
        }
    };
}

/// Declares the settings of a chain: a struct with one field for each option, in the order in
/// which messages, records and documents list them.
#[macro_export]
macro_rules! option_settings {
    (
        $(#[$attribute:meta])*
        $vis:vis struct $settings:ident {
            $( $field:ident: $option:ty ),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $vis struct $settings {
            $( #[doc = concat!("Value of [`", stringify!($option), "`].")] pub $field: $option ),+
        }

        impl $crate::options::OptionSet for $settings {
            const OPTIONS: &'static [$crate::options::Description] =
                &[$( <$option as $crate::options::NamedOption>::DESCRIPTION ),+];

            fn positions(&self) -> Vec<usize> {
                vec![$( $crate::options::NamedOption::position(self.$field) ),+]
            }

            fn at(positions: &[usize]) -> Self {
                let mut positions = positions.iter().copied();
                Self {
                    $( $field: positions
                        .next()
                        .map($crate::options::NamedOption::at)
                        .unwrap_or_default() ),+
                }
            }
        }
    };
}

#[cfg(test)]
mod tests;
