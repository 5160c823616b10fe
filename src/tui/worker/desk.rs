//! A thread that does jobs in their order, passing over what a newer job makes pointless.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::tui::event::Event;

/// Who does the jobs.
pub(crate) trait Clerk: Send + 'static {
    /// What is to be done.
    type Job: Send + 'static;

    /// Does a job.
    fn perform(&mut self, job: Self::Job);

    /// Whether a job makes an older one pointless.
    fn outdates(newer: &Self::Job, older: &Self::Job) -> bool;

    /// Where to tell what went wrong.
    fn events(&self) -> &Sender<Event>;
}

/// The thread and the way to it.
pub(crate) struct Desk<J> {
    jobs: Sender<J>,
    thread: JoinHandle<()>,
}

impl<J: Send + 'static> Desk<J> {
    /// Seats a clerk.
    pub(crate) fn open(name: &str, mut clerk: impl Clerk<Job = J>) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || work(&mut clerk, &queue))?;
        Ok(Self { jobs, thread })
    }

    /// Hands a job over.
    pub(crate) fn hand(&self, job: J) {
        // A clerk that is gone has told why.
        drop(self.jobs.send(job));
    }

    /// A way to hand jobs over from elsewhere.
    pub(crate) fn slot(&self) -> Sender<J> {
        self.jobs.clone()
    }

    /// Waits for the clerk to leave, but not for long.
    pub(crate) fn leave(self, until: Instant) {
        drop(self.jobs);
        while !self.thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until everything that was handed over is done; others must have let go of their
    /// slots.
    pub(crate) fn finish(self) {
        drop(self.jobs);
        // What went wrong was told when it happened.
        drop(self.thread.join());
    }
}

fn work<C: Clerk>(clerk: &mut C, queue: &Receiver<C::Job>) {
    let mut waiting = VecDeque::new();
    loop {
        if waiting.is_empty() {
            match queue.recv() {
                Ok(job) => waiting.push_back(job),
                Err(_) => return,
            }
        }
        waiting.extend(queue.try_iter());
        let Some(job) = waiting.pop_front() else {
            continue;
        };
        if waiting.iter().any(|newer| C::outdates(newer, &job)) {
            continue;
        }
        if catch_unwind(AssertUnwindSafe(|| clerk.perform(job))).is_err() {
            let told =
                Event::Failed("something went wrong inside tome; nothing was lost".to_owned());
            // Nobody listens any more when the program is about to end.
            drop(clerk.events().send(told));
        }
    }
}
