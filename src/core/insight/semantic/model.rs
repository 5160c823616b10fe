//! A static embedding model: a vector for each token, of which those of a text are averaged.
//!
//! A directory in the form of model2vec has one: `tokenizer.json`, `model.safetensors` and
//! `config.json`. Builds without the feature `semantic` read none.

use std::fmt;
use std::path::Path;

use super::NoSemantic;

/// Makes vectors of texts.
pub trait Model: fmt::Debug + Send + Sync {
    /// The hash of its content: another model makes other vectors.
    fn id(&self) -> [u8; 32];

    /// Returns the vector of a text; all have the same length. It is 0 if no word of it is known.
    fn embed(&self, text: &str) -> Vec<f32>;
}

#[cfg(not(feature = "semantic"))]
pub(super) fn load(_: &Path) -> Result<Box<dyn Model>, NoSemantic> {
    Err(NoSemantic::NotBuilt)
}

#[cfg(feature = "semantic")]
pub(super) fn load(folder: &Path) -> Result<Box<dyn Model>, NoSemantic> {
    files::load(folder).map_err(NoSemantic::Unreadable)
}

#[cfg(feature = "semantic")]
mod files {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::Path;

    use model2vec_rs::model::StaticModel;

    use super::Model;
    use crate::core::disk::fault::expect_panics;
    use crate::core::disk::foreign::read_capped;

    /// The largest file of a model that is read, in bytes.
    const LARGEST: u64 = 2 << 30;

    #[derive(Debug)]
    struct FileModel {
        id: [u8; 32],
        model: StaticModel,
        dimensions: usize,
    }

    pub(super) fn load(folder: &Path) -> Result<Box<dyn Model>, String> {
        let mut hasher = blake3::Hasher::new();
        let mut read = |name: &str| {
            let bytes = read_capped(&folder.join(name), LARGEST).map_err(|e| e.to_string())?;
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(&bytes);
            Ok::<_, String>(bytes)
        };
        let tokenizer = read("tokenizer.json")?;
        let (table, config) = (read("model.safetensors")?, read("config.json")?);
        let made = without_panic(|| StaticModel::from_bytes(tokenizer, table, config, None));
        let unusable = |why: &str| format!("{} has no model: {why}", folder.display());
        let model = made
            .ok_or_else(|| unusable("its files do not fit each other"))?
            .map_err(|error| unusable(&format!("{error:#}")))?;
        let dimensions = model.encode_single("").len();
        Ok(Box::new(FileModel {
            id: *hasher.finalize().as_bytes(),
            model,
            dimensions,
        }))
    }

    /// The library panics where a token has no row in the table.
    fn without_panic<T>(make: impl FnOnce() -> T) -> Option<T> {
        let _expected = expect_panics();
        catch_unwind(AssertUnwindSafe(make)).ok()
    }

    impl Model for FileModel {
        fn id(&self) -> [u8; 32] {
            self.id
        }

        fn embed(&self, text: &str) -> Vec<f32> {
            let vector = without_panic(|| self.model.encode_single(text));
            vector.unwrap_or_else(|| vec![0.0; self.dimensions])
        }
    }
}
