//! Checks that the work on a text grows with its length and not with its content.
//!
//! Every function that reads text of unknown origin gets texts that are made to be expensive, in
//! sizes that double. Two things are counted, neither of which depends on the machine or on what
//! else it does:
//!
//! - The bytes that loops and searches examine, which they report to `core::work`. Text that is
//!   passed to a library (pulldown-cmark, syntect, imara-diff) counts with its length at every
//!   call, and so do the events and differences that the library returns.
//! - The bytes that are allocated, which a counting allocator sees in libraries as well.
//!
//! A loop that does not report its work and does not allocate is not seen; whoever adds one to
//! these functions adds the report.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use crate::core::change::{ChangeContext, ChangeRequest, plan};
use crate::core::insight::timeline::event::Event;
use crate::core::insight::timeline::summarize::{SegmentWords, summarize};
use crate::core::log::{Role, json};
use crate::core::memory::layout::index::INDEX;
use crate::core::memory::layout::listing::{self, LinkDestination, ListItem};
use crate::core::memory::layout::{IndexUpdate, Layout as MemoryLayout};
use crate::core::memory::store::Store;
use crate::core::search::query::{Query, noon};
use crate::core::text::header::frontmatter::Frontmatter;
use crate::core::text::header::{label, meta, summary};
use crate::core::text::time::Moment;
use crate::core::text::{diff, display, hidden, link, secret, work};
use crate::tui::highlight::{Highlighter, Language, Syntaxes};
use crate::tui::theme::Theme;
use crate::tui::widget::markdown::{RenderOptions, render};

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, which counts the bytes that each thread asks for.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call is passed on to the system's allocator unchanged.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATED.try_with(|bytes| bytes.set(bytes.get() + layout.size()));
        // SAFETY: as for this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as for this function.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let grown = size.saturating_sub(layout.size());
        let _ = ALLOCATED.try_with(|bytes| bytes.set(bytes.get() + grown));
        // SAFETY: as for this function.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Texts of one piece that is repeated.
const REPEATED: &[&str] = &[
    "-",
    "[a](",
    "[",
    "](",
    "[[a",
    "http://",
    "ahttp://",
    "<http",
    "\x1b]",
    "`",
    "*a ",
    "**a*",
    "*",
    "_a",
    "<",
    "<!--",
    "> ",
    "- ",
    "  - a\n",
    "|a",
    "|a|\n",
    "a\nb\n",
    "{",
    "{\"a\":",
    "\"",
    "\\\"",
    "\\",
    "1",
    "\n",
    " ",
    "a: \"\n b\n",
    "token=",
    "-----BEGIN A PRIVATE KEY-----\n",
    "://a:b",
    "- [a](b.md), ",
    "## 2025-01-01: a\n",
    "- Summary: a\n",
    "\u{301}",
    "é ",
    "![",
    "&",
];

/// Texts of other forms, of about `size` bytes.
fn composed(size: usize) -> Vec<(&'static str, String)> {
    let rows = |row: fn(usize) -> String| -> String {
        let mut text = String::new();
        for number in 1.. {
            let row = row(number);
            if text.len() + row.len() > size {
                break;
            }
            text.push_str(&row);
        }
        text
    };
    let half = |piece: &str| piece.repeat(size / 2 / piece.len());
    let most = |piece: &str| piece.repeat(size.saturating_sub(32) / piece.len());
    vec![
        (
            "lists in lists",
            rows(|n| format!("{}- a\n", "  ".repeat(n))),
        ),
        (
            "quotes in quotes",
            rows(|n| format!("{} a\n\n", ">".repeat(n))),
        ),
        ("runs of backticks", rows(|n| format!("{} ", "`".repeat(n)))),
        ("one deep quote", format!("{}{}", half(">"), half(" a"))),
        (
            "one wide row",
            format!(
                "{}\n{}\n{}",
                "|a".repeat(size / 8),
                "|-".repeat(size / 8),
                half("|\n")
            ),
        ),
        (
            "one wide cell",
            format!("|a|b|\n|-|-|\n|{}|c|\n", most("x ")),
        ),
        (
            "one long quotation",
            format!("---\na: \"x\n{}---\n", most(" b\n")),
        ),
        ("many keys", format!("---\n{}---\n", most("b: c\n"))),
        (
            "nested JSON",
            format!("{}1{}", "{\"a\":[".repeat(size / 8), "]}".repeat(size / 8)),
        ),
        (
            "one line of code",
            format!("```rust\n{}\n```\n", most("a+")),
        ),
        ("braces in code", format!("```rust\n{}\n```\n", most("{\n"))),
        (
            "one long reference",
            format!("[a]: {}\n\n{}", half("b"), half("[a] ")),
        ),
        (
            "links in one bullet",
            format!("- {}\n", most("[a](gone.md), ")),
        ),
    ]
}

/// The functions, each with what it is called with.
type Run = fn(&str, &Fixture);

struct Fixture {
    theme: Theme,
    syntaxes: std::sync::Arc<Syntaxes>,
    /// A directory for a store.
    dir: tempfile::TempDir,
}

impl Fixture {
    /// Renders Markdown.
    fn render(&self, text: &str) {
        let (theme, syntaxes) = (&self.theme, &self.syntaxes);
        let options = RenderOptions {
            theme,
            syntaxes,
            width: 80,
        };
        drop(render(text, 0..text.len(), options));
    }

    /// Plans a change of a store with a memory `a.md` and this text in another file.
    fn plan(&self, file: &str, text: &str, request: &ChangeRequest) {
        let root = self.dir.path();
        for (name, text) in [("a.md", "a\n"), (file, text)] {
            std::fs::write(root.join(name), text).expect("written");
        }
        let store = Store::open("s", root, Some(MemoryLayout::Index)).expect("opened");
        let context = ChangeContext {
            moment: Moment {
                time: jiff::Timestamp::UNIX_EPOCH,
                today: jiff::civil::date(2026, 1, 1),
            },
            expected: None,
        };
        // Whether the change is allowed does not matter here.
        drop(plan(&store, request, &context));
        std::fs::remove_file(root.join(file)).expect("removed");
    }
}

const FUNCTIONS: &[(&str, Run)] = &[
    ("masking", |text, _| drop(secret::mask(text))),
    ("cleaning", |text, _| drop(crate::core::text::clean(text))),
    ("showing", |text, _| drop(display::escape_controls(text))),
    ("showing JSON", |text, _| drop(display::visible_json(text))),
    ("removing hidden characters", |text, _| {
        drop(hidden::without_hidden(text))
    }),
    ("links", |text, _| drop(link::links(text))),
    ("links of a list", |text, _| drop(listing::bullets(text))),
    ("removing dead links", |text, _| {
        drop(listing::without_dead(text, |_| LinkDestination::Nowhere));
    }),
    ("adding to a list", |text, _| {
        let item = |section| ListItem {
            target: "n.md",
            title: text,
            hook: "h",
            section,
        };
        drop(listing::with_all(text, &[item(Some("User")), item(None)]));
    }),
    ("frontmatter", |text, _| drop(Frontmatter::parse(text))),
    ("labels", |text, _| drop(label::entries(text))),
    ("META comment", |text, _| drop(meta::Meta::parse(text))),
    ("Summary line", |text, _| {
        drop(summary::entries(text));
        drop(summary::followed(Some(text), text));
        drop(summary::without_head(text));
    }),
    ("JSON", |text, _| {
        if let Ok((value, _)) = json::value(text.as_bytes()) {
            drop(value.outline());
            drop(value.text());
        }
    }),
    ("query", |text, _| {
        drop(Query::parse(text, &noon()));
        drop(Query::of_prose(text, &noon()));
    }),
    ("difference", |text, _| {
        let other = format!("x\n{}", text.replace('a', "b"));
        drop(diff::unified(("a", "b"), text.as_bytes(), other.as_bytes()));
        drop(diff::merge(text.as_bytes(), other.as_bytes(), b""));
    }),
    ("Markdown", |text, with| with.render(text)),
    ("autolinks", |text, with| {
        with.render(&format!(
            "http://{text}\n\n<http://{text}>\n\n[a](http://{text})"
        ));
    }),
    ("highlighting", |text, with| {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let syntaxes = std::sync::Arc::clone(&with.syntaxes);
        let mut highlighter = Highlighter::new(syntaxes, &Language::Markdown, lines.len());
        highlighter.parse(&lines, lines.len());
    }),
    ("summarizing", |text, _| {
        let event = Event::said(1, 0, Role::Assistant, text);
        let mut seen = SegmentWords::default();
        seen.add(std::slice::from_ref(&event));
        drop(summarize(&[event], 0, &seen, None));
    }),
    ("renaming", |text, with| {
        let (from, to) = ("a.md".to_owned(), "b.md".to_owned());
        with.plan("other.md", text, &ChangeRequest::Rename { from, to });
    }),
    ("repairing an index", |text, with| {
        with.plan(INDEX, text, &ChangeRequest::Index(IndexUpdate::Repair));
    }),
    ("rewriting an index", |text, with| {
        with.plan(INDEX, text, &ChangeRequest::Index(IndexUpdate::Rewrite));
    }),
];

/// The work of a function on texts of one form, for each size.
fn measure(run: Run, texts: &[String], with: &Fixture) -> Vec<(usize, usize, usize)> {
    let work = |text: &String| {
        let before = ALLOCATED.with(Cell::get);
        let examined = work::counted(|| run(text, with));
        (text.len(), examined, ALLOCATED.with(Cell::get) - before)
    };
    texts.iter().map(work).collect()
}

/// The maximum growth of the work for a byte between two sizes. Twice because of buffers that
/// double: they may be almost full for one size and almost empty for the other.
const GROWTH: usize = 2;

/// Work that does not depend on the text, such as tables that are made once.
const FIXED: usize = 100_000;

/// The forms for which the work for a byte grows from the first size to a later one.
fn grown(name: &str, form: &str, works: &[(usize, usize, usize)]) -> Option<String> {
    let is_more = |first: (usize, usize), later: (usize, usize)| {
        later.1 > GROWTH * first.1 * later.0.div_ceil(first.0) + FIXED
    };
    // Smaller texts are dominated by what is done once.
    let first = works.iter().find(|work| work.0 >= 4_000)?;
    let grows = works.iter().filter(|work| work.0 > first.0).any(|later| {
        is_more((first.0, first.1), (later.0, later.1))
            || is_more((first.0, first.2), (later.0, later.2))
    });
    grows.then(|| format!("{name}: {form}: (bytes, examined, allocated) {works:?}"))
}

/// Measures all functions with texts of up to `2^largest` bytes.
fn check(largest: u32) {
    let sizes: Vec<usize> = (10..=largest).map(|power| 1 << power).collect();
    let mut forms: Vec<(String, Vec<String>)> = REPEATED
        .iter()
        .map(|piece| {
            let texts = sizes.iter().map(|size| piece.repeat(size / piece.len()));
            (format!("{piece:?}"), texts.collect())
        })
        .collect();
    let composed: Vec<_> = sizes.iter().map(|size| composed(*size)).collect();
    for (at, (form, _)) in composed[0].iter().enumerate() {
        let texts = composed.iter().map(|forms| forms[at].1.clone());
        forms.push(((*form).to_owned(), texts.collect()));
    }
    // The automaton for much text is made before anything is measured.
    drop(secret::mask(&" ".repeat(1 << 18)));
    let with = Fixture {
        theme: Theme::default(),
        syntaxes: Syntaxes::shared(),
        dir: tempfile::tempdir().expect("a temporary directory"),
    };
    let failures: Vec<String> = FUNCTIONS
        .iter()
        .flat_map(|(name, run)| {
            forms
                .iter()
                .filter_map(|(form, texts)| grown(name, form, &measure(*run, texts, &with)))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_work_for_a_byte_does_not_grow_with_the_text() {
    check(15);
}

#[test]
#[ignore = "takes minutes"]
fn the_work_for_a_byte_does_not_grow_up_to_a_megabyte() {
    check(20);
}
