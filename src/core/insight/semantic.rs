//! Finding by meaning: what says the same in other words, by a static embedding model that the user
//! names.
//!
//! The texts are bullets of the timeline and passages of memories; each has a [`Direction`], and the
//! nearest ones to that of a question are found by comparing all of them. This rank is merged with the
//! one by words ([`fuse`]). Without a model, or if its files or the vectors are lost, the words alone
//! answer.

#[cfg(test)]
pub(crate) mod fixture;
mod model;
mod vectors;

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::core::memory::citation::CitedPart;
use crate::core::memory::texts::MemoryText;
use crate::core::search::index::Log;
use crate::core::search::query::{MatchMode, Polarity, Query};
use crate::core::search::recall::RecallResult;
use crate::core::search::{Hit, Sources, snippet};
use crate::core::text::display::safe;

pub use model::Model;
pub use vectors::{Centre, Direction, add, dot, shorten};
use vectors::{Lost, Vectors};

/// The smallest cosine of what is near.
const NEAR: f32 = 0.4;
/// The most texts that are near.
const MOST: usize = 100;

/// Why nothing can be found by meaning.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSemantic {
    /// The settings name no model.
    #[error(
        "no embedding model is set: name the directory of one in model2vec's form (tokenizer.json, model.safetensors, config.json) in the settings as model = \"DIR\" below [timeline]"
    )]
    Unset,
    /// The program was built without it.
    #[error("this build reads no embedding models: build tome with --features semantic")]
    NotBuilt,
    /// The model cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

impl NoSemantic {
    /// Returns the line that says that a search was by words only; `None` if nothing else was
    /// expected.
    pub fn note(&self) -> Option<String> {
        (*self != Self::Unset).then(|| format!("searched by words only: {self}"))
    }
}

/// A model and the vectors that it has made.
#[derive(Debug)]
pub struct Semantic {
    model: Box<dyn Model>,
    vectors: Mutex<Vectors>,
    lost: Option<Lost>,
}

impl Semantic {
    /// Opens the model in a directory, and the vectors beside the corpus's cache. An empty path is
    /// none.
    pub fn open(folder: &Path, corpus_cache: &Path) -> Result<Self, NoSemantic> {
        if folder.as_os_str().is_empty() {
            return Err(NoSemantic::Unset);
        }
        Ok(Self::new(model::load(folder)?, corpus_cache))
    }

    /// Opens the vectors of a model beside the corpus's cache.
    pub fn new(model: Box<dyn Model>, corpus_cache: &Path) -> Self {
        let path = corpus_cache.with_file_name("semantic").join("vectors");
        let (vectors, lost) = Vectors::load(&path, model.as_ref());
        Self {
            model,
            vectors: Mutex::new(vectors),
            lost,
        }
    }

    /// Returns the line that says what became of the vectors of earlier runs, if they could not be
    /// used.
    pub fn note(&self) -> Option<String> {
        let why = match self.lost? {
            Lost::OtherModel => "the embedding model is another one",
            Lost::Damaged => "the file of vectors was damaged",
        };
        Some(format!("{why}: all texts are embedded again"))
    }

    /// Passes the directions of texts to `read`.
    pub fn directions<T>(&self, texts: &[&str], read: impl FnOnce(&[&Direction]) -> T) -> T {
        let mut vectors = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        read(&vectors.of(texts, self.model.as_ref()))
    }

    /// Returns the texts that are near a question, the nearest first, with their cosines.
    pub fn near(&self, question: &str, texts: &[&str]) -> Vec<(usize, f32)> {
        let question = Direction::of(&self.model.embed(question));
        let mut near: Vec<(usize, f32)> = self.directions(texts, |directions| {
            let centre = Centre::of(directions);
            let cosine = |one: &&Direction| centre.cosine(&question, one);
            let cosines = directions.iter().map(cosine).enumerate();
            cosines.filter(|(_, cosine)| *cosine >= NEAR).collect()
        });
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        near.truncate(MOST);
        near
    }
}

/// An entry of one of two ranks, see [`fuse`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fused {
    /// Whether it is of the second rank.
    pub is_second: bool,
    /// Its index in that rank.
    pub at: usize,
    /// How well it fits; larger is better.
    pub score: f64,
}

/// Merges two ranks by reciprocal rank fusion. An entry has a key, such as the session that it is in;
/// the best entry of a key gains from the best one of the other rank. The first rank, by words, counts
/// twice as much.
pub fn fuse<'a, K: Eq + Hash>(first: &'a [K], second: &'a [K]) -> Vec<Fused> {
    let worth = |at: usize, is_second: bool| {
        let weight = if is_second { 0.5 } else { 1.0 };
        weight / (20.0 + at as f64)
    };
    let best = |keys: &'a [K]| -> HashMap<&'a K, usize> {
        let places = keys.iter().enumerate().rev();
        places.map(|(at, key)| (key, at)).collect()
    };
    let (first_best, second_best) = (best(first), best(second));
    let entries = |keys: &'a [K], is_second: bool| {
        let (own, other) = if is_second {
            (&second_best, &first_best)
        } else {
            (&first_best, &second_best)
        };
        let entry = |(at, key): (usize, &K)| {
            let gain = other.get(key).filter(|_| own.get(key) == Some(&at));
            Fused {
                is_second,
                at,
                score: worth(at, is_second) + gain.map_or(0.0, |at| worth(*at, !is_second)),
            }
        };
        keys.iter().enumerate().map(entry).collect::<Vec<Fused>>()
    };
    let mut fused = entries(first, false);
    fused.extend(entries(second, true));
    fused.sort_by(|a, b| b.score.total_cmp(&a.score));
    fused
}

/// A hit that is near a question, with its lines.
#[derive(Debug, Clone)]
pub struct NearHit {
    /// The hit, at the first of its lines.
    pub hit: Hit,
    /// The lines.
    pub lines: RangeInclusive<u64>,
}

/// Returns what tells the memory or the log of a hit from others.
pub fn home(hit: &Hit) -> (Option<(PathBuf, String)>, String, String) {
    (hit.log.clone(), hit.store.clone(), hit.path.clone())
}

/// Merges the hits of a recall with those that are near the question, which are sorted.
pub fn merge(by_words: RecallResult, near: Vec<NearHit>, limit: usize) -> RecallResult {
    let first: Vec<_> = by_words.hits.iter().map(home).collect();
    let second: Vec<_> = near.iter().map(|near| home(&near.hit)).collect();
    let is_found = |at: usize| {
        let found = by_words.hits.iter().zip(&first);
        let mut same = found.filter(|(_, home)| **home == second[at]);
        same.any(|(hit, _)| near[at].lines.contains(&hit.line))
    };
    let fused = fuse(&first, &second);
    let kept: Vec<&Fused> = fused
        .iter()
        .filter(|one| !one.is_second || !is_found(one.at))
        .collect();
    let hits = kept.iter().take(limit).map(|one| Hit {
        score: one.score as f32,
        ..if one.is_second {
            near[one.at].hit.clone()
        } else {
            by_words.hits[one.at].clone()
        }
    });
    RecallResult {
        total: by_words.total + (kept.len() - by_words.hits.len()),
        hits: hits.collect(),
    }
}

/// Returns the words of a query that can be asked by meaning: `None` if it is about letters, with a
/// phrase for example.
pub fn question(query: &Query) -> Option<String> {
    let is_word = |atom: &&str| !atom.is_empty();
    let are_words = query
        .atoms
        .iter()
        .all(|atom| atom.mode == MatchMode::Fuzzy && atom.polarity == Polarity::Wanted);
    let words = query.atoms.iter().map(|atom| atom.text.as_str());
    let words: Vec<&str> = words.filter(is_word).collect();
    (are_words && !words.is_empty()).then(|| words.join(" "))
}

/// Returns the hit for lines of a memory that are near a question.
pub fn near_lines(sources: Sources<'_>, memory_text: &MemoryText, passage: &Passage) -> NearHit {
    let (first, last) = (passage.lines.start(), passage.lines.end());
    let hit = sources.line(memory_text, *first, (passage.shown.clone(), 0.0));
    NearHit {
        hit,
        lines: *first as u64..=*last as u64,
    }
}

/// Returns the hit for lines of a log that say what `text` says.
pub fn near_log(
    sources: Sources<'_>,
    log: Log<'_>,
    lines: RangeInclusive<u64>,
    text: &str,
) -> NearHit {
    let mut hit = sources.log(log, (safe(text), 0.0));
    let line = usize::try_from(*lines.start()).unwrap_or(1).max(1);
    hit.line = *lines.start();
    hit.citation.part = CitedPart::Lines(line..=line);
    NearHit { hit, lines }
}

/// A passage of a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Its lines, from 1.
    pub lines: RangeInclusive<usize>,
    /// Its first lines, as they are shown.
    pub shown: String,
    /// What is embedded: the memory's title and all its lines.
    pub text: String,
}

/// Returns the passages of a memory: its paragraphs and the entries of its lists. A heading is part of
/// what follows it.
pub fn passages(memory_text: &MemoryText) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    let mut before: Option<(usize, &str)> = None;
    for (number, span) in memory_text.lines() {
        let line = memory_text.text[span].trim();
        let is_entry = line.starts_with(['-', '*', '+']) || line.starts_with('#');
        let follows = before
            .is_some_and(|(last, text)| text.starts_with('#') || (last + 1 == number && !is_entry));
        match passages.last_mut().filter(|_| follows) {
            Some(passage) => {
                passage.lines = *passage.lines.start()..=number;
                passage.shown = format!("{} {line}", passage.shown);
            }
            None => passages.push(Passage {
                lines: number..=number,
                shown: line.to_owned(),
                text: String::new(),
            }),
        }
        before = Some((number, line));
    }
    for passage in &mut passages {
        passage.text = format!("{}. {}", memory_text.memory.title, passage.shown);
        passage.shown = snippet::around(&passage.shown, 0);
    }
    passages
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::Ordering;

    use super::fixture::TestModel;
    use super::*;
    use crate::core::search::fixture::TestHome;
    use crate::core::search::query::noon;

    const GROUPS: [&str; 3] = ["lock mutex", "fast quick speed", "cat feline"];
    const TEXTS: [&str; 3] = ["the mutex is held", "a feline", "nothing known"];

    #[test]
    fn words_that_mean_the_same_are_near_and_unknown_ones_are_not() {
        let home = TestHome::new(&[], &[]);
        let semantic = Semantic::new(Box::new(TestModel::new(&GROUPS)), &home.path("cache"));
        let near = |question: &str| -> Vec<usize> {
            let near = semantic.near(question, &TEXTS);
            near.iter().map(|(at, _)| *at).collect()
        };
        assert_eq!(near("who has the lock"), [0]);
        assert_eq!(near("quick cat"), [1]);
        assert!(near("nothing known").is_empty());
        assert!(near("").is_empty());
    }

    #[test]
    fn only_new_texts_are_embedded_and_lost_vectors_are_made_again() {
        let home = TestHome::new(&[], &[]);
        let cache = home.path("cache");
        let model = TestModel::new(&GROUPS);
        let asked = |model: &TestModel, texts: &[&str]| {
            model.embedded.store(0, Ordering::Relaxed);
            let semantic = Semantic::new(Box::new(model.clone()), &cache);
            assert_eq!(semantic.near("lock", texts).len(), 1);
            // The question is embedded each time.
            (model.embedded.load(Ordering::Relaxed) - 1, semantic.note())
        };
        assert_eq!(asked(&model, &TEXTS), (3, None));
        assert_eq!(asked(&model, &TEXTS), (0, None));
        assert_eq!(
            asked(&model, &[&TEXTS[..], &["one more", TEXTS[1]]].concat()),
            (1, None)
        );
        assert_eq!(asked(&model, &TEXTS), (0, None));

        let file = home.path("semantic/vectors");
        let whole = fs::read(&file).expect("vectors");
        for spoilt in [0, 1, 40, whole.len() / 2, whole.len() - 1] {
            fs::write(&file, &whole[..spoilt]).expect("cut");
            let (made, note) = asked(&model, &TEXTS);
            assert_eq!(made, 3, "cut to {spoilt}");
            assert!(note.expect("told").contains("damaged"), "cut to {spoilt}");
            let mut changed = whole.clone();
            changed[spoilt] ^= 1;
            fs::write(&file, changed).expect("changed");
            assert_eq!(asked(&model, &TEXTS).0, 3, "byte {spoilt}");
            assert_eq!(asked(&model, &TEXTS), (0, None));
        }
        let other = TestModel::new(&["lock mutex", "owl"]);
        let (made, note) = asked(&other, &TEXTS);
        assert_eq!(made, 3);
        assert!(note.expect("told").contains("another"));
        assert_eq!(asked(&other, &TEXTS), (0, None));

        fs::remove_dir_all(home.path("semantic")).expect("deleted");
        fs::write(home.path("semantic"), "in the way").expect("written");
        assert_eq!(asked(&model, &TEXTS).0, 3, "nothing can be kept");
    }

    #[test]
    fn what_both_ranks_have_is_first_and_the_first_ones_of_each_follow() {
        let order = |first: &[&str], second: &[&str]| -> Vec<(bool, usize)> {
            let fused = fuse(first, second);
            fused.iter().map(|one| (one.is_second, one.at)).collect()
        };
        assert_eq!(
            order(&["a", "b", "c"], &["d", "c"]),
            [(false, 2), (true, 1), (false, 0), (false, 1), (true, 0)]
        );
        // Only the best entries of a key gain.
        assert_eq!(
            order(&["a", "b", "b"], &["b", "c", "b"]),
            [
                (false, 1),
                (true, 0),
                (false, 0),
                (false, 2),
                (true, 1),
                (true, 2)
            ]
        );
        assert!(fuse::<&str>(&[], &[]).is_empty());
    }

    #[test]
    fn a_question_with_a_phrase_is_about_its_letters() {
        let asked = |text: &str| question(&Query::of_prose(text, &noon()));
        assert_eq!(
            asked("why is it slow agent:codex").as_deref(),
            Some("why is it slow")
        );
        assert_eq!(asked("the \"stale lock\""), None);
        assert_eq!(asked("agent:codex"), None);
    }

    #[test]
    fn a_memory_is_cut_into_paragraphs_and_entries_below_their_headings() {
        let note =
            "# Deploy\n\nBy hand.\nOn Fridays.\n\n## Where\n\n- staging\n- live\n  on two hosts\n";
        let home = TestHome::new(&[("a.md", note)], &[]);
        let memories = home.memories();
        let found: Vec<_> = passages(&memories.texts[0])
            .into_iter()
            .map(|passage| (passage.lines, passage.text))
            .collect();
        assert_eq!(
            found,
            [
                (1..=4, "Deploy. # Deploy By hand. On Fridays.".to_owned()),
                (6..=8, "Deploy. ## Where - staging".to_owned()),
                (9..=10, "Deploy. - live on two hosts".to_owned()),
            ]
        );
    }
}
