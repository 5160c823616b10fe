//! Notes that tell Codex's consolidation of a change of its memories: it makes the files again from
//! what it has in its database, and follows notes.

use std::iter;
use std::ops::Range;

use super::{FileView, TouchedFile};
use crate::core::Result;
use crate::core::memory::stem;
use crate::core::text::diff;
use crate::core::text::header::{lines, slug};
use crate::core::text::secret::KnownSecrets;

/// The folder of the notes that Codex's consolidation follows.
pub(in crate::core) const FOLDER: &str = "extensions/ad_hoc/notes";

/// What ends the line above a text that was taken out.
const OF_REMOVED: [&str; 2] = [
    "Delete it from every memory file and do not add it again:",
    "Replace this in every memory file:",
];

/// The path and the text of the note about touched files; `None` if there is nothing to tell.
pub(super) fn about(
    planned: &dyn FileView,
    touched: &[TouchedFile],
) -> Result<Option<(String, String)>> {
    let notes: Vec<String> = touched
        .iter()
        .filter_map(|touch| note(planned, touch).transpose())
        .collect::<Result<_>>()?;
    let Some(first) = touched.first().filter(|_| !notes.is_empty()) else {
        return Ok(None);
    };
    let time = planned.moment().time.strftime("%Y-%m-%dT%H-%M-%S");
    let named = |number: usize| match number {
        1 => format!("{FOLDER}/{time}-{}.md", note_name(touched_file(first))),
        _ => format!("{FOLDER}/{time}-change-{number}.md"),
    };
    let path = (1..).map(named).find(|path| !planned.contains(path));
    Ok(path.map(|path| (path, notes.join("\n"))))
}

/// The lines of a note that quote what was taken out of the memories, which are no memory any more.
pub(in crate::core) fn removed(file: &str, text: &str) -> Vec<Range<usize>> {
    if !file.starts_with(FOLDER) {
        return Vec::new();
    }
    let mut is_of_removed = false;
    let quoted = lines(text, 0).filter(|line| {
        let is_quoted = line.text.starts_with('>');
        if !is_quoted && !line.text.trim().is_empty() {
            is_of_removed = OF_REMOVED.iter().any(|end| line.text.ends_with(end));
        }
        is_quoted && is_of_removed
    });
    quoted.map(|line| line.span).collect()
}

/// What the name of a note says of a file. Codex takes lower case letters and digits of ASCII and
/// hyphens, 80 at most.
fn note_name(file: &str) -> String {
    let name: String = slug(stem(file)).chars().filter(char::is_ascii).collect();
    let name: String = name.trim_matches('-').chars().take(60).collect();
    if name.is_empty() {
        "change".to_owned()
    } else {
        name
    }
}

fn touched_file(touch: &TouchedFile) -> &str {
    match touch {
        TouchedFile::Added(file) | TouchedFile::Edited(file) | TouchedFile::Removed(file) => file,
        TouchedFile::Renamed { from, .. } => from,
    }
}

/// What a note says of one touched file; `None` for notes and for new files.
fn note(planned: &dyn FileView, touch: &TouchedFile) -> Result<Option<String>> {
    let file = touched_file(touch);
    let is_owned = !file.starts_with("extensions/") && !matches!(touch, TouchedFile::Added(_));
    let bytes = planned.root().read(file)?.filter(|_| is_owned);
    let Some(before) = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()) else {
        return Ok(None);
    };
    let after = planned.shown_text(file)?;
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let replacements = diff::replacements(&old, &new);
    let of_old = replacements.iter().flat_map(|one| &old[one.old.clone()]);
    let of_new = replacements.iter().flat_map(|one| &new[one.new.clone()]);
    let joined = |lines: Vec<&str>| lines.join("\n");
    let removed = joined(of_old.copied().collect());
    let added = joined(of_new.copied().collect());
    let said = |text: &str| !text.trim().is_empty();
    let [delete, replace] = OF_REMOVED;
    // A secret that was taken out is not kept in a note.
    let cut = || shortened(&KnownSecrets::of(iter::once(&*before)).mask(&removed));
    Ok(match (said(&removed), said(&added)) {
        (false, false) => None,
        (true, false) => Some(format!(
            "The user deleted this from {file}. {delete}\n\n{}\n",
            cut()
        )),
        (false, true) => Some(format!(
            "The user added this to {file}. Keep it:\n\n{}\n",
            quoted(added.lines())
        )),
        (true, true) => Some(format!(
            "The user changed {file}. {replace}\n\n{}\n\nby this, and keep it:\n\n{}\n",
            cut(),
            quoted(added.lines())
        )),
    })
}

fn quoted<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<String> = lines.map(|line| format!("> {line}")).collect();
    lines.join("\n").trim_end().to_owned()
}

/// A text that was taken out, quoted. A note is small: of a long text its beginning is enough, and
/// what is left out is named by its headings.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 2_000;
    let mut left = LONGEST;
    let mut shown = Vec::new();
    for line in text.lines() {
        let is_heading = line.starts_with('#');
        let most = if is_heading { usize::MAX } else { left };
        let start: String = line.chars().take(most).collect();
        if !start.is_empty() || left > 0 {
            let end = if start.len() < line.len() { " …" } else { "" };
            shown.push(format!("{start}{end}"));
        }
        left = left.saturating_sub(line.chars().count());
    }
    quoted(shown.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_note_is_one_that_codex_takes() {
        assert_eq!(note_name("MEMORY.md"), "memory");
        assert_eq!(note_name("notes/Ünder_the Sea.md"), "nder-the-sea");
        assert_eq!(note_name("記憶.md"), "change");
        assert_eq!(note_name(&format!("{}.md", "a".repeat(90))).len(), 60);
    }

    #[test]
    fn only_what_was_taken_out_is_no_memory() {
        let text = "The user changed a.md. Replace this in every memory file:\n\n> old\n> # h\n\n\
            by this, and keep it:\n\n> new\n\nThe user deleted this from b.md. Delete it from \
            every memory file and do not add it again:\n\n> gone\n";
        let file = "extensions/ad_hoc/notes/a.md";
        let removed_lines = removed(file, text).into_iter();
        let removed_lines: Vec<&str> = removed_lines.map(|span| text[span].trim_end()).collect();
        assert_eq!(removed_lines, ["> old", "> # h", "> gone"]);
        assert!(removed("a.md", text).is_empty());
    }
}
