//! The terminal door: what a person sees and types.

pub mod theme;
