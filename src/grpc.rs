//! The gRPC door: serves the timeline to programs of this machine, and appends the events that they
//! report. Only with the feature `grpc`.
//!
//! `listener` decides where it may listen, and makes the socket; `service` answers the calls of
//! `assets/timeline.proto`; `convert` turns values of the core into messages, and messages into
//! values. Every answer is that of a core function.

mod convert;
mod listener;
mod service;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio::sync::watch;
use tokio_stream::wrappers::{TcpListenerStream, UnixListenerStream};
use tonic::transport::Server;
use tonic::transport::server::Router;

use crate::core::Result;
use crate::core::change::history::History;
use crate::core::disk::allocator::share_pools;
use crate::core::memory::catalog::LogProvider;
use crate::core::memory::store::Store;
use crate::core::text::time::Moment;

use listener::Bound;
pub use listener::{Address, Listener};
use service::TimelineService;

/// The messages and the service of the schema.
mod message {
    #![allow(missing_docs, unreachable_pub, clippy::all)]
    tonic::include_proto!("tome.v1");

    /// The schema, for clients that ask for it.
    pub(super) const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/timeline.bin"));
}

/// What is served, and the history, directories and clock that the server uses.
pub struct ServerSetup {
    /// The logs and stores.
    pub sources: Box<dyn TimelineSources>,
    /// Which projects events may belong to.
    pub projects: Projects,
    /// The directory where the server was started.
    pub cwd: PathBuf,
    /// tome's data directory, which has the stores of events.
    pub data: PathBuf,
    /// The history, whose locks are used.
    pub history: History,
    /// Returns the current time.
    pub clock: fn() -> Moment,
}

impl fmt::Debug for ServerSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSetup")
            .field("projects", &self.projects)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

/// Which projects are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Projects {
    /// The one where the server was started.
    Current,
    /// All.
    All,
}

/// Provides what is in scope, which the caller of [`serve`] locates.
pub trait TimelineSources: LogProvider {
    /// Returns the stores that exist now; memories in them may have grips.
    fn stores(&self) -> Result<Vec<Store>>;
}

/// How long calls that are being answered when the server is told to end may take.
const GRACE: Duration = Duration::from_secs(3);

/// How many calls of a connection are answered at once; more of them wait in the client.
const MOST_CALLS: u32 = 256;

/// Serves until SIGINT, SIGTERM or SIGHUP, and removes the socket.
pub fn serve(setup: ServerSetup, listener: Listener) -> io::Result<()> {
    share_pools();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let (stop, stopped) = watch::channel(false);
    std::thread::spawn(move || {
        signals.forever().next();
        // Without a receiver, the server has ended already.
        let _ = stop.send(true);
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let served = runtime.block_on(run(setup, listener.bound()?, stopped));
    // An event that is being appended is appended.
    runtime.shutdown_timeout(GRACE);
    drop(listener);
    served
}

async fn run(setup: ServerSetup, bound: Bound, stopped: watch::Receiver<bool>) -> io::Result<()> {
    let router = router(setup).await?;
    let told = |mut stopped: watch::Receiver<bool>| async move {
        // An error means that nobody can tell any more, which is the end, too.
        drop(stopped.wait_for(|is_stopped| *is_stopped).await);
    };
    let end = told(stopped.clone());
    let over = async {
        told(stopped).await;
        tokio::time::sleep(GRACE).await;
    };
    let serving = async {
        match bound {
            Bound::Tcp(listener) => {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                let calls = TcpListenerStream::new(listener);
                let served = router.serve_with_incoming_shutdown(calls, end).await;
                served.map_err(io::Error::other)
            }
            Bound::Unix(listener) => {
                let listener = tokio::net::UnixListener::from_std(listener)?;
                let calls = UnixListenerStream::new(listener);
                let served = router.serve_with_incoming_shutdown(calls, end).await;
                served.map_err(io::Error::other)
            }
        }
    };
    tokio::select! {
        served = serving => served,
        // A client that watches the health keeps its connection for ever.
        () = over => Ok(()),
    }
}

/// The services: the timeline, health and reflection, the latter in both versions that clients speak.
async fn router(setup: ServerSetup) -> io::Result<Router> {
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<service::Timeline>().await;
    let schema = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(message::DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let reflection = schema().build_v1().map_err(io::Error::other)?;
    let old_reflection = schema().build_v1alpha().map_err(io::Error::other)?;
    Ok(Server::builder()
        .max_concurrent_streams(MOST_CALLS)
        .add_service(TimelineService::new(Arc::new(setup)).limited())
        .add_service(health_service)
        .add_service(reflection)
        .add_service(old_reflection))
}
