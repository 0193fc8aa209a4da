//! Who takes part in each experiment, and who is compared with whom.

use super::*;

const TEXT: &str = r#"
    title = "t"
    about = "a"
    measures = "import"
    compare = ["wall_s"]
    budget_s = 1
    ablation = ["write", "width"]
    peers = ["geth"]
    [settings]
    threads = 2
    [sweep]
    threads = [1, 2, 4]
    [[ladder]]
    name = "master"
    [[ladder]]
    name = "cache"
    with = ["cache=8M"]
    [[ladder]]
    name = "wide"
    with = ["cache=32M", "width=8"]
"#;

fn option(name: &str, values: &[&str]) -> OptionValues {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    let default = values.last().unwrap().clone();
    let said = values.iter().map(|value| format!("does {value}")).collect();
    OptionValues { name: name.into(), values, default, about: String::new(), said }
}

/// The machine has no width of 8.
fn options() -> Vec<OptionValues> {
    let cache = option("cache", &["0", "8M", "32M"]);
    vec![option("write", &["each", "batch"]), cache, option("width", &["1", "4"])]
}

/// Label, what it is run with, and the label that it is compared with.
fn rows(experiment: &Experiment) -> Vec<(String, String, String)> {
    let definition = Definition::parse("d", TEXT).unwrap();
    let all = variants(&definition, experiment, &options()).unwrap();
    let row = |c: &Variant| (c.label.clone(), c.with.join(" "), all[c.against].label.clone());
    all.iter().skip(2).map(row).collect()
}

fn texts(rows: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    rows.iter().map(|row| (row.0.into(), row.1.into(), row.2.into())).collect()
}

#[test]
fn each_step_is_compared_with_the_one_before() {
    let expected = texts(&[
        ("master", "write=each cache=0 width=1", "master"),
        ("cache", "write=each width=1 cache=8M", "master"),
        ("wide", "write=each", "cache"),
    ]);
    assert_eq!(rows(&Experiment::Ladder), expected);
}

#[test]
fn a_ladder_may_begin_at_the_default() {
    let text = TEXT.replace("budget_s = 1", "budget_s = 1\nladder_from_default = true");
    let text = text.replace("name = \"master\"", "name = \"master\"\nwith = [\"width=1\"]");
    let definition = Definition::parse("d", &text).unwrap();
    let all = variants(&definition, &Experiment::Ladder, &options()).unwrap();
    let with: Vec<_> = all[2..].iter().map(|one| one.with.join(" ")).collect();
    assert_eq!(with, ["width=1", "width=1 cache=8M", ""], "no width of 8 here: the default");
}

#[test]
fn an_ablation_turns_each_back_and_each_on() {
    let expected = texts(&[
        ("write=each", "write=each", "blockmill"),
        ("width=1", "width=1", "blockmill"),
        ("all at the plainest value", "write=each width=1", "blockmill"),
        ("only write=batch", "width=1", "all at the plainest value"),
        ("only width=4", "write=each", "all at the plainest value"),
    ]);
    assert_eq!(rows(&Experiment::Ablation), expected);
}

#[test]
fn a_sweep_leaves_out_the_value_of_the_baseline_and_more_threads_than_cores() {
    let labels = |text: &str, setting, cores| {
        let mut all = vec![];
        sweep(&Definition::parse("d", text).unwrap(), setting, cores, &mut all).unwrap();
        all.into_iter().map(|one| one.label).collect::<Vec<_>>()
    };
    assert_eq!(labels(TEXT, "threads", 4), ["threads 1", "threads 4"]);
    assert_eq!(labels(TEXT, "threads", 2), ["threads 1"]);
    assert_eq!(labels(&TEXT.replace("threads", "jobs"), "jobs", 2), ["jobs 1", "jobs 4"]);
}

#[test]
fn the_first_revision_is_the_baseline() {
    let definition = Definition::parse("d", TEXT).unwrap();
    let experiment = Experiment::Revisions(vec!["v1".into(), "HEAD".into(), THIS.into()]);
    let all = variants(&definition, &experiment, &options()).unwrap();
    let labels: Vec<_> = all.iter().map(|c| (c.label.as_str(), c.revision.clone())).collect();
    let v1 = Some("v1".to_owned());
    let head = ("HEAD", Some("HEAD".into()));
    let expected = [("v1", v1.clone()), ("v1 again", v1), head, ("this program", None)];
    assert_eq!(labels, expected);
    assert_eq!(rows(&Experiment::Peers), texts(&[("geth", "", "blockmill")]));
    assert!(rows(&Experiment::Alone).is_empty());
}

#[test]
fn in_a_sweep_peers_are_compared_with_ours_of_the_same_value() {
    let text = TEXT.replace("threads", "jobs");
    let definition = Definition::parse("d", &text).unwrap();
    let experiment = Experiment::Sweep { setting: "jobs".into(), peers: true };
    assert_eq!(experiment.flags(), ["--sweep", "jobs", "--peers"]);
    let all = variants(&definition, &experiment, &options()).unwrap();
    let row = |one: &Variant| {
        let jobs = one.settings.get("jobs").map_or("2", String::as_str).to_owned();
        (one.label.clone(), jobs, all[one.against].label.clone(), one.peer.is_some())
    };
    let row_of = |label: &str, jobs: &str, against: &str, is_peer| {
        (label.to_owned(), jobs.to_owned(), against.to_owned(), is_peer)
    };
    let expected = [
        row_of("jobs 1", "1", "blockmill", false),
        row_of("jobs 4", "4", "blockmill", false),
        row_of("geth", "2", "blockmill", true),
        row_of("geth, jobs 1", "1", "jobs 1", true),
        row_of("geth, jobs 4", "4", "jobs 4", true),
    ];
    assert_eq!(all[2..].iter().map(row).collect::<Vec<_>>(), expected);
}

#[test]
fn what_is_not_there_is_named() {
    let error = |text: &str, experiment: &Experiment| {
        let definition = Definition::parse("d", text).unwrap();
        variants(&definition, experiment, &options()).unwrap_err().to_string()
    };
    let sweep = Experiment::Sweep { setting: "headers".into(), peers: false };
    assert_eq!(error(TEXT, &sweep), "d: no sweep of 'headers'; available: threads");
    let text = TEXT.replace("[\"geth\"]", "[]").replace("\"write\", ", "\"wrote\", ");
    let has = "d has no peers; it has --ladder, --ablate, --sweep threads";
    assert_eq!(error(&text, &Experiment::Peers), has);
    let least = "title='t'\nabout='a'\nmeasures='rlp'\ncompare=['time_ns']\nbudget_s=1\n\
                 [settings]\nx=1";
    for (experiment, name) in [(sweep, "sweep"), (Experiment::Ladder, "ladder")] {
        let expected = format!("d has no {name}; it has no other experiment");
        assert_eq!(error(least, &experiment), expected);
    }
    let expected = "unknown option 'wrote'; available: write, cache, width";
    assert_eq!(error(&text, &Experiment::Ablation), expected);
    let text = text.replace("cache=8M", "cash=8M");
    assert!(error(&text, &Experiment::Ladder).starts_with("unknown option 'cash=8M'; available:"));
}

#[test]
fn some_variants_are_measured_with_those_that_they_are_compared_with() {
    let definition = Definition::parse("d", TEXT).unwrap();
    let rows = |experiment: &Experiment, names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let all = variants(&definition, experiment, &options()).unwrap();
        let all = only(all, &names)?;
        let row = |one: &Variant| format!("{} against {}", one.label, all[one.against].label);
        anyhow::Ok(all.iter().skip(2).map(row).collect::<Vec<_>>().join(", "))
    };
    let ladder = rows(&Experiment::Ladder, &["wide"]).unwrap();
    assert_eq!(ladder, "cache against cache, wide against cache");
    let width = rows(&Experiment::Ablation, &["width"]).unwrap();
    let plainest = "all at the plainest value";
    let expected = format!(
        "width=1 against blockmill, {plainest} against blockmill, only width=4 against {plainest}"
    );
    assert_eq!(width, expected);
    assert_eq!(rows(&Experiment::Peers, &["geth"]).unwrap(), "geth against blockmill");
    let error = rows(&Experiment::Peers, &["reth"]).unwrap_err().to_string();
    assert_eq!(error, "--only reth: no such variant; available: geth");
    let error = rows(&Experiment::Alone, &["reth"]).unwrap_err().to_string();
    assert!(error.starts_with("--only reth: there are no variants to choose from"), "{error}");
}
