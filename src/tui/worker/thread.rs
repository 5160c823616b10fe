//! A thread that performs jobs in order, skipping those that a newer job supersedes.

use std::collections::VecDeque;
use std::mem::discriminant;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub(crate) trait Worker: Send + 'static {
    type Job: Send + 'static;

    fn perform(&mut self, job: Self::Job);

    /// Whether a newer job makes an older one unnecessary: any of the same kind, unless said.
    fn supersedes(newer: &Self::Job, older: &Self::Job) -> bool {
        discriminant(newer) == discriminant(older)
    }

    /// Restores a consistent state after a job panicked. The panic hook has reported the panic.
    fn after_panic(&mut self) {}
}

/// An item in the queue of a thread.
enum Item<J> {
    Job(J),
    /// Ends the thread, after everything before it is done.
    End,
}

pub(crate) struct WorkerThread<J> {
    sender: JobSender<J>,
    thread: JoinHandle<()>,
}

/// Sends jobs to a thread.
pub(crate) struct JobSender<J>(Sender<Item<J>>);

impl<J> Clone for JobSender<J> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<J> JobSender<J> {
    pub(crate) fn send(&self, job: J) {
        // The receiver is gone when the program is about to end.
        drop(self.0.send(Item::Job(job)));
    }
}

/// The queue of a thread that is not started yet: threads that send jobs to each other need each
/// other's senders first.
pub(crate) struct Queue<J> {
    sender: JobSender<J>,
    items: Receiver<Item<J>>,
}

impl<J: Send + 'static> Queue<J> {
    pub(crate) fn new() -> Self {
        let (sender, items) = mpsc::channel();
        Self {
            sender: JobSender(sender),
            items,
        }
    }

    pub(crate) fn sender(&self) -> JobSender<J> {
        self.sender.clone()
    }

    pub(crate) fn start(
        self,
        name: &str,
        mut worker: impl Worker<Job = J>,
    ) -> std::io::Result<WorkerThread<J>> {
        let Self { sender, items } = self;
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || run_jobs(&mut worker, &items))?;
        Ok(WorkerThread { sender, thread })
    }
}

impl<J: Send + 'static> WorkerThread<J> {
    pub(crate) fn send(&self, job: J) {
        self.sender.send(job);
    }

    /// Waits until all queued jobs are done, at most until `until` and only while `is_stuck`
    /// returns false. Returns whether they are done.
    pub(crate) fn stop(self, until: Instant, is_stuck: impl Fn() -> bool) -> bool {
        drop(self.sender.0.send(Item::End));
        while !self.thread.is_finished() && Instant::now() < until && !is_stuck() {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.thread.is_finished()
    }

    /// Waits until all queued jobs are done.
    pub(crate) fn finish(self) {
        drop(self.sender.0.send(Item::End));
        // A panic was reported when it happened.
        drop(self.thread.join());
    }
}

fn run_jobs<W: Worker>(worker: &mut W, queue: &Receiver<Item<W::Job>>) {
    let mut waiting = VecDeque::new();
    loop {
        if waiting.is_empty() {
            match queue.recv() {
                Ok(item) => waiting.push_back(item),
                Err(_) => return,
            }
        }
        waiting.extend(queue.try_iter());
        let job = match waiting.pop_front() {
            Some(Item::Job(job)) => job,
            Some(Item::End) => return,
            None => continue,
        };
        let is_newer = |item: &Item<W::Job>| match item {
            Item::Job(newer) => W::supersedes(newer, &job),
            Item::End => false,
        };
        if waiting.iter().any(is_newer) {
            continue;
        }
        if catch_unwind(AssertUnwindSafe(|| worker.perform(job))).is_err() {
            // A second panic is reported by the hook, too.
            drop(catch_unwind(AssertUnwindSafe(|| worker.after_panic())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records its jobs; panics at an empty job.
    struct Noting(Sender<String>);

    impl Worker for Noting {
        type Job = &'static str;

        fn perform(&mut self, job: &'static str) {
            assert!(!job.is_empty(), "an empty job");
            drop(self.0.send(job.to_owned()));
        }

        fn supersedes(newer: &&'static str, older: &&'static str) -> bool {
            newer.starts_with(*older) && newer != older && !older.is_empty()
        }

        fn after_panic(&mut self) {
            drop(self.0.send("put right".to_owned()));
        }
    }

    #[test]
    fn a_panic_is_put_right_and_the_next_job_is_done() {
        let (notes, noted) = mpsc::channel();
        let queue = Queue::new();
        let slot = queue.sender();
        for job in ["a", "ab", "", "c"] {
            slot.send(job);
        }
        let thread = queue.start("noting", Noting(notes)).expect("starts");
        // A remaining sender does not keep the thread alive.
        thread.finish();
        slot.send("too late");
        assert_eq!(
            noted.try_iter().collect::<Vec<String>>(),
            ["ab", "put right", "c"]
        );
    }

    #[test]
    fn leaving_waits_for_what_is_done_and_not_for_what_is_stuck() {
        let (notes, noted) = mpsc::channel();
        let queue = Queue::new();
        let thread = queue.start("noting", Noting(notes)).expect("starts");
        thread.send("a");
        let far = Instant::now() + Duration::from_secs(60);
        assert!(thread.stop(far, || false));
        assert_eq!(noted.recv().expect("done"), "a");

        struct Stuck(Receiver<()>);
        impl Worker for Stuck {
            type Job = ();
            fn perform(&mut self, (): ()) {
                self.0.recv().unwrap_or_default();
            }
            fn supersedes((): &(), (): &()) -> bool {
                false
            }
        }
        let (free, stuck) = mpsc::channel::<()>();
        let thread = Queue::new().start("stuck", Stuck(stuck)).expect("starts");
        thread.send(());
        assert!(!thread.stop(far, || true));
        drop(free);
    }
}
