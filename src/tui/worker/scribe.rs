//! The desk that reads whole conversations, so that a long one keeps nothing else waiting.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::desk::Clerk;
use crate::core::log::read;
use crate::tui::effect::TranscriptJob;
use crate::tui::event::Event;

/// Who reads logs.
pub(crate) struct Scribe {
    pub(crate) events: Sender<Event>,
}

impl Clerk for Scribe {
    type Job = TranscriptJob;

    fn perform(&mut self, TranscriptJob { file, .. }: TranscriptJob) {
        let result = read(&file).map(Arc::new);
        drop(self.events.send(Event::Opened { file, result }));
    }

    fn outdates(newer: &TranscriptJob, older: &TranscriptJob) -> bool {
        newer.asker == older.asker
    }
}
