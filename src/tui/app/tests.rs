//! What keys come to: actions in, effects and looks out.
