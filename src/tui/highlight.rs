//! Incremental syntax highlighting, line by line.
//!
//! A text consists of frontmatter, Markdown and fenced code. Markdown and frontmatter are scanned
//! here; fences are parsed by the grammar of their language. Every line keeps the state before
//! and after it, so an edit only re-parses lines until the states agree again, and lines below
//! the screen are not parsed.

mod code;
mod inline;
mod markdown;

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

pub use code::{Code, Syntaxes};
pub(crate) use inline::address;
use markdown::LineState;

use super::theme::Role;

/// Lines longer than this many bytes are not highlighted.
pub const LONGEST: usize = 10_000;

/// The cost limit of one call of [`Highlighter::parse`], in lines of Markdown.
const BUDGET: usize = 24_000;

/// The cost of a line inside a fence, in lines of Markdown.
const CODE_COST: usize = 40;

/// The number of bytes of a line that count as a line in the cost.
const LINE: usize = 100;

/// A byte range of a line and its role. Later ones are drawn over earlier ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paint {
    /// The byte range in the line.
    pub range: Range<usize>,
    /// The role that gives the style.
    pub role: Role,
}

impl Paint {
    fn new(range: Range<usize>, role: Role) -> Self {
        Self { range, role }
    }
}

/// The language of a whole text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Language {
    /// Markdown, with or without frontmatter.
    Markdown,
    /// One language, by its name or extension.
    Code(String),
}

impl Language {
    /// Returns the language of a file, by its extension; plain text files count as Markdown.
    pub fn of(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name.rsplit_once('.') {
            Some((_, "md" | "markdown" | "mdc" | "txt")) | None => Self::Markdown,
            Some((_, extension)) => Self::Code(extension.to_ascii_lowercase()),
        }
    }
}

/// The highlighting of a text, computed as far as it is needed.
#[derive(Debug, Clone)]
pub struct Highlighter {
    syntaxes: Arc<Syntaxes>,
    start: Rc<LineState>,
    /// One per line; `None` for a line that is new or was edited.
    rows: Vec<Option<HighlightedLine>>,
    /// Lines before this one are up to date; later ones may belong to an older text.
    valid: usize,
}

#[derive(Debug, Clone)]
struct HighlightedLine {
    before: Rc<LineState>,
    after: Rc<LineState>,
    paints: Rc<[Paint]>,
}

/// The roles of the bytes of a line, asked for in order.
#[derive(Debug)]
pub struct PaintedRoles<'a> {
    paints: &'a [Paint],
    /// The paints by their starts.
    order: Vec<usize>,
    next: usize,
    /// The paints at the last byte, in the order in which they are drawn.
    active: Vec<usize>,
    roles: Vec<Role>,
}

impl<'a> PaintedRoles<'a> {
    /// Creates the roles of a line with these paints.
    pub fn new(paints: &'a [Paint]) -> Self {
        let mut order: Vec<usize> = (0..paints.len()).collect();
        order.sort_by_key(|paint| paints[*paint].range.start);
        Self {
            paints,
            order,
            next: 0,
            active: Vec::new(),
            roles: Vec::new(),
        }
    }

    /// Returns the roles of byte `at`, which is not before the one asked for last; later ones are
    /// drawn over earlier ones.
    pub fn at(&mut self, at: usize) -> &[Role] {
        let before = self.active.len();
        self.active
            .retain(|paint| self.paints[*paint].range.end > at);
        let mut is_changed = self.active.len() < before;
        while let Some(paint) = self.order.get(self.next)
            && self.paints[*paint].range.start <= at
        {
            if self.paints[*paint].range.end > at {
                let place = self.active.partition_point(|other| other < paint);
                self.active.insert(place, *paint);
                is_changed = true;
            }
            self.next += 1;
        }
        if is_changed {
            let roles = self.active.iter().map(|paint| self.paints[*paint].role);
            self.roles = roles.collect();
        }
        &self.roles
    }
}

impl Highlighter {
    /// Creates a highlighter for a text of `count` lines.
    pub fn new(syntaxes: Arc<Syntaxes>, language: &Language, count: usize) -> Self {
        let start = LineState::start(language, &syntaxes);
        Self {
            syntaxes,
            start: Rc::new(start),
            rows: vec![None; count],
            valid: 0,
        }
    }

    /// Records that `removed` lines from `first` on were replaced by `added` others.
    pub fn splice(&mut self, first: usize, removed: usize, added: usize) {
        let first = first.min(self.rows.len());
        let end = (first + removed).min(self.rows.len());
        if removed == added {
            self.rows[first..end].fill(None);
        } else {
            self.rows
                .splice(first..end, std::iter::repeat_n(None, added));
        }
        self.valid = self.valid.min(first);
    }

    /// Highlights the lines before `until`, within the budget; returns whether all are done.
    pub fn parse(&mut self, lines: &[String], until: usize) -> bool {
        let until = until.min(lines.len()).min(self.rows.len());
        let mut budget = BUDGET;
        while self.valid < until {
            let before = match self.valid.checked_sub(1) {
                Some(above) => match &self.rows[above] {
                    Some(row) => Rc::clone(&row.after),
                    None => return false,
                },
                None => Rc::clone(&self.start),
            };
            let agrees = self.rows[self.valid]
                .as_ref()
                .is_some_and(|row| Rc::ptr_eq(&row.before, &before) || row.before == before);
            if !agrees {
                if budget == 0 {
                    return false;
                }
                let cost = if before.is_code() { CODE_COST } else { 1 };
                let cost = cost * (1 + lines[self.valid].len().min(LONGEST) / LINE);
                budget = budget.saturating_sub(cost);
                self.rows[self.valid] = Some(self.row(before, &lines[self.valid]));
            }
            self.valid += 1;
        }
        true
    }

    /// Returns the paints of line `row`; empty for a line that is not parsed yet.
    pub fn paints(&self, row: usize) -> &[Paint] {
        match self.rows.get(row) {
            Some(Some(row)) => &row.paints,
            _ => &[],
        }
    }

    /// Whether line `row` is inside a fence.
    pub fn is_code(&self, row: usize) -> bool {
        matches!(self.rows.get(row), Some(Some(row)) if row.before.is_fence() && row.after.is_fence())
    }

    fn row(&self, before: Rc<LineState>, line: &str) -> HighlightedLine {
        if line.len() > LONGEST {
            return HighlightedLine {
                after: Rc::clone(&before),
                before,
                paints: Rc::new([]),
            };
        }
        let (paints, after) = markdown::line(&before, line, &self.syntaxes);
        let after = if after == *before {
            Rc::clone(&before)
        } else {
            Rc::new(after)
        };
        HighlightedLine {
            before,
            after,
            paints: paints.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    /// Formats every line with its painted parts as `role:text`.
    fn shown(language: &Language, text: &str) -> String {
        let lines = lines(text);
        let mut highlighter = Highlighter::new(Syntaxes::shared(), language, lines.len());
        assert!(highlighter.parse(&lines, lines.len()));
        let mut out = String::new();
        for (row, line) in lines.iter().enumerate() {
            let parts: Vec<String> = highlighter
                .paints(row)
                .iter()
                .map(|paint| format!("{}:{:?}", paint.role.name(), &line[paint.range.clone()]))
                .collect();
            out.push_str(&format!("{}\n", parts.join(" ")));
        }
        out
    }

    #[test]
    fn markdown_and_its_frontmatter() {
        let text = "---\nname: Auth # not a comment\n# comment\ntags: [a]\n---\n# Head **b**\n\n- [x] done `code` *it*\n> quote [[wiki|w]]\n1. see [A](a.md) ~~no~~\n<!-- a\nb --> c\n| a | b |\n---\n";
        insta::assert_snapshot!(shown(&Language::Markdown, text), @r##"
        marker:"---"
        syntax-key:"name" marker:":"
        comment:"# comment"
        syntax-key:"tags" marker:":"
        marker:"---"
        heading:"# Head **b**" marker:"#" marker:"**" strong:"b" marker:"**"

        marker:"-" accent:"[x]" marker:"`" code:"code" marker:"`" marker:"*" emphasis:"it" marker:"*"
        quote:"> quote [[wiki|w]]" marker:">" marker:"[[" link:"wiki|w" marker:"]]"
        marker:"1." marker:"[" link:"A" marker:"](a.md)" marker:"~~" strike:"no" marker:"~~"
        comment:"<!-- a"
        comment:"b -->"
        marker:"|" marker:"|" marker:"|"
        rule:"---"
        "##);
    }

    #[test]
    fn fences_in_the_language_they_name() {
        let text = "```rust\nfn a() -> u8 { 1 } // x\n```\n```toml\na = 1\n```\n```yaml\nk: v\n```\n```jsonl\n{\"a\": [\n{\"b\": 2}\n```\n~~~\nplain **x**\n~~~\nafter **x**\n";
        insta::assert_snapshot!(shown(&Language::Markdown, text), @r##"
        marker:"```rust" muted:"rust"
        syntax-keyword:"fn" syntax-function:"a" syntax-punctuation:"()" syntax-punctuation:"->" syntax-keyword:"u8" syntax-punctuation:"{" syntax-constant:"1" syntax-punctuation:"}" comment:"// x"
        marker:"```"
        marker:"```toml" muted:"toml"
        syntax-key:"a" syntax-punctuation:"=" syntax-constant:"1"
        marker:"```"
        marker:"```yaml" muted:"yaml"
        syntax-key:"k" syntax-punctuation:":" syntax-string:"v"
        marker:"```"
        marker:"```jsonl" muted:"jsonl"
        syntax-punctuation:"{" syntax-key:"\"a\"" syntax-punctuation:":" syntax-punctuation:"["
        syntax-punctuation:"{" syntax-key:"\"b\"" syntax-punctuation:":" syntax-constant:"2" syntax-punctuation:"}"
        marker:"```"
        marker:"~~~"
        code:"plain **x**"
        marker:"~~~"
        marker:"**" strong:"x" marker:"**"
        "##);
    }

    #[test]
    fn a_file_of_code_is_code_from_its_first_line() {
        let language = Language::of("a/b.toml");
        assert_eq!(language, Language::Code("toml".to_owned()));
        insta::assert_snapshot!(shown(&language, "[a]\nb = \"c\"\n"), @r##"
        syntax-punctuation:"[" syntax-type:"a" syntax-punctuation:"]"
        syntax-key:"b" syntax-punctuation:"=" syntax-string:"\"c\""
        "##);
    }

    #[test]
    fn a_long_line_stays_plain_and_passes_the_state_on() {
        let text = format!("```rust\n// {}\nfn a() {{}}\n```\n", "x".repeat(LONGEST));
        let lines = lines(&text);
        let mut highlighter =
            Highlighter::new(Syntaxes::shared(), &Language::Markdown, lines.len());
        assert!(highlighter.parse(&lines, 4));
        assert_eq!(highlighter.paints(1), []);
        assert_ne!(highlighter.paints(2), []);
    }

    #[test]
    fn an_edit_is_parsed_until_the_states_agree() {
        let mut lines: Vec<String> = (0..1000).map(|n| format!("- item *{n}*")).collect();
        let mut highlighter =
            Highlighter::new(Syntaxes::shared(), &Language::Markdown, lines.len());
        assert!(highlighter.parse(&lines, 1000));
        let kept = highlighter.rows[11]
            .as_ref()
            .map(|row| Rc::as_ptr(&row.paints));
        lines[10] = "# now a heading".to_owned();
        highlighter.splice(10, 1, 1);
        assert!(highlighter.parse(&lines, 60));
        assert_eq!(highlighter.paints(10)[0].role, Role::Heading);
        let now = highlighter.rows[11]
            .as_ref()
            .map(|row| Rc::as_ptr(&row.paints));
        assert_eq!(kept, now, "the next line was not parsed again");
    }

    fn piece() -> impl Strategy<Value = String> {
        prop::sample::select(vec![
            "---",
            "```rust",
            "```",
            "~~~",
            "```jsonl",
            "fn x() { /* ",
            "*/ }",
            "\"open",
            "<!--",
            "-->",
            "# h",
            "- [ ] `a` **b",
            "key: v",
            "",
            "text *i* [[w]] [l](t)",
            "> q ```",
            "한 *글*",
        ])
        .prop_map(str::to_owned)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn edits_end_where_a_fresh_parse_does(
            start in prop::collection::vec(piece(), 1..30),
            edits in prop::collection::vec((any::<prop::sample::Index>(), 0..4usize,
                prop::collection::vec(piece(), 0..4), 0..40usize), 1..12),
        ) {
            let syntaxes = Syntaxes::shared();
            let mut lines = start;
            let mut kept = Highlighter::new(Arc::clone(&syntaxes), &Language::Markdown, lines.len());
            for (at, removed, added, until) in edits {
                let first = at.index(lines.len() + 1);
                let end = (first + removed).min(lines.len());
                kept.splice(first, end - first, added.len());
                lines.splice(first..end, added);
                kept.parse(&lines, until);
            }
            prop_assert!(kept.parse(&lines, lines.len()));
            let mut fresh = Highlighter::new(syntaxes, &Language::Markdown, lines.len());
            prop_assert!(fresh.parse(&lines, lines.len()));
            for row in 0..lines.len() {
                prop_assert_eq!(kept.paints(row), fresh.paints(row), "line {} of {:?}", row, lines);
            }
        }
    }
}
