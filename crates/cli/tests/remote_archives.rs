//! Archives at URLs: the verdict, the exit code and the document are those of the same files on
//! this machine, whatever the server does, except where it fails for good.

use crate::program::{Ended, Scratch, blockmill, copy, fixtures, run, succeed};
use blockmill_testkit::server::{Answer, Request, Server};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const ERA: &str = "mainnet-00000-5ec1ffb8.era1";

/// A folder with two era1 files and a list of them.
fn archive(name: &str) -> (Scratch, PathBuf) {
    let scratch = Scratch::new(name);
    let folder = scratch.path("era1");
    fs::create_dir_all(&folder).unwrap();
    let mut list = String::new();
    for name in [ERA, "mainnet-00001-a5364e9a.era1"] {
        copy(&fixtures().join("era1").join(name), &folder.join(name));
        list += &format!("{}  {name}\n", "ab".repeat(32));
    }
    fs::write(folder.join("list"), list).unwrap();
    (scratch, folder)
}

fn verify(server: &Server) -> Command {
    let mut command = blockmill("verify --level headers --seal 1/1000 --seal-seed 1 --json");
    command.arg(server.url("")).arg("--manifest").arg(server.url("list"));
    command
}

/// What a run found out about the chain.
fn verdict(document: &Value) -> [&Value; 4] {
    let record = &document["result"];
    [
        &document["status"],
        &record["data"]["blocks"],
        &record["result"]["tip_hash"],
        &document["shortfalls"],
    ]
}

fn is_range(request: &Request) -> bool {
    request.method == "GET" && request.path.ends_with(".era1")
}

fn document(ended: &Ended) -> Value {
    let text = &ended.stdout;
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}{}", ended.stderr))
}

/// The whole document of a command that must succeed.
fn succeeded(command: &mut Command) -> Value {
    let ended = run(command);
    assert_eq!(ended.code, Some(0), "{command:?} {}{}", ended.stdout, ended.stderr);
    document(&ended)
}

#[cfg_attr(not(feature = "remote"), ignore = "needs the feature `remote`")]
#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_folder_of_a_server_is_verified_as_one_of_this_machine() {
    let (_scratch, folder) = archive("remote-same");
    let mut here = blockmill("verify --level headers --seal 1/1000 --seal-seed 1 --json");
    let expected = succeeded(here.arg(&folder));
    let faults = [Answer::Good, Answer::Drop, Answer::Status(500), Answer::Cut(70_000)];
    for fault in faults {
        let server = Server::start(&folder, move |request| {
            if is_range(request) && request.number.is_multiple_of(3) { fault } else { Answer::Good }
        });
        let found = succeeded(&mut verify(&server));
        assert_eq!(verdict(&found), verdict(&expected), "{fault:?}");
        assert!(server.requests().len() > 4);
    }
}

#[cfg_attr(not(feature = "remote"), ignore = "needs the feature `remote`")]
#[blockmill_testkit::needs(fixtures)]
#[test]
fn every_verb_that_reads_archives_reads_urls() {
    let (scratch, folder) = archive("remote-verbs");
    let server = Server::good(&folder);
    let (url, list) = (server.url(""), server.url("list"));
    let with = |words: &str, path: &str| {
        let mut command = blockmill(words);
        command.arg(path).arg("--json");
        if path != url {
            return command;
        }
        command.args(["--manifest", &list]);
        command
    };
    let here = folder.display().to_string();
    for words in ["inspect", "inspect --deep"] {
        let found = succeeded(&mut with(words, &url));
        let expected = succeeded(&mut with(words, &here));
        let archives = |found: &Value| -> Vec<(Value, Value)> {
            let files = found["result"]["files"].as_array().unwrap();
            // there is the list, too
            let archives = files.iter().filter(|file| file["blocks"] != 0);
            archives.map(|file| (file["blocks"].clone(), file["first"].clone())).collect()
        };
        assert_eq!(archives(&found), archives(&expected));
        assert_eq!(found["result"]["files"][0]["path"], server.url(ERA));
    }
    let until = "--until 3000 --seal off";
    let data = scratch.path("data");
    let import = format!("import --level bodies {until} --data {}", data.display());
    let found = succeeded(&mut with(&import, &url));
    assert_eq!(found["result"]["data"]["blocks"], 3001);
    let tables = scratch.path("tables");
    let export = format!("export --level bodies {until} --to {}", tables.display());
    succeeded(&mut with(&export, &url));
    let shard = succeeded(&mut with("verify --shard --seal off", &server.url(ERA)));
    assert_eq!(shard["status"], "verified", "{shard}");
}

#[cfg_attr(not(feature = "remote"), ignore = "needs the feature `remote`")]
#[test]
fn bitcoin_blocks_and_headers_of_a_server_are_read_by_every_verb() {
    let scratch = Scratch::new("remote-bitcoin");
    let (blocks, headers) = (scratch.path("blocks"), scratch.path("headers"));
    succeed(blockmill("generate bitcoin --inputs 4 --blocks 20 --out").arg(&blocks));
    let here = blocks.join("blk00000.dat");
    succeed(blockmill("convert --to headers --out").arg(&headers).arg(&here));
    fs::copy(&headers, blocks.join("headers")).unwrap();
    let server = Server::good(&blocks);
    let there = server.url("blk00000.dat");
    for level in ["", " --level headers", " --level bodies"] {
        let words = format!("verify --json{level}");
        let expected = succeeded(blockmill(&words).arg(&here));
        let found = succeeded(blockmill(&words).arg(&there));
        assert_eq!(verdict(&found), verdict(&expected), "{words}");
    }
    let found = succeeded(blockmill("verify --json").arg(server.url("headers")));
    let expected = succeeded(blockmill("verify --json").arg(&headers));
    assert_eq!(verdict(&found), verdict(&expected));
    let store = scratch.path("store");
    let import = || {
        let mut command = blockmill("import --json --data");
        command.arg(&store).arg(&there);
        command
    };
    let expected = succeeded(blockmill("verify --json").arg(&here));
    assert_eq!(verdict(&succeeded(&mut import())), verdict(&expected));
    let again = succeeded(&mut import());
    assert_eq!(again["result"]["data"]["blocks"], 0, "{again}");
    // the store names the URL, and has the same chain while the server is there
    let inspected = succeeded(blockmill("inspect --json").arg(&store));
    let files = &inspected["result"]["block_files"];
    assert_eq!((&files["paths"][0], &files["remote"]), (&there.clone().into(), &1.into()));
    let found = succeeded(blockmill("verify --json").arg(&store));
    assert_eq!(verdict(&found), verdict(&expected));
    let mut export = blockmill("export --json --tables blocks --to");
    succeeded(export.arg(scratch.path("tables")).arg(&there));
}

#[cfg_attr(not(feature = "remote"), ignore = "needs the feature `remote`")]
#[blockmill_testkit::needs(fixtures)]
#[test]
fn what_a_server_refuses_for_good_has_the_exit_code_of_its_kind() {
    let (_scratch, folder) = archive("remote-refused");
    let server = Server::good(&folder);
    let absent = run(blockmill("verify --json").arg(server.url("none.era1")));
    assert_eq!(absent.code, Some(2), "{}", absent.stdout);
    assert!(absent.stdout.contains("no such file"), "{}", absent.stdout);
    let no_list = run(blockmill("verify --json").arg(server.url("")));
    assert_eq!(no_list.code, Some(2), "{}", no_list.stdout);
    assert!(no_list.stdout.contains("--manifest"), "{}", no_list.stdout);
    for (fault, words) in [
        (Answer::Status(403), "refuses access"),
        (Answer::Cut(100), "expected"),
        (Answer::Whole, "does not serve ranges"),
    ] {
        let server = Server::start(
            &folder,
            move |request| {
                if is_range(request) { fault } else { Answer::Good }
            },
        );
        let ended = run(&mut verify(&server));
        assert_eq!(ended.code, Some(5), "{fault:?}: {}", ended.stdout);
        let message = document(&ended)["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(words) && message.contains(ERA), "{message}");
    }
}

#[cfg_attr(not(feature = "remote"), ignore = "needs the feature `remote`")]
#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_file_that_changes_during_a_run_ends_it() {
    let (_scratch, folder) = archive("remote-changed");
    let path = folder.join(ERA);
    let server = Server::start(&folder, move |request| {
        if is_range(request) && request.range.clone().is_some_and(|range| range.start > 100_000) {
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, bytes).unwrap();
        }
        Answer::Good
    });
    let ended = run(&mut verify(&server));
    assert_eq!(ended.code, Some(5), "{}", ended.stdout);
    let message = document(&ended)["error"]["message"].as_str().unwrap().to_owned();
    for word in [ERA, "changed on the server", "expected ETag", "found ETag"] {
        assert!(message.contains(word), "{message}");
    }
}

#[cfg_attr(not(feature = "remote"), ignore = "needs the feature `remote`")]
#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_killed_run_is_resumed_from_its_cache_folder() {
    let (scratch, folder) = archive("remote-killed");
    let cache = scratch.path("cache");
    // slow, so that there is a middle to be killed in
    let served = std::sync::Arc::new(AtomicU64::new(0));
    let count = served.clone();
    let server = Server::start(&folder, move |request| {
        if is_range(request) {
            count.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(100));
        }
        Answer::Good
    });
    let with_cache = || {
        let mut command = verify(&server);
        command.arg("--cache-dir").arg(&cache);
        command
    };
    let mut first = with_cache().stdout(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while bytes_there(&cache) < 1 << 20 {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is cached");
        thread::sleep(Duration::from_millis(5));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let (there, before) = (bytes_there(&cache), bytes_of_archives(&server));
    let all: u64 =
        fs::read_dir(&folder).unwrap().map(|it| it.unwrap().metadata().unwrap().len()).sum();
    let found = succeeded(&mut with_cache());
    assert_eq!(
        (&found["status"], &found["result"]["data"]["blocks"]),
        (&"verified".into(), &16_384.into())
    );
    let fetched = bytes_of_archives(&server) - before;
    assert!(there + fetched <= all, "{there} were there, {fetched} fetched of {all}");
    let again = succeeded(&mut with_cache());
    assert_eq!(verdict(&again), verdict(&found));
    assert_eq!(bytes_of_archives(&server), before + fetched, "nothing is fetched twice");
}

/// Bytes of archives that a server was asked for so far.
fn bytes_of_archives(server: &Server) -> u64 {
    let requests = server.requests().into_iter().filter(is_range);
    requests.filter_map(|request| request.range).map(|range| range.end - range.start).sum()
}

/// moto, until it is dropped.
struct Moto {
    child: Child,
    port: u16,
}

impl Moto {
    fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(blockmill_testkit::path_of("moto"));
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        let moto = Self {
            child: command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap(),
            port,
        };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "moto does not listen");
            thread::sleep(Duration::from_millis(50));
        }
        moto
    }

    /// Creates a bucket or an object.
    fn put(&self, path: &str, body: &[u8]) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let head = format!(
            "PUT /{path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            self.port,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    }

    fn env(&self, command: &mut Command) {
        command
            .env("AWS_ENDPOINT", format!("http://127.0.0.1:{}", self.port))
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_ACCESS_KEY_ID", "key")
            .env("AWS_SECRET_ACCESS_KEY", "secret");
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg_attr(not(feature = "remote"), ignore = "needs the feature `remote`")]
#[blockmill_testkit::needs(fixtures, moto)]
#[test]
fn a_bucket_is_listed_and_verified() {
    let (_scratch, folder) = archive("remote-s3");
    let moto = Moto::start();
    moto.put("bucket", &[]);
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.ends_with(".era1") {
            moto.put(&format!("bucket/deep/era1/{name}"), &fs::read(&path).unwrap());
        }
    }
    moto.put("bucket/deep/other/readme.txt", b"another folder");
    let words = "verify --level headers --seal 1/1000 --seal-seed 1 --json";
    let expected = succeeded(blockmill(words).arg(&folder));
    // with a slash at the end and without one, and one file
    for (url, blocks) in
        [("deep/era1/", 16_384), ("deep/era1", 16_384), (&*format!("deep/era1/{ERA}"), 8_192)]
    {
        let mut command = blockmill(words);
        moto.env(command.arg(format!("s3://bucket/{url}")));
        let found = succeeded(&mut command);
        assert_eq!(found["result"]["data"]["blocks"], blocks, "{url}");
        if blocks == 16_384 {
            assert_eq!(verdict(&found), verdict(&expected));
        }
    }
    let mut absent = blockmill("verify s3://bucket/none/");
    moto.env(&mut absent);
    let ended = run(&mut absent);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("s3://bucket/none: no such file"), "{}", ended.stderr);
}

/// Bytes of the ranges that lists in a cache folder have.
fn bytes_there(folder: &Path) -> u64 {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            bytes += bytes_there(&path);
        } else if path.extension().is_some_and(|ending| ending == "ranges") {
            let text = fs::read_to_string(&path).unwrap();
            let length = |line: &str| {
                let (start, end) = line.split_once(' ')?;
                Some(end.parse::<u64>().ok()? - start.parse::<u64>().ok()?)
            };
            bytes += text.lines().filter_map(length).sum::<u64>();
        }
    }
    bytes
}

#[cfg_attr(feature = "remote", ignore = "needs a program without the feature `remote`")]
#[test]
fn a_program_without_the_feature_says_how_to_get_it() {
    let ended = run(&mut blockmill("verify http://127.0.0.1:9/era1/"));
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("--features remote"), "{}", ended.stderr);
}
