//! Tests of rendered Markdown, and of properties that hold for any text.

use proptest::prelude::*;

use super::*;
use crate::tui::dump;

fn shown(text: &str, width: usize) -> Rendered {
    let theme = Theme::default();
    let syntaxes = Syntaxes::shared();
    let options = RenderOptions {
        theme: &theme,
        syntaxes: &syntaxes,
        width,
    };
    render(text, 0..text.len(), options)
}

fn picture(text: &str, width: usize) -> String {
    dump::styled_lines(&shown(text, width).lines, &Theme::default())
}

const PROSE: &str = "# Auth *Refactor*\n\nUse **JWT** with `refresh` tokens,\nrotated ~~daily~~ on use. See [Testing](testing.md) and [[key-decisions|decisions]].\n\n## Points\n- access token: 15 minutes and a text that is wrapped\n  - nested\n    1. deep\n- [x] done\n- [ ] open\n\n> quoted text that is long enough to wrap\n> twice\n\n<!-- META: hidden -->\n![diagram](a.png)\n\n---\nEnd: https://e.org/x.\n";

#[test]
fn prose() {
    insta::assert_snapshot!(picture(PROSE, 34), @r##"
    ⟨title⟩Auth ⟨/⟩⟨title+emphasis⟩Refactor⟨/⟩

    Use ⟨title⟩JWT⟨/⟩ with ⟨code⟩refresh⟨/⟩ tokens,
    rotated ⟨strike⟩daily⟨/⟩ on use. See ⟨link⟩Testing⟨/⟩
    and ⟨link⟩decisions⟨/⟩.

    ⟨title⟩Points⟨/⟩
    ⟨muted⟩ • ⟨/⟩access token: 15 minutes and a
       text that is wrapped
       ⟨muted⟩ ◦ ⟨/⟩nested
          ⟨muted⟩ 1. ⟨/⟩deep
    ⟨accent⟩ ✓ ⟨/⟩done
    ⟨muted⟩ ☐ ⟨/⟩open

    ⟨muted⟩▏ ⟨/⟩⟨emphasis⟩quoted text that is long enough⟨/⟩
    ⟨muted⟩▏ ⟨/⟩⟨emphasis⟩to wrap twice⟨/⟩

    ⟨link⟩▣ diagram⟨/⟩

    ⟨muted⟩──────────────────────────────────⟨/⟩

    End: ⟨link⟩https://e.org/x⟨/⟩.
    "##);
}

#[test]
fn no_line_starts_with_what_ends_a_sentence() {
    let lines = |text: &str, width| -> Vec<String> {
        let lines = shown(text, width).lines;
        lines.iter().map(ToString::to_string).collect()
    };
    // Hangul is wrapped at blanks, Han and Kana anywhere but before closing punctuation.
    assert_eq!(
        lines("비개발자 출신 개발자.", 11),
        ["비개발자", "출신", "개발자."]
    );
    assert_eq!(lines("データベース。次", 12), ["データベー", "ス。次"]);
    assert_eq!(lines("数据库在东京，每天", 12), ["数据库在东", "京，每天"]);
}

#[test]
fn code_has_the_colours_of_its_language() {
    let text = "Before\n```rust\nfn rotate(t: &Refresh) -> Pair {\n\tx\n}\n```\nAfter\n";
    insta::assert_snapshot!(picture(text, 40), @r##"
    Before

      ⟨badge-user⟩fn⟨/⟩ ⟨syntax-function⟩rotate⟨/⟩⟨muted⟩(⟨/⟩t⟨muted⟩:⟨/⟩ ⟨muted⟩&⟨/⟩Refresh⟨muted⟩)⟨/⟩ ⟨muted⟩->⟨/⟩ Pair ⟨muted⟩{⟨/⟩
          x
      ⟨muted⟩}⟨/⟩

    After
    "##);
    assert_eq!(shown(text, 40).source, [0, 2, 2, 3, 4, 6, 6]);
}

#[test]
fn tables_fit() {
    let text = "| 이름 | what it is | n |\n|---|:---:|--:|\n| 한글 | short | 1 |\n| b | a longer [text](t.md) that must be wrapped | 22 |\n";
    insta::assert_snapshot!(picture(text, 34), @r##"
    ⟨muted⟩╭──────┬───────────────────┬─────╮⟨/⟩
    ⟨muted⟩│ ⟨/⟩⟨title⟩이름⟨/⟩⟨muted⟩ │ ⟨/⟩   ⟨title⟩what it is⟨/⟩    ⟨muted⟩ │ ⟨/⟩  ⟨title⟩n⟨/⟩⟨muted⟩ │⟨/⟩
    ⟨muted⟩├──────┼───────────────────┼─────┤⟨/⟩
    ⟨muted⟩│ ⟨/⟩한글⟨muted⟩ │ ⟨/⟩      short      ⟨muted⟩ │ ⟨/⟩  1⟨muted⟩ │⟨/⟩
    ⟨muted⟩│ ⟨/⟩b   ⟨muted⟩ │ ⟨/⟩  a longer ⟨link⟩text⟨/⟩  ⟨muted⟩ │ ⟨/⟩ 22⟨muted⟩ │⟨/⟩
    ⟨muted⟩│ ⟨/⟩    ⟨muted⟩ │ ⟨/⟩  that must be   ⟨muted⟩ │ ⟨/⟩   ⟨muted⟩ │⟨/⟩
    ⟨muted⟩│ ⟨/⟩    ⟨muted⟩ │ ⟨/⟩     wrapped     ⟨muted⟩ │ ⟨/⟩   ⟨muted⟩ │⟨/⟩
    ⟨muted⟩╰──────┴───────────────────┴─────╯⟨/⟩
    "##);
    let wide = shown(text, 100);
    let spot = &wide.links[0];
    assert_eq!(&*spot.target, "t.md");
    let line: String = wide.lines[spot.line].to_string();
    assert_eq!(
        cells::byte_at(&line, spot.columns.start),
        line.find("text").expect("the link is drawn")
    );
}

#[test]
fn a_long_address_is_kept_once_however_many_lines_show_it() {
    let rendered = shown(&"http://".repeat(1_000), 80);
    assert!(rendered.links.len() > 80);
    let first = &rendered.links[0].target;
    let is_same = |spot: &LinkSpot| Arc::ptr_eq(&spot.target, first);
    assert!(rendered.links.iter().all(is_same));
}

#[test]
fn deeply_nested_blocks_leave_half_of_the_width_to_the_text() {
    let quotes = shown(&format!("{} a b c", ">".repeat(500)), 80);
    let shown_line = quotes.lines[0].to_string();
    assert_eq!(shown_line, format!("{}a b c", "▏ ".repeat(20)));
    let lists: String = (0..100)
        .map(|depth| format!("{}- item\n", "  ".repeat(depth)))
        .collect();
    for line in &shown(&lists, 80).lines {
        assert!(cells::width(&line.to_string()) <= 80, "{line}");
        assert!(line.to_string().ends_with("item"), "{line}");
    }
}

#[test]
fn a_table_shows_as_many_columns_as_could_fit() {
    let text = format!(
        "{}\n{}\n{}",
        "|a".repeat(500),
        "|-".repeat(500),
        "|b\n".repeat(500)
    );
    let rendered = shown(&text, 80);
    let widest = rendered.lines.iter().map(|line| line.spans.len()).max();
    assert!(widest.is_some_and(|spans| spans < 300), "{widest:?}");
}

#[test]
fn a_note_stands_for_what_is_too_long_to_show() {
    let text = "line\n\n".repeat(MOST_RENDERED / 6 + 1_000);
    let rendered = shown(&text, 80);
    let last = rendered.lines.last().expect("a line").to_string();
    assert_eq!(last, "… 6.0 KB more are not shown");
    assert_eq!(rendered.lines.len(), rendered.source.len());
}

#[test]
fn links_know_their_cells() {
    let rendered = shown(PROSE, 34);
    let spots: Vec<(&str, String)> = rendered
        .links
        .iter()
        .map(|spot| {
            let line = rendered.lines[spot.line].to_string();
            let from = cells::byte_at(&line, spot.columns.start);
            let to = cells::byte_at(&line, spot.columns.end);
            (&*spot.target, line[from..to].to_owned())
        })
        .collect();
    assert_eq!(
        spots,
        [
            ("testing.md", "Testing".to_owned()),
            ("key-decisions", "decisions".to_owned()),
            ("a.png", "▣ diagram".to_owned()),
            ("https://e.org/x", "https://e.org/x".to_owned()),
        ]
    );
}

#[test]
fn nothing_that_a_terminal_obeys_comes_through() {
    let text =
        "a\u{1b}[31m \u{9b}x `\u{7}` [l\u{202e}](t\u{1b})\n```\n\u{1b}]0;x\u{7}\n```\n<b\u{1b}>\n";
    for line in shown(text, 40).lines {
        for c in line.to_string().chars() {
            assert_eq!(cells::visible_char(c), None, "{line}");
        }
    }
}

#[test]
fn marks_are_left_out_and_words_stay() {
    for (line, expected) in [
        ("## Decision", "Decision"),
        ("- **Token**: `15` minutes", "Token: 15 minutes"),
        ("see [the plan](plan.md) now", "see the plan now"),
        (
            "fn a_refund_never_exceeds<T>()",
            "fn a_refund_never_exceeds<T>()",
        ),
        ("---", "---"),
        ("", ""),
        ("数据库 is *up*", "数据库 is up"),
    ] {
        assert_eq!(plain_line(line), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_text_is_rendered_and_knows_its_source(
        text in "([#>|*_`~\\[\\]()<!\\- \\n1.a한👩\\t]|\\n\\n|\\[\\[|```|\\|-\\|){0,80}",
        width in 8..60usize,
    ) {
        let rendered = shown(&text, width);
        prop_assert_eq!(rendered.lines.len(), rendered.source.len());
        let count = text.lines().count().max(1);
        for source in &rendered.source {
            prop_assert!(*source < count, "{} of {}", source, count);
        }
        for spot in &rendered.links {
            let drawn = rendered.lines[spot.line].width();
            prop_assert!(spot.columns.end <= drawn);
        }
    }
}
