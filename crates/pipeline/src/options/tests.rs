//! The parser, defaults and ablation on options of every kind.

use super::{Description, Needs, OptionSet};

crate::named_option! {
    /// How it is written.
    enum Write: "write" {
        /// One by one.
        Each = "each",
        /// Many together.
        Batch = "batch",
    }
}

crate::named_option! {
    /// How much is kept.
    ///
    /// More is faster.
    enum Cache: "cache", level Execution {
        /// Nothing.
        None = "0",
        /// 8 MiB.
        Small = "8M",
        /// 32 MiB.
        Large = "32M",
    }
}

crate::named_option! {
    /// How many at once: this machine lacks the fastest width and the second, not the third.
    enum Width: "width" {
        /// One.
        One = "1",
        /// Two.
        Two = "2" if Needs::Cpu(|| false),
        /// Four.
        Four = "4" if Needs::Cpu(|| true),
        /// Eight.
        Eight = "8" if Needs::Cpu(|| false),
    }
}

crate::named_option! {
    /// An option with a value that no machine has.
    enum Nowhere: "nowhere" {
        /// One by one.
        Scalar = "scalar",
        /// In lanes.
        Vector = "vector" if Needs::Cpu(|| false),
    }
}

crate::named_option! {
    /// An option of which this build has one value.
    enum Place: "place" {
        /// In another library.
        Outside = "outside" if Needs::Feature { name: "outside", is_built: false },
        /// In this one.
        Inside = "inside",
    }
}

crate::option_settings! {
    /// Settings of a chain.
    struct Settings {
        write: Write,
        cache: Cache,
        width: Width,
        nowhere: Nowhere,
        place: Place,
    }
}

fn values(settings: &Settings) -> [&'static str; 5] {
    let Settings { write, cache, width, nowhere, place } = settings;
    [write.name(), cache.name(), width.name(), nowhere.name(), place.name()]
}

#[test]
fn the_default_is_the_last_value_that_the_machine_has_and_the_plainest_the_first() {
    let default = Settings::default();
    assert_eq!(values(&default), ["batch", "32M", "4", "scalar", "inside"]);
    assert_eq!(values(&Settings::plainest()), ["each", "0", "1", "scalar", "inside"]);
    let map: Vec<_> = default.to_map().into_iter().collect();
    let recorded = [
        ("cache", "32M"),
        ("nowhere", "scalar"),
        ("place", "inside"),
        ("width", "4"),
        ("write", "batch"),
    ];
    assert_eq!(map, recorded.map(|(name, value)| (name.to_string(), value.to_string())));
    assert_eq!(default.width.to_string(), "width=4");
}

#[test]
fn descriptions_have_the_names_and_the_documentation_of_the_enum() {
    let names = Settings::OPTIONS.iter().map(|option| option.name).collect::<Vec<_>>();
    assert_eq!(names, ["write", "cache", "width", "nowhere", "place"]);
    let cache = &Settings::OPTIONS[1];
    assert_eq!(cache.documentation, [" How much is kept.", "", " More is faster."]);
    assert_eq!(cache.values[1].documentation, [" 8 MiB."]);
    let levels: Vec<_> = Settings::OPTIONS.iter().map(|option| option.level.name()).collect();
    assert_eq!(levels[..2], ["headers", "execution"]);
}

#[test]
fn every_value_that_the_machine_has_can_be_set_and_no_other() {
    for (at, option) in Settings::OPTIONS.iter().enumerate() {
        for value in option.values {
            let before = Settings::default();
            let mut settings = before;
            let outcome = settings.set(&format!("{}={}", option.name, value.name));
            assert_eq!(outcome.is_ok(), value.is_available(), "{} {}", option.name, value.name);
            let expected = if outcome.is_ok() { value.name } else { values(&before)[at] };
            assert_eq!(values(&settings)[at], expected);
        }
    }
    let slow = Settings::default().with(&["write=each", "width=1"]).unwrap();
    assert_eq!(values(&slow), ["each", "32M", "1", "scalar", "inside"]);
    assert!(slow.with(&["width=2"]).is_err());
}

#[test]
fn neighbours_differ_in_one_option_and_can_run_here() {
    let rows = |settings: Settings| {
        let rows = settings.neighbours().map(|(option, value, other): (&Description, _, _)| {
            let (own, other) = (values(&settings), values(&other));
            let differ = |at: &usize| other[*at] != own[*at];
            let changed: Vec<_> = (0..own.len()).filter(differ).collect();
            assert!(changed.len() == 1 && Settings::OPTIONS[changed[0]].name == option.name);
            assert_eq!(other[changed[0]], value.name);
            format!("{}={}", option.name, value.name)
        });
        rows.collect::<Vec<_>>()
    };
    assert_eq!(rows(Settings::default()), ["write=each", "cache=0", "cache=8M", "width=1"]);
    assert_eq!(rows(Settings::plainest()), ["write=batch", "cache=8M", "cache=32M", "width=4"]);
}

#[test]
fn a_refusal_names_what_is_available() {
    let refusal = |assignment| Settings::default().set(assignment).unwrap_err().to_string();
    let names = "write, cache, width, nowhere, place";
    assert_eq!(refusal("speed=high"), format!("unknown option 'speed=high'; available: {names}"));
    assert_eq!(refusal(""), format!("unknown option ''; available: {names}"));
    assert_eq!(refusal("cache=9M"), "unknown option 'cache=9M'; available: cache=0|8M|32M");
    assert_eq!(refusal("cache"), "unknown option 'cache'; available: cache=0|8M|32M");
    assert_eq!(refusal("width=3"), "unknown option 'width=3'; available: width=1|2|4|8");
    let not_here = "this CPU cannot run option 'width=8'; available: width=1|4";
    assert_eq!(refusal("width=8"), not_here);
    let not_built = "option 'place=outside' needs a program that was built with \
         `--features outside`; available: place=inside";
    assert_eq!(refusal("place=outside"), not_built);
}
