//! Tests of versions in packs: round trips, torn ends, old histories.

mod damage;

use std::fs::{self, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};

use proptest::prelude::*;

use super::pack::HEADER;
use super::*;
use crate::core::change::history::health::size_of;
use crate::core::text::work;

fn history() -> (tempfile::TempDir, History) {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let history = History::open(temp.path());
    (temp, history)
}

fn first_pack(history: &History) -> PathBuf {
    pack_path(&history.pack_folder(), 1)
}

/// A line that compresses about as well as prose.
fn line(number: usize) -> String {
    let hash = blake3::hash(&number.to_le_bytes()).to_hex();
    format!(
        "- [memory {number}](memory_{number}.md) — {}\n",
        &hash[..48]
    )
}

fn flip(path: &Path, at: u64) {
    let file = OpenOptions::new().read(true).write(true).open(path);
    let mut file = file.expect("opens");
    let mut byte = [0];
    file.seek(SeekFrom::Start(at)).expect("seeks");
    file.read_exact(&mut byte).expect("reads");
    file.seek(SeekFrom::Start(at)).expect("seeks");
    file.write_all(&[byte[0] ^ 0x55]).expect("writes");
}

/// Writes a version as a plain file, as in old histories.
fn write_blob(history: &History, bytes: &[u8], content: &[u8]) -> PathBuf {
    let path = history.blob_path(&Revision::of(bytes));
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(&path, content).expect("written");
    path
}

#[test]
fn every_version_of_a_long_chain_comes_back_and_the_chain_is_bounded() {
    let (_temp, history) = history();
    let mut lines: Vec<String> = (0..400).map(line).collect();
    let mut versions: Vec<Vec<u8>> = Vec::new();
    let mut last: Option<Revision> = None;
    for edit in 0..600 {
        lines[(edit * 7) % 400] = line(1000 + edit);
        let bytes = lines.concat().into_bytes();
        last = Some(history.keep_after(&bytes, last.as_ref()).expect("keeps"));
        versions.push(bytes);
    }
    let other = History::open(history.dir());
    for bytes in &versions {
        let revision = Revision::of(bytes);
        assert!(other.version(&revision).expect("reads") == *bytes);
    }
    let packs = other.packs();
    let entries = versions.iter().map(|bytes| {
        let key = key(&Revision::of(bytes));
        let at = packs.entries_of(&key).next().expect("is there");
        packs.entry(at).header
    });
    let entries: Vec<Header> = entries.collect();
    let depth = entries.iter().map(|header| header.anchors + header.steps);
    assert!(depth.max().expect("some") <= 30);
    assert!(entries.iter().any(|header| header.anchors > 2));
    let whole = entries.iter().filter(|header| header.base.is_none());
    assert!(whole.count() <= 3, "most are differences");
    let size = fs::metadata(first_pack(&history)).expect("there").len();
    assert!(size < 600 * 400, "{size} bytes");
}

/// A store of fifteen hundred memories with its index.
struct LargeStore {
    lines: Vec<String>,
}

impl LargeStore {
    fn new() -> Self {
        let lines = (0..1500).map(line).collect();
        Self { lines }
    }

    /// Changes a line of a memory and its line in the index, and stores the versions without bases.
    fn change(&mut self, history: &History, edit: usize) {
        use crate::core::change::history::{Author, ChangeVerb, FileChange, Record};
        use crate::core::memory::layout::Layout;
        let memory = |n: usize| {
            let body = line(n).repeat(2);
            format!("---\nname: memory {n}\ndescription: about {n}\ntype: project\n---\n{body}")
        };
        let at = (edit * 7) % 1500;
        let before = [memory(at), self.lines.concat()];
        self.lines[at] = line(5000 + edit);
        let after = [memory(5000 + edit), self.lines.concat()];
        let touch = |file: usize| FileChange {
            root: PathBuf::from("/home/somebody/.claude/projects/-home-somebody-project/memory"),
            layout: Layout::Index,
            path: [format!("memory_{at}.md"), "MEMORY.md".to_owned()][file].clone(),
            before: Some(Revision::of(before[file].as_bytes())),
            after: Some(Revision::of(after[file].as_bytes())),
            derived: file == 1,
            folders: Vec::new(),
            emptied: Vec::new(),
            modified: None,
            mode: Some(0o644),
            added: 1,
            removed: 1,
        };
        for file in [0, 1] {
            history.keep(before[file].as_bytes()).expect("keeps");
            history.keep(after[file].as_bytes()).expect("keeps");
        }
        let record = Record {
            id: ulid::Ulid::generate().to_string(),
            time: 1_700_000_000_000,
            author: Author {
                who: "claude-code".to_owned(),
                door: "mcp".to_owned(),
            },
            verb: ChangeVerb::Patch,
            message: format!("memory_{at}.md patched"),
            of: None,
            files: vec![touch(0), touch(1)],
            origin: None,
            tombstones: Vec::new(),
        };
        history.record(&record).expect("records");
    }
}

#[test]
fn changes_of_a_large_index_take_little_room() {
    let (temp, history) = history();
    let mut store = LargeStore::new();
    let size = || size_of(temp.path());
    (0..100).for_each(|edit| store.change(&history, edit));
    let start = size();
    (100..400).for_each(|edit| store.change(&history, edit));
    let each = (size() - start) / 300;
    assert!(each < 1_800, "{each} bytes for a change");
}

/// The first change of a process reads the packs once and expands one chain of versions: what it
/// costs more than the next one grows with the size on disk, and not with the sizes of all versions.
fn the_first_change_reads_what_is_on_disk_once(changes: usize) -> u64 {
    let (temp, history) = history();
    let mut store = LargeStore::new();
    (0..changes).for_each(|edit| store.change(&history, edit));
    let size = size_of(temp.path());
    let fresh = History::open(temp.path());
    let first = work::counted(|| store.change(&fresh, changes));
    let next = work::counted(|| store.change(&fresh, changes + 1));
    let chain = 31 * store.lines.concat().len();
    let most = usize::try_from(size).expect("small") + 2 * chain;
    assert!(
        first <= next + most,
        "{first} bytes, then {next}; {size} on disk"
    );
    size
}

#[test]
fn the_first_change_of_a_process_does_not_expand_all_versions() {
    the_first_change_reads_what_is_on_disk_once(300);
}

#[test]
#[ignore = "takes minutes"]
fn ten_thousand_changes_of_a_large_index_stay_small_and_quick() {
    let size = the_first_change_reads_what_is_on_disk_once(10_000);
    assert!(size < 20 << 20, "{size} bytes");
}

#[test]
fn versions_that_come_together_are_flushed_together_and_build_on_each_other() {
    let (_temp, history) = history();
    let texts: Vec<String> = (1..5).map(|n| (0..100 * n).map(line).collect()).collect();
    let revisions: Vec<Revision> = texts.iter().map(|t| Revision::of(t.as_bytes())).collect();
    // The last one follows the second, which is neither stored yet nor the one before it.
    let kept = history
        .keep_all(&[
            (texts[0].as_bytes(), None),
            (texts[1].as_bytes(), Some(&revisions[0])),
            (texts[2].as_bytes(), None),
            (texts[3].as_bytes(), Some(&revisions[1])),
            (texts[3].as_bytes(), Some(&revisions[3])),
        ])
        .expect("keeps");
    assert_eq!(kept[..4], revisions);
    assert_eq!(kept[4], revisions[3]);
    let other = History::open(history.dir());
    for (text, revision) in texts.iter().zip(&revisions) {
        assert!(other.version(revision).expect("reads") == text.as_bytes());
    }
    let packs = other.packs();
    let at = packs.entries_of(&key(&revisions[3])).next().expect("there");
    assert_eq!(packs.entry(at).header.base, Some(key(&revisions[1])));
    assert_eq!(packs.revisions().count(), 4);
}

#[test]
fn two_that_keep_in_turn_see_what_the_other_kept() {
    let (temp, one) = history();
    let two = History::open(temp.path());
    let mut last = None;
    for edit in 0..40 {
        let text: String = (edit..edit + 50).map(line).collect();
        let history = if edit % 2 == 0 { &one } else { &two };
        last = Some(
            history
                .keep_after(text.as_bytes(), last.as_ref())
                .expect("keeps"),
        );
        assert!(one.version(&last.expect("kept")).expect("reads") == text.as_bytes());
    }
    assert_eq!(one.packs().paths().count(), 1);
}

#[test]
fn what_is_missing_is_told_as_missing() {
    let (_temp, history) = history();
    let error = history
        .version(&Revision::of(b"never kept"))
        .expect_err("missing");
    assert!(error.to_string().contains("is missing"), "{error}");
}

#[test]
fn a_version_that_is_a_plain_file_is_read_and_checked() {
    let (_temp, history) = history();
    let revision = Revision::of(b"old bytes");
    write_blob(&history, b"old bytes", b"old bytes");
    assert_eq!(history.version(&revision).expect("reads"), b"old bytes");
    history.keep(b"old bytes").expect("keeps");
    assert!(!history.pack_folder().exists(), "it is there already");
    for damage in [&b"old byteX"[..], b"old", b"", b"old bytes and more"] {
        let path = write_blob(&history, b"old bytes", damage);
        let error = history.version(&revision).expect_err("damaged");
        assert!(
            matches!(&error, Error::Damaged { path: told, .. } if *told == path),
            "{error}"
        );
    }
    // Storing the good bytes again repairs it.
    history.keep(b"old bytes").expect("keeps");
    assert_eq!(history.version(&revision).expect("reads"), b"old bytes");
}

#[test]
fn packs_of_a_later_tome_are_not_written() {
    let (_temp, history) = history();
    history.keep(b"x").expect("keeps");
    let pack = first_pack(&history);
    let mut bytes = fs::read(&pack).expect("reads");
    for number in [b"2\n", b"10"] {
        bytes[14..16].copy_from_slice(number);
        fs::write(&pack, &bytes).expect("writes");
        let other = History::open(history.dir());
        let error = other.keep(b"y").expect_err("refused");
        assert!(error.to_string().contains("later tome"), "{error}");
        assert_eq!(fs::read(&pack).expect("reads"), bytes);
        assert_eq!(other.packs().paths().count(), 1);
    }
}

/// Texts, each made from the previous one by a few edits of lines.
fn texts() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let edit = (any::<u16>(), any::<u16>(), 0..3u8);
    prop::collection::vec(prop::collection::vec(edit, 1..4), 2..12).prop_map(|edits| {
        let mut lines: Vec<String> = (0..30).map(line).collect();
        let texts = edits.into_iter().map(|edits| {
            for (at, number, kind) in edits {
                let at = usize::from(at) % lines.len().max(1);
                match kind {
                    0 if lines.len() > 1 => drop(lines.remove(at)),
                    1 => lines.insert(at, line(usize::from(number))),
                    _ => lines[at] = line(usize::from(number)),
                }
            }
            lines.concat().into_bytes()
        });
        texts.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_torn_end_costs_only_what_was_not_flushed(texts in texts(), cut in any::<prop::sample::Index>(), junk in prop::collection::vec(any::<u8>(), 0..200)) {
        let (_temp, history) = history();
        let mut ends = Vec::new();
        let mut last = None;
        for text in &texts {
            last = Some(history.keep_after(text, last.as_ref()).expect("keeps"));
            ends.push(fs::metadata(first_pack(&history)).expect("there").len());
        }
        let pack = first_pack(&history);
        let mut bytes = fs::read(&pack).expect("reads");
        let cut = cut.index(bytes.len() + 1);
        bytes.truncate(cut);
        bytes.extend(&junk);
        fs::write(&pack, &bytes).expect("writes");
        let sound = |text: &Vec<u8>, end: &u64| (*end <= cut as u64).then_some(text.clone());
        // A reader with cached packs, and a new one.
        for reader in [history.clone(), History::open(history.dir())] {
            for (text, end) in texts.iter().zip(&ends) {
                let read = reader.version(&Revision::of(text)).ok();
                if let Some(expected) = sound(text, end) {
                    prop_assert_eq!(read, Some(expected));
                } else {
                    prop_assert!(read.is_none_or(|read| read == *text));
                }
            }
        }
        // After storing them again all versions can be read, and the torn end is gone.
        let other = History::open(history.dir());
        for text in &texts {
            other.keep(text).expect("keeps");
        }
        for text in &texts {
            let read = History::open(history.dir()).version(&Revision::of(text));
            prop_assert_eq!(&read.expect("reads"), text);
        }
    }

    #[test]
    fn a_flipped_byte_is_never_handed_out(texts in texts(), at in any::<prop::sample::Index>()) {
        let (_temp, history) = history();
        let mut last = None;
        for text in &texts {
            last = Some(history.keep_after(text, last.as_ref()).expect("keeps"));
        }
        let pack = first_pack(&history);
        let length = usize::try_from(fs::metadata(&pack).expect("there").len()).expect("small");
        flip(&pack, at.index(length) as u64);
        for reader in [history.clone(), History::open(history.dir())] {
            for text in &texts {
                let read = reader.version(&Revision::of(text));
                let is_told = matches!(read, Err(Error::Damaged { .. }));
                prop_assert!(is_told || read.is_ok_and(|read| read == *text));
            }
        }
        if History::open(history.dir()).packs().check_format().is_ok() {
            let other = History::open(history.dir());
            for text in texts.iter().rev() {
                if other.keep(text).is_err() {
                    // The damage hit the format number.
                    return Ok(());
                }
            }
            for text in &texts {
                let read = History::open(history.dir()).version(&Revision::of(text));
                prop_assert_eq!(&read.expect("reads"), text);
            }
        }
    }
}
