//! What a message of the user says, by its words: a request, a choice, or an answer to an offer.

use std::sync::LazyLock;

use regex::Regex;

use super::PointKind;
use super::clause::{Clause, clauses, pattern};
use super::report::stands_alone;

/// A choice of the person.
static WILL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:i(?:['’]d)?\ (?:prefer|favou?r)|i['’]d\ rather|(?:i|we)\ decided)(?-u:\b)
        |^(?:no,\ |please\ |but\ )*(?:do(?:\ not|n['’]t|nt)|never|always|let['’]?s\ not|use\ [^.]*(?:instead\ of|rather\ than))(?-u:\b)",
    )
});

/// How the user wants the work to be done.
static WISH: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:always|never|don['’]t|do\ not|prefer|from\ now\ on|stop|instead\ of|make\ sure)(?-u:\b)",
    )
});

/// The beginning of a question, which often has no mark.
static ASKS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)^(?:so|and|but|ok(?:ay)?)?[,\ ]*(?:is|are|does|do\ (?:we|you|i|they)|can|could|should|would|what|why|how|which|when|where|who|will|did|was|has|have)(?-u:\b)",
    )
});

/// What a user says who agrees to an offer.
static CONSENT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)^(?:(?:yes|yep|yeah|yup|ok(?:ay)?|sure|please|and|then|great|perfect|nice|cool|good|lgtm|ja|oui|si|sí)(?-u:\b)[,.!\ ]*)*
        (?:(?:let['’]?s\ )?(?:go\ ahead|go\ for\ it|(?:do|fix|patch|add|apply|implement|merge|push|ship|update|bump|use|try)\ (?:it|that|this|so|both|them|those|all(?:\ of\ (?:it|them))?)
        |(?:sounds|looks)\ good|lgtm|agreed?|make\ it\ so|please\ do|yes|ok|ship\ it|mach(?:\ das)?|vas-y|好的?|可以|是的?|네|응|좋아)(?-u:\b|$))?[\ .!,:)]*",
    )
});

/// A number or a letter by which a user takes one of several offers.
static PICK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:let['’]?s (?:do|go with)|go with|do|take|option|number|#)\s+)*(?:option\s+|#)?([1-9]|[a-e])[\s.!)]*$",
    )
});

/// What a user says who takes something back.
static UNDO: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)^(?:(?:no|please|ok(?:ay)?|actually|hm+|can\ you|could\ you|let['’]?s|sorry)[,.\ ]+)*(?:revert|undo|roll\ ?back|back\ (?:it\ |that\ )?out|take\ (?:it|that)\ back)(?-u:\b)",
    )
});

/// Words before a request.
static REQUEST: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)^(?:please|pls|can\ (?:you|we|u)|could\ (?:you|we)|would\ you|(?:i|we)\ (?:want|need|would\ like)
        (?:\ you)?\ to|i['’]d\ like\ (?:you\ )?to|(?:do\ you\ )?want\ me\ to|(?:should|shall)\ i|would\ you\ like\ me\ to|if\ you\ (?:want|like)|i\ can|let['’]s|let\ us|let\ me|now|ok(?:ay)?|yes|and|then|also|so|hey|hi|great|nice|perfect|hm+|i\ think|maybe|from\ now\ on)[,.!\ ]+",
    )
});

/// What begins a request: words of one, or the verb of one.
static ASKED_FOR: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)^(?:(?:so|and|but|now|also|then|ok(?:ay)?|yes|hey|hi|great|nice|perfect|hm+|maybe|next)[,.!:\ ]+)*
        (?:please|pls|can\ (?:you|we|u)|could\ (?:you|we)|would\ you|(?:i|we)\ (?:want|need|would\ like)|i['’]d\ like|let['’]s|let\ us|help
        |add|address|adjust|adapt|analy[sz]e|answer|apply|ask|build|bump|change|check|clean|compare|confirm|convert|copy|cover|create|debug|delete|deploy|design|detect|document|drop
        |enable|ensure|evaluate|explain|explore|extend|extract|figure|find|fix|generate|give|go\ through|handle|implement|improve|include|inspect|install|integrate
        |introduce|investigate|keep|list|look|make|measure|merge|migrate|move|open|optimi[sz]e|perform|plan|port|prepare|propose|publish|pull|push|put|read|reduce
        |refactor|release|remove|rename|replace|report|reproduce|research|resolve|restore|restructure|review|rewrite|run|search|see\ if|set|show|simplify|solve|split|start
        |suggest|summari[sz]e|support|switch|take|tell|test|think|track|translate|triage|try|turn|understand|undo|update|upgrade|use|validate|verify|walk|work|wrap|write)(?-u:\b)",
    )
});

/// What is said about the way of working, and what only carries work on: not what it is about.
static HOUSEKEEPING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)^(?:why|did|are|have|do|were|was|how\ come)(?-u:\b)[^?]*(?-u:\b)you(?-u:\b)
        |^(?:\w+\ )?(?:push|commit|merge|rebase|squash|pull)(?-u:\b)
        |^(?:\w+\ )?(?:create|open|make|update)\ (?:an?\ |the\ |another\ |new\ |draft\ )*(?:pr|pull\ request|branch|commit)(?-u:\b)",
    )
});

/// A word that stands for something that was said before.
static POINTS_BACK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:this|that|these|those|it|them|ones|above|below|following|attached|suggested)(?-u:\b)\s*
        (?:$|[.?!,;:)]|(?:feature|report|request|task|plan|approach|in|to|and|for|from|with|so|as|then|at|on|or|into|by|handle|one|is|was|are|issue|error|problem|bug|image|document|pull|pr|too|also|again|all|still|now|please|directly|first|instead)(?-u:\b))
        |(?-u:\b)(?:following|attached)(?-u:\b)|(?-u:\b)(?:task|option|phase|step|point|item|similar\ to|like)\ (?:\d|[a-e](?-u:\b))",
    )
});

/// What a program prints, a setting, or code.
static PASTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)^(?:error|fatal|warning|panic|traceback|exit\ (?:code|status)|caused\ by|info|debug|fail|ok|---|--\w|at\ \S+\()(?-u:\b|\s|:)
        |^\[|^(?-i:[a-z_]+):\ |\\$|:=|\{\{|=>|\(\);|==|<<'?\w
        |\$[A-Z_]{3}|^(?:\w+=\S+\ )*(?:gh|git|npm|npx|go|cargo|env|cd|curl|docker|mise|python3?|bun|pnpm|yarn|make|sudo|ssh)\ .*(?:\ -|=|/)",
    )
});

/// Returns a request without the words before it.
pub(in crate::core::insight) fn without_request(mut text: &str) -> &str {
    while let Some(lead) = REQUEST.find(text) {
        text = &text[lead.end()..];
    }
    text
}

/// Whether a request can be understood without what was said before it, and is nothing pasted.
pub(super) fn asks_alone(clause: &Clause, text: &str) -> bool {
    // A path or an address is no request, and neither is what has hardly a word beside them.
    let words = text.split_whitespace();
    let words = words.filter(|word| {
        word.chars()
            .all(|c| c.is_alphabetic() || ",.?!'’-".contains(c))
    });
    let has_words =
        words.count() > 2 || text.contains(|c: char| c.is_alphabetic() && !c.is_ascii());
    let is_pasted = text.starts_with('(') || !clause.is_question && PASTED.is_match(text);
    has_words
        && stands_alone(text)
        && !is_pasted
        && !points_back(text)
        && !HOUSEKEEPING.is_match(text)
}

/// Whether a text has a word that stands for something that was said before it.
pub(super) fn points_back(text: &str) -> bool {
    POINTS_BACK.is_match(text)
}

/// Whether a clause asks for something, or says how it is to be.
pub(super) fn is_request(clause: &Clause) -> bool {
    clause.is_question
        || ASKED_FOR.is_match(&clause.text)
        || request_kind(clause) == PointKind::Decided
}

/// Whether a text has a word that stands for something else.
pub(super) fn has_pronoun(text: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|word| {
        matches!(
            word,
            "it" | "this" | "that" | "these" | "those" | "them" | "It"
        )
    })
}

/// What an answer to an agent's offer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    /// Do it.
    Consent,
    /// Do this one of them.
    Pick(char),
}

/// Returns what a message says that is only an answer to an offer.
pub(super) fn reply(text: &str) -> Option<Reply> {
    let text = text.trim();
    if text.is_empty() || text.len() > 60 {
        return None;
    }
    if let Some(pick) = PICK.captures(text) {
        return pick[1].chars().next().map(Reply::Pick);
    }
    let consent = CONSENT.find(text).filter(|found| !found.is_empty())?;
    (consent.end() == text.len()).then_some(Reply::Consent)
}

/// Returns what an answer offers: what stands behind the number or letter, or the question at its end.
pub(super) fn offer(text: &str, reply: Reply) -> Option<Clause> {
    match reply {
        Reply::Consent => clauses(text).pop().filter(|last| last.is_question),
        Reply::Pick(pick) => {
            let is_it = |line: &str| {
                let line = line.trim_start_matches(['-', '*', '#', ' ', '(']);
                let line = line.strip_prefix("Option ").unwrap_or(line);
                let rest = line.strip_prefix(|c: char| c.eq_ignore_ascii_case(&pick));
                rest.is_some_and(|rest| rest.starts_with(['.', ')', ':', ' ']))
            };
            let at = text.lines().position(is_it)?;
            let line = text.lines().nth(at)?;
            let line = line.trim_start_matches(['-', '*', '#', ' ', '(']);
            let found = clauses(line.get(2..)?.trim_start()).into_iter().next()?;
            Some(Clause {
                line: at + 1,
                ..found
            })
        }
    }
}

/// Whether a text of the user says how the work is to be done.
pub(in crate::core::insight) fn is_wish(text: &str) -> bool {
    WISH.is_match(text)
}

/// Whether a message of the user takes back what was done before it.
pub(super) fn takes_back(text: &str) -> bool {
    text.len() < 80 && UNDO.is_match(text.trim())
}

/// Returns what a clause of a request is: a choice of the person, or else something asked.
pub(super) fn request_kind(clause: &Clause) -> PointKind {
    if !clause.is_question && WILL.is_match(&clause.text) && !ASKS.is_match(&clause.text) {
        PointKind::Decided
    } else {
        PointKind::Asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_stands_alone_or_is_an_answer() {
        let asks = |text: &str| {
            let found = clauses(text);
            asks_alone(&found[0], without_request(&found[0].text))
        };
        for alone in [
            "can you add a retry to the client",
            "why is `a.rs` read twice?",
        ] {
            assert!(asks(alone), "{alone}");
        }
        for other in [
            "can you fix it?",
            "this is wrong",
            "error: no such file",
            "go test ./internal/syncer -run TestA",
        ] {
            assert!(!asks(other), "{other}");
        }
        for (text, wanted) in [
            ("yes", Some(Reply::Consent)),
            ("Ok, go ahead!", Some(Reply::Consent)),
            ("yes please do it", Some(Reply::Consent)),
            ("좋아", Some(Reply::Consent)),
            ("option 2", Some(Reply::Pick('2'))),
            ("b", Some(Reply::Pick('b'))),
            ("yes, but keep the lock", None),
            ("continuous ramps are wanted", None),
            ("", None),
        ] {
            assert_eq!(reply(text), wanted, "{text}");
        }
        let offers = "Two ways:\n1. **Add** a lock.\n2. Use a queue.\n\nWant me to add the lock?";
        let offered = |reply| offer(offers, reply).map(|found| (found.text, found.line));
        let text = |text: &str, line| Some((text.to_owned(), line));
        assert_eq!(offered(Reply::Consent), text("Want me to add the lock?", 5));
        assert_eq!(offered(Reply::Pick('2')), text("Use a queue.", 3));
        assert_eq!(offered(Reply::Pick('7')), None);
    }

    #[test]
    fn a_choice_of_the_user_is_told_from_a_request() {
        for (text, kind) in [
            ("let's go with a queue", PointKind::Asked),
            ("we decided to use a queue", PointKind::Decided),
            ("don't push the branch", PointKind::Decided),
            ("use a queue instead of a lock", PointKind::Decided),
            ("is a queue common instead of a lock", PointKind::Asked),
            ("the videos don't show up", PointKind::Asked),
            ("add a queue", PointKind::Asked),
        ] {
            assert_eq!(request_kind(&clauses(text)[0]), kind, "{text}");
        }
        assert!(takes_back("no, please revert that") && !takes_back("add a revert button"));
    }
}
