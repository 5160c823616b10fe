//! Resolves a caller's path to a path inside the root: lexically first, then link by link.

use std::collections::VecDeque;
use std::path::PathBuf;

use cap_std::fs::Dir;

use super::{Root, is_absent};
use crate::core::{Error, Result};

/// The maximum number of links in a path.
const MOST_LINKS: usize = 40;

/// The longest name of a file or folder, in bytes, on common file systems.
const LONGEST_NAME: usize = 255;

impl Root {
    /// Checks a caller's path and follows its links. The result contains neither links nor `..`;
    /// its last part need not exist.
    pub fn resolve(&self, path: &str) -> Result<String> {
        let escapes = || Error::Escapes { path: path.into() };
        let mut ahead = lexical(path)?;
        let dir = self.dir();
        let is_dir = |path: &str| dir.as_ref().is_some_and(|dir| dir.is_dir(path));
        let mut done: Vec<String> = Vec::new();
        let mut links = 0;
        while let Some(part) = ahead.pop_front() {
            if part == ".." {
                // The part before `..` must be a directory: `a.md/../b.md` is not a valid path.
                if done.is_empty() || !is_dir(&done.join("/")) {
                    return Err(escapes());
                }
                done.pop();
                continue;
            }
            done.push(part);
            let here = done.join("/");
            let Some(target) = self.link_target(dir.as_deref(), &here)? else {
                continue;
            };
            links += 1;
            if links > MOST_LINKS {
                return Err(escapes());
            }
            done.pop();
            if target.is_absolute() {
                done.clear();
            }
            let inside = match target.strip_prefix(&self.path) {
                Ok(inside) => inside,
                Err(_) if target.is_absolute() => return Err(escapes()),
                Err(_) => &target,
            };
            let Some(inside) = inside.to_str() else {
                return Err(escapes());
            };
            for part in parts(inside).into_iter().rev() {
                ahead.push_front(part.to_owned());
            }
        }
        if done.is_empty() {
            return Err(escapes());
        }
        Ok(done.join("/"))
    }

    fn link_target(&self, dir: Option<&Dir>, path: &str) -> Result<Option<PathBuf>> {
        let Some(dir) = dir else {
            return Ok(None);
        };
        match dir.symlink_metadata(path) {
            Ok(meta) if meta.is_symlink() => dir
                .read_link_contents(path)
                .map(Some)
                .map_err(|e| self.path_error(path, e)),
            Ok(_) => Ok(None),
            Err(e) if is_absent(&e) => Ok(None),
            Err(e) => Err(self.path_error(path, e)),
        }
    }
}

/// Checks a path lexically: not absolute, no NUL, no `..` that leaves the root.
pub fn check(path: &str) -> Result<()> {
    lexical(path).map(drop)
}

/// Checks a path lexically and splits it into parts.
fn lexical(path: &str) -> Result<VecDeque<String>> {
    let escapes = || Error::Escapes { path: path.into() };
    if path.contains('\0') || path.starts_with(['/', '\\']) {
        return Err(escapes());
    }
    let mut depth = 0_usize;
    let parts: VecDeque<String> = parts(path).into_iter().map(str::to_owned).collect();
    for part in &parts {
        if part.len() > LONGEST_NAME {
            let short: String = part.chars().take(40).collect();
            return Err(Error::refused(
                format!("{short}…"),
                format!("the name is too long; {LONGEST_NAME} bytes at most"),
            ));
        }
        if part.chars().any(char::is_control) {
            return Err(Error::refused(
                part.escape_debug().to_string(),
                "the name has a control character in it; choose another, or rename the file outside of tome",
            ));
        }
        if part == ".." {
            depth = depth.checked_sub(1).ok_or_else(escapes)?;
        } else {
            depth += 1;
        }
    }
    if depth == 0 {
        return Err(escapes());
    }
    Ok(parts)
}

fn parts(path: &str) -> Vec<&str> {
    path.split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect()
}
