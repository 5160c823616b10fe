//! The files of the pieces that an agent loads, as texts that can be edited.

use std::path::Path;

use crate::core::disk::trust::real_path;
use crate::core::insight::context::{Piece, PieceKind};
use crate::core::memory::layout::{Layout, index, instructions};
use crate::core::memory::library::Library;
use crate::core::memory::store::Store;
use crate::core::memory::unsaved::Unsaved;

/// Returns the file of a piece as an editable text, or why tome does not edit it.
pub(crate) fn editable_piece(library: &Library, piece: &Piece) -> Result<Unsaved, String> {
    match piece.kind {
        PieceKind::Hook => {
            return Err(
                "tome's hook puts it together from the stores; edit their memories".to_owned(),
            );
        }
        PieceKind::Managed => {
            return Err("it is for every user of this machine; its administrator edits it".into());
        }
        PieceKind::Extension => {
            return Err("it is part of an extension, whose next version replaces it".to_owned());
        }
        _ => {}
    }
    let file = real_path(&piece.path);
    let (root, layout, path) = place(library, &file, piece.kind).ok_or_else(|| {
        format!(
            "tome edits memories and instruction files ({}); edit this file in your own editor",
            instructions::NAMES.join(", ")
        )
    })?;
    let store = Store::open("", root, Some(layout)).map_err(|error| error.to_string())?;
    let document = store.read(&path).map_err(|error| error.to_string())?;
    let text = String::from_utf8(document.bytes)
        .map_err(|_| format!("{} is not UTF-8 text", document.path))?;
    Ok(Unsaved {
        root: store.root().path().to_owned(),
        layout,
        path: document.path,
        base: Some(text.clone()),
        text,
        time: 0,
    })
}

/// Returns the store of a file and the file's reference in it: a store of the library, or the
/// instruction files of its folder.
fn place<'a>(
    library: &'a Library,
    file: &'a Path,
    kind: PieceKind,
) -> Option<(&'a Path, Layout, String)> {
    let known = library.stores.iter().find_map(|snapshot| {
        let store = &snapshot.store;
        let root = store.root().path();
        let inside = file.strip_prefix(root).ok()?.to_str()?;
        let path = store.rules().reference_of(inside);
        let is_index = store.layout() == Layout::Index && inside == index::INDEX;
        let is_there = is_index || snapshot.memory(&path).is_some();
        (is_there && store.layout() != Layout::Events).then_some((root, store.layout(), path))
    });
    known
        .or_else(|| {
            let mut folders = file.ancestors().skip(1);
            folders.find_map(|folder| {
                let inside = file.strip_prefix(folder).ok()?.to_str()?;
                let is_known = instructions::is_instruction_file(inside);
                is_known.then(|| (folder, Layout::Instructions, inside.to_owned()))
            })
        })
        .or_else(|| {
            let folder = file.parent()?;
            let is_index = kind == PieceKind::Memory && file.ends_with(index::INDEX);
            is_index.then(|| (folder, Layout::Index, index::INDEX.to_owned()))
        })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    fn piece(path: PathBuf, kind: PieceKind) -> Piece {
        Piece::whole(path, kind, 0, String::new())
    }

    #[test]
    fn memories_and_instruction_files_are_edited_and_nothing_else() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let home = home.path().canonicalize().expect("canonical");
        for path in [
            "shop/CLAUDE.md",
            "shop/.claude/CLAUDE.md",
            "shop/.claude/rules/a/rust.md",
            "shop/.github/copilot-instructions.md",
            "shop/.github/instructions/x.instructions.md",
            "shop/AGENTS.override.md",
            "shop/docs/a.md",
            "memory/MEMORY.md",
        ] {
            let path = home.join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            fs::write(path, "text\n").expect("written");
        }
        let library = Library::default();
        let told = |path: &str, kind| {
            let text = editable_piece(&library, &piece(home.join(path), kind));
            text.map(|text| {
                let root = text.root.strip_prefix(&home).expect("inside").to_owned();
                format!("{} {} {}", root.display(), text.layout, text.path)
            })
        };
        for (path, kind, expected) in [
            (
                "shop/CLAUDE.md",
                PieceKind::Project,
                "shop instructions CLAUDE.md",
            ),
            (
                "shop/.claude/rules/a/rust.md",
                PieceKind::Rule,
                "shop instructions .claude/rules/a/rust.md",
            ),
            (
                "shop/.github/copilot-instructions.md",
                PieceKind::Project,
                "shop instructions .github/copilot-instructions.md",
            ),
            (
                "shop/.github/instructions/x.instructions.md",
                PieceKind::Rule,
                "shop instructions .github/instructions/x.instructions.md",
            ),
            (
                "shop/AGENTS.override.md",
                PieceKind::Project,
                "shop instructions AGENTS.override.md",
            ),
            (
                "memory/MEMORY.md",
                PieceKind::Memory,
                "memory index MEMORY.md",
            ),
        ] {
            assert_eq!(told(path, kind).as_deref(), Ok(expected));
        }
        for (path, kind, why) in [
            ("shop/docs/a.md", PieceKind::Import, "tome edits memories"),
            ("shop/CLAUDE.md", PieceKind::Managed, "every user"),
            ("shop/CLAUDE.md", PieceKind::Extension, "an extension"),
            ("tome hook codex", PieceKind::Hook, "from the stores"),
            ("shop/AGENTS.md", PieceKind::Project, "AGENTS.md"),
        ] {
            let told = told(path, kind).expect_err(path);
            assert!(told.contains(why), "{told}");
        }
    }
}
