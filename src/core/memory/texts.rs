//! The memories and the index files of the stores with their text, as they are on the disk now.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::core::disk::sandbox::FoundFile;
use crate::core::memory::layout::coder::README;
use crate::core::memory::layout::index::INDEX;
use crate::core::memory::layout::listing::{Bullet, bullets};
use crate::core::memory::layout::{Layout, note};
use crate::core::memory::store::Store;
use crate::core::memory::{FileKind, Memory};
use crate::core::text::grip_comment::grip_comments;
use crate::core::text::header::frontmatter::Frontmatter;
use crate::core::text::header::lines;
use crate::core::text::header::meta::Meta;
use crate::core::text::link::resolve_target;
use crate::core::{Error, Result};

/// The memories and index files of some stores.
#[derive(Debug, Clone, Default)]
pub struct MemoryTexts {
    /// The files, store by store, each store's sorted by path.
    pub texts: Vec<MemoryText>,
    /// The stores that are left out because of their size, and those with files that cannot be read,
    /// in a line each.
    pub left_out: Vec<String>,
    /// The names and roots of the stores.
    stores: Vec<(String, PathBuf)>,
}

/// A memory file with its text.
#[derive(Debug, Clone)]
pub struct MemoryText {
    /// The store's name.
    pub store: String,
    /// The store's layout.
    pub layout: Layout,
    /// The metadata of the file.
    pub memory: Memory,
    /// When it was last changed, in milliseconds since 1970, as the file itself tells; who knows more
    /// may set it.
    pub time: Option<i64>,
    /// The whole text; invalid UTF-8 is replaced.
    pub text: String,
    /// The range of the header: the frontmatter or the META comment.
    head: Range<usize>,
    /// The ranges that are not searched: comments that hold grips, and what notes quote of texts that
    /// were taken out.
    left_out: Vec<Range<usize>>,
    /// Lines of an index that only repeat what a memory says of itself.
    repeats: Vec<Range<usize>>,
}

impl MemoryTexts {
    /// Reads the memories of the stores. Files that cannot be read are left out; `list`
    /// names each.
    pub fn read<'a>(stores: impl IntoIterator<Item = &'a Store>) -> Result<Self> {
        Self::default().refresh(stores)
    }

    /// Reads the memories of the stores, and reuses those of `self` that have not changed.
    pub fn refresh<'a>(&self, stores: impl IntoIterator<Item = &'a Store>) -> Result<Self> {
        let known: HashMap<(&str, String), &MemoryText> = self
            .texts
            .iter()
            .map(|memory_text| {
                let file = memory_text.layout.rules().file_of(&memory_text.memory.path);
                ((memory_text.store.as_str(), file), memory_text)
            })
            .collect();
        let mut memories = Self::default();
        for store in stores {
            let name = store.name().to_owned();
            memories.stores.push((name, store.root().path().to_owned()));
            let unchanged = |file: &FoundFile| {
                let same = known.get(&(store.name(), file.path.clone()))?;
                let is_same = same.layout == store.layout()
                    && same.memory.size == file.size
                    && same.memory.modified == file.modified;
                is_same.then(|| Some((*same).clone()))
            };
            let unread: Mutex<Vec<String>> = Mutex::default();
            let read = store.read_all(unchanged, |memory, text| {
                if let Some(problem) = memory.problem.as_ref().filter(|_| text.is_empty()) {
                    let mut unread = unread.lock().unwrap_or_else(PoisonError::into_inner);
                    unread.push(format!("{}: {problem}", memory.path));
                }
                read_memory_text(store, memory, text)
            });
            let read = match read {
                Err(error @ Error::Refused { .. }) => {
                    memories.left_out.push(format!("{}: {error}", store.name()));
                    continue;
                }
                read => read?,
            };
            let mut unread = unread.into_inner().unwrap_or_else(PoisonError::into_inner);
            unread.sort();
            if let Some(first) = unread.first() {
                let more = match unread.len() {
                    1 => String::new(),
                    many => format!("; {} more cannot be read, tome list names them", many - 1),
                };
                let line = format!("{}: not searched: {first}{more}", store.name());
                memories.left_out.push(line);
            }
            let mut texts: Vec<MemoryText> = read.into_iter().flatten().collect();
            let indexes = index_texts(store, &texts);
            texts.extend(indexes);
            texts.sort_by(|a, b| a.memory.path.cmp(&b.memory.path));
            memories.texts.extend(texts);
        }
        Ok(memories)
    }

    /// Returns the index files by store and path.
    pub(in crate::core) fn indexes(&self) -> HashMap<(&str, &str), &MemoryText> {
        let indexes = self.texts.iter();
        let indexes = indexes.filter(|text| text.memory.kind == FileKind::Index);
        indexes
            .map(|text| ((text.store.as_str(), text.memory.path.as_str()), text))
            .collect()
    }

    /// Returns the file of one of these texts.
    pub fn file_of(&self, text: &MemoryText) -> PathBuf {
        let mut roots = self.stores.iter();
        let root = roots.find(|(name, _)| *name == text.store);
        let file = text.layout.rules().file_of(&text.memory.path);
        root.map_or_else(PathBuf::new, |(_, root)| root.join(file))
    }

    /// Returns the prefix of a citation: the store's name if there are several stores.
    pub(in crate::core) fn prefix(&self, store: &str) -> Option<String> {
        (self.stores.len() > 1).then(|| store.to_owned())
    }

    /// Returns the name of the store at this root.
    pub(in crate::core) fn store_at(&self, root: &Path) -> Option<&str> {
        let found = self.stores.iter().find(|(_, known)| known == root);
        found.map(|(name, _)| name.as_str())
    }
}

impl MemoryText {
    /// Returns the lines about a coder's file, and about its folders, in the READMEs above it, which
    /// are among `indexes`.
    pub(in crate::core) fn readme_text(&self, indexes: &HashMap<(&str, &str), &Self>) -> String {
        let mut text = String::new();
        let mut path = self.memory.path.as_str();
        while let Some((folder, _)) = path.rsplit_once('/') {
            let file = format!("{folder}/{README}");
            if let Some(page) = indexes.get(&(self.store.as_str(), file.as_str())) {
                let is_about = |bullet: &Bullet| {
                    resolve_target(&file, &bullet.target).is_some_and(|target| {
                        target
                            .strip_suffix(README)
                            .unwrap_or(&target)
                            .trim_end_matches('/')
                            == path
                    })
                };
                for bullet in bullets(&page.text).iter().filter(|bullet| is_about(bullet)) {
                    text.push_str(&page.text[bullet.line.clone()]);
                }
                text.push('\n');
            }
            path = folder;
        }
        text
    }

    /// Returns the lines with words, each with its number from 1 and its byte range. Lines
    /// that only give the text its structure are left out: those without letters or digits,
    /// fields of the header that hold no words of a person or an agent, and grips.
    pub fn lines(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        lines(&self.text, 0)
            .enumerate()
            .filter(|(_, line)| {
                let is_in_head = self.head.contains(&line.span.start);
                line.text.contains(char::is_alphanumeric)
                    && !(is_in_head && is_plain_field(line.text))
                    && !self.is_left_out(line.span.start)
            })
            .map(|(at, line)| (at + 1, line.span))
    }

    /// Returns whether the line at this offset is not searched.
    pub(in crate::core) fn is_left_out(&self, offset: usize) -> bool {
        self.left_out.iter().any(|range| range.contains(&offset))
    }

    /// Returns whether the line at this offset tells an agent nothing new: it repeats what a memory
    /// says of itself, or is in the context anyway.
    pub(in crate::core) fn is_repeat(&self, offset: usize) -> bool {
        self.memory.kind == FileKind::Overview
            || self.repeats.iter().any(|range| range.contains(&offset))
    }
}

/// Returns whether a line of a header opens it or is a field such as a type or a time.
fn is_plain_field(line: &str) -> bool {
    const WITH_WORDS: [&str; 6] = [
        "description",
        "keywords",
        "name",
        "summary",
        "tags",
        "title",
    ];
    let line = line.trim().trim_start_matches("- ");
    let field = line.split_once(':').map(|(key, _)| key);
    line.starts_with("<!--")
        || field.is_some_and(|key| {
            !key.contains(char::is_whitespace)
                && !WITH_WORDS
                    .iter()
                    .any(|known| key.eq_ignore_ascii_case(known))
        })
}

/// Returns the range of a text's header.
fn head_of(text: &str) -> Range<usize> {
    match Frontmatter::parse(text) {
        Some(frontmatter) => 0..frontmatter.body(),
        None => Meta::parse(text).comment.unwrap_or(0..0),
    }
}

/// Reads the index files: `MEMORY.md`, or the READMEs of the folders of the coder's lessons.
fn index_texts(store: &Store, texts: &[MemoryText]) -> Vec<MemoryText> {
    let files: BTreeSet<String> = match store.layout() {
        Layout::Index => BTreeSet::from([INDEX.to_owned()]),
        Layout::Coder => {
            let rules = store.rules();
            let (folder, depth) = rules.searched().unwrap_or_default();
            let files = store.root().markdown(folder, depth).unwrap_or_default();
            let paths = files.into_iter().map(|file| file.path);
            let is_index = |path: &String| rules.kind(path) == FileKind::Index;
            paths.filter(is_index).collect()
        }
        _ => BTreeSet::new(),
    };
    let read = files.iter().filter_map(|path| {
        let file = store.root().find_file(path)?;
        let bytes = store.root().read(path).ok()??;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut memory = store.rules().read(path, &text);
        (memory.size, memory.modified) = (file.size, file.modified);
        let mut index = read_memory_text(store, memory, text)?;
        index.repeats = repeated_lines(&index, texts);
        Some(index)
    });
    read.collect()
}

/// Returns the lines of an index that say nothing more about a memory than its own text.
fn repeated_lines(index: &MemoryText, texts: &[MemoryText]) -> Vec<Range<usize>> {
    let by_path: HashMap<&str, &MemoryText> = texts
        .iter()
        .map(|text| (text.memory.path.as_str(), text))
        .collect();
    let is_repeated = |bullet: &Bullet| {
        let target = resolve_target(&index.memory.path, &bullet.target);
        let memory = target.and_then(|target| by_path.get(target.as_str()));
        memory.is_some_and(|memory| {
            let hook = bullet.hook(&index.text);
            memory.text.contains(hook) || memory.memory.summary == hook
        })
    };
    let bullets = bullets(&index.text).into_iter();
    let repeated = bullets.filter(is_repeated);
    repeated.map(|bullet| bullet.line).collect()
}

/// Returns the text to search; `None` for logs, which are in the corpus, and unreadable files.
fn read_memory_text(store: &Store, memory: Memory, text: String) -> Option<MemoryText> {
    let is_searched =
        memory.kind != FileKind::Log && (memory.problem.is_none() || !text.is_empty());
    let mut left_out = grip_comments(&text);
    if store.layout() == Layout::Entries {
        left_out.extend(note::removed(&memory.path, &text));
    }
    is_searched.then(|| MemoryText {
        store: store.name().to_owned(),
        layout: store.layout(),
        time: Some(memory.time()).filter(|time| *time > 0),
        memory,
        head: head_of(&text),
        left_out,
        repeats: Vec::new(),
        text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::search::fixture::TestHome;

    #[test]
    fn what_a_note_says_was_taken_out_is_not_searched() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let notes = temp.path().join(note::FOLDER);
        std::fs::create_dir_all(&notes).expect("creates");
        let text = "The user deleted this from MEMORY.md. Delete it from every memory file and do \
            not add it again:\n\n> - zanzibar word\n";
        std::fs::write(notes.join("2026-09-21T14-13-20-memory.md"), text).expect("writes");
        let store = Store::open("s", temp.path(), Some(Layout::Entries)).expect("opens");
        let memories = MemoryTexts::read([&store]).expect("reads");
        let note = memories.texts.first().expect("a note");
        let shown: Vec<usize> = note.lines().map(|(line, _)| line).collect();
        assert_eq!(shown, [1]);
    }

    #[test]
    fn lines_of_structure_are_not_searched() {
        let meta = "# The parser\n\n<!-- META:\n- created: 2026-01-01\n- type: compaction\n\
                    - keywords: [\"parser\"]\n-->\n\nrewrite it\n---\n```\ntype: a word\n";
        let front = "---\nname: parser\ntype: compaction\ndescription: rewrite\n---\nbody\n";
        let home = TestHome::new(&[("a.md", meta), ("b.md", front)], &[]);
        let shown: Vec<Vec<String>> = home
            .memories()
            .texts
            .iter()
            .map(|text| {
                text.lines()
                    .map(|(_, span)| text.text[span].to_owned())
                    .collect()
            })
            .collect();
        assert_eq!(
            shown[0],
            [
                "# The parser",
                "- keywords: [\"parser\"]",
                "rewrite it",
                "type: a word"
            ]
        );
        assert_eq!(shown[1], ["name: parser", "description: rewrite", "body"]);
    }
    #[test]
    fn lines_of_an_index_that_repeat_a_memory_are_known() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let write = |name: &str, text: &str| {
            std::fs::write(temp.path().join(name), text).expect("written");
        };
        write(
            "MEMORY.md",
            "# Memory\n\n- [Deploy](deploy.md) — how we deploy\n\
             - [Deploy](deploy.md) — staging lives on quokka17\n- [Gone](gone.md) — gone\n\n\
             ## Facts\nStaging is slow.\n",
        );
        write(
            "deploy.md",
            "---\nname: Deploy\ndescription: how we deploy\n---\n\nBy hand.\n",
        );
        let store = Store::open("s", temp.path(), None).expect("opens");
        let memories = MemoryTexts::read([&store]).expect("readable");
        let index = &memories.texts[0];
        assert_eq!(index.memory.path, "MEMORY.md");
        let lines: Vec<(usize, bool)> = index
            .lines()
            .map(|(line, span)| (line, index.is_repeat(span.start)))
            .collect();
        let [said, repeated] = [false, true];
        assert_eq!(
            lines,
            [
                (1, said),
                (3, repeated),
                (4, said),
                (5, said),
                (7, said),
                (8, said)
            ]
        );
    }
}
