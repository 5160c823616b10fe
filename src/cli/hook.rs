//! `tome hook`: handles an agent's hook. It never fails, and every wait has a limit.

use std::env;
use std::io::{self, Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use super::args::HookArgs;
use super::world::World;
use crate::core::change::history::{Author, Origin};
use crate::core::disk::trust::real_path;
use crate::core::insight::context::context_of_stores;
use crate::core::insight::review::{Writer, count, is_far_behind, observe_files, observe_store};
use crate::core::log::Agent;
use crate::core::memory::discover::{
    DiscoveryScope, Environment, discover, is_of_subagent, lessons_root,
};
use crate::core::memory::layout::Layout;
use crate::core::memory::layout::session::{NEW_OVERVIEW, OVERVIEW_FILE};
use crate::core::memory::store::Store;
use crate::hook::{
    ActionOptions, DocumentScanner, HookContext, HookMemory, Written, answer, empty_reply,
};

/// How long to wait for a lock, from the start of the program.
const LOCK_LIMIT: Duration = Duration::from_millis(60);

/// How long one wait for input lasts. After a complete document one wait without input ends the
/// reading, because an agent may leave standard input open.
const INPUT_WAIT: Duration = Duration::from_millis(10);

/// How many waits in a row may pass before an incomplete document is given up: on a busy machine an
/// agent may write late.
const INPUT_WAITS: usize = 100;

/// How long stores may take to read when a session starts: on a busy machine, tens of stores take
/// most of a second. Debug builds, which no agent runs, are slower and may take longer.
const READ_LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 5 } else { 1 });

/// Handles the hook and prints the reply; never fails.
pub(super) fn run(args: &HookArgs, world: &World) {
    let started = Instant::now();
    let agent = Agent::named(&args.agent);
    let reply = match (agent, input()) {
        (Some(agent), Some(input)) => {
            let hook = HookContext {
                agent,
                caller: caller(agent),
                is_attended: is_attended(),
                event: args.event.as_deref(),
                data: &world.environment.data,
                home: &world.environment.home,
                history: &world.history,
                moment: &world.moment,
                settings: world.settings.hook,
                actions: ActionOptions {
                    guards: args.guards,
                    confirm: args.confirm_writes,
                },
                until: started + LOCK_LIMIT,
                memory: world,
            };
            catch_unwind(AssertUnwindSafe(|| answer(&input, &hook))).ok()
        }
        _ => None,
    };
    print_reply(&reply.unwrap_or_else(|| empty_reply(agent)));
}

/// Returns the agent that runs the hook: Copilot CLI also runs the hooks of Claude Code.
fn caller(agent: Agent) -> Agent {
    match env::var_os("COPILOT_CLI") {
        Some(set) if agent == Agent::ClaudeCode && set == "1" => Agent::Copilot,
        _ => agent,
    }
}

/// Whether a user may be watching; only Claude Code tells when it runs without one.
fn is_attended() -> bool {
    let is = |name: &str, value: &str| env::var_os(name).is_some_and(|set| set == value);
    let entrypoint = env::var("CLAUDE_CODE_ENTRYPOINT").unwrap_or_default();
    !is("CLAUDE_CODE_SESSION_ATTENDED", "0") && !entrypoint.starts_with("sdk")
}

/// Prints an empty reply, for arguments that cannot be parsed.
pub(super) fn print_empty_reply(arguments: &[String]) {
    let agent = arguments.iter().find_map(|word| Agent::named(word));
    print_reply(&empty_reply(agent));
}

fn print_reply(text: &str) {
    let mut out = io::stdout().lock();
    // An agent that closed the pipe does not need the reply.
    drop(
        out.write_all(text.as_bytes())
            .and_then(|()| out.write_all(b"\n")),
    );
    drop(out.flush());
}

/// Reads standard input to its end or to the end of the document; `None` if the rest of the
/// document does not arrive.
///
/// Reads on this thread: on a busy machine, switching to another one takes longer than everything
/// else here.
fn input() -> Option<Vec<u8>> {
    let mut stdin = io::stdin().lock();
    let mut bytes = Vec::new();
    let mut document = DocumentScanner::default();
    let mut part = vec![0; 1 << 16];
    let mut waits = 0;
    loop {
        if is_readable(&stdin) {
            match stdin.read(&mut part) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return Some(bytes),
                Ok(count) => {
                    document.read(&part[..count]);
                    bytes.extend_from_slice(&part[..count]);
                    waits = 0;
                }
            }
        } else if document.is_whole() {
            return Some(bytes);
        } else {
            waits += 1;
            if waits == INPUT_WAITS {
                return None;
            }
        }
    }
}

/// Waits once; returns whether input, or its end, can be read.
fn is_readable(stdin: &io::StdinLock<'_>) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let silence = Timespec {
        tv_sec: 0,
        tv_nsec: INPUT_WAIT.subsec_nanos().into(),
    };
    let ready = poll(&mut [PollFd::new(stdin, PollFlags::IN)], Some(&silence));
    // If polling fails, reading reports the error.
    ready.map_or_else(|error| error != rustix::io::Errno::INTR, |count| count > 0)
}

impl HookMemory for World {
    fn context(&self, cwd: &Path, agent: Agent, session: &str) -> String {
        let (world, cwd, session) = (self.clone(), cwd.to_owned(), session.to_owned());
        let (send, receive) = channel();
        thread::spawn(move || {
            // After the timeout the receiver is gone.
            drop(send.send(world.session_context(&cwd, agent, &session)));
        });
        // Stores that take too long to read are left out, so that the agent does not wait.
        receive.recv_timeout(READ_LIMIT).unwrap_or_default()
    }

    fn stores(&self, cwd: &Path) -> Vec<Store> {
        if self.common.store.is_empty() {
            self.all_stores_around(cwd)
        } else {
            World::stores(self).unwrap_or_default()
        }
    }

    fn all_stores(&self) -> Vec<Store> {
        let found = discover(
            &self.environment,
            &self.settings,
            DiscoveryScope::Everything,
        );
        found.stores.into_iter().map(|found| found.store).collect()
    }

    fn lessons(&self) -> PathBuf {
        lessons_root(&self.environment, &self.settings)
    }

    fn observe(&self, cwd: &Path, written: &Written<'_>) {
        // A hook never fails. What could not be recorded is found when the store is observed again.
        drop(self.record_written(cwd, written));
    }
}

/// How much a session is told at its start, in UTF-16 units: Claude Code accepts 10,000 in one piece.
const MOST_CONTEXT: usize = 9_500;

/// A store that the review does not know yet is read by a hook only if it has no more files.
const MOST_NEW_FILES: usize = 500;

/// A store with more files is observed by other commands only, and how deep files are counted.
const MOST_FILES: usize = 50_000;
const DEEPEST: usize = 4;

impl World {
    /// Returns the texts that the stores give to a session in this directory.
    fn session_context(&self, cwd: &Path, agent: Agent, session: &str) -> String {
        let stores = if self.common.store.is_empty() {
            self.stores_around(cwd, agent, session)
        } else {
            self.stores().unwrap_or_default()
        };
        context_of_stores(&stores, cwd, MOST_CONTEXT)
    }

    /// Records what was written into the stores of a directory.
    fn record_written(&self, cwd: &Path, written: &Written<'_>) -> crate::core::Result<()> {
        let (history, moment) = (&self.history, &self.moment);
        let Written::By {
            agent,
            session,
            files,
        } = written
        else {
            for store in self.all_stores_around(cwd) {
                // Other commands follow a long journal.
                if is_far_behind(history, store.id())? {
                    continue;
                }
                let is_known = count(history, store.id())?.is_some();
                let most = if is_known { MOST_FILES } else { MOST_NEW_FILES };
                // Other layouts look at a few names only.
                let is_searched = store.rules().searched().is_some();
                if !is_searched || !store.root().has_more_than(most, DEEPEST) {
                    observe_store(history, &store, moment)?;
                }
            }
            return Ok(());
        };
        let is_text = |file: &&String| file.ends_with(".md") || file.ends_with(".mdc");
        let files = files.iter().filter(is_text);
        let paths: Vec<PathBuf> = files.map(|file| real_path(&cwd.join(file))).collect();
        if paths.is_empty() {
            return Ok(());
        }
        for store in self.all_stores_around(cwd) {
            let root = store.root().path();
            let inside = paths
                .iter()
                .filter_map(|path| path.strip_prefix(root).ok()?.to_str());
            let inside: Vec<String> = inside.map(str::to_owned).collect();
            if inside.is_empty() {
                continue;
            }
            let writer = Writer {
                author: Author {
                    who: agent.name().to_owned(),
                    ..Author::outside()
                },
                origin: (!session.is_empty()).then(|| Origin {
                    session: (*session).to_owned(),
                    citation: None,
                }),
            };
            observe_files(history, &store, &inside, writer, moment)?;
        }
        Ok(())
    }

    /// Returns every store of the project of a directory.
    fn all_stores_around(&self, cwd: &Path) -> Vec<Store> {
        let environment = Environment {
            cwd: cwd.to_owned(),
            ..self.environment.clone()
        };
        let found = discover(&environment, &self.settings, DiscoveryScope::Project);
        found.stores.into_iter().map(|found| found.store).collect()
    }

    /// Returns the stores that the agent does not read by itself. Of the session stores only one is
    /// among them: that of this session if it is resumed, else the one that was changed last.
    fn stores_around(&self, cwd: &Path, agent: Agent, session: &str) -> Vec<Store> {
        let own = match agent {
            Agent::ClaudeCode => &self.environment.claude,
            Agent::Codex => &self.environment.codex,
            _ => &self.environment.data,
        };
        let wanted = |store: &Store| {
            matches!(
                store.layout(),
                Layout::Index | Layout::Facts | Layout::Coder
            ) && (store.layout() == Layout::Coder || !store.root().path().starts_with(own))
                && !is_of_subagent(store)
        };
        let (sessions, mut stores): (Vec<Store>, Vec<Store>) = self
            .all_stores_around(cwd)
            .into_iter()
            .partition(|store| store.layout() == Layout::Session);
        stores.retain(wanted);
        let written = sessions.into_iter().filter_map(|store| {
            let overview = store.text(OVERVIEW_FILE).ok()??;
            let is_new = overview.trim_end() == NEW_OVERVIEW.trim_end();
            let changed = store.root().find_file(OVERVIEW_FILE)?.modified;
            let is_this = store
                .root()
                .path()
                .file_name()
                .is_some_and(|name| name == session);
            (!is_new).then_some(((is_this, changed), store))
        });
        let last = written.max_by_key(|(order, _)| *order);
        stores.extend(last.map(|(_, store)| store));
        stores
    }
}
