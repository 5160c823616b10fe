//! Checks that the time for a text grows with its length and not with its content. Run:
//! `cargo bench --bench doubling`.
//!
//! Every function that reads text of unknown origin gets texts that are made to be expensive, and
//! the same eight times as long. Work that is linear takes about eight times as long, quadratic
//! work 64 times. Prints the slowest texts of each function, and fails if one takes more than
//! [`MOST`] times as long.

use std::io::Write as _;
use std::time::{Duration, Instant};

use tome::core::change::{ChangeContext, ChangeRequest, plan};
use tome::core::insight::timeline::event::Event;
use tome::core::insight::timeline::summarize::{SegmentWords, summarize};
use tome::core::log::{Role, json};
use tome::core::memory::layout::index::INDEX;
use tome::core::memory::layout::listing::{self, LinkDestination, ListItem};
use tome::core::memory::layout::{IndexUpdate, Layout};
use tome::core::memory::store::Store;
use tome::core::search::query::Query;
use tome::core::text::header::frontmatter::Frontmatter;
use tome::core::text::header::{label, meta, summary};
use tome::core::text::time::Moment;
use tome::core::text::{self, diff, display, hidden, link, secret};
use tome::tui::highlight::{Highlighter, Language, Syntaxes};
use tome::tui::theme::Theme;
use tome::tui::widget::markdown::{RenderOptions, render};

/// The length of the shorter texts in bytes.
const SHORT: usize = 1 << 14;

/// How many times as long the others are.
const TIMES: usize = 8;

/// How many times as long a function may take for them.
const MOST: f64 = 3.0 * TIMES as f64;

/// What takes less is not judged: the clock and the caches would decide.
const LEAST: Duration = Duration::from_millis(5);

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
    ".",
    "QUJDRA",
    "token=$",
    "http://a:b@@",
    "-----BEGIN PRIVATE KEY-----",
    "- -",
    "token: \"",
    "token=\\x",
    "password is ",
    "login password ",
    "sk-",
    "sk-a1",
    "eyJ.",
    "ghp_aB3",
    "a.",
    "-----BEGIN PRIVATE KEY----- -----END CERTIFICATE-----",
    "Private-Lines: 1\n",
    "://a:",
    "http://a:@",
    "Authorization: Basic ",
    "Authorization: x y=,",
    "bearer ",
    "Cookie: a=",
    "Cookie: a=xxxxxxxx ",
    "curl -u a:",
    "mysql -p",
    "sig=",
    "identified by '",
    "12345678:AA",
    "key-us",
    "hooks.slack.com/services/",
    "secret_key_base",
    "ключ password: ",
    "\x1b]a",
    "\u{9d}x",
    "\x1bP\x1b",
    "\x1b[1;",
    "\x1b]\n",
    "\x1b]0;t\x07",
    "[a](#",
    "]",
    "[[",
    "]]",
    "](<",
    "[[a|",
    "(",
    ")",
    "[a](b)",
    "](](<a>",
    "\\[",
    "[[a](",
    "[x](<a",
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
        (
            "open brackets, then closed ones",
            format!("{}{}", half("[[a|[x](<"), half(">)]]")),
        ),
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
        let store = Store::open("s", root, Some(Layout::Index)).expect("opened");
        let context = ChangeContext {
            moment: Moment {
                time: jiff::Timestamp::UNIX_EPOCH,
                today: jiff::civil::date(2026, 1, 1),
            },
            expected: None,
            history: None,
        };
        // Whether the change is allowed does not matter here.
        drop(plan(&store, request, &context));
        std::fs::remove_file(root.join(file)).expect("removed");
    }
}

const FUNCTIONS: &[(&str, Run)] = &[
    ("masking", |text, _| drop(secret::mask(text))),
    ("cleaning", |text, _| drop(text::clean(text))),
    ("showing", |text, _| drop(display::escape_controls(text))),
    ("showing JSON", |text, _| drop(display::visible_json(text))),
    ("removing hidden characters", |text, _| {
        drop(hidden::without_hidden(text))
    }),
    ("links", |text, _| drop(link::links(text))),
    ("links of a list", |text, _| drop(listing::bullets(text))),
    ("removing dead links", |text, _| {
        drop(listing::without_dead(text, |_| LinkDestination::Missing));
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
        drop(diff::unified("a", "b", text.as_bytes(), other.as_bytes()));
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

/// A time that exists, for queries.
fn noon() -> jiff::Zoned {
    jiff::Zoned::new(jiff::Timestamp::UNIX_EPOCH, jiff::tz::TimeZone::UTC)
}

/// The shortest of a few runs.
fn time(run: Run, text: &str, with: &Fixture) -> Duration {
    let once = || {
        let start = Instant::now();
        run(text, with);
        start.elapsed()
    };
    (0..3).map(|_| once()).min().unwrap_or_default()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let with = Fixture {
        theme: Theme::default(),
        syntaxes: Syntaxes::load(),
        dir: tempfile::tempdir()?,
    };
    let texts = |size: usize| -> Vec<(String, String)> {
        let repeated = REPEATED.iter();
        let repeated =
            repeated.map(|piece| (format!("{piece:?}"), piece.repeat(size / piece.len())));
        let composed = composed(size).into_iter();
        let composed = composed.map(|(form, text)| (form.to_owned(), text));
        repeated.chain(composed).collect()
    };
    let (short, long) = (texts(SHORT), texts(SHORT * TIMES));
    let mut out = std::io::stdout().lock();
    let mut grown = 0;
    for (name, run) in FUNCTIONS {
        let mut worst = (0.0, "", Duration::ZERO);
        for ((form, short), (_, long)) in short.iter().zip(&long) {
            let slow = time(*run, long, &with);
            if slow < LEAST {
                continue;
            }
            let ratio = slow.as_secs_f64() / time(*run, short, &with).as_secs_f64();
            if ratio > worst.0 {
                worst = (ratio, form, slow);
            }
            if ratio > MOST {
                grown += 1;
                writeln!(out, "{name}: {form}: {ratio:.0} times as long, {slow:.1?}")?;
            }
        }
        let (ratio, form, slow) = worst;
        writeln!(out, "{name:<28} {ratio:>5.1} times, {slow:>8.1?}  {form}")?;
    }
    if grown > 0 {
        return Err(format!("{grown} texts take more than {MOST} times as long").into());
    }
    Ok(())
}
