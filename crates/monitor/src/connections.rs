//! Connections of a limited number and a limited time: clients can neither exhaust the file
//! descriptors of the run, nor keep others out for long.

use axum::serve::Listener;
use std::future::Future;
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

/// Open connections at a time; others wait in the queue of the operating system.
const CONNECTIONS: usize = 32;
/// How long a connection may neither send nor take anything.
const IDLE: Duration = Duration::from_secs(5);
/// How long a connection may last, busy or not.
const LIFETIME: Duration = Duration::from_secs(60);
/// How long to wait after the system refused a connection, such as for want of descriptors.
const PAUSE: Duration = Duration::from_millis(200);

/// A listener with the bounds of this module.
pub struct Bounded {
    listener: TcpListener,
    free: Arc<Semaphore>,
}

impl Bounded {
    pub fn new(listener: TcpListener) -> Self {
        Self { listener, free: Arc::new(Semaphore::new(CONNECTIONS)) }
    }
}

impl Listener for Bounded {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            // an error means that the semaphore is closed, which never happens
            let permit = self.free.clone().acquire_owned().await.ok();
            match self.listener.accept().await {
                Ok((stream, address)) => return (Connection::new(stream, permit), address),
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    fn local_addr(&self) -> Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that fails when its time is over.
pub struct Connection {
    stream: TcpStream,
    end: Instant,
    timer: Pin<Box<Sleep>>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Connection {
    fn new(stream: TcpStream, permit: Option<OwnedSemaphorePermit>) -> Self {
        let end = Instant::now() + LIFETIME;
        let timer = Box::pin(sleep_until(Instant::now() + IDLE));
        Self { stream, end, timer, _permit: permit }
    }

    /// The result of the stream, unless it waits and the time is over.
    fn timed<T>(&mut self, cx: &mut Context<'_>, result: Poll<Result<T>>) -> Poll<Result<T>> {
        match result {
            Poll::Ready(done) => {
                let next = (Instant::now() + IDLE).min(self.end);
                self.timer.as_mut().reset(next);
                Poll::Ready(done)
            }
            Poll::Pending => {
                let over = |()| Err(Error::from(ErrorKind::TimedOut));
                self.timer.as_mut().poll(cx).map(over)
            }
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let result = Pin::new(&mut self.stream).poll_read(cx, into);
        self.timed(cx, result)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.timed(cx, result)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
