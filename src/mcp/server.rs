//! The protocol: dispatches requests to tools, resources and prompts, returns their results, and
//! sends notifications.

mod state;
mod transport;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult,
    ErrorCode, GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel,
    LoggingMessageNotificationParam, PaginatedRequestParams, PromptArgument,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents,
    ResourceTemplate, ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::json;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use self::state::{ServerState, internal, tool_description};
use self::transport::CheckedTransport;
use super::call::ClientIdentity;
use super::subscription::{ChangedPaths, concerns};
use super::{ServerSetup, prompt, resource};
use crate::core::disk::allocator::share_pools;
use crate::core::log::Agent;
use crate::core::text::hidden::without_hidden;
use crate::core::text::one_line;

/// Serves on standard input and output until the client closes them.
pub(super) fn serve(setup: ServerSetup) -> io::Result<()> {
    share_pools();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    let server = Server {
        state: Arc::new(ServerState::new(setup)),
        level: Arc::default(),
        writing: Arc::default(),
    };
    let served = runtime.block_on(async {
        let (read, write) = rmcp::transport::stdio();
        let transport = CheckedTransport::new(read, write);
        let running = match server.serve(transport).await {
            Ok(running) => running,
            // A client that disconnects before initialization is not an error.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(io::Error::other(error)),
        };
        running
            .waiting()
            .await
            .map(|_| ())
            .map_err(io::Error::other)
    });
    // The thread that reads standard input may block forever. An interrupted change is
    // recovered when its store is next opened.
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    served
}

/// Answers a call of a tool, as for a client without a name.
#[cfg(test)]
pub(super) fn call(setup: ServerSetup, request: &CallToolRequestParams) -> String {
    let client = ClientIdentity {
        name: "client".to_owned(),
        agent: None,
        session: None,
    };
    let is_dropped = AtomicBool::new(false);
    let answer = ServerState::new(setup).call(request, &client, &is_dropped);
    format!("{answer:?}")
}

/// The server as the protocol library sees it; clones share the state.
#[derive(Clone)]
struct Server {
    state: Arc<ServerState>,
    /// What the client wants to be told; nothing until it says so.
    level: Arc<Mutex<Option<LoggingLevel>>>,
    /// Held by the call that writes. The others wait for their turn here, in the order in which they
    /// came, and not for the lock of the store, which gives up after a while.
    writing: Arc<tokio::sync::Mutex<()>>,
}

/// Returns the client's name, as the author of its changes.
fn client_name(context: &RequestContext<RoleServer>) -> String {
    const LONGEST: usize = 64;
    let name = context.client_info().map(|client| one_line(&client.name));
    let name: String = name.unwrap_or_default().chars().take(LONGEST).collect();
    match name.as_str() {
        "" => "agent".to_owned(),
        _ => name,
    }
}

/// Returns the agent behind a client's name.
fn agent_of(client: &str) -> Option<Agent> {
    match client {
        "claude-code" => Some(Agent::ClaudeCode),
        "opencode" => Some(Agent::Opencode),
        name if name.starts_with("codex") => Some(Agent::Codex),
        name if name.starts_with("gemini-cli") => Some(Agent::Gemini),
        _ => None,
    }
}

/// The requests with parameters that the server answers.
const METHODS: [&str; 8] = [
    "tools/call",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "prompts/get",
    "logging/setLevel",
    "initialize",
];

/// Returns the next change; `None` if there will be no more.
async fn next_change(changes: &mut Receiver<ChangedPaths>) -> Option<ChangedPaths> {
    match changes.recv().await {
        Ok(changed) => Some(changed),
        Err(RecvError::Lagged(_)) => Some(ChangedPaths::Any),
        Err(RecvError::Closed) => None,
    }
}

/// Sets its flag on drop: the client no longer waits for the answer.
#[derive(Default)]
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Server {
    /// Tells a client that asked for it what a call did: which change can be undone, or what failed.
    async fn log_call(&self, context: &RequestContext<RoleServer>, result: &CallToolResult) {
        let text = result.content.first().and_then(|text| text.as_text());
        let text = text.map_or("", |text| text.text.as_str());
        let change = result.meta.as_ref().and_then(|meta| meta.0.get("change"));
        let (level, data) = match (result.is_error, change) {
            (Some(true), _) => (LoggingLevel::Warning, json!(text)),
            (_, Some(change)) => (
                LoggingLevel::Info,
                json!({ "change": change, "text": text }),
            ),
            _ => return,
        };
        let wanted = *self.level.lock().unwrap_or_else(PoisonError::into_inner);
        if wanted.is_some_and(|wanted| wanted as u8 <= level as u8) {
            let message = LoggingMessageNotificationParam::new(level, data).with_logger("tome");
            // A client that is gone reads nothing.
            drop(context.peer.notify_logging_message(message).await);
        }
    }

    /// Runs the work on another thread, so that a long call does not block others.
    async fn run_blocking<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&ServerState, &AtomicBool) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let state = Arc::clone(&self.state);
        let waiting = CancelOnDrop::default();
        let is_dropped = Arc::clone(&waiting.0);
        let task = tokio::task::spawn_blocking(move || work(&state, &is_dropped));
        tokio::select! {
            done = task => done.unwrap_or_else(|_| {
                Err(ErrorData::internal_error("the call failed; nothing was changed", None))
            }),
            // The task still finishes a change that it began; its answer is dropped.
            () = context.ct.cancelled() => {
                Err(ErrorData::internal_error("the call was cancelled", None))
            }
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_prompts()
            .enable_logging()
            .build();
        let mut info = ServerConfig::new(capabilities).with_instructions(self.state.instructions());
        info.server_info = Implementation::new("tome", env!("CARGO_PKG_VERSION"));
        info
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let served = &self.state.served;
        let tools = served.tools().map(|tool| tool_description(tool, served));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = client_name(&context);
        // Codex names its session in each call, others in the environment of the server.
        let session = context.meta.0.get("sessionId").and_then(|id| id.as_str());
        let client = ClientIdentity {
            agent: agent_of(&name),
            session: session
                .map(str::to_owned)
                .or(self.state.setup.session.clone()),
            name,
        };
        let turn = if self.state.writes(&request.name) {
            tokio::select! {
                turn = Arc::clone(&self.writing).lock_owned() => Some(turn),
                () = context.ct.cancelled() => {
                    return Err(ErrorData::internal_error("the call was cancelled", None));
                }
            }
        } else {
            None
        };
        let result = self
            .run_blocking(&context, move |state, is_dropped| {
                let result = state.call(&request, &client, is_dropped);
                drop(turn);
                result
            })
            .await?;
        self.log_call(&context, &result).await;
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        self.run_blocking(&context, move |state, _| state.resources(cursor.as_deref()))
            .await
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = ResourceTemplate::new(resource::TEMPLATE, "memory")
            .with_description("A memory by its store and path")
            .with_mime_type("text/markdown");
        Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let result = self.run_blocking(&context, move |state, _| {
            let text = resource::read(&state.setup, &uri);
            let text =
                text.map_err(|error| ErrorData::resource_not_found(error.to_string(), None))?;
            let text = without_hidden(&text);
            let contents = ResourceContents::text(text, uri).with_mime_type("text/markdown");
            Ok(ReadResourceResult::new(vec![contents]))
        });
        Ok(result.await?.into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let uri = request.uri;
        let state = Arc::clone(&self.state);
        let mut changes = state
            .subscriptions
            .watch(&state.setup, &uri)
            .map_err(|error| ErrorData::resource_not_found(error.to_string(), None))?;
        if !state.subscriptions.add(&uri) {
            // The task that the first subscription started notifies of all of them.
            return Ok(());
        }
        tokio::spawn(async move {
            while let Some(changed) = next_change(&mut changes).await {
                for uri in state.subscriptions.concerned(&state.setup, &changed) {
                    let param = ResourceUpdatedNotificationParam::new(uri);
                    if context.peer.notify_resource_updated(param).await.is_err() {
                        return;
                    }
                }
            }
        });
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.state.subscriptions.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let wanted = requested.resource_subscriptions.iter().flatten();
        let known = wanted.filter(|uri| resource::locate(&self.state.setup, uri).is_ok());
        let mut accepted = SubscriptionFilter::new();
        accepted.resource_subscriptions = Some(known.cloned().collect());
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let accepted = context.accepted().resource_subscriptions.clone();
        let uris = accepted.unwrap_or_default();
        let mut changes = None;
        for uri in &uris {
            let watched = self.state.subscriptions.watch(&self.state.setup, uri);
            changes = Some(watched.map_err(internal)?);
        }
        let Some(mut changes) = changes else {
            context.cancelled().await;
            return Ok(());
        };
        loop {
            let changed = tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = next_change(&mut changes) => changed,
            };
            let Some(changed) = changed else {
                return Ok(());
            };
            for uri in &uris {
                if concerns(&self.state.setup, &changed, uri)
                    && context.sink().notify_resource_updated(uri).await.is_err()
                {
                    return Ok(());
                }
            }
        }
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.level);
        Ok(())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // A request of the protocol comes here if its parameters do not fit.
        Err(if METHODS.contains(&request.method.as_str()) {
            ErrorData::invalid_params(
                format!("the parameters do not fit {}", request.method),
                None,
            )
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None)
        })
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = prompt::PROMPTS.iter().map(|prompt| {
            let argument = PromptArgument::new(prompt.argument)
                .with_description(prompt.argument_about)
                .with_required(false);
            rmcp::model::Prompt::new(prompt.name, Some(prompt.about), Some(vec![argument]))
        });
        Ok(ListPromptsResult::with_all_items(prompts.collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let result = self
            .run_blocking(&context, move |state, _| state.prompt(&request))
            .await?;
        Ok(result.into())
    }
}
