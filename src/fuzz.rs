//! Feeds every parser of foreign bytes with mutations of valid texts.
//!
//! A target is a parser with the texts that it starts from: the files of the embedded sample, texts
//! written here, and the kept inputs in `tests/fuzz/TARGET`, which once failed. Each run mutates them
//! at random: bytes change, pieces are removed, repeated, exchanged between texts, or taken from a
//! list of tokens that parsers care about. A panic fails, and so does a property that must hold of
//! any input. The failing input is made smaller and written to a file, whose name is printed.
//!
//! `cargo test` runs each target a few hundred times with the same seed. With
//! `TOME_FUZZ_SECONDS=3600` each runs so long, with a seed from the clock, which is printed, and in a
//! build that counts what code an input reaches, those that reach something new are mutated, too;
//! `TOME_FUZZ_KEEP=DIR` keeps these in `DIR/TARGET` and starts from what is there.

mod cache;
mod coverage;
#[allow(dead_code)]
#[path = "../benches/support/dice.rs"]
mod dice;
mod server;
mod target;

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use coverage::Reached;
use dice::Dice;
use target::{
    AGENT_SETTINGS, PAYLOADS, handle_hook, journal, logs, read_context, read_log, register,
};

use crate::core::change::combine::Combination;
use crate::core::change::history::History;
use crate::core::insight::curate::git::{Limits, ProjectHistory};
use crate::core::insight::timeline;
use crate::core::log::json;
use crate::core::memory::citation::Citation;
use crate::core::memory::config::Settings;
use crate::core::memory::layout::{Layout, listing};
use crate::core::search::query::{Query, noon};
use crate::core::text::header::frontmatter::Frontmatter;
use crate::core::text::header::{label, meta, summary};
use crate::core::text::{diff, display, grip_comment, hidden, link, secret};
use crate::tui::highlight::Syntaxes;
use crate::tui::theme::{Terminal, Theme, ThemeFile};
use crate::tui::widget::markdown::{RenderOptions, render};

/// How often a target runs in `cargo test`.
const RUNS: u64 = 150;

/// The largest input.
const LARGEST: usize = 1 << 16;

/// Pieces that decide what a parser does next.
#[rustfmt::skip]
const TOKENS: &[&[u8]] = &[
    b"---\n", b"\n", b"\r\n", b"\r", b"\0", b"\"", b"\\", b"\\u", b"\\ud800", b"{", b"}", b"[",
    b"]", b":", b",", b"null", b"true", b"-1", b"1e999", b"18446744073709551616", b"0000", b"{}",
    b"[]", b"\"\"", b"# ", b"## ", b"- ", b"> ", b"> Summary:", b"<!--", b"-->", b"```", b"~~~",
    b"[a](b.md)", b"[[a]]", b"](", b"<", b">", b"|", b"`", b"*", b"_", b"\t", b"    ",
    b"\xef\xbb\xbf", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\xe2\x80\xae",
    b"\xcc\x81", b"\xc2\xa0", b"\x1b[31m", b"\x1b]0;", b"2026-13-45", b"9999-12-31T23:59:60Z",
    b"<system-reminder>", b"</system-reminder>", b"\"type\":", b"\"content\":",
    b"\"role\":\"user\"", b"\"id\":", b"..", b"/", b"~", b"#L1-9", b"!", b"'", b"^", b"$",
];

/// Changes inputs.
struct Mutator(Dice);

impl Mutator {
    /// A number below `limit`.
    fn below(&mut self, limit: usize) -> usize {
        self.0.below(limit)
    }

    /// A random piece of `bytes`, mostly a short one.
    fn piece<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let from = self.below(bytes.len() + 1);
        let most = match self.below(4) {
            0 => bytes.len() - from,
            _ => (bytes.len() - from).min(32),
        };
        &bytes[from..from + self.below(most + 1)]
    }

    /// Picks what is mutated next: often one of those that were found last.
    fn start<'a>(&mut self, seeds: &'a [Vec<u8>]) -> &'a [u8] {
        let newest = seeds.len().min(64);
        let at = match self.below(2) {
            0 => seeds.len() - 1 - self.below(newest),
            _ => self.below(seeds.len()),
        };
        &seeds[at]
    }

    /// Changes `input` in one to eight ways.
    fn mutate(&mut self, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        for _ in 0..=self.below(8) {
            let at = self.below(input.len() + 1);
            match self.below(7) {
                0 if at < input.len() => input[at] ^= 1 << self.below(8),
                1 => {
                    let end = (at + self.below(64)).min(input.len());
                    input.drain(at..end);
                }
                2 => {
                    let piece = self.piece(input).to_vec();
                    let times = [1, 2, 50][self.below(3)];
                    input.splice(at..at, piece.repeat(times));
                }
                3 => {
                    let other = &seeds[self.below(seeds.len())];
                    let piece = self.piece(other);
                    input.splice(at..at, piece.iter().copied());
                }
                4 => input.truncate(at),
                _ => {
                    let token = TOKENS[self.below(TOKENS.len())];
                    input.splice(at..at, token.iter().copied());
                }
            }
            input.truncate(LARGEST);
        }
    }
}

/// What targets run with.
struct Scene {
    dir: tempfile::TempDir,
    theme: Theme,
    syntaxes: std::sync::Arc<Syntaxes>,
}

impl Scene {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
            theme: Theme::default(),
            syntaxes: Syntaxes::shared(),
        }
    }

    /// Writes `bytes` into a file of this name.
    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("created");
        std::fs::write(&path, bytes).expect("written");
        path
    }
}

type Run = fn(&[u8], &Scene);

/// Runs a target, see the module.
fn fuzz(name: &str, seeds: Vec<Vec<u8>>, run: Run) {
    let scene = Scene::new();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz")
        .join(name);
    let between_runs = std::env::var_os("TOME_FUZZ_KEEP").map(|dir| Path::new(&dir).join(name));
    let mut seeds = seeds;
    seeds.extend(inputs_in(&kept));
    seeds.extend(between_runs.as_deref().into_iter().flat_map(inputs_in));
    assert!(!seeds.is_empty(), "{name} has something to start from");
    let check = |input: &[u8]| catch_unwind(AssertUnwindSafe(|| run(input, &scene))).is_ok();
    for seed in &seeds {
        assert!(
            check(seed),
            "{name}: fails without a mutation: {:?}",
            String::from_utf8_lossy(seed)
        );
    }

    let seconds = std::env::var("TOME_FUZZ_SECONDS").ok();
    let seconds: Option<u64> = seconds.map(|seconds| seconds.parse().expect("a number of seconds"));
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let seed = match seconds {
        Some(_) => since_1970.expect("after 1970").as_secs(),
        None => 1,
    };
    let start = Instant::now();
    let until = start + Duration::from_secs(seconds.unwrap_or(3600));
    let mut mutator = Mutator(Dice(seed));
    let file = std::env::temp_dir().join(format!("tome-fuzz-{name}"));
    let mut reached = Reached::default();
    let given = seeds.len();
    let mut last_reached = Duration::ZERO;
    let mut runs = 0_u64;
    while Instant::now() < until && (seconds.is_some() || runs < RUNS) {
        runs += 1;
        let mut input = mutator.start(&seeds).to_vec();
        mutator.mutate(&mut input, &seeds);
        if seconds.is_some() {
            // It is there even if the input ends the program, as an overflow of the stack does.
            std::fs::write(&file, &input).expect("written");
        }
        let passes = check(&input);
        if passes && reached.is_more() {
            if let Some(dir) = &between_runs {
                std::fs::create_dir_all(dir).expect("created");
                std::fs::write(dir.join(format!("{seed}-{runs}")), &input).expect("written");
            }
            last_reached = start.elapsed();
            seeds.push(input);
        } else if !passes {
            let smallest = smaller(input, &check);
            std::fs::write(&file, &smallest).expect("written");
            panic!(
                "{name}: run {runs} of seed {seed} fails; the input is in {}",
                file.display()
            );
        }
    }
    if seconds.is_some() {
        // There is none if there was no time for a run.
        drop(std::fs::remove_file(&file));
        let found = seeds.len() - given;
        let last = last_reached.as_secs();
        let line = format!(
            "{name}: {runs} runs of seed {seed}, {found} inputs reached more, the last after {last} s\n"
        );
        std::io::stderr()
            .write_all(line.as_bytes())
            .expect("standard error is open");
    }
}

/// The files of a directory of inputs; none if it is not there.
fn inputs_in(dir: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| std::fs::read(entry.path()).expect("a kept input"))
        .collect()
}

/// Removes pieces of a failing input as long as it fails without them.
fn smaller(mut input: Vec<u8>, check: &dyn Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut length = input.len() / 2;
    while length > 0 {
        let mut at = 0;
        while at < input.len() {
            let end = (at + length).min(input.len());
            let without = [&input[..at], &input[end..]].concat();
            if check(&without) {
                at = end
            } else {
                input = without
            }
        }
        length /= 2;
    }
    input
}

/// The files of the embedded sample whose names end so.
fn sample(ending: &str) -> Vec<Vec<u8>> {
    fn visit(dir: &Path, ending: &str, out: &mut Vec<Vec<u8>>) {
        let mut entries: Vec<_> = std::fs::read_dir(dir)
            .expect("a directory")
            .flatten()
            .collect();
        entries.sort_by_key(std::fs::DirEntry::path);
        for entry in entries {
            let path = entry.path();
            if path.is_dir() {
                visit(&path, ending, out);
            } else if path.to_string_lossy().ends_with(ending) {
                out.push(std::fs::read(path).expect("a file"));
            }
        }
    }
    let mut out = Vec::new();
    visit(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo"),
        ending,
        &mut out,
    );
    out
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn markdown() -> Vec<Vec<u8>> {
    sample(".md")
}

/// Runs a function on the text of an input.
fn with_text(bytes: &[u8], run: impl FnOnce(&str)) {
    run(&String::from_utf8_lossy(bytes));
}

/// Names a test for each target.
macro_rules! targets {
    ($($name:ident: $seeds:expr, $run:expr;)*) => {
        $(
            #[test]
            fn $name() {
                fuzz(stringify!($name), $seeds, $run);
            }
        )*
    };
}

targets! {
    log_formats: logs(), read_log;
    json_scanner: logs(), |bytes, _| {
        for line in bytes.split(|byte| *byte == b'\n') {
            if let Ok((value, _)) = json::value(line) {
                drop(value.outline());
                drop(value.text());
            }
        }
    };
    frontmatter: markdown(), |bytes, _| with_text(bytes, |text| drop(Frontmatter::parse(text)));
    meta_comment: markdown(), |bytes, _| with_text(bytes, |text| drop(meta::Meta::parse(text)));
    labels: markdown(), |bytes, _| with_text(bytes, |text| {
        drop(label::entries(text));
        drop(summary::entries(text));
        drop(summary::without_head(text));
    });
    index_lists: markdown(), |bytes, _| with_text(bytes, |text| {
        drop(listing::bullets(text));
        drop(link::links(text));
    });
    queries: texts(&[
        "refr rot", "\"exact phrase\" !not 'word ^start end$", "type:project store:x in:logs agent:codex role:user",
        "project:shop since:30d before:2026-01-31",
    ]), |bytes, _| with_text(bytes, |text| {
        drop(Query::of_prose(text, &noon()));
        drop(Query::parse(text, &noon()));
    });
    citations: texts(&["codex:0199e2bb#L12-14", "detail/x.md#L10-20", "s:episodes/2026-02.md#entry"]), |bytes, _| {
        with_text(bytes, |text| drop(text.parse::<Citation>()));
    };
    settings: vec![include_bytes!("../assets/config.toml").to_vec()], |bytes, _| with_text(bytes, |text| {
        drop(Settings::default().read_file(Path::new("config.toml"), text));
    });
    keymaps: vec![include_bytes!("../assets/keymap.toml").to_vec()], |bytes, _| with_text(bytes, |text| {
        drop(crate::tui::keymap::check("keymap.toml", text));
    });
    themes: vec![include_bytes!("../assets/theme.toml").to_vec()], |bytes, _| with_text(bytes, |text| {
        let path = Path::new("theme.toml");
        drop(Theme::load(Terminal::default(), Some(ThemeFile { path, text })));
    });
    hook_payloads: texts(PAYLOADS), handle_hook;
    server_calls: server::calls(), server::answer_call;
    markdown_rendering: markdown(), |bytes, scene| with_text(bytes, |text| {
        let (theme, syntaxes) = (&scene.theme, &scene.syntaxes);
        drop(render(text, 0..text.len(), RenderOptions { theme, syntaxes, width: 40 }));
    });
    masking: [logs(), markdown()].concat(), |bytes, _| with_text(bytes, |text| {
        let masked = secret::mask(text);
        assert_eq!(secret::mask(&masked), masked, "masked text has nothing to mask");
    });
    cleaning: [logs(), markdown()].concat(), |bytes, _| with_text(bytes, |text| {
        let cleaned = crate::core::text::clean(text);
        assert_eq!(crate::core::text::clean(&cleaned), cleaned, "cleaned text has nothing to clean");
        let shown = display::escape_controls(text);
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{shown:?}");
        let visible = hidden::without_hidden(text);
        assert_eq!(hidden::without_hidden(&visible), visible, "nothing is hidden twice");
    });
    differences: markdown(), |bytes, _| {
        let changed: Vec<u8> = bytes.iter().rev().copied().collect();
        let merged = diff::merge(bytes, bytes, &changed);
        drop(merged);
        drop(diff::unified(("a", "b"), bytes, &changed));
    };
    agent_settings: texts(AGENT_SETTINGS), register;
    contexts: [markdown(), texts(&["---\npaths: [\"src/**\", \"*.rs\"]\n---\n\n@AGENTS.md and `@not` @./b.md\n\n```\n@c\n```\n"])].concat(), read_context;
    grips: texts(&["a\n\n<!-- grip:1700000000000-01abc claude-code:s#L2-4 2026-01-02T03:04:05Z\n> said\n-->\n\nb\n", "<!-- grip:1 -->\n<!-- x -->\n"]), |bytes, _| {
        with_text(bytes, |text| {
            drop(timeline::comment::grips_in(text));
            let left = grip_comment::without_grips(text);
            assert_eq!(grip_comment::without_grips(&left), left, "no grip is left");
        });
    };
    combinations: markdown(), |bytes, _| with_text(bytes, |text| {
        let at = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
        let (left, right) = text.split_at(at);
        for layout in [Layout::Index, Layout::Facts, Layout::Coder, Layout::Session] {
            drop(Combination::new(layout, left, right).text(&[]));
            // What is the same is not doubled.
            let same = Combination::new(layout, left, left);
            assert!(same.parts().len() <= 1, "{:?}", same.parts());
        }
    });
    git_logs: texts(&["src/new.rs\0a.md\0\u{2}\u{1}c2\x002026-05-01\0rename a to b\0\nD\0lib/kit.sh\0R100\0src/old.rs\0src/new.rs\0C75\0a.md\0b.md\0\u{1}c1\x002026-01-01\0first\0\nA\0lib/kit.sh\0"]), |bytes, _| {
        with_text(bytes, |text| {
            let (files, log) = text.split_once('\u{2}').unwrap_or(("", text));
            let history = ProjectHistory::parse(files, log, Limits::default());
            for path in log.split('\0') {
                std::hint::black_box((history.gone(path), history.has(path), history.changed(path)));
            }
        });
    };
    corpus_files: cache::files(), cache::search_damaged;
    journals: journal(), |bytes, scene| {
        scene.file("history/journal.jsonl", bytes);
        let history = History::open(&scene.dir.path().join("history"));
        drop(history.records());
        drop(history.undoable(&[Path::new("/p")]));
        drop(history.health());
    };
}
