//! The transcript worker: reads whole logs, so that a long one does not delay other work.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::thread::Worker;
use crate::core::log::read;
use crate::tui::effect::TranscriptJob;
use crate::tui::event::Event;

/// Reads transcripts of logs.
pub(crate) struct TranscriptWorker {
    pub(crate) events: Sender<Event>,
}

impl Worker for TranscriptWorker {
    type Job = TranscriptJob;

    fn perform(&mut self, TranscriptJob { file, .. }: TranscriptJob) {
        let result = read(&file).map(Arc::new);
        drop(self.events.send(Event::Opened { file, result }));
    }

    fn supersedes(newer: &TranscriptJob, older: &TranscriptJob) -> bool {
        newer.requester == older.requester
    }
}
