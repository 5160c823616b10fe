//! The calls of the schema, each over one function of the core.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Semaphore;
use tonic::{Request, Response, Status};

use super::message as m;
use super::message::timeline_server::{self, TimelineServer};
use super::{Projects, ServerSetup, convert};
use crate::core::change::events::{AppendOutcome, Identity, capture_locked, open_captured};
use crate::core::insight::promote::grip_in_memories;
use crate::core::insight::timeline::node::NodeId;
use crate::core::insight::timeline::query::{
    AROUND, EVENTS, Found, Limit, NODES, PLACES, TimelineQueries,
};
use crate::core::memory::discover::events_root;
use crate::core::memory::layout::events::{CapturedEvent, TimeSpan};
use crate::core::search::index::Deadline;
use crate::core::{Error, Result};

/// The largest request, in bytes: an event with the longest text and much metadata.
const LARGEST_REQUEST: usize = 3 << 20;

/// The largest answer, in bytes: what clients accept by default.
const LARGEST_ANSWER: usize = 4 << 20;

/// How many calls read logs at once. Each of them uses all cores.
const READERS: usize = 2;

/// The longest id of a node or grip, in bytes; real ones have some 60.
const LONGEST_ID: usize = 256;

/// The longest query, in bytes.
const LONGEST_QUERY: usize = 4 << 10;

/// The service, as it is registered.
pub(super) type Timeline = TimelineServer<TimelineService>;

/// Answers the calls. Those that write wait for each other here, and only one of them for the
/// store's lock, so that the server does not compete with itself.
pub(super) struct TimelineService {
    setup: Arc<ServerSetup>,
    writer: Arc<Semaphore>,
    readers: Arc<Semaphore>,
}

/// Sets its flag on drop: the client no longer waits for the answer.
#[derive(Default)]
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl TimelineService {
    pub(super) fn new(setup: Arc<ServerSetup>) -> Self {
        Self {
            setup,
            writer: Arc::new(Semaphore::new(1)),
            readers: Arc::new(Semaphore::new(READERS)),
        }
    }

    /// Returns the service with limits on the size of its messages.
    pub(super) fn limited(self) -> Timeline {
        TimelineServer::new(self)
            .max_decoding_message_size(LARGEST_REQUEST)
            .max_encoding_message_size(LARGEST_ANSWER)
    }

    /// Runs work on another thread, when its turn comes.
    async fn run<T: Send + 'static>(
        &self,
        turns: &Arc<Semaphore>,
        work: impl FnOnce(&ServerSetup, &AtomicBool) -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        let failed = || Status::internal("the call failed inside tome; repeat it");
        let waiting = CancelOnDrop::default();
        let turn = Arc::clone(turns).acquire_owned().await;
        let turn = turn.map_err(|_| failed())?;
        let setup = Arc::clone(&self.setup);
        let is_dropped = Arc::clone(&waiting.0);
        let task = tokio::task::spawn_blocking(move || {
            let done = work(&setup, &is_dropped);
            drop(turn);
            done
        });
        task.await.unwrap_or_else(|_| Err(failed()))
    }

    /// Asks the timeline of the logs in scope.
    async fn ask<T: Send + 'static>(
        &self,
        query: impl FnOnce(&ServerSetup, &TimelineQueries<'_>) -> Result<Found<T>> + Send + 'static,
    ) -> Result<(T, u64), Status> {
        let found = self.run(&self.readers, |setup, is_dropped| {
            let catalog = setup.sources.log_catalog().map_err(status)?;
            let queries = TimelineQueries {
                catalog: &catalog,
                deadline: &Deadline::new(is_dropped),
            };
            query(setup, &queries).map_err(status)
        });
        let found = found.await?;
        Ok((found.value, found.left as u64))
    }
}

/// The status of an error of the core.
fn status(error: Error) -> Status {
    let words = error.to_string();
    match error {
        Error::NotFound { .. } => Status::not_found(words),
        Error::Busy { .. } => Status::unavailable(words),
        Error::Refused { .. } => Status::failed_precondition(words),
        _ => Status::internal(words),
    }
}

fn invalid(field: &str, reason: &str) -> Status {
    Status::invalid_argument(format!("{field}: {reason}"))
}

fn node_id(field: &str, text: &str) -> Result<NodeId, Status> {
    let id = text.parse::<NodeId>();
    id.map_err(|error| invalid(field, &error.to_string()))
}

/// A limit of a request, in which 0 is the usual one.
fn limited(limit: Limit, asked: u32) -> usize {
    limit.of((asked > 0).then_some(asked as usize))
}

/// The root of the store that an event belongs to. An event without a directory gets that of the
/// server: by it, the timeline knows the project.
fn destination(setup: &ServerSetup, event: &mut CapturedEvent) -> Result<PathBuf, Status> {
    let own = || setup.cwd.to_string_lossy().into_owned();
    let cwd = event.metadata.entry("cwd".to_owned()).or_insert_with(own);
    if !Path::new(cwd).is_absolute() {
        return Err(invalid("metadata", "cwd must be an absolute path"));
    }
    let root = events_root(&setup.data, Path::new(cwd));
    let is_own = || root == events_root(&setup.data, &setup.cwd);
    if setup.projects == Projects::Current && !is_own() {
        return Err(invalid(
            "metadata",
            "cwd is not in the project that is served; `tome serve --all` serves every project",
        ));
    }
    Ok(root)
}

#[tonic::async_trait]
impl timeline_server::Timeline for TimelineService {
    async fn ingest_event(
        &self,
        request: Request<m::IngestEventRequest>,
    ) -> Result<Response<m::IngestEventResponse>, Status> {
        let event = request.into_inner().event;
        let event = event.ok_or_else(|| invalid("event", "is missing"))?;
        let mut event = CapturedEvent::from(event);
        let now = (self.setup.clock)().time.as_millisecond();
        let wrong = |error| Status::invalid_argument(format!("{error}"));
        event.check(now).map_err(wrong)?;
        let answer = self.run(&self.writer, move |setup, _| {
            let root = destination(setup, &mut event)?;
            let store = open_captured(&root).map_err(status)?;
            let lock = setup.history.lock(&[store.root().path()]).map_err(status)?;
            let event = event.masked();
            let outcome = capture_locked(&store, &lock, &event, Identity::Given);
            Ok(m::IngestEventResponse {
                created: outcome.map_err(status)? == AppendOutcome::New,
                event_id: event.event_id,
            })
        });
        Ok(Response::new(answer.await?))
    }

    async fn get_toc_root(
        &self,
        _: Request<m::GetTocRootRequest>,
    ) -> Result<Response<m::GetTocRootResponse>, Status> {
        let (nodes, logs_left) = self.ask(|_, timeline| timeline.root()).await?;
        Ok(Response::new(m::GetTocRootResponse {
            nodes: convert::listed(nodes),
            logs_left,
        }))
    }

    async fn get_node(
        &self,
        request: Request<m::GetNodeRequest>,
    ) -> Result<Response<m::GetNodeResponse>, Status> {
        let id = node_id("node_id", &request.into_inner().node_id)?;
        let asked = id.clone();
        let (node, logs_left) = self.ask(move |_, timeline| timeline.node(&asked)).await?;
        let node = node.ok_or_else(|| nothing_in(&id))?.node;
        Ok(Response::new(m::GetNodeResponse {
            node: Some(node.into()),
            logs_left,
        }))
    }

    async fn browse_toc(
        &self,
        request: Request<m::BrowseTocRequest>,
    ) -> Result<Response<m::BrowseTocResponse>, Status> {
        let request = request.into_inner();
        let id = node_id("parent_id", &request.parent_id)?;
        let limit = limited(NODES, request.limit);
        let from: usize = match request.continuation_token.as_str() {
            "" => 0,
            token => token
                .parse()
                .map_err(|_| invalid("continuation_token", "must be the one of the last answer"))?,
        };
        let parent = id.clone();
        let page = self.ask(move |_, timeline| timeline.browse(&parent, from, limit));
        let (page, logs_left) = page.await?;
        let page = page.ok_or_else(|| nothing_in(&id))?;
        let token = page.next.map(|next| next.to_string());
        Ok(Response::new(m::BrowseTocResponse {
            nodes: convert::listed(page.nodes),
            continuation_token: token.unwrap_or_default(),
            logs_left,
        }))
    }

    async fn get_events(
        &self,
        request: Request<m::GetEventsRequest>,
    ) -> Result<Response<m::GetEventsResponse>, Status> {
        let request = request.into_inner();
        let span = TimeSpan {
            from: request.from_ms.unwrap_or(i64::MIN),
            to: request.to_ms.unwrap_or(i64::MAX),
            limit: limited(EVENTS, request.limit),
        };
        if span.from > span.to {
            return Err(invalid("from_ms", "must not be after to_ms"));
        }
        let found = self.ask(move |_, timeline| timeline.events(span));
        let ((events, has_more), logs_left) = found.await?;
        Ok(Response::new(m::GetEventsResponse {
            events: convert::events(events),
            has_more,
            logs_left,
        }))
    }

    async fn expand_grip(
        &self,
        request: Request<m::ExpandGripRequest>,
    ) -> Result<Response<m::ExpandGripResponse>, Status> {
        let request = request.into_inner();
        let id = request.grip_id;
        if id.is_empty() || id.len() > LONGEST_ID {
            return Err(invalid(
                "grip_id",
                "must be an id such as grip:MILLISECONDS:ULID",
            ));
        }
        let around = |asked: Option<u32>| AROUND.of(asked.map(|asked| asked as usize));
        let around = (around(request.before), around(request.after));
        let found = self.ask(move |setup, timeline| {
            let in_memories = grip_in_memories(&setup.sources.stores()?, &id);
            timeline.grip(&id, in_memories.as_ref(), around)
        });
        let (grip, logs_left) = found.await?;
        let grip = grip.ok_or_else(|| Status::not_found("grip_id: no such grip is known"))?;
        Ok(Response::new(m::ExpandGripResponse {
            logs_left,
            ..convert::expanded(grip)
        }))
    }

    async fn teleport_query(
        &self,
        request: Request<m::TeleportQueryRequest>,
    ) -> Result<Response<m::TeleportQueryResponse>, Status> {
        let request = request.into_inner();
        let query = request.query.trim().to_owned();
        if query.is_empty() || query.len() > LONGEST_QUERY {
            let form = format!("must have 1 to {LONGEST_QUERY} bytes");
            return Err(invalid("query", &form));
        }
        let limit = limited(PLACES, request.limit);
        let found = self.ask(move |_, timeline| timeline.teleport(&query, limit));
        let ((results, _), logs_left) = found.await?;
        Ok(Response::new(m::TeleportQueryResponse {
            results: results.into_iter().map(m::Destination::from).collect(),
            logs_left,
        }))
    }
}

fn nothing_in(id: &NodeId) -> Status {
    Status::not_found(format!("nothing happened in {id}"))
}
