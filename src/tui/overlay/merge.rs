//! Two versions of one text, place by place: mine, theirs, or both.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

use crate::core::unsaved::Unsaved;
use crate::tui::action::Action;
use crate::tui::cells::cut;
use crate::tui::chrome::dialog;
use crate::tui::event::Event;
use crate::tui::keymap::Place;
use crate::tui::layout::sheet;
use crate::tui::pane::{Answer, Pane, Scene, Step, Toast};
use crate::tui::theme::Role;

/// A piece of the merged text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// Both agree, or only one of them changed it.
    Settled(String),
    /// Both changed it.
    Clash {
        mine: String,
        theirs: String,
        take: Option<Take>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Take {
    Mine,
    Theirs,
    Both,
}

/// Asks what to take where two versions clash.
#[derive(Debug)]
pub(crate) struct Merge {
    text: Unsaved,
    theirs: String,
    pieces: Vec<Piece>,
    /// The clash that a key decides.
    at: usize,
}

impl Merge {
    /// A merge of `text` with what is on the disk; `marked` has both between conflict markers.
    pub(crate) fn new(text: Unsaved, theirs: String, marked: &str) -> Self {
        Self {
            text,
            theirs,
            pieces: pieces(marked),
            at: 0,
        }
    }

    fn clashes(&self) -> usize {
        let clash = |piece: &&Piece| matches!(piece, Piece::Clash { .. });
        self.pieces.iter().filter(clash).count()
    }

    fn decide(&mut self, with: Take) -> Vec<Step> {
        let at = self.at;
        let clashes = self.pieces.iter_mut().filter_map(|piece| match piece {
            Piece::Clash { take, .. } => Some(take),
            Piece::Settled(_) => None,
        });
        if let Some(take) = clashes.into_iter().nth(at) {
            *take = Some(with);
        }
        self.at = (self.at + 1).min(self.clashes().saturating_sub(1));
        Vec::new()
    }

    fn done(&self) -> Vec<Step> {
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Settled(text) => out.push_str(text),
                Piece::Clash { take: None, .. } => {
                    return vec![Step::Say(Toast::done("Decide every place first"))];
                }
                Piece::Clash {
                    mine,
                    theirs,
                    take: Some(take),
                } => match take {
                    Take::Mine => out.push_str(mine),
                    Take::Theirs => out.push_str(theirs),
                    Take::Both => {
                        out.push_str(mine);
                        out.push_str(theirs);
                    }
                },
            }
        }
        let merged = Unsaved {
            text: out,
            base: Some(self.theirs.clone()),
            ..self.text.clone()
        };
        vec![Step::Close, Step::Tell(Box::new(Event::Resolved(merged)))]
    }

    fn lines(&self, scene: &Scene<'_>, width: usize) -> (Vec<Line<'static>>, usize) {
        let theme = scene.theme;
        let mut lines = Vec::new();
        let mut number = 0;
        let mut current = 0;
        for piece in &self.pieces {
            match piece {
                Piece::Settled(text) => {
                    let settled: Vec<&str> = text.lines().collect();
                    let from = settled.len().saturating_sub(3);
                    for line in &settled[from..] {
                        let span = Span::styled(cut(line, width), theme.style(Role::Muted));
                        lines.push(Line::from(span));
                    }
                }
                Piece::Clash { mine, theirs, take } => {
                    let here = number == self.at;
                    if here {
                        current = lines.len();
                    }
                    number += 1;
                    let side = |own: Take, label: &str| {
                        let taken = *take == Some(own) || *take == Some(Take::Both);
                        let sign = if taken { "✓" } else { " " };
                        let bar = if here { "▌" } else { " " };
                        Line::from(vec![
                            Span::styled(bar.to_owned(), theme.style(Role::Accent)),
                            Span::styled(
                                format!("{sign} {label}"),
                                theme.style(if taken { Role::Strong } else { Role::Muted }),
                            ),
                        ])
                    };
                    for (own, label, text, role) in [
                        (Take::Mine, "mine", mine, Role::Added),
                        (Take::Theirs, "on the disk", theirs, Role::Removed),
                    ] {
                        lines.push(side(own, label));
                        for line in text.lines() {
                            let text = format!("    {}", cut(line, width.saturating_sub(4)));
                            lines.push(Line::from(Span::styled(text, theme.style(role))));
                        }
                    }
                }
            }
        }
        (lines, current)
    }
}

impl Pane for Merge {
    fn place(&self) -> Place {
        Place::Merge
    }

    fn act(&mut self, action: Action, _scene: &Scene<'_>) -> Answer {
        Answer::Used(match action {
            Action::Down => {
                self.at = (self.at + 1).min(self.clashes().saturating_sub(1));
                Vec::new()
            }
            Action::Up => {
                self.at = self.at.saturating_sub(1);
                Vec::new()
            }
            Action::TakeMine => self.decide(Take::Mine),
            Action::TakeTheirs => self.decide(Take::Theirs),
            Action::TakeBoth => self.decide(Take::Both),
            Action::Open => self.done(),
            Action::Back => vec![Step::Close],
            _ => Vec::new(),
        })
    }

    fn view(&self, frame: &mut Frame<'_>, scene: &Scene<'_>) {
        let area = sheet(scene.areas.whole);
        let title = format!(
            "{} was changed outside · {} of {}",
            self.text.path,
            self.at + 1,
            self.clashes()
        );
        let block = dialog(scene, &title, Place::Merge);
        let inner = block.inner(area);
        let (lines, current) = self.lines(scene, usize::from(inner.width));
        let scroll = current.saturating_sub(usize::from(inner.height) / 3);
        frame.render_widget(Clear, area);
        frame.render_widget(block, area);
        let shown = lines.into_iter().skip(scroll);
        for (line, y) in shown.zip(inner.top()..inner.bottom()) {
            frame.render_widget(line, Rect::new(inner.x, y, inner.width, 1));
        }
    }
}

/// The pieces of a text with conflict markers.
fn pieces(marked: &str) -> Vec<Piece> {
    enum In {
        Settled,
        Mine,
        Base,
        Theirs,
    }
    let mut pieces = Vec::new();
    let (mut settled, mut mine, mut theirs) = (String::new(), String::new(), String::new());
    let mut at = In::Settled;
    for line in marked.split_inclusive('\n') {
        at = match at {
            In::Settled if line.starts_with("<<<<<<< ") => {
                pieces.push(Piece::Settled(std::mem::take(&mut settled)));
                In::Mine
            }
            In::Mine if line.starts_with("||||||| ") => In::Base,
            In::Mine | In::Base if line.starts_with("=======") => In::Theirs,
            In::Theirs if line.starts_with(">>>>>>> ") => {
                pieces.push(Piece::Clash {
                    mine: std::mem::take(&mut mine),
                    theirs: std::mem::take(&mut theirs),
                    take: None,
                });
                In::Settled
            }
            other => {
                match other {
                    In::Settled => settled.push_str(line),
                    In::Mine => mine.push_str(line),
                    In::Theirs => theirs.push_str(line),
                    In::Base => {}
                }
                other
            }
        };
    }
    pieces.push(Piece::Settled(settled));
    pieces
}
