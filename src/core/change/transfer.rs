//! Moves memories from one store to another.

use super::{Change, ChangeContext, ChangeVerb, PlannedFiles};
use crate::core::memory::layout::index::{self, INDEX, with_former_line};
use crate::core::memory::layout::listing::{bullets, is_about};
use crate::core::memory::layout::{Fields, FileView as _, Layout, Operation, WriteInput};
use crate::core::memory::stem;
use crate::core::memory::store::Store;
use crate::core::text::link::{self, Link, LinkSyntax, relinked};
use crate::core::{Error, Result};

/// What becomes of the links between a moved memory and the store that it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrokenLinks {
    /// They are rewritten to lead to the file at its new place. A `[[name]]` stays as it is.
    Follow,
    /// They stay as they are and lead nowhere.
    Leave,
}

/// A memory to move, and its path in the other store.
#[derive(Debug, Clone)]
pub struct Transfer<'a> {
    /// The store that it leaves.
    pub source: &'a Store,
    /// Its path there.
    pub path: &'a str,
    /// Its path in the other store.
    pub place: String,
}

/// Plans moving memories to another store as one change. Between stores of one layout the bytes
/// stay the same; otherwise the body and the header's values are written in the new layout.
pub fn plan_moves(
    transfers: &[Transfer<'_>],
    target: &Store,
    links: BrokenLinks,
    context: &ChangeContext,
) -> Result<Change> {
    let mut arrivals = PlannedFiles::of(target, context);
    let mut sources: Vec<Departure<'_>> = Vec::new();
    for transfer in transfers {
        let same = |departure: &Departure<'_>| departure.store().id() == transfer.source.id();
        let at = match sources.iter().position(same) {
            Some(at) => at,
            None => {
                sources.push(Departure {
                    planned: PlannedFiles::of(transfer.source, context),
                    moved: Vec::new(),
                    entries: Vec::new(),
                });
                sources.len() - 1
            }
        };
        sources[at].move_one(transfer, target, &mut arrivals)?;
    }
    let mut names = Vec::new();
    for departure in &mut sources {
        if links == BrokenLinks::Follow {
            departure.relink(target, &mut arrivals)?;
        }
        departure.planned.finish()?;
        names.extend(departure.moved.iter().map(|moved| {
            let old = departure.store().rules().reference_of(&moved.old);
            let new = target.rules().reference_of(&moved.new);
            (old, new)
        }));
        names.extend(departure.entries.iter().map(|(old, file)| {
            let new = target.rules().reference_of(file);
            (old.clone(), new)
        }));
    }
    arrivals.finish()?;
    let mut edits = Vec::new();
    for departure in sources {
        departure.keep_lines(target, &mut arrivals)?;
        edits.extend(departure.planned.into_edits());
    }
    let message = match names.as_slice() {
        [(old, new)] => format!("Memory moved: {old} → {}:{new}", target.name()),
        several => {
            let old: Vec<&str> = several.iter().map(|(old, _)| old.as_str()).collect();
            let (number, to) = (several.len(), target.name());
            format!("{number} memories moved to {to}: {}", old.join(", "))
        }
    };
    let mut change = arrivals.into_change(ChangeVerb::Move, message);
    change.edits.extend(edits);
    change.edits.sort_by_key(|edit| edit.derived);
    Ok(change)
}

/// A store that memories leave.
struct Departure<'a> {
    /// The files of this store, without the moved ones.
    planned: PlannedFiles<'a>,
    moved: Vec<MovedFile>,
    /// The moved entries: the old reference and the new file.
    entries: Vec<(String, String)>,
}

/// The file of a moved memory, before and after.
struct MovedFile {
    old: String,
    new: String,
    /// Whether the other store did not have it.
    is_new: bool,
}

impl<'a> Departure<'a> {
    fn store(&self) -> &'a Store {
        self.planned.store
    }

    fn move_one(
        &mut self,
        transfer: &Transfer<'_>,
        target: &Store,
        arrivals: &mut PlannedFiles<'_>,
    ) -> Result<()> {
        let source = self.store();
        if let Some(at) = self.planned.entry_at(transfer.path)? {
            let file = arrivals.receive_entry(source.layout(), &at, &transfer.place)?;
            self.entries.push((transfer.path.to_owned(), file));
            return self.planned.remove_entries(vec![at]);
        }
        let old = self.planned.target(Operation::Delete, transfer.path)?;
        let is_same_layout = self.store().layout() == target.layout();
        let arrival = if is_same_layout {
            Operation::Receive
        } else {
            Operation::Write
        };
        let new = arrivals.target(arrival, &transfer.place)?;
        self.planned.check_expected(&old)?;
        let bytes = self.planned.bytes(&old)?;
        let bytes = bytes.ok_or_else(|| Error::not_found(transfer.path))?;
        if arrivals.contains(&new) {
            if arrivals.bytes(&new)?.as_ref() != Some(&bytes) {
                return Err(Error::refused(
                    &transfer.place,
                    "there is a memory of that name already",
                ));
            }
            // The same memory is there: it is not doubled.
            self.planned.set(&old, None)?;
            let is_new = false;
            self.moved.push(MovedFile { old, new, is_new });
            return Ok(());
        }
        let rules = target.rules();
        let text = String::from_utf8_lossy(&bytes);
        let bytes = if is_same_layout && rules.check(target.root(), &new, None, &text).is_ok() {
            bytes
        } else {
            let text = self.store().decoded(&old, bytes)?;
            rewritten((self.store(), &old, &text), (target, &new), arrivals)?.into_bytes()
        };
        self.planned.set(&old, None)?;
        arrivals.set(&new, Some(bytes))?;
        arrivals.keep_attributes(&new, self.store().root().attributes(&old));
        let is_new = true;
        self.moved.push(MovedFile { old, new, is_new });
        Ok(())
    }

    /// Rewrites the links to the moved files, and the links of the moved files to files that stay.
    fn relink(&mut self, target: &Store, arrivals: &mut PlannedFiles<'_>) -> Result<()> {
        let rules = self.store().rules();
        let listed = self.planned.memories_before()?;
        let files: Vec<String> = listed.iter().map(|one| rules.file_of(&one.path)).collect();
        for file in files {
            // A file that is not text has no links, and a moved one is not there any more.
            let Ok(Some(text)) = self.planned.text(&file) else {
                continue;
            };
            let linked = relinked(&text, |link| {
                let to = inline_target(link)?;
                let to = self.linked_file(&file, to)?;
                let moved = self.moved.iter().find(|moved| moved.old == to)?;
                Some(between((self.store(), &file), (target, &moved.new)))
            });
            if linked != text {
                self.store().root().writable(&file)?;
                self.planned.set(&file, Some(linked.into_bytes()))?;
            }
        }
        for moved in self.moved.iter().filter(|moved| moved.is_new) {
            let Ok(Some(text)) = arrivals.text(&moved.new) else {
                continue;
            };
            let linked = relinked(&text, |link| {
                let Some(to) = inline_target(link) else {
                    return self.renamed_stem(&link.target);
                };
                let to = self.linked_file(&moved.old, to)?;
                match self.moved.iter().find(|other| other.old == to) {
                    Some(other) => Some(link::relative_target(&moved.new, &other.new)),
                    None => Some(between((target, &moved.new), (self.store(), &to))),
                }
            });
            if linked != text {
                let attributes = self.store().root().attributes(&moved.old);
                arrivals.set(&moved.new, Some(linked.into_bytes()))?;
                arrivals.keep_attributes(&moved.new, attributes);
            }
        }
        Ok(())
    }

    /// Gives the moved memories the lines that they had in the index of this store.
    fn keep_lines(&self, target: &Store, arrivals: &mut PlannedFiles<'_>) -> Result<()> {
        let are_indexes = [self.store(), target].map(Store::layout) == [Layout::Index; 2];
        let Some(former) = self.store().text(INDEX)?.filter(|_| are_indexes) else {
            return Ok(());
        };
        let lines = bullets(&former);
        for moved in self.moved.iter().filter(|moved| moved.is_new) {
            let title = self.planned.memory_before(&moved.old)?.title;
            let line = lines.iter().find(|line| is_about(line, &moved.old, &title));
            let (Some(line), Some(text)) = (line, arrivals.text(INDEX)?) else {
                continue;
            };
            let line = relinked(&former[line.line.clone()], |link| {
                inline_target(link).map(|_| moved.new.clone())
            });
            let text = with_former_line(&text, &line, &arrivals.memory_after(&moved.new)?);
            arrivals.set_derived(INDEX, text)?;
        }
        Ok(())
    }

    /// The name that a `[[name]]` of a moved file has now, if it names a file that was renamed.
    fn renamed_stem(&self, name: &str) -> Option<String> {
        let is_named = |moved: &&MovedFile| stem(&moved.old) == name;
        let moved = self.moved.iter().find(is_named)?;
        let title = self.planned.memory_before(&moved.old).ok()?.title;
        (title != name).then(|| stem(&moved.new).to_owned())
    }

    /// The file of this store that a link in `file` leads to, if it is there before the move.
    fn linked_file(&self, file: &str, to: &str) -> Option<String> {
        let is_there = |file: &String| self.store().root().has(file);
        let relative = link::resolve_target(file, to).filter(is_there);
        relative.or_else(|| Some(self.store().rules().file_of(to)).filter(is_there))
    }
}

/// The target of a link with a path; `None` for a `[[name]]`.
pub(super) fn inline_target<'a>(link: &'a Link<'_>) -> Option<&'a str> {
    (link.form == LinkSyntax::Inline).then_some(&*link.target)
}

/// The path of a file of one store relative to a file of another.
pub(super) fn between((from, file): (&Store, &str), (to, target): (&Store, &str)) -> String {
    let place = |store: &Store, file: &str| store.root().absolute(file).display().to_string();
    link::relative_target(&place(from, file), &place(to, target))
}

/// The text of a memory in another layout.
fn rewritten(
    (source, old_file, text): (&Store, &str, &str),
    (target, new_file): (&Store, &str),
    arrivals: &PlannedFiles<'_>,
) -> Result<String> {
    let memory = source.rules().read(old_file, text);
    let fields = Fields {
        name: Some(memory.title.clone()),
        description: Some(memory.summary.clone()).filter(|summary| !summary.is_empty()),
        category: category(target, &memory.category),
        tags: memory.tags.clone(),
        ..Fields::default()
    };
    let input = WriteInput {
        file: new_file,
        content: &source.rules().body(text, &memory),
        fields: &fields,
        old: None,
    };
    target.rules().compose(arrivals, &input)
}

/// The memory's type in its new store: its own if the layout has it.
pub(super) fn category(target: &Store, own: &Option<String>) -> Option<String> {
    let known = |name: &String| index::TYPES.iter().any(|(known, _)| known == name);
    match target.layout() {
        Layout::Index => Some(
            own.clone()
                .filter(known)
                .unwrap_or_else(|| "project".to_owned()),
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn store(at: &Path, name: &str, files: &[(&str, &str)]) -> Store {
        let root = at.join(name);
        fs::create_dir_all(&root).expect("a folder");
        for (file, body) in files {
            let text = format!("---\nname: {file}\ndescription: d\ntype: project\n---\n\n{body}\n");
            fs::write(root.join(file), text).expect("writes");
        }
        Store::open(name, &root, Some(Layout::Index)).expect("opens")
    }

    fn body(change: &Change, path: &str) -> String {
        let edit = change
            .edits
            .iter()
            .find(|edit| edit.path == path && edit.after.is_some());
        let bytes = edit
            .and_then(|edit| edit.after.clone())
            .expect("is written");
        let text = String::from_utf8(bytes).expect("text");
        text.split("---\n\n").nth(1).unwrap_or_default().to_owned()
    }

    #[test]
    fn links_between_what_moves_and_what_stays_follow() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let one = store(
            temp.path(),
            "one",
            &[
                (
                    "a.md",
                    "to [b](b.md#part), [stays](stays.md) and [web](https://x/y.md)",
                ),
                ("b.md", "back to [a](./a.md)"),
                ("stays.md", "see [a](a.md) and [[a]]"),
            ],
        );
        let two = store(temp.path(), "two", &[]);
        let transfers = ["a.md", "b.md"].map(|path| Transfer {
            source: &one,
            path,
            place: path.to_owned(),
        });
        let context = ChangeContext::test();
        let plan = |links| plan_moves(&transfers, &two, links, &context).expect("plans");
        let change = plan(BrokenLinks::Follow);
        assert_eq!(
            body(&change, "a.md"),
            "to [b](b.md#part), [stays](../one/stays.md) and [web](https://x/y.md)\n"
        );
        assert_eq!(body(&change, "b.md"), "back to [a](a.md)\n");
        assert_eq!(
            body(&change, "stays.md"),
            "see [a](../two/a.md) and [[a]]\n"
        );
        assert_eq!(change.message, "2 memories moved to two: a.md, b.md");
        let change = plan(BrokenLinks::Leave);
        assert_eq!(body(&change, "b.md"), "back to [a](./a.md)\n");
        assert!(change.edits.iter().all(|edit| edit.path != "stays.md"));
    }

    #[test]
    fn the_line_of_the_index_goes_with_its_memory() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let files = [("a.md", "x"), ("b.md", "y")];
        let one = store(temp.path(), "one", &files);
        let own =
            "# Notes\n\n- [A, in own words](a.md) — see [B](b.md) first\n- [b.md](b.md) — d\n";
        fs::write(one.root().absolute(INDEX), own).expect("writes");
        let context = ChangeContext::test();
        let line = "[A, in own words](b.md)";
        for (name, index, expected) in [
            (
                "two",
                "# Of two\n\n- [Z](z.md) — z\n",
                format!("# Of two\n\n- [Z](z.md) — z\n- {line} — "),
            ),
            (
                "three",
                "# Memory\n\n(empty)\n",
                format!("# Memory\n\n## Project\n- {line} - "),
            ),
        ] {
            let two = store(temp.path(), name, &[]);
            fs::write(two.root().absolute(INDEX), index).expect("writes");
            let transfer = Transfer {
                source: &one,
                path: "a.md",
                place: "b.md".to_owned(),
            };
            let change = plan_moves(&[transfer], &two, BrokenLinks::Follow, &context);
            let change = change.expect("plans");
            let edits = change.edits.iter();
            let mut edits = edits.filter(|edit| edit.root == two.root().path());
            let edit = edits.find(|edit| edit.path == INDEX).expect("the index");
            let hook = "see [B](b.md) first\n";
            assert_eq!(edit.text_after(), format!("{expected}{hook}"));
        }
    }
}
