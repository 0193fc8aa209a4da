//! Definitions as texts, and those of this repository.

use super::*;
use blockmill_pipeline::options::OptionSet;

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
fn the_text_has_the_values_that_are_measured() {
    let text = HEADERS.replace("What the rules of headers cost.", "{headers} headers, {level}.");
    let mut headers = Definition::parse("headers", &text).unwrap();
    headers.set("headers=1000").unwrap();
    assert_eq!(headers.about(), "1,000 headers, headers.");
    assert!(headers.reference().is_some(), "the same value");
    headers.set("headers=7").unwrap();
    assert_eq!((&*headers.about(), headers.reference()), ("7 headers, headers.", None));
    let sweep = Experiment::Sweep { setting: "headers".into(), peers: false };
    let swept = "7, 10 and 100 headers, headers. Measured with headers 7, 10 and 100.";
    assert_eq!(headers.about_case(&sweep, &headers.settings), swept);
    let case = [("headers".to_owned(), "1000000".to_owned()), ("level".into(), "x".into())];
    assert_eq!(headers.about_case(&Experiment::Alone, &case.into()), "1,000,000 headers, x.");
}

#[test]
fn a_text_is_left_out_where_a_setting_of_which_it_does_not_speak_was_changed() {
    let file = HEADERS.replace("[settings]", "[settings]\nthreads = 2");
    let file =
        file.replace("What the rules of headers cost.", "{headers} headers in {headers*headers}.");
    let mut headers = Definition::parse("headers", &file).unwrap();
    headers.set("headers=7").unwrap();
    headers.set("threads=4").unwrap();
    assert_eq!(headers.about(), "7 headers in 49. With threads=4.");
    headers.set("level=bodies").unwrap();
    let other = "headers, with other settings than its own: headers=7, level=bodies, threads=4.";
    assert_eq!(headers.about(), other);
    headers.set("level=headers").unwrap();
    assert_eq!(headers.about(), "7 headers in 49. With threads=4.", "changed back");
    // what only the user can give is no change
    let asks = HEADERS.replace("[settings]", "asks = [\"paths\"]\n[settings]\npaths = \"\"");
    let mut given = Definition::parse("headers", &asks).unwrap();
    given.set("paths=/x").unwrap();
    assert_eq!(given.about(), "What the rules of headers cost.");
    for (about, why) in [
        ("{header}", "about: no setting 'header'"),
        ("{headers*level}", "about: level is no number to multiply"),
        ("{headers", "about: expected }, found the end"),
    ] {
        let text = HEADERS.replace("What the rules of headers cost.", about);
        assert_eq!(Definition::parse("headers", &text).unwrap_err().to_string(), why);
    }
}

/// What may have digits in a text, or words for numbers, although no setting has them: names, and
/// what the workload itself fixes.
const FIXED: [&str; 8] = [
    "EIP-7928",
    "era1",
    "Keccak-256",
    "pull request 16981",
    "seal=1/100",
    "a hundred slots each",
    "500 changes",
    "four of five",
];

#[test]
fn no_text_of_this_repository_has_a_number_of_its_own() {
    let words = ["hundred", "thousand", "million", "billion"];
    for definition in Definition::all(tempfile::tempdir().unwrap().path()).unwrap() {
        let fixed =
            FIXED.iter().fold(definition.about.clone(), |text, fixed| text.replace(fixed, ""));
        let own: String = fixed
            .split('{')
            .map(|part| part.split_once('}').map_or(part, |(_, rest)| rest))
            .collect();
        let found = own.contains(|c: char| c.is_ascii_digit())
            || words.iter().any(|word| own.contains(word));
        assert!(!found, "{}: a number in {own}", definition.name);
        for setting in definition.sweep.keys().filter(|name| *name != "threads") {
            let named = definition.about.contains(&format!("{{{setting}"))
                || definition.about.contains(&format!("{setting}}}"));
            assert!(
                named,
                "{}: {setting} is swept, and its text does not name it",
                definition.name
            );
        }
        for (_, case) in definition.cases() {
            for experiment in Experiment::all_of(&definition) {
                let text = definition.about_case(&experiment, &case);
                assert!(!text.contains(['{', '}']) && !text.contains("  "), "{text}");
            }
        }
    }
}

#[test]
fn those_of_the_program_are_sound_and_a_folder_adds_to_them() {
    let folder = tempfile::tempdir().unwrap();
    let built_in = Definition::all(folder.path()).unwrap();
    assert_eq!(built_in.len(), BUILT_IN.len());
    for definition in &built_in {
        let workload = crate::workloads::by_name(&definition.measures).unwrap();
        for (_, settings) in definition.cases() {
            let options = workload.options(&settings).unwrap();
            for experiment in Experiment::all_of(definition) {
                crate::experiment::variants(definition, &experiment, &options).unwrap();
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
    let names = |rlp: &Definition| rlp.cases().into_iter().map(|case| case.0).collect::<Vec<_>>();
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
    let feature = wrong("budget_s = 60", "budget_s = 60\nfeatures = ['speed']");
    assert!(feature.contains("features: expected one that a build can have, found speed"));
    assert!(wrong("who =", "whom =").contains("unknown field `whom`"));
    assert!(wrong("headers = 1000", "headers = [1]").contains("headers: expected a text or"));
}

/// Options of a chain that no ablation turns and no step of a ladder sets.
fn options_without_a_row<S: OptionSet>(chain: &str, all: &[Definition]) -> Vec<&'static str> {
    let of_chain = |one: &&Definition| {
        one.measures == "import" && one.settings.get("chain").is_some_and(|name| name == chain)
    };
    let mut rows: Vec<&str> = vec![];
    for definition in all.iter().filter(of_chain) {
        rows.extend(definition.ablation.iter().map(String::as_str));
        let steps = definition.ladder.iter().flat_map(|step| &step.with);
        rows.extend(steps.filter_map(|with| Some(with.split_once('=')?.0)));
    }
    let names = S::OPTIONS.iter().map(|option| option.name);
    names.filter(|name| !rows.contains(name)).collect()
}

#[test]
fn each_option_of_an_import_has_a_row_in_an_ablation_or_a_ladder() {
    let all = Definition::all(tempfile::tempdir().unwrap().path()).unwrap();
    let none: Vec<&str> = vec![];
    let ethereum = options_without_a_row::<blockmill_ethereum::settings::Settings>;
    assert_eq!(ethereum("ethereum", &all), none);
    let bitcoin = options_without_a_row::<blockmill_bitcoin::settings::Settings>;
    assert_eq!(bitcoin("bitcoin", &all), none);
    assert_eq!(options_without_a_row::<blockmill_neo::settings::Settings>("neo", &all), none);
}
