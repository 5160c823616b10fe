//! The terminal door: what a person sees and types.

pub mod cells;
#[cfg(test)]
pub mod dump;
pub mod highlight;
#[cfg(test)]
pub mod keys;
pub mod theme;
pub mod widget;
