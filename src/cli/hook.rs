//! `tome hook`: what an agent's hook tells, heard without ever holding the agent up.

use std::io::{self, Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use super::args::HookArgs;
use super::world::World;
use crate::core::config::expand;
use crate::core::discover::{DiscoveryScope, Environment, discover};
use crate::core::layout::Layout;
use crate::core::log::Agent;
use crate::core::store::Store;
use crate::hook::{DocumentScanner, HookContext, HookMemory, answer, empty_reply};

/// How long a lock is waited for, from the start of the program.
const LOCK_LIMIT: Duration = Duration::from_millis(60);

/// How often, and how long each time, an agent may leave standard input open without writing
/// to it. It waits for itself then: on a busy machine it may get to writing late, and what it has
/// to tell must not be lost. An agent that has told all of it and only leaves the input open is
/// waited for once.
const INPUT_LIMIT: (usize, Duration) = (100, Duration::from_millis(10));

/// How long stores are read for a session's start; debug builds are slow and no agent's.
const READING: Duration = match cfg!(debug_assertions) {
    true => Duration::from_secs(5),
    false => Duration::from_millis(80),
};

/// Hears the hook and answers; never fails, whatever comes.
pub(super) fn run(args: &HookArgs, world: &World) {
    let started = Instant::now();
    let agent = Agent::named(&args.agent);
    let reply = match (agent, input()) {
        (Some(agent), Some(input)) => {
            let hook = HookContext {
                agent,
                event: args.event.as_deref(),
                data: &world.environment.data,
                history: &world.history,
                moment: &world.moment,
                settings: world.settings.hook,
                until: started + LOCK_LIMIT,
                memory: world,
            };
            catch_unwind(AssertUnwindSafe(|| answer(&input, &hook))).ok()
        }
        _ => None,
    };
    say(&reply.unwrap_or_else(|| empty_reply(agent)));
}

/// Answers that there is nothing to say, when not even the arguments are understood.
pub(super) fn print_empty_reply(arguments: &[String]) {
    let agent = arguments.iter().find_map(|word| Agent::named(word));
    say(&empty_reply(agent));
}

fn say(text: &str) {
    let mut out = io::stdout().lock();
    // An agent that does not listen does not miss it.
    drop(
        out.write_all(text.as_bytes())
            .and_then(|()| out.write_all(b"\n")),
    );
    drop(out.flush());
}

/// All of standard input; `None` when it is not going to end.
///
/// Read by this very thread: on a busy machine, waiting for another one to have its turn costs
/// more than everything else that is done here.
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
            if waits == INPUT_LIMIT.0 {
                return None;
            }
        }
    }
}

/// Whether something can be read, or is to end, before the silence is too long.
#[cfg(unix)]
fn is_readable(stdin: &io::StdinLock<'_>) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let silence = Timespec {
        tv_sec: 0,
        tv_nsec: INPUT_LIMIT.1.subsec_nanos().into(),
    };
    let ready = poll(&mut [PollFd::new(stdin, PollFlags::IN)], Some(&silence));
    // What cannot be asked is read, and says itself what is wrong.
    ready.map_or_else(|error| error != rustix::io::Errno::INTR, |count| count > 0)
}

/// Elsewhere there is no asking: an agent that leaves its end open is waited for.
#[cfg(not(unix))]
fn is_readable(_stdin: &io::StdinLock<'_>) -> bool {
    true
}

impl HookMemory for World {
    fn context(&self, cwd: &Path, agent: Agent) -> String {
        let (world, cwd) = (self.clone(), cwd.to_owned());
        let (send, receive) = channel();
        thread::spawn(move || {
            // Nobody waits any more when it took too long.
            drop(send.send(world.blocks(&cwd, agent)));
        });
        // A store too large to be read in time is left out: the agent does not wait.
        receive.recv_timeout(READING).unwrap_or_default()
    }

    fn lessons(&self) -> PathBuf {
        expand(
            &self.settings.coder_path,
            &self.environment.home,
            &self.environment.cwd,
        )
    }
}

impl World {
    /// What each store has for a session in this directory.
    fn blocks(&self, cwd: &Path, agent: Agent) -> String {
        let stores = match self.common.store.is_empty() {
            false => self.stores().unwrap_or_default(),
            true => self.stores_around(cwd, agent),
        };
        let blocks = stores.iter().filter_map(|store| {
            let text = store.rules().context(store).ok()?;
            let place = store.root().path().display();
            (!text.is_empty())
                .then(|| format!("Memory in {place} (store {}):\n\n{text}", store.name()))
        });
        blocks.collect::<Vec<_>>().join("\n\n")
    }

    /// The stores that an agent does not read by itself.
    fn stores_around(&self, cwd: &Path, agent: Agent) -> Vec<Store> {
        let environment = Environment {
            cwd: cwd.to_owned(),
            ..self.environment.clone()
        };
        let own = match agent {
            Agent::ClaudeCode => &self.environment.claude,
            Agent::Codex => &self.environment.codex,
            _ => &self.environment.data,
        };
        let found = discover(&environment, &self.settings, DiscoveryScope::Project);
        let stores = found.stores.into_iter().map(|found| found.store);
        let wanted = |store: &Store| {
            matches!(
                store.layout(),
                Layout::Index | Layout::Facts | Layout::Coder
            ) && !store.root().path().starts_with(own)
                && !is_subagents(store)
        };
        stores.filter(wanted).collect()
    }
}

/// Whether a store is read by a subagent of Claude Code, by itself.
fn is_subagents(store: &Store) -> bool {
    let folder = store.root().path().parent().and_then(Path::file_name);
    folder.is_some_and(|name| name == "agent-memory" || name == "agent-memory-local")
}
