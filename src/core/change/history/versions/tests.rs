//! Tests of stored versions: round trips, torn ends, damage.

use std::fs;

use proptest::prelude::*;

use super::*;

fn history() -> (tempfile::TempDir, History) {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let history = History::open(temp.path());
    (temp, history)
}

/// A text that compresses about as well as prose.
fn text(number: usize) -> Vec<u8> {
    let hash = blake3::hash(&number.to_le_bytes()).to_hex();
    let line = |n| format!("- [memory {number}.{n}](memory.md) — {}\n", &hash[..48]);
    (0..20).map(line).collect::<String>().into_bytes()
}

/// Where each entry starts, and the end of the last one.
fn starts(history: &History) -> Vec<u64> {
    let stored = history.stored_versions().expect("reads");
    let end = stored.last().map_or(0, |entry| entry.at + entry.length());
    stored.iter().map(|entry| entry.at).chain([end]).collect()
}

fn flip(history: &History, at: u64) {
    let path = history.versions_path();
    let mut bytes = fs::read(&path).expect("reads");
    bytes[usize::try_from(at).expect("small")] ^= 0x55;
    fs::write(&path, bytes).expect("writes");
}

#[test]
fn every_version_comes_back() {
    let (_temp, history) = history();
    let noise: Vec<u8> = (0u32..5000)
        .flat_map(|n| *blake3::hash(&n.to_le_bytes()).as_bytes())
        .collect();
    let zeros = vec![0; 1 << 20];
    let marks = Header::MARK.repeat(50);
    let texts = [&b""[..], b"x", &noise, &zeros, &marks];
    history.keep_all(&texts).expect("keeps");
    for reader in [history.clone(), History::open(history.dir())] {
        for text in texts {
            assert!(reader.version(&Revision::of(text)).expect("reads") == text);
        }
    }
    let size = fs::metadata(history.versions_path()).expect("there").len();
    assert!(size < noise.len() as u64 + 1000, "{size} bytes");
}

#[test]
fn a_version_is_stored_once() {
    let (_temp, history) = history();
    let (one, two) = (text(1), text(2));
    history.keep_all(&[&one, &two, &one]).expect("keeps");
    history.keep(&one).expect("keeps");
    History::open(history.dir()).keep(&two).expect("keeps");
    assert_eq!(starts(&history).len(), 3);
    let size = fs::metadata(history.versions_path()).expect("there").len();
    assert_eq!(starts(&history).last(), Some(&size));
}

#[test]
fn two_that_keep_in_turn_see_what_the_other_kept() {
    let (temp, one) = history();
    let two = History::open(temp.path());
    for number in 0..40 {
        let history = if number % 2 == 0 { &one } else { &two };
        let kept = history.keep(&text(number)).expect("keeps");
        assert!(one.version(&kept).expect("reads") == text(number));
    }
    assert_eq!(starts(&two).len(), 41);
}

#[test]
fn a_version_of_another_process_is_flushed_before_it_counts_as_kept() {
    let (temp, history) = history();
    history.keep(b"x").expect("keeps");
    let other = History::open(temp.path());
    other.keep(b"x").expect("keeps");
    let table = other.version_table();
    assert!(table.end.offset > 0);
    assert_eq!(table.flushed, table.end.offset);
}

#[test]
fn a_file_that_another_process_replaced_is_read_anew() {
    let (temp, reader) = history();
    let texts: Vec<Vec<u8>> = (0..9).map(text).collect();
    let all: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    reader.keep_all(&all).expect("keeps");
    let other = History::open(temp.path());
    let stored = other.stored_versions().expect("reads");
    other
        .replace_versions(&stored[5..], || Ok(()))
        .expect("replaces");
    for number in 9..20 {
        other.keep(&text(number)).expect("keeps");
    }
    for number in 0..20 {
        let is_kept = reader.version(&Revision::of(&text(number))).is_ok();
        assert_eq!(is_kept, number >= 5, "{number}");
    }
}

#[test]
fn what_cannot_be_read_at_the_end_stays() {
    let (_temp, history) = history();
    history.keep(&text(1)).expect("keeps");
    history.keep(&text(2)).expect("keeps");
    let last = starts(&history)[1];
    flip(&history, last + 10);
    let damaged = fs::read(history.versions_path()).expect("reads");
    let other = History::open(history.dir());
    other.keep(&text(3)).expect("keeps");
    let bytes = fs::read(history.versions_path()).expect("reads");
    assert!(bytes.starts_with(&damaged) && bytes.len() > damaged.len());
    for (number, is_there) in [(1, true), (2, false), (3, true)] {
        let read = other.version(&Revision::of(&text(number)));
        assert_eq!(read.is_ok(), is_there, "{number}");
    }
    // Mended by hand, it is found again.
    flip(&history, last + 10);
    let again = History::open(history.dir());
    assert!(again.version(&Revision::of(&text(2))).is_ok());
}

#[test]
fn a_version_that_is_stored_twice_is_read_from_the_entry_that_is_sound() {
    let (_temp, history) = history();
    let one = text(1);
    history.keep(&one).expect("keeps");
    let body = Header::LENGTH as u64 + 40;
    flip(&history, body);
    let other = History::open(history.dir());
    other.keep(&one).expect("keeps");
    let second = starts(&other)[1];
    flip(&history, body);
    flip(&history, second + body);
    let other = History::open(history.dir());
    assert_eq!(other.version(&Revision::of(&one)).expect("reads"), one);
    let stored = other.stored_versions().expect("reads");
    other
        .replace_versions(&stored, || Ok(()))
        .expect("replaces");
    assert_eq!(other.version(&Revision::of(&one)).expect("reads"), one);
}

#[test]
fn nothing_that_refers_to_versions_is_replaced_before_the_new_file_is_complete() {
    let (_temp, history) = history();
    history.keep(&text(1)).expect("keeps");
    let mut stored = history.stored_versions().expect("reads");
    stored[0].at += 1 << 40;
    let mut is_called = false;
    let replaced = history.replace_versions(&stored, || {
        is_called = true;
        Ok(())
    });
    assert!(replaced.is_err() && !is_called);
    assert!(history.version(&Revision::of(&text(1))).is_ok());
}

#[test]
fn a_file_larger_than_any_log_can_be_read_and_added_to() {
    let (_temp, history) = history();
    history.keep(&text(1)).expect("keeps");
    // A body that is not on the disk, in front of one that is.
    let sparse = Header {
        revision: Revision::of(b"sparse"),
        size: 0,
        stored: u32::MAX,
    };
    let file = private::open_write(&history.versions_path()).expect("opens");
    let end = file.metadata().expect("a size").len();
    (&file).seek(SeekFrom::Start(end)).expect("seeks");
    (&file).write_all(&sparse.encode()).expect("writes");
    let end = end + Header::LENGTH as u64 + u64::from(u32::MAX);
    file.set_len(end).expect("a sparse file");
    let other = History::open(history.dir());
    other.keep(&text(2)).expect("keeps");
    for number in [1, 2] {
        let read = other.version(&Revision::of(&text(number)));
        assert_eq!(read.expect("reads"), text(number));
    }
}

#[test]
fn what_is_missing_is_told_as_missing() {
    let (_temp, history) = history();
    for _ in 0..2 {
        let error = history.version(&Revision::of(b"never kept"));
        let told = error.expect_err("missing").to_string();
        assert!(told.contains("is missing"), "{told}");
        history.keep(b"another").expect("keeps");
    }
}

#[test]
fn a_file_that_cannot_be_looked_at_is_not_told_as_missing_versions() {
    let (_temp, history) = history();
    fs::create_dir(history.versions_path()).expect("a folder");
    for told in [
        history.version(&Revision::of(b"x")).map(drop),
        history.keep(b"x").map(drop),
    ] {
        let told = told.expect_err("no file").to_string();
        assert!(told.contains("versions.bin"), "{told}");
        assert!(!told.contains("is missing"), "{told}");
    }
}

#[test]
fn a_damaged_version_is_an_error_that_names_it_and_keeping_it_again_mends_it() {
    // Damage of the compressed bytes, and of each part of the header.
    let body = Header::LENGTH as u64 + 40;
    for (offset, state) in [
        (body, "is damaged"),
        (0, "is missing"),
        (10, "is missing"),
        (38, "is missing"),
        (42, "is missing"),
        (46, "is missing"),
    ] {
        let (_temp, history) = history();
        let texts = [text(1), text(2), text(3)];
        let all: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        history.keep_all(&all).expect("keeps");
        flip(&history, starts(&history)[1] + offset);
        let other = History::open(history.dir());
        let revision = Revision::of(&texts[1]);
        let told = other.version(&revision).expect_err("damaged").to_string();
        assert!(told.contains("versions.bin"), "{told}");
        assert!(told.contains(state), "{told}");
        assert!(told.contains(&revision.to_string()[..12]), "{told}");
        for text in [&texts[0], &texts[2]] {
            assert!(other.version(&Revision::of(text)).expect("reads") == *text);
        }
        other.keep_all(&all).expect("keeps");
        for text in &texts {
            let again = History::open(history.dir());
            assert!(again.version(&Revision::of(text)).expect("reads") == *text);
        }
    }
}

#[test]
fn a_sound_header_is_found_behind_damage_longer_than_is_read_at_once() {
    let (_temp, history) = history();
    history.keep(b"one").expect("keeps");
    let sound = fs::read(history.versions_path()).expect("reads");
    for length in (WINDOW - 100..WINDOW + 100).step_by(7) {
        let damage = Header::MARK.iter().cycle().take(length).copied();
        let bytes = damage.chain(sound.iter().copied());
        fs::write(history.versions_path(), bytes.collect::<Vec<u8>>()).expect("writes");
        let read = History::open(history.dir()).version(&Revision::of(b"one"));
        assert_eq!(read.expect("reads"), b"one", "{length}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_torn_end_costs_only_what_was_not_flushed(count in 1..8usize, cut in any::<prop::sample::Index>(), junk in prop::collection::vec(any::<u8>(), 0..200)) {
        let (_temp, history) = history();
        let texts: Vec<Vec<u8>> = (0..count).map(text).collect();
        for text in &texts {
            history.keep(text).expect("keeps");
        }
        let ends = starts(&history);
        let path = history.versions_path();
        let mut bytes = fs::read(&path).expect("reads");
        let cut = cut.index(bytes.len() + 1);
        bytes.truncate(cut);
        bytes.extend(&junk);
        fs::write(&path, &bytes).expect("writes");
        // One with a table of what was there, and a new one.
        for reader in [history.clone(), History::open(history.dir())] {
            for (text, end) in texts.iter().zip(&ends[1..]) {
                let read = reader.version(&Revision::of(text)).ok();
                let expected = (*end <= cut as u64).then(|| text.clone());
                prop_assert_eq!(read, expected);
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
        if junk.is_empty() {
            prop_assert_eq!(starts(&other), ends);
        }
    }

    #[test]
    fn a_flipped_byte_costs_one_version_and_is_never_handed_out(at in any::<prop::sample::Index>()) {
        let (_temp, history) = history();
        let texts: Vec<Vec<u8>> = (0..5).map(text).collect();
        let all: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        history.keep_all(&all).expect("keeps");
        let length = *starts(&history).last().expect("an end");
        flip(&history, at.index(usize::try_from(length).expect("small")) as u64);
        for reader in [history.clone(), History::open(history.dir())] {
            let mut lost = 0;
            for text in &texts {
                match reader.version(&Revision::of(text)) {
                    Ok(read) => prop_assert_eq!(&read, text),
                    Err(Error::Damaged { .. }) => lost += 1,
                    Err(error) => prop_assert!(false, "{}", error),
                }
            }
            prop_assert!(lost <= 1);
        }
        history.keep_all(&all).expect("keeps");
        for text in &texts {
            let read = History::open(history.dir()).version(&Revision::of(text));
            prop_assert_eq!(&read.expect("reads"), text);
        }
    }

    #[test]
    fn no_bytes_in_place_of_the_file_make_a_version_of_them(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let (_temp, history) = history();
        fs::write(history.versions_path(), bytes).expect("writes");
        prop_assert!(history.version(&Revision::of(b"x")).is_err());
        history.keep(b"x").expect("keeps");
        prop_assert_eq!(history.version(&Revision::of(b"x")).expect("reads"), b"x");
    }
}
