//! Standard input and output as a transport that answers lines that are not JSON.
//!
//! The library ignores such lines; the protocol has an error for them, so that a client with a
//! fault learns of it instead of waiting.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rmcp::RoleServer;
use rmcp::model::ErrorData;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use serde::de::IgnoredAny;
use tokio::io::{AsyncBufRead as _, AsyncRead, AsyncWrite, BufReader, ReadBuf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// The longest line that is checked; longer ones are left to the library, which has a limit.
const LONGEST: usize = 16 << 20;

/// A transport over a reader and a writer of lines.
pub(super) struct CheckedTransport<R: AsyncRead + Unpin, W: AsyncWrite> {
    inner: AsyncRwTransport<RoleServer, LineFilter<R>, W>,
    /// One message for each line that is not JSON.
    unparsable: UnboundedReceiver<()>,
}

impl<R, W> CheckedTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(super) fn new(read: R, write: W) -> Self {
        let (sender, unparsable) = unbounded_channel();
        let filter = LineFilter {
            read: BufReader::new(read),
            line: Vec::new(),
            checked: Vec::new(),
            sent: 0,
            unparsable: sender,
        };
        Self {
            inner: AsyncRwTransport::new_server(filter, write),
            unparsable,
        }
    }

    /// Answers a line that is not JSON. It is sent by a task of its own, because the future of
    /// [`Transport::receive`] may be dropped at any point, and the answer with it.
    fn refuse(&mut self) -> JoinHandle<io::Result<()>> {
        let error = ErrorData::parse_error("the line is not JSON", None);
        let answer = TxJsonRpcMessage::<RoleServer>::error(error, None);
        tokio::spawn(self.inner.send(answer))
    }
}

impl<R, W> Transport<RoleServer> for CheckedTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let received = tokio::select! {
                biased;
                Some(()) = self.unparsable.recv() => None,
                received = self.inner.receive() => Some(received),
            };
            match received {
                None => drop(self.refuse()),
                Some(Some(message)) => return Some(message),
                Some(None) => {
                    while self.unparsable.try_recv().is_ok() {
                        self.refuse().await.ok()?.ok()?;
                    }
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// Passes on the lines that are JSON, and reports the others.
struct LineFilter<R> {
    read: BufReader<R>,
    /// The line that is being read.
    line: Vec<u8>,
    /// A checked line, of which `sent` bytes were passed on.
    checked: Vec<u8>,
    sent: usize,
    unparsable: UnboundedSender<()>,
}

impl<R: AsyncRead + Unpin> LineFilter<R> {
    /// Passes the finished line on, or drops it.
    fn finish(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
        let is_blank = text.iter().all(u8::is_ascii_whitespace);
        if is_blank || serde_json::from_slice::<IgnoredAny>(text).is_ok() {
            (self.checked, self.sent) = (line, 0);
        } else {
            // The receiver is part of the same transport, and lives as long.
            self.unparsable.send(()).unwrap_or_default();
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for LineFilter<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            let left = &this.checked[this.sent..];
            if !left.is_empty() {
                let count = left.len().min(buffer.remaining());
                buffer.put_slice(&left[..count]);
                this.sent += count;
                return Poll::Ready(Ok(()));
            }
            let available = ready!(Pin::new(&mut this.read).poll_fill_buf(context))?;
            if available.is_empty() {
                // An unfinished line is no message.
                return Poll::Ready(Ok(()));
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let count = end.map_or(available.len(), |end| end + 1);
            this.line.extend_from_slice(&available[..count]);
            Pin::new(&mut this.read).consume(count);
            if this.line.len() > LONGEST {
                (this.checked, this.sent) = (std::mem::take(&mut this.line), 0);
            } else if end.is_some() {
                this.finish();
            }
        }
    }
}
