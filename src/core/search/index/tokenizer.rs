//! The words of a message as terms of the index: in small letters and without accents. The parts of
//! a name like `checkPackSize` are terms, too, with a mark: whoever types finds a name by them, but
//! they are no words to rank by.

use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer, TokenizerManager};

use crate::core::text::{Word, Words, clip, fold, name_parts, words};

/// The name of the tokenizer.
pub(super) const WORDS: &str = "words";

/// The mark before a part of a name.
pub(super) const PART: char = '.';

/// The maximum size of a term in bytes; of a longer word only the beginning is a term.
const LONGEST: usize = 48;

/// Returns the tokenizers that the index needs.
pub(super) fn tokenizers() -> TokenizerManager {
    let manager = TokenizerManager::default();
    manager.register(WORDS, TextAnalyzer::from(WordTokenizer::default()));
    manager
}

/// Returns the term of a word, which is that of its beginning if it is long.
fn term_of(folded: &str) -> &str {
    clip(folded, LONGEST)
}

/// Returns the words of a text as they are terms of the index, without the parts of names.
pub(in crate::core) fn index_words(text: &str) -> Vec<String> {
    let words = words(text).map(|word| term_of(&fold(word.text)).to_owned());
    words.collect()
}

#[derive(Clone, Default)]
struct WordTokenizer {
    token: Token,
}

struct WordStream<'a> {
    words: Words<'a>,
    /// The parts of the last word that are still to come, the last one first.
    parts: Vec<&'a str>,
    token: &'a mut Token,
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        WordStream {
            words: words(text),
            parts: Vec::new(),
            token: &mut self.token,
        }
    }
}

impl WordStream<'_> {
    fn set(&mut self, word: &str) {
        if word.is_ascii() {
            self.token.text.push_str(term_of(word));
            self.token.text.make_ascii_lowercase();
        } else {
            self.token.text.push_str(term_of(&fold(word)));
        }
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        self.token.text.clear();
        if let Some(part) = self.parts.pop() {
            self.token.text.push(PART);
            self.set(part);
            return true;
        }
        let Some(Word { text: word, .. }) = self.words.next() else {
            return false;
        };
        self.token.position = self.token.position.wrapping_add(1);
        self.set(word);
        if word.bytes().skip(1).any(|byte| byte.is_ascii_uppercase()) {
            name_parts(word, &mut self.parts);
        }
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut analyzer = tokenizers().get(WORDS).expect("it is registered");
        let mut stream = analyzer.token_stream(text);
        let mut terms = Vec::new();
        stream.process(&mut |token| terms.push(token.text.clone()));
        terms
    }

    #[test]
    fn a_name_is_found_whole_and_by_its_parts() {
        let all = [
            "checkpacksize",
            ".check",
            ".pack",
            ".size",
            "in",
            "max",
            "packs",
        ];
        assert_eq!(terms("checkPackSize in MAX_PACKS"), all);
        assert_eq!(terms("HTTPServer"), ["httpserver", ".http", ".server"]);
        assert_eq!(terms("Café 東京"), ["cafe", "東", "京"]);
    }

    #[test]
    fn of_a_long_word_the_beginning_is_a_term() {
        let long = "é".repeat(100) + &"x".repeat(100);
        assert_eq!(terms(&long), ["e".repeat(LONGEST)]);
    }
}
