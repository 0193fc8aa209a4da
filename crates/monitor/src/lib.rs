//! Shows a run while it is in progress: a page that refreshes itself, and metrics for Prometheus.
//!
//! The caller passes a [`Live`] view of the run and starts a [`Server`]. The server only reads, on
//! a thread of its own. It has at most 32 short connections at a time, reads no bodies, refuses
//! requests of other web sites, and stops when it is dropped.

mod connections;
mod eta;
mod execution;
mod guard;
mod metrics;
mod page;
mod status;

use anyhow::{Context, Result};
use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse};
use axum::routing::get;
use blockmill_pipeline::live::Live;
use blockmill_pipeline::record::{Program, RunRecord};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::oneshot;

use connections::Bounded;
pub use execution::{Execution, Recent, Times};
use status::Watcher;
pub use status::{Following, Status};

/// How often the server takes note of how far the run has come.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Description of a run for the page.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Label of the run: `import` or the label that the user gave.
    pub label: String,
    /// Name of the network.
    pub chain: String,
    /// Verification level.
    pub level: String,
    /// The files.
    pub paths: Vec<String>,
    /// Bytes of the files.
    pub total_bytes: u64,
    /// The program that runs.
    pub program: Program,
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    /// What is shown of a run in progress.
    watcher: Option<Arc<Mutex<Watcher>>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens at `address` and answers questions about the run that `live` looks into.
    ///
    /// # Errors
    /// When nobody can listen there.
    pub fn start(address: SocketAddr, about: About, live: Live) -> Result<Self> {
        let watcher = Arc::new(Mutex::new(Watcher::new(about, live)));
        let lock = |watcher: &Arc<Mutex<Watcher>>| {
            watcher.lock().unwrap_or_else(PoisonError::into_inner).status()
        };
        let looking = watcher.clone();
        let look = move || looking.lock().unwrap_or_else(PoisonError::into_inner).look();
        let shown = watcher.clone();
        let page = move || page::html(&lock(&shown));
        let described = watcher.clone();
        let mut server = Self::listen(address, look, Shown::new(page, move || lock(&watcher)))?;
        server.watcher = Some(described);
        Ok(server)
    }

    /// Changes the description of the run in progress.
    pub fn describe(&self, about: About) {
        let Some(watcher) = &self.watcher else { return };
        watcher.lock().unwrap_or_else(PoisonError::into_inner).describe(about);
    }

    /// Listens at `address` and shows `page`, which is about the run that `record` is of.
    ///
    /// # Errors
    /// When nobody can listen there.
    pub fn of_record(address: SocketAddr, page: String, record: &RunRecord) -> Result<Self> {
        let status = Status::of_record(record);
        Self::listen(address, || (), Shown::new(move || page.clone(), move || status.clone()))
    }

    fn listen(address: SocketAddr, look: impl Fn() + Send + 'static, shown: Shown) -> Result<Self> {
        let wrong = || format!("cannot listen at {address}");
        let listener = TcpListener::bind(address).with_context(wrong)?;
        listener.set_nonblocking(true).with_context(wrong)?;
        let address = listener.local_addr().with_context(wrong)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .with_context(wrong)?;
        let (stop, stopped) = oneshot::channel();
        let serve = async move {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
            let look = async move {
                loop {
                    look();
                    tokio::time::sleep(LOOK_EVERY).await;
                }
            };
            let answer = axum::serve(Bounded::new(listener), routes(shown)).into_future();
            tokio::select! {
                () = look => {}
                _ = answer => {}
                _ = stopped => {}
            }
        };
        let thread = thread::Builder::new().name("serve".into());
        let thread = thread.spawn(move || runtime.block_on(serve)).with_context(wrong)?;
        Ok(Self { address, watcher: None, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // an error means that it has already ended
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The source of the status, which is computed for each request.
#[derive(Clone)]
struct Shown {
    page: Arc<dyn Fn() -> String + Send + Sync>,
    status: Arc<dyn Fn() -> Status + Send + Sync>,
}

impl Shown {
    fn new(
        page: impl Fn() -> String + Send + Sync + 'static,
        status: impl Fn() -> Status + Send + Sync + 'static,
    ) -> Self {
        Self { page: Arc::new(page), status: Arc::new(status) }
    }
}

/// The paths that the server answers.
fn routes(shown: Shown) -> Router {
    let Shown { page, status } = shown;
    let (json, metrics) = (status.clone(), status);
    Router::new()
        .route("/", get(async move || Html(page())))
        .route("/status.json", get(async move || axum::Json(json())))
        .route("/metrics", get(async move || answer_metrics(&metrics())))
        .layer(axum::middleware::from_fn(guard::guard))
}

fn answer_metrics(status: &Status) -> impl IntoResponse + use<> {
    match metrics::text(status) {
        Ok(text) => (StatusCode::OK, [(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text),
        Err(error) => {
            let (plain, text) = ("text/plain", format!("{error}\n"));
            (StatusCode::INTERNAL_SERVER_ERROR, [(header::CONTENT_TYPE, plain)], text)
        }
    }
}
