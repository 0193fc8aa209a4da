//! A run that is looked at over HTTP, its metrics, and the dashboard that shows them.

use blockmill_monitor::{About, Server};
use blockmill_pipeline::live::Live;
use blockmill_pipeline::{Flow, Stages};
use blockmill_verdict::{Counts, Execution, Progress};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let request = format!("{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// A run of some stages over 100 items of 10 blocks, watched.
fn watched() -> (Server, Live) {
    let live = Live::default();
    let about = About {
        label: "import".into(),
        chain: "mainnet".into(),
        level: "headers".into(),
        total_bytes: 200_000,
        ..About::default()
    };
    let server = Server::start("127.0.0.1:0".parse().unwrap(), about, live.clone()).unwrap();
    let mut next = 0u64;
    let read = |item: &mut u64| {
        next += 1;
        *item = next;
        Ok::<_, ()>(next <= 100)
    };
    let reported = live.clone();
    let stages = Stages::read("read", read)
        .parallel("check", |_| std::thread::sleep(Duration::from_micros(200)))
        .serial("write", move |item| {
            let (number, bytes) = (*item * 10, *item * 1000);
            let counts = Counts { gas: number * 21_000, ..Counts::default() };
            let mut executed = Execution { counts, ..Execution::default() };
            let [ms, none] = [2, 0].map(Duration::from_millis);
            executed.took(number, [ms, none, none, none]);
            reported.progress(&Progress {
                number,
                blocks: number,
                bytes,
                committed: Some(number),
                execution: Some(executed),
                ..Progress::default()
            });
            Ok(Flow::Continue)
        });
    stages.watched(&live).run(vec![0; 6], 2).outcome.unwrap();
    (server, live)
}

#[test]
fn a_run_is_shown_as_a_page_as_json_and_as_metrics() {
    let (server, _live) = watched();
    let page = ask(server.address(), "GET /");
    assert!(page.starts_with("HTTP/1.1 200 OK") && page.contains("<title>import: blockmill"));
    let status = ask(server.address(), "GET /status.json");
    let json: serde_json::Value =
        serde_json::from_str(status.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!((&json["number"], &json["committed"]), (&1000.into(), &1000.into()));
    assert_eq!((&json["bytes"], &json["total_bytes"]), (&100_000.into(), &200_000.into()));
    let executed = &json["execution"];
    assert_eq!((&executed["gas"], &executed["slowest"]), (&21_000_000.into(), &1000.into()));
    let stages: Vec<_> = json["stages"].as_array().unwrap().iter().collect();
    let names: Vec<_> = stages.iter().map(|stage| stage["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["read", "check", "write"]);
    assert!(stages[1]["busy_s"].as_f64().unwrap() > 0.02, "{}", stages[1]);
    let metrics = ask(server.address(), "GET /metrics");
    assert!(metrics.contains("application/openmetrics-text"));
    assert!(metrics.contains("blockmill_blocks_total 1000"), "{metrics}");
    let block = "blockmill_block_execution_seconds_bucket{le=\"0.003\"} 1";
    assert!(metrics.contains(block), "{metrics}");
    assert!(metrics.contains("blockmill_recent_block_seconds{share=\"0.99\"} 0.002"), "{metrics}");
}

#[test]
fn it_only_reads_and_refuses_everything_else() {
    let (server, live) = watched();
    assert!(ask(server.address(), "GET /etc/passwd").starts_with("HTTP/1.1 404"));
    assert!(ask(server.address(), "POST /").starts_with("HTTP/1.1 405"));
    assert!(ask(server.address(), "DELETE /metrics").starts_with("HTTP/1.1 405"));
    assert_eq!(live.look().progress.number, 1000);
    let address = server.address();
    drop(server);
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[test]
fn nobody_listens_where_somebody_else_does() {
    let (server, live) = watched();
    let error = Server::start(server.address(), About::default(), live).unwrap_err();
    assert!(format!("{error:#}").starts_with("cannot listen at 127.0.0.1:"), "{error:#}");
}

#[test]
fn a_page_of_another_site_gets_no_answer_and_every_answer_bounds_the_browser() {
    let (server, _live) = watched();
    let of = |host: &str| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let request =
            format!("GET /status.json HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.to_lowercase()
    };
    for (host, status) in [("evil.example:9333", "403"), ("127.0.0.1:9333", "200")] {
        let answer = of(host);
        assert!(answer.starts_with(&format!("http/1.1 {status} ")), "{host}: {answer}");
        assert!(answer.contains("\r\ncontent-security-policy: default-src 'none';"), "{answer}");
        assert!(answer.contains("\r\nx-content-type-options: nosniff\r\n"), "{answer}");
        assert_eq!(answer.contains("\"label\""), status == "200", "{answer}");
    }
}

/// Descriptors of this process.
#[cfg(target_os = "linux")]
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[cfg(target_os = "linux")]
#[test]
fn idle_connections_are_bounded_in_number_and_time() {
    let (server, _live) = watched();
    let before = descriptors();
    let idle: Vec<_> = (0..200).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    std::thread::sleep(Duration::from_millis(500));
    // other tests of this process have some, too
    let taken = descriptors() - before - idle.len();
    assert!(taken < 100, "{taken} descriptors of the server");
    drop(idle);
    // half a request is not kept either
    let mut slow: Vec<_> = (0..40).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    for stream in &mut slow {
        stream.write_all(b"GET / HTTP/1.1\r\nHost:").unwrap();
    }
    let start = std::time::Instant::now();
    let answer = ask(server.address(), "GET /status.json");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

/// Words of the language of queries.
const NO_METRICS: [&str; 3] = ["histogram_quantile", "group_left", "__rate_interval"];

/// Names of metrics in a query of Prometheus: words that no label, function or number is.
fn metrics_in(query: &str) -> Vec<String> {
    let outside = |text: &str| {
        let mut depth = 0;
        let keep = |c: &char| {
            depth += i32::from(*c == '{') - i32::from(*c == '}');
            depth == 0 && *c != '}'
        };
        text.chars().filter(keep).collect::<String>()
    };
    let words = outside(query);
    let words = words.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words
        .filter(|word| word.contains('_') && !NO_METRICS.contains(word))
        .map(String::from)
        .collect()
}

const DASHBOARD: &str = "../../packaging/monitoring/grafana/dashboards/blockmill.json";

#[test]
fn every_query_of_the_dashboard_asks_for_metrics_that_exist() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(DASHBOARD);
    let dashboard: serde_json::Value =
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let (server, _live) = watched();
    let text = ask(server.address(), "GET /metrics");
    let sample = |line: &str| line.split(['{', ' ']).next().unwrap_or_default().to_owned();
    let known: BTreeSet<String> =
        text.lines().filter(|line| !line.starts_with('#')).map(sample).collect();
    let mut asked = 0;
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            for name in metrics_in(target["expr"].as_str().unwrap()) {
                let is_there = known.contains(&name) || OF_STORES.contains(&&*name);
                assert!(is_there, "{}: no {name} in {known:?}", panel["title"]);
                asked += 1;
            }
        }
    }
    assert!(asked > 15, "{asked}");
}

/// Metrics that there are only when something is known: a block that is committed, an end.
const OF_STORES: [&str; 5] = [
    "blockmill_committed_block_number",
    "blockmill_eta_seconds",
    "blockmill_lag_seconds",
    "blockmill_pending_blocks",
    "blockmill_rounds_total",
];
