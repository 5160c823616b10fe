//! The form of a new memory: store, kind, name, and what it is about. For lines of a log that are
//! promoted, all of it is proposed.

use std::sync::Arc;

use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::core::insight::promote::Proposal;
use crate::core::memory::layout::Layout;
use crate::core::memory::library::{Library, StoreSnapshot};
use crate::core::memory::store::StoreId;
use crate::core::memory::template;
use crate::tui::action::Action;
use crate::tui::cells::{self, escape_line};
use crate::tui::chrome::{Dialog, draw_lines, fit_end};
use crate::tui::effect::{Effect, LibraryJob, NewMemory};
use crate::tui::keymap::KeyContext;
use crate::tui::layout::centred;
use crate::tui::model::PaneContext;
use crate::tui::pane::{Pane, Step, say};
use crate::tui::theme::Role;
use crate::tui::widget::input::Input;

/// The fields, from top to bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Store,
    Kind,
    Name,
    About,
}

/// A store that new memories can be added to.
#[derive(Debug)]
struct TargetStore {
    id: StoreId,
    name: String,
    layout: Layout,
    kinds: Vec<String>,
    /// The directory to create, if the store does not exist yet.
    new: Option<String>,
}

#[derive(Debug)]
pub(crate) struct NewMemoryForm {
    targets: Vec<TargetStore>,
    store: usize,
    kind: usize,
    name: Input,
    about: Input,
    field: Field,
    /// What is proposed, if lines are promoted.
    proposal: Option<Proposal>,
}

impl NewMemoryForm {
    /// Creates a form with the store and kind at the cursor selected; `None` if no store accepts
    /// a memory.
    pub(crate) fn new(
        library: &Arc<Library>,
        store: Option<&StoreId>,
        kind: Option<&str>,
    ) -> Option<Self> {
        let mut targets: Vec<TargetStore> =
            library.stores.iter().filter_map(target_store).collect();
        let firsts = library.firsts.iter().filter_map(|snapshot| {
            let root = snapshot.store.root().path().display().to_string();
            let new = Some(root);
            Some(TargetStore {
                new,
                ..target_store(snapshot)?
            })
        });
        targets.extend(firsts);
        if targets.is_empty() {
            return None;
        }
        let at = targets.iter().position(|target| Some(&target.id) == store);
        // Unless the cursor is in a memory store, suggest to create one.
        let first = targets
            .iter()
            .position(|target| target.new.is_some() && target.layout == Layout::Index);
        let is_meant = |at: &usize| targets[*at].layout != Layout::Instructions;
        let store = at.filter(is_meant).or(first).or(at).unwrap_or(0);
        let kinds = &targets[store].kinds;
        let is = |own: &String| {
            kind.is_some_and(|kind| kind == own || kind.starts_with(&format!("{own}/")))
        };
        // Most new memories are about the project.
        let usual = kinds.iter().position(|kind| kind == "project");
        let kind = kinds.iter().position(is).or(usual).unwrap_or(0);
        Some(Self {
            targets,
            store,
            kind,
            name: Input::default(),
            about: Input::default(),
            field: Field::Name,
            proposal: None,
        })
    }

    /// Creates a form with what is proposed for lines of a log; `None` if no store accepts a
    /// memory.
    pub(crate) fn promoting(library: &Arc<Library>, proposal: Proposal) -> Option<Self> {
        let mut form = Self::new(library, None, None)?;
        form.targets
            .retain(|target| target.layout != Layout::Instructions);
        let first = |is_it: &dyn Fn(&TargetStore) -> bool| form.targets.iter().position(is_it);
        let own = first(&|target| proposal.is_from_agent_of(target.id.root()));
        let index = first(&|target| target.layout == Layout::Index);
        form.store = own.or(index).unwrap_or(0);
        form.targets.get(form.store)?;
        form.name = Input::new(&proposal.name);
        form.about = Input::new(&proposal.description);
        form.proposal = Some(proposal);
        form.propose_kind();
        Some(form)
    }

    /// Selects the kind that is proposed for the store's layout, or the first one.
    fn propose_kind(&mut self) {
        let target = self.target();
        let proposed = self.proposal.as_ref();
        let proposed = proposed.map(|proposal| proposal.kind(target.layout));
        let mut kinds = target.kinds.iter();
        let kind = kinds.position(|kind| Some(kind.as_str()) == proposed);
        self.kind = kind.unwrap_or(0);
    }

    fn target(&self) -> &TargetStore {
        &self.targets[self.store]
    }

    fn kind(&self) -> &str {
        self.target()
            .kinds
            .get(self.kind)
            .map_or("", String::as_str)
    }

    fn path(&self) -> String {
        template::path(self.target().layout, self.kind(), self.name.text())
    }

    fn needs_name(&self) -> bool {
        self.target().layout != Layout::Instructions
    }

    /// Whether memories of this layout have a description.
    fn has_about(&self) -> bool {
        matches!(
            self.target().layout,
            Layout::Index | Layout::Facts | Layout::Coder
        )
    }

    /// The fields that apply, from top to bottom.
    fn fields(&self) -> Vec<Field> {
        let mut fields = vec![Field::Store, Field::Kind, Field::Name];
        if self.has_about() {
            fields.push(Field::About);
        }
        fields
    }

    fn area(&self, cx: &PaneContext<'_>) -> Rect {
        centred(cx.areas.whole, 64, if self.has_about() { 9 } else { 8 })
    }

    /// How to go on in this field: the keys that choose in it, and that lead to the others.
    fn field_hint(&self, cx: &PaneContext<'_>) -> String {
        let key = |action| {
            let key = cx.keymap.key(KeyContext::Prompt, action);
            key.unwrap_or_default()
        };
        let others = format!(
            "{} and {}: the other fields",
            key(Action::Up),
            key(Action::Down)
        );
        match self.field {
            Field::Store | Field::Kind => format!("← and →: another one; {others}"),
            Field::Name | Field::About => others,
        }
    }

    /// Goes to the field after or before this one, around the ends.
    fn go_to_field(&mut self, by: isize) {
        let fields = self.fields();
        let at = fields.iter().position(|field| *field == self.field);
        self.field = fields[turned(at.unwrap_or(0), by, fields.len())];
    }

    /// Takes the next or the previous store or kind.
    fn turn(&mut self, by: isize) {
        match self.field {
            Field::Store => {
                self.store = turned(self.store, by, self.targets.len());
                self.propose_kind();
            }
            Field::Kind => self.kind = turned(self.kind, by, self.target().kinds.len()),
            Field::Name | Field::About => {}
        }
    }

    fn go_on(&self) -> Vec<Step> {
        let name = self.name.text().trim();
        if name.is_empty() && self.needs_name() {
            return say("Give it a name");
        }
        let new = NewMemory {
            store: self.target().id.clone(),
            kind: self.kind().to_owned(),
            name: name.to_owned(),
            about: if self.has_about() {
                self.about.text().trim().to_owned()
            } else {
                String::new()
            },
            lessons: Vec::new(),
            text: self.proposal.as_ref().map(|proposal| proposal.text.clone()),
        };
        vec![
            Step::Close,
            Step::Effect(Effect::Library(LibraryJob::Compose(new))),
        ]
    }
}

/// The number after or before one of `count`, around the ends.
fn turned(at: usize, by: isize, count: usize) -> usize {
    let count = count.max(1);
    (at + count).saturating_add_signed(by) % count
}

fn target_store(snapshot: &Arc<StoreSnapshot>) -> Option<TargetStore> {
    let layout = snapshot.store.layout();
    let mut kinds: Vec<String> = template::kinds(&snapshot.store)
        .into_iter()
        .map(str::to_owned)
        .collect();
    if matches!(layout, Layout::Instructions | Layout::Entries) {
        kinds.retain(|name| snapshot.memory(name).is_none());
    }
    (!kinds.is_empty()).then(|| TargetStore {
        id: snapshot.store.id().clone(),
        name: snapshot.store.name().to_owned(),
        layout,
        kinds,
        new: None,
    })
}

impl Pane for NewMemoryForm {
    fn key_context(&self) -> KeyContext {
        KeyContext::Prompt
    }

    fn act(&mut self, action: Action, _cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        match action {
            Action::Open => return Some(self.go_on()),
            Action::Back => return Some(vec![Step::Close]),
            Action::Down => self.go_to_field(1),
            Action::Up => self.go_to_field(-1),
            _ => {}
        }
        Some(Vec::new())
    }

    fn input(&mut self) -> Option<&mut Input> {
        match self.field {
            Field::Name => Some(&mut self.name),
            Field::About => Some(&mut self.about),
            Field::Store | Field::Kind => None,
        }
    }

    fn key(&mut self, key: KeyEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        match key.code {
            _ if self.input().is_some() => return self.type_key(key, cx),
            KeyCode::Right | KeyCode::Char(' ' | 'l') => self.turn(1),
            KeyCode::Left | KeyCode::Char('h') => self.turn(-1),
            _ => {}
        }
        Vec::new()
    }

    /// A click goes to a field; on one that is chosen in, it takes the next one.
    fn click(&mut self, at: Position, cx: &PaneContext<'_>) -> Vec<Step> {
        let area = self.area(cx);
        let row = at.y.checked_sub(area.y + 1).filter(|_| area.contains(at));
        if let Some(field) = row.and_then(|row| self.fields().get(usize::from(row)).copied()) {
            if field == self.field {
                self.turn(1)
            } else {
                self.field = field
            }
        }
        Vec::new()
    }

    fn dialog(&self, cx: &PaneContext<'_>) -> Option<Dialog> {
        let title = match &self.proposal {
            Some(_) => "promote to a memory",
            None => "new memory",
        };
        Some(Dialog::new(cx, self.area(cx), title, KeyContext::Prompt))
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let inner = Dialog::inner(self.area(cx));
        let width = inner.width.saturating_sub(8);
        let label = |field: Option<Field>, text: &'static str| {
            let role = if field == Some(self.field) {
                Role::Accent
            } else {
                Role::Muted
            };
            theme.span(text, role)
        };
        let turning = |field: Field, value: &str, options: usize| {
            let mut spans = vec![Span::raw(escape_line(value))];
            if field == self.field && options > 1 {
                spans.push(theme.span("  ← →", Role::Muted));
            }
            spans
        };
        // A field without the keys shows its beginning.
        let value = |field: Field, input: &Input| {
            if field == self.field {
                return input.line(theme, width);
            }
            let text = cells::cut(&escape_line(input.text()), usize::from(width));
            (theme.line(text, Role::Text), 0)
        };
        let (typed, column) = value(Field::Name, &self.name);
        let mut store = vec![label(Some(Field::Store), "store   ")];
        let mut store_label = format!("{} · {}", self.target().name, self.target().layout);
        if self.target().new.is_some() {
            store_label.push_str(" · will be made");
        }
        store.extend(turning(Field::Store, &store_label, self.targets.len()));
        let mut kind = vec![label(Some(Field::Kind), "kind    ")];
        kind.extend(turning(Field::Kind, self.kind(), self.target().kinds.len()));
        let mut name = vec![label(Some(Field::Name), "name    ")];
        name.extend(typed.spans);
        let is_named = !self.name.is_empty() || !self.needs_name();
        let file = match (&self.target().new, is_named) {
            (Some(root), true) => format!("{root}/{}", self.path()),
            (Some(root), false) => format!("{root}/"),
            (None, true) => self.path(),
            (None, false) => String::new(),
        };
        let (described, about_column) = value(Field::About, &self.about);
        let mut about = vec![label(Some(Field::About), "about   ")];
        about.extend(described.spans);
        let mut text = vec![Line::from(store), Line::from(kind), Line::from(name)];
        if self.has_about() {
            text.push(Line::from(about));
        }
        text.push(Line::from(vec![
            label(None, "file    "),
            theme.span(fit_end(&file, usize::from(width)), Role::Muted),
        ]));
        text.push(Line::default());
        text.push(theme.line(self.field_hint(cx), Role::Muted));
        draw_lines(frame, inner, text);
        match self.field {
            Field::Name => frame.set_cursor_position((inner.x + 8 + column, inner.y + 2)),
            Field::About => frame.set_cursor_position((inner.x + 8 + about_column, inner.y + 3)),
            Field::Store | Field::Kind => {}
        }
    }
}
