//! `--serve` and `serve`: a run over HTTP, while it goes on and afterwards; and Prometheus itself.

use crate::program::{Scratch, blockmill, run, succeed};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

fn ask(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a server");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// A process that says on standard error where it listens, and is ended when this is dropped.
struct Serving {
    child: Child,
    address: String,
}

/// Asks until the answer has a word in it: a server may answer before its run has begun.
fn ask_until(address: &str, path: &str, word: &str) -> String {
    let start = Instant::now();
    loop {
        let answer = ask(address, path);
        if answer.contains(word) {
            return answer;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{path}: {answer}");
        thread::sleep(Duration::from_millis(20));
    }
}

impl Serving {
    fn start(command: &mut Command) -> Self {
        Self::of(command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it"))
    }

    /// Waits for the address.
    fn of(mut child: Child) -> Self {
        let mut lines = BufReader::new(child.stderr.take().expect("standard error")).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| {
                let after = line.split("http://").nth(1)?.to_owned();
                Some(after.split(',').next()?.to_owned())
            })
            .expect("an address");
        // or the process ends when the pipe is full
        thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A chain that takes a second or more to verify.
fn chain(scratch: &Scratch) -> std::path::PathBuf {
    let path = scratch.path("chain.headers");
    let words = "generate ethereum --headers 200000 --format headers --out";
    succeed(blockmill(words).arg(&path));
    path
}

/// An import of what it reads from a pipe: it is at work as long as the test gives it no more.
struct Import {
    command: Command,
    bytes: Vec<u8>,
}

impl Import {
    fn new(scratch: &Scratch) -> Self {
        let mut command = blockmill("import - --seal off --threads 1 --serve 127.0.0.1:0");
        command.arg("--data").arg(scratch.path("store"));
        Self { command, bytes: fs::read(chain(scratch)).expect("the chain") }
    }

    /// Starts it, does something while it waits for the second half, and lets it end.
    fn run(mut self, meanwhile: impl FnOnce(&str)) {
        let command = self.command.stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.stdout(Stdio::null()).spawn().expect("it");
        let mut input = child.stdin.take().expect("a pipe");
        let second = self.bytes.split_off(self.bytes.len() / 2);
        let (go, wait) = mpsc::channel::<()>();
        // a pipe is full soon, and the program reads before it says where it listens
        let writer = thread::spawn(move || {
            input.write_all(&self.bytes)?;
            // at the word, or at the end of the test
            let _ = wait.recv();
            input.write_all(&second)
        });
        let mut running = Serving::of(child);
        meanwhile(&running.address);
        go.send(()).expect("a writer");
        assert!(running.child.wait().expect("an end").success());
        writer.join().expect("a writer").expect("an import that reads everything");
    }
}

#[test]
fn a_running_import_is_shown_and_a_finished_one_from_its_record() {
    let scratch = Scratch::new("serving");
    Import::new(&scratch).run(|address| {
        let status = ask(address, "/status.json");
        assert!(
            status.contains("\"label\":\"import\"") && status.contains("\"level\":\"headers\"")
        );
        assert!(ask(address, "/").contains("<title>import: blockmill"));
        ask_until(address, "/metrics", "blockmill_stage_busy_seconds_total");
    });

    let records = fs::read_dir(scratch.path("store").join("records")).expect("records");
    let record = records.map(|entry| entry.expect("an entry").path()).next().expect("a record");
    let mut command = blockmill("serve --address 127.0.0.1:0");
    let serving = Serving::start(command.arg(record));
    let metrics = ask(&serving.address, "/metrics");
    assert!(metrics.contains("blockmill_block_number 200000"), "{metrics}");
    assert!(ask(&serving.address, "/").contains("200,000"));
}

/// A run with few descriptors, whose server idle clients try to fill.
#[cfg(target_os = "linux")]
#[test]
fn idle_connections_do_not_end_an_import() {
    let scratch = Scratch::new("serving-idle");
    let mut import = Import::new(&scratch);
    let mut command = Command::new("sh");
    let program = import.command.get_program();
    command.arg("-c").arg("ulimit -n 160; exec \"$0\" \"$@\"").arg(program);
    command.args(import.command.get_args());
    import.command = command;
    let mut idle = vec![];
    import.run(|address| {
        let address = address.parse().expect("an address");
        // the queue of the system may be full: those that come later would only wait
        let connect = |_| TcpStream::connect_timeout(&address, Duration::from_millis(20)).ok();
        idle.extend((0..300).filter_map(connect));
        assert!(idle.len() > 100, "{}", idle.len());
    });
    drop(idle);
}

#[blockmill_testkit::needs(prometheus)]
#[test]
fn prometheus_scrapes_a_run() {
    let scratch = Scratch::new("serving-prometheus");
    let record = scratch.path("record.json");
    let words = "verify --seal off --record";
    succeed(blockmill(words).arg(&record).arg(chain(&scratch)));
    let mut command = blockmill("serve --address 127.0.0.1:0");
    let serving = Serving::start(command.arg(&record));
    let scraping = scraping(&scratch, &serving);
    let answer = |query| ask(&scraping.address, query);
    wait_for(&scraping, "blockmill_block_number", "\"200000\"");
    let types = answer("/api/v1/metadata?metric=blockmill_blocks");
    assert!(types.contains("\"counter\""), "{types}");
    // every alert is a query that Prometheus understands
    let start = Instant::now();
    let rules = loop {
        let rules = answer("/api/v1/rules");
        if !rules.contains("\"health\":\"unknown\"") && rules.contains("\"health\"") {
            break rules;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{rules}");
        thread::sleep(Duration::from_millis(300));
    };
    let alerts = fs::read_to_string(ALERTS).expect("the alerts").matches("- alert:").count();
    assert_eq!(rules.matches("\"health\":\"ok\"").count(), alerts, "{rules}");
}

const ALERTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/monitoring/alerts.yml");

/// Prometheus, which scrapes who serves.
fn scraping(scratch: &Scratch, serving: &Serving) -> Serving {
    let config = scratch.path("prometheus.yml");
    let text = format!(
        "global:\n  evaluation_interval: 1s\nrule_files: ['{ALERTS}']\n\
         scrape_configs:\n- job_name: blockmill\n  scrape_interval: 1s\n  static_configs:\n  - \
         targets: ['{}']\n",
        serving.address
    );
    fs::write(&config, text).expect("a configuration");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("a port").to_string();
    drop(listener);
    let mut command = Command::new(blockmill_testkit::path_of("prometheus"));
    command.arg(format!("--config.file={}", config.display()));
    command.arg(format!("--storage.tsdb.path={}", scratch.path("tsdb").display()));
    command.arg(format!("--web.listen-address={address}"));
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("prometheus");
    Serving { child, address }
}

/// What Prometheus answers to a query.
fn query(scraping: &Serving, query: &str) -> String {
    let escaped = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => char::from(byte).to_string(),
        other => format!("%{other:02x}"),
    };
    let query: String = query.bytes().map(escaped).collect();
    match TcpStream::connect(&scraping.address) {
        Ok(_) => ask(&scraping.address, &format!("/api/v1/query?query={query}")),
        Err(_) => String::new(),
    }
}

/// Asks again and again until the answer has `word` in it.
fn wait_for(scraping: &Serving, asked: &str, word: &str) {
    let start = Instant::now();
    loop {
        let answer = query(scraping, asked);
        if answer.contains(word) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{asked}: {answer}");
        thread::sleep(Duration::from_millis(300));
    }
}

#[blockmill_testkit::needs(prometheus)]
#[test]
fn every_panel_of_the_dashboard_has_something_to_show_of_executed_blocks() {
    let scratch = Scratch::new("serving-dashboard");
    let (chain, record) = (scratch.path("chain"), scratch.path("record.json"));
    let words = "generate ethereum --work mixed --blocks 40 --block-transactions 8 --accounts 20";
    succeed(blockmill(words).arg("--out").arg(&chain));
    let mut command = blockmill("import --record");
    command.arg(&record).arg("--chain").arg(chain.join("genesis.json"));
    succeed(command.arg("--data").arg(scratch.path("store")).arg(chain.join("chain.rlp")));
    let mut command = blockmill("serve --address 127.0.0.1:0");
    let serving = Serving::start(command.arg(&record));
    let scraping = scraping(&scratch, &serving);
    // a rate takes two scrapes
    wait_for(&scraping, "rate(blockmill_gas_total[30s])", "\"value\"");
    let dashboard = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../packaging/monitoring/grafana/dashboards/blockmill.json"
    );
    let dashboard = fs::read(dashboard).expect("the dashboard");
    let dashboard: Value = serde_json::from_slice(&dashboard).expect("the dashboard");
    let mut asked = 0;
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let expression = target["expr"].as_str().expect("a query");
            let asks = expression.replace("$instance", ".*").replace("$__rate_interval", "30s");
            let answer = query(&scraping, &asks);
            // nobody knows when a run ends that has ended, and it follows nothing
            let of_others = ["eta_seconds", "lag_seconds", "pending_blocks", "rounds_total"];
            let has_none = of_others.iter().any(|name| expression.contains(name));
            assert!(answer.contains("\"success\""), "{}: {answer}", panel["title"]);
            assert_eq!(answer.contains("\"value\""), !has_none, "{}: {answer}", panel["title"]);
            asked += 1;
        }
    }
    assert!(asked > 30, "{asked}");
    // with the genesis block
    let count = query(&scraping, "blockmill_block_phase_seconds_count{phase=\"root\"}");
    assert!(count.contains("\"41\""), "{count}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_tells_which_functions_took_its_time() {
    let scratch = Scratch::new("profile");
    let (record, page) = (scratch.path("run.json"), scratch.path("page"));
    let mut command = blockmill("verify --seal off --profile --record");
    succeed(command.arg(&record).arg(chain(&scratch)));
    let text = fs::read(&record).expect("a record");
    let record_of: Value = serde_json::from_slice(&text).expect("a record");
    let profile = &record_of["profile"];
    let samples = |stack: &Value| stack["samples"].as_u64().expect("samples");
    let stacks = profile["stacks"].as_array().expect("stacks");
    assert!(samples(profile) > 0, "{profile}");
    let reported = stacks.iter().map(samples).sum::<u64>();
    // stacks that were found once or twice may be left out
    assert!(
        reported <= samples(profile) && reported > samples(profile) / 2,
        "{reported} of {profile}"
    );
    let names = profile["functions"].as_array().expect("functions").iter();
    let ours = names.filter_map(Value::as_str).filter(|name| name.contains("ethereum::"));
    assert!(ours.count() > 0, "{profile}");

    succeed(blockmill("report --out").arg(&page).arg(&record));
    let html = fs::read_to_string(page.join("index.html")).expect("a page");
    assert!(html.contains("<h2>Functions</h2>"), "{html}");
    let refused = run(blockmill("verify --profile").arg(scratch.path("chain.headers")));
    assert_ne!(refused.code, Some(0));
    assert!(refused.stderr.contains("--record"), "{}", refused.stderr);
}
