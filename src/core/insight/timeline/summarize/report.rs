//! What a clause of an agent's report says, by its words.

use std::sync::LazyLock;

use regex::Regex;

use super::PointKind;
use super::clause::{Clause, pattern};
use super::heading::names;
use crate::core::text::{fold, is_common, words};

/// What an agent has done, if it says it: a verb in the past at the beginning, or behind the name of
/// a file.
static DONE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x)^(?:\S*[/._(]\S*(?::|\ [—–-])\ )?(?:(?:I|We)(?:['’]ve|\ have)?\ )?(?:[Aa]lso\ |[Nn]ow\ |[Tt]hen\ )?
        (?:(?P<verb>(?:Re-)?[A-Z][a-z]+ed|Built|Wrote|Rewrote|Made|Split|Cut|Set|Put|Took|Sent)\ \S
        |(?P<small>(?:re-)?[a-z]+ed|built|wrote|rewrote|made|split|cut|set|put|took|sent)\ (?:(?:the|a|an|all|its|both|every|each|in|to|from|into|on|for|as|out|up)\ |\S*[._(A-Z]))",
    )
});

/// Words that end like a verb in the past and are none.
static NO_VERB: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x)^(?:un.*|(?:bas|dedicat|detail|expect|limit|need|nest|relat|requir|shar|suggest)ed|embed|exceed|feed|indeed|need|proceed)$",
    )
});

/// What is found out and changes nothing.
static LOOKED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)^(?:confirm|verifi|check|review|validat|notic|discover|investigat|trac|reproduc|determin|identifi|examin|inspect|compar|audit|read|look|scann|search)e?d$",
    )
});

/// That something is otherwise than before.
static CHANGED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:now\ [a-z]+s(?-u:\b)|(?:is|are)\ now(?-u:\b)|no\ longer(?-u:\b)
        |(?:has|have)\ been\ [a-z]+(?:ed|t|en)(?-u:\b)
        |(?:is|are)\ (?:merged|pushed|fixed|live|in\ place|landed|deployed|released)(?-u:\b)
        |\w+\ now(?:[.,;]|$))",
    )
});

/// That something is not as it should be.
static BUT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)(?-u:\b)(?:still|although|even though|but)(?-u:\b)"));

/// What is not a fact: a plan, an opinion, a condition, an instruction.
static NO_FACT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:would|could|should|might|may|maybe|perhaps|probably|likely|possibly|presumably|if|unless|will|won['’]t
        |want|recommend(?:ed|ation)?|suggest(?:ion|ed)?|consider|i['’](?:d|ll)|we['’](?:d|ll)|i['’]m|i\ am|going\ to|plan(?:s|ned|ning)?
        |let\ me|let['’]s|option|guess|i\ think|imho|either|worth|seems?|appears?|feel\ free|assum(?:e|ing)|hypothes[ie]s|suspect|expect)(?-u:\b)
        |^(?:next|first|then|try|run|check|use|see|note|yes|no|ok(?:ay)?|good|great|perfect|nice|you|your
        |now\ (?:i|to|let)|checking|looking|running|reading|searching|waiting|still|here|got\ it|understood|verdict|keep|add|remove|make|update|avoid|ensure|do|don['’]t|please|change|move|replace|rename|delete
        |install|open|create|start|stop|think)(?-u:\b)
        |^(?:i['’]ve\ |i\ have\ |i\ )?(?:completed\ the\ \w+\ pass|launched|spawned|dispatched|kicked\ off)(?-u:\b)",
    )
});

/// An error or its cause.
static CAUSE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:root\ cause|caused|because|due\ to|bugs?|fail(?:s|ed|ing|ures?)|broken?|broke|crash(?:es|ed)?|regress(?:ion|ed|es)
        |panic(?:s|ked)?|flaky|leak(?:s|ed)?|vulnerab\w+|race|deadlock)(?-u:\b)",
    )
});

/// How something behaves; a fact if it is about something with a name.
static BEHAVIOR: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:errors?|wrong(?:ly)?|missing|never|always|only|silently|doesn['’]t|don['’]t|isn['’]t|aren['’]t|wasn['’]t|didn['’]t
        |cannot|can['’]t|stale|duplicates?|mismatch|found|returns|requires)(?-u:\b)",
    )
});

/// That what was checked is well, which is said of nearly everything.
static PASSED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:tests?|suite|lint|build|checks?|ci)(?-u:\b).*(?-u:\b)(?:pass(?:es|ed|ing)?|green|clean|succeeds?)(?-u:\b)
        |(?-u:\b)(?:no|zero|without)\ (?:new\ )?(?:bugs?|errors?|issues?|failures?|regressions?|problems?|findings?)(?-u:\b)
        |^(?:verification|validation|(?:i\ )?validated|(?:i\ )?verified|gates?|tested|checks?|commit:|diff:|(?:done\W+)?committed\ (?:as|and\ pushed))",
    )
});

/// That one way was taken and not another.
static CHOICE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:chose|chosen|decided|picked|opted|(?:go|went|going)\ with|kept|left|skipped|dropped|avoided|switched|preferred|declined|deliberately
        |intentionally|on\ purpose)(?-u:\b)",
    )
});

/// Why, or what the other way was.
static REASON: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:because|since|so\ that|to\ avoid|to\ keep|instead\ of|rather\ than|otherwise|due\ to|in\ favou?r\ of|over\ the)(?-u:\b)",
    )
});

/// What the other way was.
static OTHER_WAY: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)(?-u:\b)(?:instead of|rather than)(?-u:\b)"));

static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:not\ (?:pushed|yet|run|tested|committed|verified|done|merged|deployed)|remaining\ (?:work|items?|tasks?|issues?|steps?|findings?)|remains\ (?:open|to|un\w+)|still\ (?:need|fail|open|to|miss|unstaged)\w*
        |left\ (?:to|for|open)|to-?do|next\ steps?|follow-?ups?|open\ questions?|pending|blocked|unresolved|uncommitted|unstaged)(?-u:\b)",
    )
});

/// What an agent says that took something back.
static UNDONE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:revert(?:ed|ing)?|undid|undone|rolled\ back|backed\ out|removed|dropped|deleted|no\ longer|replaced)(?-u:\b)",
    )
});

/// What a clause begins with that cannot be understood without the one before it.
static REFERS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)^(?:it|its|this|that|these|those|they|their|them|he|she|both|neither|same|so|then|which|and|but|also|or|such|all\ of|each|one|two|three|four
        |the\ (?:first|second|third|other|others|latter|former|rest|same|only|last|remaining|above)|everything|nothing|there|here|as\ (?:above|you)|like
        |plus|with(?:out)?\ (?:it|this|that|them)|computed|(?:calls|describes|covers|returns|closes|contains)\ (?:the|an?|all)|(?:any|some)thing\ else|what\ else|any\ other|(?:i|we)\ \w+\ (?:it|this|that|them)|either|another|similarly|likewise|otherwise|however|instead|anyway|meanwhile|still|again|yours?|you)(?-u:\b)",
    )
});

/// The offer at the end of an answer.
pub(super) static OFFER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:want\ me\ to|shall\ i|should\ i|would\ you\ like|do\ you\ want|ready\ to|ok(?:ay)?\ to|i\ can|i['’]d\ (?:suggest|recommend|propose|like)
        |i\ (?:suggest|recommend|propose)|my\ recommendation|i['’]ll|i\ will|proceed|go\ ahead|say\ the\ word|if\ you\ want)(?-u:\b)",
    )
});

/// The beginning of what an agent is about to do, or says about the question.
static NO_ANSWER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)^(?:i['’]ll|i\ will|let\ me|let['’]s|i['’]m|good\ (?:question|catch|point)|great|sure|ok(?:ay)?|done|fair|you['’]re\ right|understood|got\ it|here|checking|looking|now)(?-u:\b)",
    )
});

/// Whether a clause at the beginning of a report answers the question before it.
pub(super) fn answers(text: &str) -> bool {
    !NO_ANSWER.is_match(text)
}

/// Whether a clause of a report can be understood without the one before it.
pub(super) fn stands_alone(text: &str) -> bool {
    let mut depth = 0_i32;
    let is_closed = text.chars().all(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth >= 0
    });
    !REFERS.is_match(text) && is_closed && depth == 0 && !text.contains(" above")
}

/// What says why something was as it was, wherever it is said.
static ROOT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)(?-u:\b)(?:root cause|caused by|the (?:cause|issue|bug|problem) (?:is|was))(?-u:\b)",
    )
});

/// Whether a clause tells the cause of something.
pub(super) fn is_cause(text: &str) -> bool {
    ROOT.is_match(text)
}

/// Whether a clause of a report says that something was taken back.
pub(super) fn is_undone(text: &str) -> bool {
    UNDONE.is_match(text)
}

/// Whether a clause has hardly a frequent word of English, of which the rules are made.
pub(super) fn is_foreign(text: &str) -> bool {
    let (mut common, mut all) = (0, 0);
    for word in words(text) {
        all += 1;
        common += usize::from(is_common(&fold(word.text)));
    }
    let is_of_other = |c: char| c.is_alphabetic() && !c.is_ascii();
    common * 8 < all && text.contains(is_of_other)
}

/// Whether a clause says how something is now, and not who did it.
pub(super) fn is_state(text: &str) -> bool {
    !DONE.is_match(text) && CHANGED.is_match(text)
}

/// Returns what a clause of a report says; `None` if it is no fact.
pub(super) fn report_kind(clause: &Clause) -> Option<PointKind> {
    let text = clause.text.as_str();
    if clause.is_question {
        return OFFER.is_match(text).then_some(PointKind::Open);
    }
    if clause.is_cut {
        return None;
    }
    if OPEN.is_match(text) {
        return Some(PointKind::Open);
    }
    if clause.is_later || NO_FACT.is_match(text) {
        return None;
    }
    let has_reason = REASON.is_match(text);
    let first = text.split(' ').next().unwrap_or_default();
    let is_letter = |c: char| c.is_alphabetic() && !c.is_lowercase();
    let is_sentence = first.contains(is_letter) || first.contains(['.', '/', '_', '(']);
    let done = DONE.captures(text).and_then(|found| {
        let verb = found.name("verb").or_else(|| found.name("small"))?;
        let verb = verb.as_str().to_lowercase();
        (!NO_VERB.is_match(&verb)).then_some(verb)
    });
    let has_looked = done.as_ref().is_some_and(|verb| LOOKED.is_match(verb));
    let has_looked = has_looked && !text.contains("hecked out ");
    let has_other_way = done.is_some() && OTHER_WAY.is_match(text);
    if is_sentence && (has_reason && CHOICE.is_match(text) || has_other_way) {
        // What was so before is no choice.
        (!text.contains("already")).then_some(PointKind::Decided)
    } else if PASSED.is_match(text) {
        None
    } else if has_looked {
        Some(PointKind::Found)
    } else if done.is_some() || CHANGED.is_match(text) && !BUT.is_match(text) {
        Some(PointKind::Done)
    } else if is_sentence
        && (CAUSE.is_match(text) || BEHAVIOR.is_match(text) && !names(text).is_empty())
    {
        Some(PointKind::Found)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::clause::clauses;
    use super::*;

    #[test]
    fn a_report_is_known_by_its_words() {
        use PointKind::{Decided, Done, Found, Open};
        for (text, kind) in [
            ("Added a retry to the client", Some(Done)),
            ("I've moved the parser into its own file.", Some(Done)),
            ("`src/a.rs` — added the lock", Some(Done)),
            ("The client now waits for the lock", Some(Done)),
            (
                "The table is split by month now, and the job adds the next",
                Some(Done),
            ),
            ("The root cause is a stale lock", Some(Found)),
            ("Confirmed the race in rotate()", Some(Found)),
            ("`readAll` doesn't close the file", Some(Found)),
            ("We kept the lock because two tabs share it", Some(Decided)),
            ("Used a queue instead of a lock", Some(Decided)),
            (
                "We go with a queue, since agents give up early",
                Some(Decided),
            ),
            ("The branch is not pushed", Some(Open)),
            ("Want me to push the branch?", Some(Open)),
            ("We should use a queue instead of a lock", None),
            ("I'll add a retry to the client", None),
            ("Let me check the file", None),
            ("If it fails, the lock is removed", None),
            ("All tests pass, lint is clean", None),
            ("Need the lock for a test", None),
            ("bounded buffered reads in helpers", None),
            ("A good design doesn't need much more", None),
        ] {
            let found = clauses(text);
            assert_eq!(report_kind(&found[0]), kind, "{text}");
        }
        let listed = clauses("## Changes\n- Added the tag\n## Next steps\n- Added later");
        let kinds: Vec<_> = listed.iter().map(report_kind).collect();
        assert_eq!(kinds, [Some(Done), None]);
    }
}
