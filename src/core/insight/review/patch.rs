//! Patches in the unified format: parsed, applied hunk by hunk, and written again without the
//! hunks that were decided about.

/// The differences that a patch has for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FilePatch {
    /// The name of the old file; `/dev/null` if the file is new.
    pub(super) old: String,
    /// The name of the new file.
    pub(super) new: String,
    /// The differences.
    pub(super) hunks: Vec<PatchHunk>,
}

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PatchHunk {
    /// The first line of the old text and the number of lines, as the header has them.
    pub(super) old: (usize, usize),
    /// The same of the new text.
    pub(super) new: (usize, usize),
    /// The lines, each with its sign.
    pub(super) text: String,
}

/// The file name of the side of a patch on which there is no file.
pub(super) const NO_FILE: &str = "/dev/null";

const NO_NEWLINE: &str = "\\ No newline at end of file";

/// Parses a patch; `None` if it is not one, or if a file of it has no difference.
pub(super) fn parse(text: &str) -> Option<Vec<FilePatch>> {
    let mut lines = text.lines().peekable();
    let mut files: Vec<FilePatch> = Vec::new();
    while let Some(line) = lines.next() {
        if let Some(old) = line.strip_prefix("--- ") {
            let new = lines.next()?.strip_prefix("+++ ")?;
            files.push(FilePatch {
                old: file_name(old),
                new: file_name(new),
                hunks: Vec::new(),
            });
        } else if let Some((old, new)) = hunk_header(line) {
            let mut text = String::new();
            let (mut old_left, mut new_left) = (old.1, new.1);
            while old_left > 0 || new_left > 0 {
                let line = lines.next()?;
                // Editors cut the space of an empty line.
                let sign = line.bytes().next().unwrap_or(b' ');
                let line = if line.is_empty() { " " } else { line };
                match sign {
                    b' ' => {
                        (old_left, new_left) = (old_left.checked_sub(1)?, new_left.checked_sub(1)?)
                    }
                    b'-' => old_left = old_left.checked_sub(1)?,
                    b'+' => new_left = new_left.checked_sub(1)?,
                    b'\\' => {}
                    _ => return None,
                }
                text.push_str(line);
                text.push('\n');
            }
            if let Some(marker) = lines.next_if(|line| line.starts_with('\\')) {
                text.push_str(marker);
                text.push('\n');
            }
            files.last_mut()?.hunks.push(PatchHunk { old, new, text });
        }
    }
    let is_whole = !files.is_empty() && files.iter().all(|file| !file.hunks.is_empty());
    is_whole.then_some(files)
}

/// A patch that makes a new file of this text; `None` if it has no text.
pub(super) fn new_file(name: &str, text: &str) -> Option<FilePatch> {
    let mut lines = String::new();
    for line in text.split_inclusive('\n') {
        lines.push_str(&format!("+{line}"));
    }
    if !text.ends_with('\n') {
        lines.push_str(&format!("\n{NO_NEWLINE}\n"));
    }
    let hunk = PatchHunk {
        old: (0, 0),
        new: (1, text.lines().count()),
        text: lines,
    };
    (!text.is_empty()).then(|| FilePatch {
        old: NO_FILE.to_owned(),
        new: name.to_owned(),
        hunks: vec![hunk],
    })
}

/// The name in a line `--- NAME`, without a time after it and without git's prefixes.
fn file_name(given: &str) -> String {
    let name = given.split('\t').next().unwrap_or(given).trim_end();
    let bare = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/"));
    bare.unwrap_or(name).to_owned()
}

/// The line and the number of lines on both sides of a line `@@ -1,2 +1,3 @@`.
fn hunk_header(line: &str) -> Option<((usize, usize), (usize, usize))> {
    let (ranges, _) = line.strip_prefix("@@ ")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(' ')?;
    let range = |text: &str, sign: char| {
        let text = text.strip_prefix(sign)?;
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    Some((range(old, '-')?, range(new, '+')?))
}

/// The text of a patch of these files.
pub(super) fn print(files: &[FilePatch]) -> String {
    let mut text = String::new();
    for file in files {
        text.push_str(&format!("--- {}\n+++ {}\n", file.old, file.new));
        for hunk in &file.hunks {
            let (old, new) = (hunk.old, hunk.new);
            text.push_str(&format!(
                "@@ -{},{} +{},{} @@\n{}",
                old.0, old.1, new.0, new.1, hunk.text
            ));
        }
    }
    text
}

impl PatchHunk {
    /// The lines of one side.
    fn side(&self, other: char) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut is_of_side = false;
        for line in self.text.lines() {
            if line == NO_NEWLINE || line.starts_with('\\') {
                // It is about the line before.
                if let Some(last) = lines.last_mut().filter(|_| is_of_side) {
                    last.pop();
                }
                continue;
            }
            is_of_side = !line.starts_with(other);
            if is_of_side {
                lines.push(format!("{}\n", &line[1..]));
            }
        }
        lines
    }

    /// The text with this difference made, where its old lines are nearest to where they were;
    /// `None` if they are nowhere.
    pub(super) fn apply(&self, text: &str) -> Option<String> {
        let (old, new) = (self.side('+'), self.side('-'));
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let expected = self.old.0.saturating_sub(usize::from(!old.is_empty()));
        let same = |a: &str, b: &str| a.trim_end_matches(['\r', '\n']) == b.trim_end_matches('\n');
        let fits = |at: &usize| {
            let part = lines.get(*at..*at + old.len());
            part.is_some_and(|part| part.iter().zip(&old).all(|(a, b)| same(a, b)))
        };
        let places = (0..=lines.len()).filter(fits);
        let at = places.min_by_key(|at| at.abs_diff(expected))?;
        let mut made = lines[..at].concat();
        if !made.is_empty() && !made.ends_with('\n') {
            made.push('\n');
        }
        made.push_str(&new.concat());
        made.push_str(&lines[at + old.len()..].concat());
        Some(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "\
--- /m/a.md\t2026-01-01
+++ /m/a.md
@@ -1,3 +1,4 @@
 one
-two
+2
+2 and a half
 three
@@ -9,2 +10,2 @@
 nine
-ten
+10
--- /dev/null
+++ b//m/new.md
@@ -0,0 +1,2 @@
+# New
+text
\\ No newline at end of file
";

    #[test]
    fn a_patch_is_parsed_and_printed_again() {
        let files = parse(PATCH).expect("a patch");
        let shown: Vec<(&str, usize)> = files
            .iter()
            .map(|file| (file.new.as_str(), file.hunks.len()))
            .collect();
        assert_eq!(shown, [("/m/a.md", 2), ("/m/new.md", 1)]);
        assert_eq!(parse(&print(&files)), Some(files));
        for broken in [
            "",
            "words",
            "--- a\n+++ b\n",
            "--- a\n+++ b\n@@ -1,2 +1,2 @@\n one\n",
        ] {
            assert_eq!(parse(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn a_hunk_is_made_where_its_lines_are() {
        let files = parse(PATCH).expect("a patch");
        let (first, second) = (&files[0].hunks[0], &files[0].hunks[1]);
        let text = "new\none\ntwo\nthree\n";
        assert_eq!(
            first.apply(text).as_deref(),
            Some("new\none\n2\n2 and a half\nthree\n")
        );
        // Of two places, the nearer one.
        let twice = "nine\nten\na\nb\nc\nd\ne\nf\nnine\nten\n";
        let made = second.apply(twice).expect("fits");
        assert!(
            made.starts_with("nine\nten\n") && made.ends_with("nine\n10\n"),
            "{made}"
        );
        assert_eq!(second.apply("nine\neleven\n"), None);
        assert_eq!(files[1].hunks[0].apply("").as_deref(), Some("# New\ntext"));
    }

    #[test]
    fn a_text_without_a_last_newline_is_not_joined_to_what_comes_after_it() {
        let patch = "--- /m/a.md\n+++ /m/a.md\n@@ -1,0 +2,1 @@\n+two\n";
        let hunk = parse(patch).expect("a patch").remove(0).hunks.remove(0);
        assert_eq!(hunk.apply("one").as_deref(), Some("one\ntwo\n"));
    }
}
