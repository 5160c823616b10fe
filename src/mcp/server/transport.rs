//! Standard input and output as a transport that answers lines that cannot be read.
//!
//! The library ignores lines that are not JSON, and those whose texts are half characters, are
//! nested too deep or are too long. The protocol has an error for them, so that a client with a
//! fault learns of it instead of waiting.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rmcp::RoleServer;
use rmcp::model::{ErrorData, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncBufRead as _, AsyncRead, AsyncWrite, BufReader, ReadBuf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// The longest line that is passed on, in bytes.
const LONGEST: usize = 16 << 20;

/// How much of a longer line is kept, to find out which request it is.
const KEPT: usize = 4 * LONGEST;

/// A transport over a reader and a writer of lines.
pub(super) struct CheckedTransport<R: AsyncRead + Unpin, W: AsyncWrite> {
    inner: AsyncRwTransport<RoleServer, LineFilter<R>, W>,
    /// The lines that cannot be read.
    unparsable: UnboundedReceiver<Unparsable>,
}

/// A line that cannot be read.
#[derive(Debug)]
struct Unparsable {
    /// The request, if it could be found.
    id: Option<RequestId>,
    reason: String,
}

impl Unparsable {
    fn new(line: &[u8], reason: String) -> Self {
        /// What a request has at least; the rest is skipped, whatever it is.
        #[derive(Deserialize)]
        struct Request {
            id: RequestId,
        }
        let request: Option<Request> = serde_json::from_slice(line).ok();
        Self {
            id: request.map(|request| request.id),
            reason,
        }
    }
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
            length: 0,
            checked: Vec::new(),
            sent: 0,
            unparsable: sender,
        };
        Self {
            inner: AsyncRwTransport::new_server(filter, write),
            unparsable,
        }
    }

    /// Answers a line that cannot be read. It is sent by a task of its own, because the future of
    /// [`Transport::receive`] may be dropped at any point, and the answer with it.
    fn refuse(&mut self, line: Unparsable) -> JoinHandle<io::Result<()>> {
        let error = ErrorData::parse_error(line.reason, None);
        let answer = TxJsonRpcMessage::<RoleServer>::error(error, line.id);
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
                Some(line) = self.unparsable.recv() => Err(line),
                received = self.inner.receive() => Ok(received),
            };
            match received {
                Err(line) => drop(self.refuse(line)),
                Ok(Some(message)) => return Some(message),
                Ok(None) => {
                    while let Ok(line) = self.unparsable.try_recv() {
                        self.refuse(line).await.ok()?.ok()?;
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

/// Passes on the lines that can be read, and reports the others.
struct LineFilter<R> {
    read: BufReader<R>,
    /// The line that is being read, as far as it is kept.
    line: Vec<u8>,
    /// Its length so far.
    length: usize,
    /// A checked line, of which `sent` bytes were passed on.
    checked: Vec<u8>,
    sent: usize,
    unparsable: UnboundedSender<Unparsable>,
}

impl<R: AsyncRead + Unpin> LineFilter<R> {
    /// Passes the finished line on, or drops it.
    fn finish(&mut self) {
        let line = std::mem::take(&mut self.line);
        let length = std::mem::take(&mut self.length);
        let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
        let is_blank = text.iter().all(u8::is_ascii_whitespace);
        let reason = if length > LONGEST {
            format!("the line is longer than {} MB", LONGEST >> 20)
        } else {
            match serde_json::from_slice::<Value>(text) {
                Err(error) if !is_blank => {
                    format!("the line is not JSON that can be read: {error}")
                }
                _ => {
                    (self.checked, self.sent) = (line, 0);
                    return;
                }
            }
        };
        // The receiver is part of the same transport, and lives as long.
        drop(self.unparsable.send(Unparsable::new(text, reason)));
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
            let room = KEPT.saturating_sub(this.line.len());
            this.line.extend_from_slice(&available[..count.min(room)]);
            this.length += count;
            Pin::new(&mut this.read).consume(count);
            if end.is_some() {
                this.finish();
            }
        }
    }
}
