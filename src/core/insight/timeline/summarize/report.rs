//! What a clause of an agent's report says, by its words.

use std::sync::LazyLock;

use regex::Regex;

use super::PointKind;
use super::clause::{Clause, pattern};

/// What is not a fact: a plan, an opinion, a condition, an instruction.
static NO_FACT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:would|could|should|might|may|maybe|perhaps|probably|likely|possibly|presumably|if|unless|will|won['’]t
        |want|recommend(?:ed|ation)?|suggest(?:ion|ed)?|consider|i['’](?:d|ll)|we['’](?:d|ll)|i['’]m|i\ am|going\ to|plan(?:s|ned|ning)?
        |let\ me|let['’]s|option|guess|i\ think|imho|either|worth|seems?|appears?|(?:is|are|still)\ (?:running|waiting)|in\ progress|feel\ free|assum(?:e|ing)|hypothes[ie]s|suspect|expect)(?-u:\b)
        |^\w+ing(?-u:\b)|^\S+(?:\ \S+){0,3}\ (?:dispatched|complete|approved)(?-u:\b)|^(?:answers|title|next|first|then|try|run|check|use|see|note|yes|no|ok(?:ay)?|good|great|perfect|nice|you|your
        |now\ (?:i|to|let)|checking|looking|running|reading|searching|waiting|still|here|got\ it|understood|verdict|keep|add|remove|make|update|avoid|ensure|do|don['’]t|please|change|move|replace|rename|delete
        |install|open|create|start|stop|think)(?-u:\b)
        |^(?:i['’]ve\ |i\ have\ |i\ )?(?:completed\ the\ \w+\ pass|launched|spawned|dispatched|kicked\ off)(?-u:\b)",
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

static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:not\ (?:pushed|yet|run|tested|committed|verified|done|merged|deployed)|remaining\ (?:work|items?|tasks?|issues?|steps?|findings?)|remains\ (?:open|to|un\w+)|still\ (?:need|fail|open|to|miss|unstaged)\w*
        |left\ (?:to|for|open)|to-?do|next\ steps?|follow-?ups?|open\ questions?|pending|blocked|unresolved|uncommitted|unstaged)(?-u:\b)",
    )
});

/// What is left as it was on purpose.
static NOT_OURS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)(?-u:\b)(?:pre-?existing|unrelated|non-?blocking|per your)(?-u:\b)")
});

/// What a clause begins with that cannot be understood without the one before it.
static REFERS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)^(?:it|its|this|that|these|those|they|their|them|he|she|both|neither|same|so|then|which|and|but|also|or|such|all\ of|each|one|two|three|four
        |the\ (?:first|second|third|other|others|latter|former|rest|same|only|last|remaining|above)|everything|nothing|there|here|as\ (?:above|you)|like
        |plus|with(?:out)?\ (?:it|this|that|them)|computed|(?:calls|describes|covers|returns|closes|contains)\ (?:the|an?|all)|(?:any|some)thing\ else|what\ else|any\ other|(?:i|we)\ \w+\ (?:it|this|that|them)|either|another|similarly|likewise|(?:comment|finding|item|point|step|task|option|phase)\ \#?\d+|all\ (?:finished|done|set|two|three|four|five)|otherwise|however|instead|anyway|meanwhile|still|again|yours?|you)(?-u:\b)",
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

/// Whether a clause begins as a sentence does, or with a name.
pub(super) fn is_sentence(text: &str) -> bool {
    let first = text.split(' ').next().unwrap_or_default();
    first.contains(|c: char| c.is_alphabetic() && !c.is_lowercase() || "._/(".contains(c))
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
        return (!NOT_OURS.is_match(text)).then_some(PointKind::Open);
    }
    let is_fact = !clause.is_later && !NO_FACT.is_match(text) && !PASSED.is_match(text);
    is_fact.then_some(PointKind::Reported)
}

#[cfg(test)]
mod tests {
    use super::super::clause::clauses;
    use super::*;

    #[test]
    fn a_report_is_known_by_its_words() {
        use PointKind::{Open, Reported};
        for (text, kind) in [
            ("Added a retry to the client", Some(Reported)),
            ("The root cause is a stale lock", Some(Reported)),
            ("我已经修复了登录页面，并添加了测试。", Some(Reported)),
            ("The branch is not pushed", Some(Open)),
            ("The TODO in lex() is pre-existing", None),
            ("All implementation tasks complete and approved", None),
            ("Want me to push the branch?", Some(Open)),
            ("We should use a queue instead of a lock", None),
            ("I'll add a retry to the client", None),
            ("Let me check the file", None),
            ("If it fails, the lock is removed", None),
            ("All tests pass, lint is clean", None),
        ] {
            let found = clauses(text);
            assert_eq!(report_kind(&found[0]), kind, "{text}");
        }
        let listed = clauses("## Changes\n- Added the tag\n## Next steps\n- Added later");
        let kinds: Vec<_> = listed.iter().map(report_kind).collect();
        assert_eq!(kinds, [Some(Reported), None]);
    }
}
