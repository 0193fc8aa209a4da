//! A server of HTTP/1.1 that serves a folder with ranges and ETags, and fails as a test wants it.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::UNIX_EPOCH;

/// A request, as the server understands it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// GET or HEAD, or another one.
    pub method: String,
    /// The path, without the first slash.
    pub path: String,
    /// The bytes that are asked for; `None` for all.
    pub range: Option<Range<u64>>,
    /// The ETag that the file must have.
    pub if_match: Option<String>,
    /// How many requests came before it.
    pub number: usize,
}

/// How a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// As it should be.
    Good,
    /// As if the file had the ETag that it must have.
    Careless,
    /// The connection is closed without an answer.
    Drop,
    /// With this status, and no body.
    Status(u16),
    /// The connection is closed after so many bytes of the body.
    Cut(u64),
    /// All of the file, although a range was asked for.
    Whole,
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

type Answers = dyn Fn(&Request) -> Answer + Send + Sync;

impl Server {
    /// Serves `folder`; `answers` says how each request is answered.
    #[must_use]
    pub fn start(
        folder: &Path,
        answers: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(vec![]));
        let (folder, own, answers) = (folder.to_path_buf(), requests.clone(), Arc::new(answers));
        // ends with the process of the tests
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let connection = Connection {
                    folder: folder.clone(),
                    requests: own.clone(),
                    answers: answers.clone(),
                };
                // the client may close its side at any time
                thread::spawn(move || _ = connection.serve(&stream));
            }
        });
        Self { address, requests }
    }

    /// Serves `folder` without any fault.
    #[must_use]
    pub fn good(folder: &Path) -> Self {
        Self::start(folder, |_| Answer::Good)
    }

    /// The URL of a path.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// All requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Bytes of all ranges of files that were asked for so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let gets = self.requests().into_iter().filter(|request| request.method == "GET");
        gets.filter_map(|request| request.range).map(|range| range.end - range.start).sum()
    }
}

struct Connection {
    folder: PathBuf,
    requests: Arc<Mutex<Vec<Request>>>,
    answers: Arc<Answers>,
}

impl Connection {
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut input = BufReader::new(stream.try_clone()?);
        while let Some(mut request) = read(&mut input)? {
            {
                let mut all = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
                request.number = all.len();
                all.push(request.clone());
            }
            match (self.answers)(&request) {
                Answer::Drop => break,
                Answer::Status(status) => head(stream, status, "", 0)?,
                answer => {
                    if !self.answer(stream, &request, answer)? {
                        break;
                    }
                }
            }
        }
        stream.shutdown(std::net::Shutdown::Both)
    }

    /// Answers a request; returns false if the connection ends with it.
    fn answer(&self, stream: &TcpStream, request: &Request, answer: Answer) -> io::Result<bool> {
        let is_known = ["GET", "HEAD"].contains(&&*request.method);
        let path = self.folder.join(&request.path);
        let Some((mut file, length, tag)) = opened(&path).filter(|_| is_known) else {
            return head(stream, if is_known { 404 } else { 405 }, "", 0).map(|()| true);
        };
        let is_other = request.if_match.as_ref().is_some_and(|expected| *expected != tag);
        if is_other && answer != Answer::Careless {
            return head(stream, 412, "", 0).map(|()| true);
        }
        let mut more = format!("ETag: {tag}\r\nAccept-Ranges: bytes\r\n");
        let wanted = request.range.clone().filter(|_| answer != Answer::Whole);
        let range = wanted.clone().unwrap_or(0..length);
        if range.start > range.end || range.end > length {
            return head(stream, 416, &format!("Content-Range: bytes */{length}\r\n"), 0)
                .map(|()| true);
        }
        if wanted.is_some() {
            let last = range.end - 1;
            let _ = write!(more, "Content-Range: bytes {}-{last}/{length}\r\n", range.start);
        }
        let count = range.end - range.start;
        head(stream, if wanted.is_some() { 206 } else { 200 }, &more, count)?;
        if request.method == "HEAD" {
            return Ok(true);
        }
        let sent = if let Answer::Cut(most) = answer { count.min(most) } else { count };
        file.seek(SeekFrom::Start(range.start))?;
        io::copy(&mut file.take(sent), &mut &*stream)?;
        Ok(sent == count)
    }
}

/// A file with its length and its ETag, which changes whenever it is written.
fn opened(path: &Path) -> Option<(File, u64, String)> {
    let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let time = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    Some((File::open(path).ok()?, found.len(), format!("\"{time:x}-{:x}\"", found.len())))
}

fn head(mut stream: &TcpStream, status: u16, more: &str, length: u64) -> io::Result<()> {
    let text = format!("HTTP/1.1 {status} -\r\nContent-Length: {length}\r\n{more}\r\n");
    stream.write_all(text.as_bytes())
}

/// Reads the next request; `None` at the end of the connection.
fn read(input: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let method = words.next().unwrap_or_default();
    let path = words.next().unwrap_or_default().trim_start_matches('/').replace("%20", " ");
    let (mut range, mut if_match, mut length) = (None, None, 0);
    loop {
        let mut line = String::new();
        input.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match &*name.to_ascii_lowercase() {
            "range" => range = parse(value),
            "if-match" => if_match = Some(value.to_owned()),
            "content-length" => length = value.parse().unwrap_or(0),
            _ => {}
        }
    }
    io::copy(&mut input.take(length), &mut io::sink())?;
    Ok(Some(Request { method, path, range, if_match, number: 0 }))
}

/// `bytes=0-9`: both are in the range.
fn parse(value: &str) -> Option<Range<u64>> {
    let (first, last) = value.strip_prefix("bytes=")?.split_once('-')?;
    Some(first.parse().ok()?..last.parse::<u64>().ok()? + 1)
}
