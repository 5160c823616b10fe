//! The vectors of texts, kept in one file of the cache.
//!
//! Only the direction of a vector counts, so a dimension is a byte. A text is known by its hash: what
//! is there need not be made again, whichever memory or log has it. The file belongs to one model and
//! ends with a checksum. It is replaced whole, and one that cannot be used is made again.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::model::Model;
use crate::core::Error;
use crate::core::disk::foreign::read_capped;
use crate::core::disk::parallel::on_all_cores;
use crate::core::disk::private;

/// The form of the file.
const FORMAT: &[u8; 8] = b"tomevec1";
/// The largest file that is read, in bytes.
const LARGEST: u64 = 1 << 30;
/// With more vectors than these, those that were not asked for are dropped.
const MOST: usize = 200_000;
/// How many texts a thread takes at a time.
const TOGETHER: usize = 64;
/// The bytes of a checksum and of a model's hash.
const HASH: usize = blake3::OUT_LEN;

type Key = [u8; 16];

/// The direction of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Direction {
    bytes: Vec<i8>,
    /// 0 if nothing is known of the text.
    length: f32,
}

impl Direction {
    /// Returns the direction of a vector.
    pub fn of(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0.0_f32, |most, one| most.max(one.abs()));
        let byte = |one: &f32| (one / largest * 127.0).round() as i8;
        let is_known = largest.is_finite() && largest > 0.0;
        Self::from_bytes(if is_known {
            vector.iter().map(byte).collect()
        } else {
            vec![0; vector.len()]
        })
    }

    fn from_bytes(bytes: Vec<i8>) -> Self {
        let length = (dot_bytes(&bytes, &bytes) as f32).sqrt();
        Self { bytes, length }
    }

    /// Returns the cosine of the angle between two directions; 0 if one of them is none.
    fn cosine(&self, other: &Self) -> f32 {
        match self.length * other.length {
            0.0 => 0.0,
            lengths => dot_bytes(&self.bytes, &other.bytes) as f32 / lengths,
        }
    }

    /// Returns the numbers of a vector of length 1, or of length 0 if it is none.
    fn unit(&self) -> impl Iterator<Item = f32> {
        let factor = if self.length > 0.0 {
            1.0 / self.length
        } else {
            0.0
        };
        self.bytes.iter().map(move |byte| f32::from(*byte) * factor)
    }
}

fn dot_bytes(a: &[i8], b: &[i8]) -> i32 {
    let products = a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b));
    products.sum()
}

/// What many texts share, which tells none of them from the others. How much that is depends on the
/// model; without it, the same cosine means about the same in all models.
#[derive(Debug)]
pub struct Centre {
    vector: Vec<f32>,
    direction: Direction,
    length: f32,
}

impl Centre {
    /// Few texts say little about what all share.
    const FEW: f32 = 10.0;

    /// Returns what these texts share.
    pub fn of(directions: &[&Direction]) -> Self {
        let mut vector = vec![0.0; directions.first().map_or(0, |one| one.bytes.len())];
        for direction in directions {
            let both = vector.iter_mut().zip(direction.unit());
            both.for_each(|(sum, one)| *sum += one);
        }
        let count = directions.len() as f32 + Self::FEW;
        vector.iter_mut().for_each(|one| *one /= count);
        Self {
            direction: Direction::of(&vector),
            length: dot(&vector, &vector).sqrt(),
            vector,
        }
    }

    /// Returns the cosine of two directions without what all share; 0 if one of them is none.
    pub fn cosine(&self, a: &Direction, b: &Direction) -> f32 {
        let square = self.length * self.length;
        let shared = |one| self.length * self.direction.cosine(one);
        let (shared_a, shared_b) = (shared(a), shared(b));
        let squares = (1.0 - 2.0 * shared_a + square) * (1.0 - 2.0 * shared_b + square);
        if a.length * b.length == 0.0 || squares <= 0.0 {
            return 0.0;
        }
        (a.cosine(b) - shared_a - shared_b + square) / squares.sqrt()
    }

    /// Returns a direction without what all share, as a vector of length 1, or of length 0 if it is
    /// none.
    pub fn without(&self, direction: &Direction) -> Vec<f32> {
        let both = direction.unit().zip(&self.vector);
        let mut vector: Vec<f32> = match direction.length {
            0.0 => vec![0.0; self.vector.len()],
            _ => both.map(|(one, shared)| one - shared).collect(),
        };
        shorten(&mut vector);
        vector
    }
}

/// Adds a vector to a sum.
pub fn add(sum: &mut [f32], vector: &[f32]) {
    for (sum, one) in sum.iter_mut().zip(vector) {
        *sum += one;
    }
}

/// Makes a vector one of length 1, unless it is 0.
pub fn shorten(vector: &mut [f32]) {
    let length = dot(vector, vector).sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|one| *one /= length);
    }
}

/// Returns the product of two vectors: of those of length 1 their cosine.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    // In eight sums, so that the compiler can use wide registers.
    let mut sums = [0.0; 8];
    let (a, b) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a.0.iter().zip(b.0) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let rest = a.1.iter().zip(b.1).map(|(a, b)| a * b);
    sums.iter().sum::<f32>() + rest.sum::<f32>()
}

/// Why the vectors of an earlier run could not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    /// They are of another model.
    OtherModel,
    /// The file is damaged.
    Damaged,
}

/// The vectors that are known.
#[derive(Debug)]
pub(super) struct Vectors {
    path: PathBuf,
    /// The hash of the model and the number of dimensions.
    head: Vec<u8>,
    dimensions: usize,
    known: FxHashMap<Key, Direction>,
}

impl Vectors {
    /// Reads the vectors of a model.
    pub(super) fn load(path: &Path, model: &dyn Model) -> (Self, Option<Lost>) {
        let dimensions = model.embed("").len();
        let size = u32::try_from(dimensions).unwrap_or(0).to_le_bytes();
        let mut vectors = Self {
            path: path.to_owned(),
            head: [&FORMAT[..], &model.id(), &size].concat(),
            dimensions,
            known: FxHashMap::default(),
        };
        let lost = match read_capped(path, LARGEST) {
            Ok(bytes) => vectors.take(&bytes).err(),
            Err(Error::NotFound { .. }) => None,
            Err(_) => Some(Lost::Damaged),
        };
        (vectors, lost)
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Lost> {
        let (body, sum) = bytes.split_last_chunk::<HASH>().ok_or(Lost::Damaged)?;
        if blake3::hash(body).as_bytes() != sum {
            return Err(Lost::Damaged);
        }
        let rest = body.strip_prefix(&self.head[..]).ok_or(Lost::OtherModel)?;
        let rows = rest.chunks_exact(size_of::<Key>() + self.dimensions);
        self.known = rows
            .filter_map(|row| {
                let (key, values) = row.split_first_chunk()?;
                let values = values.iter().map(|byte| byte.cast_signed()).collect();
                Some((*key, Direction::from_bytes(values)))
            })
            .collect();
        Ok(())
    }

    /// Returns the directions of texts. Those that are new are made, and kept if the file can be
    /// written.
    pub(super) fn of(&mut self, texts: &[&str], model: &dyn Model) -> Vec<&Direction> {
        let keys: Vec<Key> = texts.iter().map(|text| key(text)).collect();
        let mut new: Vec<(Key, &str)> = keys
            .iter()
            .copied()
            .zip(texts.iter().copied())
            .filter(|(key, _)| !self.known.contains_key(key))
            .collect();
        new.sort_unstable();
        new.dedup();
        let chunks: Vec<&[(Key, &str)]> = new.chunks(TOGETHER).collect();
        let made = on_all_cores(chunks.len(), |at| {
            let texts = chunks[at].iter();
            let made = texts.map(|(key, text)| (*key, Direction::of(&model.embed(text))));
            made.collect::<Vec<_>>()
        });
        self.known.extend(made.into_iter().flatten());
        if !new.is_empty() {
            if self.known.len() > MOST {
                let asked: std::collections::HashSet<&Key> = keys.iter().collect();
                self.known.retain(|key, _| asked.contains(key));
            }
            self.save();
        }
        keys.iter().map(|key| &self.known[key]).collect()
    }

    /// Writes the file. Vectors that cannot be written are made again the next time.
    fn save(&self) {
        let row = size_of::<Key>() + self.dimensions;
        let mut bytes = Vec::with_capacity(self.head.len() + self.known.len() * row + HASH);
        bytes.extend_from_slice(&self.head);
        for (key, direction) in &self.known {
            bytes.extend_from_slice(key);
            bytes.extend(direction.bytes.iter().map(|value| value.cast_unsigned()));
        }
        let sum = blake3::hash(&bytes);
        bytes.extend_from_slice(sum.as_bytes());
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let written = private::create_dir(folder)
            .and_then(|()| private::replace_unflushed(&self.path, |file| file.write_all(&bytes)));
        drop(written);
    }
}

fn key(text: &str) -> Key {
    let mut key = Key::default();
    key.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..size_of::<Key>()]);
    key
}
