//! The memories that a session read, wrote or deleted.

use std::path::{Path, PathBuf};

use super::LogPane;
use crate::core::insight::review::memory_meant;
use crate::core::log::touch::{FileUse, file_touches};
use crate::core::log::{Message, MessageKind, Transcript, call_mark};
use crate::core::memory::library::Library;
use crate::core::memory::store::Store;
use crate::tui::chrome::count;
use crate::tui::event::Event;
use crate::tui::model::PaneContext;
use crate::tui::overlay::chooser::{Chooser, ChooserOption};
use crate::tui::pane::{Step, push, say};

/// The width of their list.
const WIDTH: u16 = 76;

/// A memory, and what a session did to it.
#[derive(Debug, PartialEq, Eq)]
struct Touched {
    name: String,
    /// How often it was read, written and deleted.
    uses: [usize; 3],
    /// The line of the first call that changed it, or else of the first that read it.
    line: u64,
}

impl Touched {
    fn is_changed(&self) -> bool {
        self.uses[1..] != [0, 0]
    }

    /// What was done to it, in words.
    fn what(&self) -> String {
        let words = ["read", "written", "deleted"];
        let uses = words.iter().zip(self.uses).filter(|(_, uses)| *uses > 0);
        let said = uses.map(|(word, uses)| match uses {
            1 => (*word).to_owned(),
            uses => format!("{word} {uses} times"),
        });
        said.collect::<Vec<String>>().join(", ")
    }
}

/// The memories that the calls of a transcript name, in the order of their first call.
fn touched(transcript: &Transcript, library: &Library) -> Vec<Touched> {
    let stores = library
        .stores
        .iter()
        .map(|snapshot| snapshot.store.as_ref());
    let stores: Vec<&Store> = stores.collect();
    let cwd = transcript.head.cwd.as_deref();
    let mut found: Vec<(PathBuf, Touched)> = Vec::new();
    let calls = transcript.messages.iter();
    let is_made = |call: &&Message| {
        let mark = call_mark(call.line, &call.text);
        call.kind == MessageKind::ToolCall && !transcript.head.failed.contains(&mark)
    };
    for call in calls.filter(is_made) {
        let tool = call.tool.as_deref().unwrap_or_default();
        for touch in file_touches(tool, &call.text) {
            let Some(file) = memory_meant(&touch, cwd, &stores) else {
                continue;
            };
            let at = found.iter().position(|(known, _)| *known == file);
            let at = at.unwrap_or_else(|| {
                let touched = Touched {
                    name: name_of(&file, library),
                    uses: [0; 3],
                    line: call.line,
                };
                found.push((file, touched));
                found.len() - 1
            });
            let touched = &mut found[at].1;
            if touch.usage != FileUse::Read && !touched.is_changed() {
                touched.line = call.line;
            }
            touched.uses[touch.usage as usize] += 1;
        }
    }
    found.into_iter().map(|(_, touched)| touched).collect()
}

/// A memory as it is cited.
fn name_of(file: &Path, library: &Library) -> String {
    let stores = library.stores.iter().map(|snapshot| &snapshot.store);
    let holding = stores.filter(|store| file.starts_with(store.root().path()));
    // A store may be inside of another one.
    let deepest = holding.max_by_key(|store| store.root().path().components().count());
    let named = deepest.and_then(|store| {
        let below = file.strip_prefix(store.root().path()).ok()?;
        let reference = store.rules().reference_of(&below.to_string_lossy());
        Some(format!("{}:{reference}", store.name()))
    });
    named.unwrap_or_else(|| file.display().to_string())
}

impl LogPane {
    /// Lists the memories that the session touched; a choice goes to the call.
    pub(super) fn list_touched(&self, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(transcript) = &self.read else {
            return Vec::new();
        };
        let rows = touched(transcript, cx.library);
        if rows.is_empty() {
            return say("This session touched no memory of the stores shown here");
        }
        let title = count(
            rows.len(),
            "memory of this session",
            "memories of this session",
        );
        let options = rows.into_iter().map(|row| ChooserOption {
            detail: row.what(),
            step: Step::Broadcast(Box::new(Event::ShowMessage {
                log: self.file.clone(),
                line: row.line,
            })),
            label: row.name,
        });
        let chooser = Chooser::new(title, options.collect()).with_width(WIDTH);
        push(chooser)
    }
}
