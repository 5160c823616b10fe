//! The timeline worker: makes the timeline of the logs from what the cache has, then brings it up
//! to date a few logs at a time, so that what is asked for meanwhile does not wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::thread::{JobSender, Worker};
use crate::core::Error;
use crate::core::insight::promote::{propose, quotes};
use crate::core::insight::timeline::grip::Shown;
use crate::core::insight::timeline::outline::Outline;
use crate::core::insight::timeline::{Records, Timeline, expand, sessions_of};
use crate::core::log::Agent;
use crate::core::search::index::Corpus;
use crate::core::text::display::safe;
use crate::tui::effect::TimelineJob;
use crate::tui::event::{Changes, Event, EventSender, GripMessage, GripText};

/// How many logs are summarized before other jobs get their turn.
const AT_ONCE: usize = 8;

/// The least time between two reports while logs are summarized.
const EVERY: Duration = Duration::from_millis(500);

/// How many messages before and after a grip are shown.
const AROUND: usize = 2;

/// The longest text of a message beside a grip, in characters.
const LONGEST: usize = 4_000;

/// A message to the worker.
#[derive(Debug)]
pub(crate) enum Job {
    /// The corpus while results of tools are still being read: enough to quote from.
    Conversations(Arc<Corpus>),
    /// The current corpus.
    Logs(Arc<Corpus>),
    /// Summarize some of the logs that have changed.
    Fill,
    /// What a pane asks for.
    Asked(TimelineJob),
}

pub(crate) struct TimelineWorker {
    events: EventSender,
    own_queue: JobSender<Job>,
    leaving: Arc<AtomicBool>,
    timeline: Timeline,
    /// What it was before the logs changed.
    before: Timeline,
    logs: Option<Arc<Corpus>>,
    /// What is quoted from until all is read.
    conversations: Option<Arc<Corpus>>,
    /// The logs that are to be summarized, the newest first.
    outdated: Vec<usize>,
    /// Whether the timeline is on the screen.
    is_shown: bool,
    /// When the last report was made.
    reported: Instant,
    /// How long it took.
    report_time: Duration,
}

impl TimelineWorker {
    /// Creates a worker that knows no log yet.
    pub(crate) fn new(
        events: EventSender,
        own_queue: JobSender<Job>,
        leaving: Arc<AtomicBool>,
        empty_timeline: Timeline,
    ) -> Self {
        Self {
            events,
            own_queue,
            leaving,
            before: empty_timeline.clone(),
            timeline: empty_timeline,
            logs: None,
            conversations: None,
            outdated: Vec::new(),
            is_shown: false,
            reported: Instant::now(),
            report_time: Duration::ZERO,
        }
    }

    fn take_logs(&mut self, corpus: Arc<Corpus>) {
        let sessions = sessions_of(&corpus);
        (self.timeline, self.outdated) = self.timeline.cached(&corpus, |log| sessions[log]);
        self.before = self.timeline.clone();
        self.logs = Some(corpus);
        self.conversations = None;
        self.report();
        self.queue_fill();
    }

    /// Queues the next part of the work, if there is any.
    fn queue_fill(&self) {
        if !self.outdated.is_empty() {
            self.own_queue.send(Job::Fill);
        }
    }

    fn fill(&mut self) {
        let Some(corpus) = &self.logs else {
            return;
        };
        let next = self.outdated.len().min(AT_ONCE);
        let next: Vec<usize> = self.outdated.drain(..next).collect();
        self.timeline.update(corpus, &next);
        if corpus.is_damaged() {
            self.logs = None;
            self.outdated.clear();
            return self.events.send(Event::LogsChanged(Changes::Anywhere));
        }
        if self.outdated.is_empty() {
            self.timeline.keep_versions(&self.before);
            self.before = self.timeline.clone();
            let leaving = &self.leaving;
            self.timeline
                .roll_up(Records::Use, || leaving.load(Ordering::Relaxed));
        }
        // At most an eighth of the time goes into reports.
        let pause = EVERY.max(8 * self.report_time);
        if self.outdated.is_empty() || self.reported.elapsed() > pause {
            self.report();
        }
        self.queue_fill();
    }

    /// Reports the nodes if they are shown.
    fn report(&mut self) {
        let start = Instant::now();
        if self.is_shown && self.logs.is_some() {
            self.events.send(Event::TimelineMade {
                outline: Arc::new(Outline::of(&self.timeline)),
                left: self.outdated.len(),
            });
        }
        self.reported = Instant::now();
        self.report_time = start.elapsed();
    }

    /// Sends the node of a session, made from its log as it is now.
    fn summarize_session(&mut self, agent: Agent, id: &str) {
        let Some(corpus) = &self.logs else {
            return;
        };
        let is_it = |number: &usize| {
            let log = corpus.log(*number);
            log.is_some_and(|log| log.agent() == Some(agent) && log.id() == id)
        };
        let own: Vec<usize> = self.outdated.iter().copied().filter(is_it).collect();
        self.timeline.update(corpus, &own);
        self.outdated.retain(|log| !own.contains(log));
        if let Some(node) = self.timeline.session(agent, id) {
            self.events.send(Event::SessionSummarized(Arc::new(node)));
        }
    }

    fn expand(&self, ids: &[String]) {
        let Some(corpus) = &self.logs else {
            return;
        };
        for id in ids {
            let Some(grip) = self.timeline.grip(corpus, id) else {
                continue;
            };
            let found = expand(corpus, &grip, AROUND, AROUND);
            let messages = |events: &[Shown]| {
                let messages = events.iter().map(|one| message(one, &one.event.text));
                messages.collect()
            };
            let own = found.excerpt.iter();
            let own = own.map(|one| message(one, grip.from_line(&one.event.text)));
            self.events.send(Event::GripExpanded(Arc::new(GripText {
                state: found.state,
                before: messages(&found.before),
                excerpt: own.collect(),
                after: messages(&found.after),
                grip,
            })));
        }
    }

    /// Proposes a memory for grips and lines of logs.
    fn propose(&self, references: &[String]) {
        let Some(corpus) = self.logs.as_ref().or(self.conversations.as_ref()) else {
            return self
                .events
                .send(Event::Failed("the logs are not read yet".to_owned()));
        };
        let find_grip = |id: &str| self.timeline.grip(corpus, id);
        let proposed = quotes(corpus, &find_grip, references).and_then(|quotes| {
            let nothing = || Error::not_found(references.join(" "));
            propose(&quotes).map(Box::new).ok_or_else(nothing)
        });
        self.events.send(Event::Proposed(proposed));
    }
}

fn message(Shown { event, calls, .. }: &Shown, text: &str) -> GripMessage {
    let beginning: String = text.chars().take(LONGEST).collect();
    GripMessage {
        line: event.line,
        time: event.time,
        role: event.role,
        tool: event.tool.clone(),
        text: safe(&beginning),
        calls: *calls,
    }
}

impl Worker for TimelineWorker {
    type Job = Job;

    fn perform(&mut self, job: Job) {
        if self.leaving.load(Ordering::Relaxed) {
            return;
        }
        match job {
            Job::Conversations(corpus) => self.conversations = Some(corpus),
            Job::Logs(corpus) => self.take_logs(corpus),
            Job::Fill => self.fill(),
            Job::Asked(TimelineJob::Show) => {
                self.is_shown = true;
                self.report();
            }
            Job::Asked(TimelineJob::Hide) => self.is_shown = false,
            Job::Asked(TimelineJob::Session { agent, id }) => self.summarize_session(agent, &id),
            Job::Asked(TimelineJob::Expand(ids)) => self.expand(&ids),
            Job::Asked(TimelineJob::Propose(references)) => self.propose(&references),
        }
    }

    fn supersedes(newer: &Job, older: &Job) -> bool {
        matches!(
            (newer, older),
            (Job::Logs(_), Job::Logs(_) | Job::Fill) | (Job::Fill, Job::Fill)
        )
    }
}
