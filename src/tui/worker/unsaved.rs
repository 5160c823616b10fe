//! The worker that keeps unsaved texts. It never waits for a store's lock, so that typed text is
//! on disk a moment later, whatever the other workers do.

use super::thread::Worker;
use crate::core::Result;
use crate::core::memory::unsaved::{Unsaved, UnsavedStore};
use crate::tui::effect::UnsavedJob;
use crate::tui::event::{Event, EventSender};

pub(crate) const THREAD: &str = "unsaved texts";

pub(super) struct UnsavedWorker {
    pub(super) unsaved_store: UnsavedStore,
    pub(super) events: EventSender,
}

impl UnsavedWorker {
    fn send_failure(&self, result: Result<()>) {
        if let Err(error) = result {
            self.events.fail(&error);
        }
    }

    /// Keeps every text, then reports whether that succeeded.
    fn secure(&mut self, texts: &[Unsaved], report: &str) {
        let kept: Result<()> = texts
            .iter()
            .try_for_each(|text| self.unsaved_store.keep(text));
        let outcome = match kept {
            Ok(()) => "what you typed is kept".to_owned(),
            Err(error) => format!("what you typed is NOT kept ({error}): copy it elsewhere"),
        };
        self.events
            .send(Event::Failed(format!("{outcome}; {report}")));
    }
}

impl Worker for UnsavedWorker {
    type Job = UnsavedJob;

    fn perform(&mut self, job: UnsavedJob) {
        match job {
            UnsavedJob::Keep(text) => {
                let kept = self.unsaved_store.keep(&text);
                self.send_failure(kept);
            }
            UnsavedJob::Forget(text) => {
                let forgotten = self.unsaved_store.forget(&text);
                self.send_failure(forgotten);
            }
            UnsavedJob::Secure { texts, report } => self.secure(&texts, &report),
            UnsavedJob::Offer => {
                let texts = self.unsaved_store.abandoned();
                if !texts.is_empty() {
                    self.events.send(Event::Abandoned(texts));
                }
            }
        }
    }

    fn supersedes(newer: &UnsavedJob, older: &UnsavedJob) -> bool {
        match (newer, older) {
            (UnsavedJob::Keep(new) | UnsavedJob::Forget(new), UnsavedJob::Keep(old)) => {
                new.is_same_file(old)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::core::memory::layout::Layout;

    fn report_of(dir: &Path) -> String {
        let (events, told) = EventSender::new();
        let mut worker = UnsavedWorker {
            unsaved_store: UnsavedStore::open(dir),
            events,
        };
        let text = Unsaved {
            root: "/r".into(),
            layout: Layout::Index,
            path: "a.md".to_owned(),
            base: None,
            text: "precious".to_owned(),
            time: 1,
        };
        worker.perform(UnsavedJob::Secure {
            texts: vec![text],
            report: "it broke".to_owned(),
        });
        match told.try_recv() {
            Ok(Event::Failed(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn text_is_said_to_be_kept_only_when_it_is_on_the_disk() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let dir = temp.path().join("unsaved");
        assert_eq!(report_of(&dir), "what you typed is kept; it broke");
        let kept = fs::read_dir(&dir).expect("made").flatten();
        let kept: Vec<String> = kept
            .filter_map(|entry| fs::read_to_string(entry.path()).ok())
            .collect();
        assert!(
            kept.iter().any(|text| text.contains("precious")),
            "{kept:?}"
        );
        let taken = temp.path().join("a file");
        fs::write(&taken, "").expect("writes");
        let message = report_of(&taken);
        assert!(message.contains("NOT kept"), "{message}");
        assert!(message.ends_with("it broke"), "{message}");
    }
}
