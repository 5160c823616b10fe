//! The memories of the stores with their text, as [`Store::read_all`] reads them now.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::core::Result;
use crate::core::grip_comment::grip_comments;
use crate::core::header::frontmatter::Frontmatter;
use crate::core::header::lines;
use crate::core::header::meta::Meta;
use crate::core::layout::Layout;
use crate::core::layout::coder::README;
use crate::core::layout::listing::{Bullet, bullets, without_bullets};
use crate::core::link::resolve_target;
use crate::core::memory::{FileKind, Memory};
use crate::core::sandbox::FoundFile;
use crate::core::store::Store;

/// The memories of some stores.
#[derive(Debug, Clone, Default)]
pub struct MemoryTexts {
    /// The files, store by store, each store's sorted by path.
    pub texts: Vec<MemoryText>,
    /// The names and roots of the stores.
    stores: Vec<(String, PathBuf)>,
    /// The tables of contents of the coder's folders.
    contents: Vec<ReadmeText>,
}

/// The text of the README of a coder's folder.
#[derive(Debug, Clone)]
struct ReadmeText {
    store: String,
    /// The README's path.
    file: String,
    text: String,
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
    /// The whole text; invalid UTF-8 is replaced.
    pub text: String,
    /// The range of the header: the frontmatter or the META comment.
    head: Range<usize>,
    /// The ranges of the comments that hold grips.
    grips: Vec<Range<usize>>,
}

impl MemoryTexts {
    /// Reads the memories of the stores. Files that cannot be read are left out; `list`
    /// reports them.
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
            let read = store.read_all(unchanged, |memory, text| {
                read_memory_text(store, memory, text)
            })?;
            let mut texts: Vec<MemoryText> = read.into_iter().flatten().collect();
            texts.sort_by(|a, b| a.memory.path.cmp(&b.memory.path));
            if store.layout() == Layout::Coder {
                memories.contents.extend(contents(store, &texts));
            }
            memories.texts.extend(texts);
        }
        Ok(memories)
    }

    /// Returns the text about a coder's file in the READMEs above it: all of its own folder's
    /// README except lines about other files, and further up the lines about its folder.
    pub(super) fn readme_text(&self, memory_text: &MemoryText) -> String {
        let mut text = String::new();
        let mut path = memory_text.memory.path.as_str();
        let mut is_near = true;
        while let Some((folder, _)) = path.rsplit_once('/') {
            let file = format!("{folder}/{README}");
            let mut known = self.contents.iter();
            if let Some(page) =
                known.find(|page| page.store == memory_text.store && page.file == file)
            {
                let is_about = |bullet: &Bullet| {
                    resolve_target(&page.file, &bullet.target).is_some_and(|target| {
                        target
                            .strip_suffix(README)
                            .unwrap_or(&target)
                            .trim_end_matches('/')
                            == path
                    })
                };
                let (mine, others): (Vec<Bullet>, Vec<Bullet>) =
                    bullets(&page.text).into_iter().partition(is_about);
                if is_near {
                    text.push_str(&without_bullets(&page.text, &others));
                } else {
                    mine.iter()
                        .for_each(|bullet| text.push_str(&page.text[bullet.line.clone()]));
                }
                text.push('\n');
            }
            path = folder;
            is_near = false;
        }
        text
    }

    /// Returns the prefix of a citation: the store's name if there are several stores.
    pub(super) fn prefix(&self, store: &str) -> Option<String> {
        (self.stores.len() > 1).then(|| store.to_owned())
    }

    /// Returns the name of the store at this root.
    pub(super) fn store_at(&self, root: &Path) -> Option<&str> {
        let found = self.stores.iter().find(|(_, known)| known == root);
        found.map(|(name, _)| name.as_str())
    }
}

impl MemoryText {
    /// Returns the lines with words, each with its number from 1 and its byte range. Lines
    /// that only give the text its structure are left out: those without letters or digits,
    /// fields of the header that hold no words of a person or an agent, and grips.
    pub fn lines(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        lines(&self.text, 0)
            .enumerate()
            .filter(|(_, line)| {
                let is_in_head = self.head.contains(&line.span.start);
                let is_in_grip = |grip: &Range<usize>| grip.contains(&line.span.start);
                line.text.contains(char::is_alphanumeric)
                    && !(is_in_head && is_plain_field(line.text))
                    && !self.grips.iter().any(is_in_grip)
            })
            .map(|(at, line)| (at + 1, line.span))
    }

    /// Returns whether an agent has this file in its context anyway, so that recalling it
    /// adds nothing.
    pub fn is_in_context(&self) -> bool {
        self.memory.kind == FileKind::Overview
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

/// Reads the READMEs of the folders of these files, where they exist.
fn contents(store: &Store, texts: &[MemoryText]) -> Vec<ReadmeText> {
    let mut folders: BTreeSet<&str> = BTreeSet::new();
    for memory_text in texts {
        let mut path = memory_text.memory.path.as_str();
        while let Some((folder, _)) = path.rsplit_once('/') {
            folders.insert(folder);
            path = folder;
        }
    }
    let read = folders.into_iter().filter_map(|folder| {
        let file = format!("{folder}/{README}");
        let bytes = store.root().read(&file).ok()??;
        Some(ReadmeText {
            store: store.name().to_owned(),
            file,
            text: String::from_utf8_lossy(&bytes).into_owned(),
        })
    });
    read.collect()
}

/// Returns the text to search; `None` for logs, which are in the corpus, and unreadable files.
fn read_memory_text(store: &Store, memory: Memory, text: String) -> Option<MemoryText> {
    let is_searched =
        memory.kind != FileKind::Log && (memory.problem.is_none() || !text.is_empty());
    is_searched.then(|| MemoryText {
        store: store.name().to_owned(),
        layout: store.layout(),
        memory,
        head: head_of(&text),
        grips: grip_comments(&text),
        text,
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::TestHome;

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
}
