//! Tests of packs that were damaged, cut or replaced.

use super::*;

#[test]
fn a_damaged_version_is_an_error_that_names_it_and_keeping_it_again_mends_it() {
    let (_temp, history) = history();
    let first: String = (0..50).map(line).collect();
    let second = first.clone() + "more\n";
    let third = second.clone() + "and more\n";
    let texts = [&first, &second, &third].map(|text| text.as_bytes());
    let mut last = None;
    for text in texts {
        last = Some(history.keep_after(text, last.as_ref()).expect("keeps"));
    }
    let pack = first_pack(&history);
    flip(&pack, (MAGIC.len() + HEADER + 40) as u64);
    for text in texts {
        let error = history.version(&Revision::of(text)).expect_err("damaged");
        let told = error.to_string();
        assert!(told.contains("000001.pack"), "{told}");
        assert!(told.contains("is damaged"), "{told}");
        let revision = Revision::of(text).to_string();
        assert!(told.contains(&revision[..12]), "{told}");
    }
    // Only the first is damaged; storing it again repairs those that depend on it.
    history.keep(texts[0]).expect("keeps");
    for text in texts {
        assert!(history.version(&Revision::of(text)).expect("reads") == text);
        assert!(
            History::open(history.dir())
                .version(&Revision::of(text))
                .is_ok()
        );
    }
    // A repaired version is stored whole: its old base may depend on it.
    let packs = history.packs();
    let at = packs.entries_of(&key(&Revision::of(texts[0]))).next();
    assert_eq!(packs.entry(at.expect("there")).header.base, None);
}

#[test]
fn a_version_that_is_stored_twice_is_read_from_the_entry_that_is_sound() {
    let (_temp, history) = history();
    let first: String = (0..50).map(line).collect();
    let second = first.clone() + "more\n";
    let revision = history.keep(first.as_bytes()).expect("keeps");
    let pack = first_pack(&history);
    let sound = fs::read(&pack).expect("reads");
    let damage = MAGIC.len() + HEADER + 40;
    flip(&pack, damage as u64);
    // Damaged, it is stored once more; the next version is a difference from it.
    let other = History::open(history.dir());
    other.keep(first.as_bytes()).expect("keeps");
    let next = other.keep_after(second.as_bytes(), Some(&revision));
    let next = next.expect("keeps");
    let mut bytes = fs::read(&pack).expect("reads");
    assert!(bytes.len() > sound.len());
    // Now the second entry is the damaged one.
    bytes[..sound.len()].copy_from_slice(&sound);
    bytes[sound.len() + HEADER + 40] ^= 0x55;
    fs::write(&pack, &bytes).expect("writes");
    let other = History::open(history.dir());
    assert!(other.version(&revision).expect("reads") == first.as_bytes());
    assert!(other.version(&next).expect("reads") == second.as_bytes());
    assert_eq!(other.health().expect("looks").damaged, []);
    flip(&pack, damage as u64);
    let other = History::open(history.dir());
    assert!(other.version(&revision).is_err());
    assert!(other.version(&next).is_err());
}

#[test]
fn a_version_is_never_stored_as_a_difference_from_one_that_is_gone() {
    let (_temp, history) = history();
    let first: String = (0..50).map(line).collect();
    let second = first.clone() + "more\n";
    let third = second.clone() + "and more\n";
    history.keep(first.as_bytes()).expect("keeps");
    let pack = first_pack(&history);
    let end = fs::metadata(&pack).expect("there").len();
    let revision = history.keep(second.as_bytes()).expect("keeps");
    let file = OpenOptions::new().write(true).open(&pack).expect("opens");
    file.set_len(end).expect("cuts");
    let kept = history.keep_after(third.as_bytes(), Some(&revision));
    let kept = kept.expect("keeps");
    let other = History::open(history.dir());
    assert!(other.version(&kept).expect("reads") == third.as_bytes());
}

#[test]
fn versions_that_are_differences_from_each_other_are_damaged_and_nothing_builds_on_them() {
    let (_temp, history) = history();
    let texts = ["one\n", "two\n", "six\n"].map(|word| word.repeat(50).into_bytes());
    let entry = |own: usize, base: usize| {
        let stored = delta::compress(&texts[own], Some(&texts[base])).expect("compresses");
        let header = Header {
            revision: Revision::of(&texts[own]),
            base: Some(key(&Revision::of(&texts[base]))),
            stored: u32::try_from(stored.len()).expect("short"),
            size: 200,
            anchors: 0,
            steps: 1,
            checksum: pack::checksum(&stored),
        };
        [header.encode().to_vec(), stored].concat()
    };
    fs::create_dir(history.pack_folder()).expect("made");
    let bytes = [MAGIC.to_vec(), entry(0, 1), entry(1, 0)].concat();
    fs::write(first_pack(&history), bytes).expect("writes");
    for text in &texts[..2] {
        let error = history.version(&Revision::of(text)).expect_err("damaged");
        assert!(error.to_string().contains("is damaged"), "{error}");
    }
    let next = history.keep_after(&texts[2], Some(&Revision::of(&texts[1])));
    let next = next.expect("keeps");
    assert!(history.version(&next).expect("reads") == texts[2]);
    history.keep(&texts[0]).expect("keeps");
    for text in &texts {
        assert!(history.version(&Revision::of(text)).expect("reads") == *text);
    }
}

#[test]
fn packs_that_cannot_be_looked_at_are_not_told_as_missing_versions() {
    let (_temp, history) = history();
    fs::write(history.pack_folder(), "no folder").expect("writes");
    let error = history.version(&Revision::of(b"x")).expect_err("no folder");
    let told = error.to_string();
    assert!(told.contains(packs::FOLDER), "{told}");
    assert!(!told.contains("is missing"), "{told}");
}

#[test]
fn a_pack_that_lost_its_first_bytes_is_read() {
    let (_temp, history) = history();
    history.keep(b"one").expect("keeps");
    let pack = first_pack(&history);
    let bytes = fs::read(&pack).expect("reads");
    for cut in [4, MAGIC.len()] {
        fs::write(&pack, &bytes[cut..]).expect("writes");
        let other = History::open(history.dir());
        assert_eq!(other.version(&Revision::of(b"one")).expect("reads"), b"one");
    }
}

#[test]
fn a_pack_whose_first_bytes_are_damaged_is_read_and_another_one_added_to() {
    for at in [2, 13, 14, 15] {
        let (_temp, history) = history();
        history.keep(b"one").expect("keeps");
        flip(&first_pack(&history), at);
        let other = History::open(history.dir());
        assert_eq!(other.version(&Revision::of(b"one")).expect("reads"), b"one");
        other.keep(b"two").expect("keeps");
        History::open(history.dir()).keep(b"six").expect("keeps");
        assert_eq!(
            History::open(history.dir())
                .health()
                .expect("looks")
                .damaged,
            []
        );
        for text in [b"one", b"two", b"six"] {
            let again = History::open(history.dir());
            assert_eq!(again.version(&Revision::of(text)).expect("reads"), text);
        }
        other.version(&Revision::of(b"six")).expect("reads");
        assert_eq!(other.packs().paths().count(), 2);
    }
}

#[cfg(unix)]
#[test]
fn a_plain_file_that_cannot_be_opened_is_not_told_as_a_missing_version() {
    let (_temp, history) = history();
    let path = write_blob(&history, b"old", b"old");
    fs::remove_file(&path).expect("removed");
    std::os::unix::fs::symlink(&path, &path).expect("a link to itself");
    let error = history.version(&Revision::of(b"old")).expect_err("no file");
    assert!(
        matches!(&error, Error::Io { path: told, .. } if *told == path),
        "{error}"
    );
}
