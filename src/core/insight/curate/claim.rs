//! Whether a passage claims something about today: not where its own words say that it is past, in
//! a record of what was done on a day, or about another project.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::document::Document;
use crate::core::memory::Memory;
use crate::core::text::file_name;

/// Words that say of what a sentence names that it is past. Whole words where the script has
/// spaces.
static PAST: LazyLock<Regex> = LazyLock::new(|| {
    let words = [
        // English
        "legacy|deprecat(?:ed|es?|ion)|relocat(?:ed|es?|ion)|delete|obsolete|former|formerly|previously|renamed|rename|removed|deleted",
        "dropped|retired|replaced|superseded|historical|historically|no longer|used to|old|gone",
        "eol|end[- ]of[- ]life|merged|folded into|moved to|moved into|stale|dead|defunct|retracted",
        "absorbed|predat(?:es|ed|ing)|ported (?:from|to|into)|migrated (?:from|to|into)",
        "pre-?(?:split|rewrite|rename|migration|fix)|does(?: not|n['’]t) exist",
        "(?:do not|don['’]t|never) use",
        "v\\d+(?:\\.\\d+)*\\b[^;]{0,160}?\\b(?:kept|had|did|used|called|ran|printed|lived|sat)",
        // German
        "früher\\w*|ehemals|ehemalige?\\w*|gelöscht\\w*|entfernt\\w*|umbenannt\\w*|veraltet\\w*",
        "alte[rnms]?|nicht mehr|ersetzt\\w*|abgelöst\\w*",
        // French
        "ancien(?:ne|s|nes)?|anciennement|supprimée?s?|renommée?s?|obsolètes?|dépréciée?s?",
        "retirée?s?|remplacée?s?|n['’]existe plus|autrefois",
        // Spanish, Portuguese, Italian
        "antigu[oa]s?|eliminad[oa]s?|borrad[oa]s?|renombrad[oa]s?|obsolet[oaie]s?|ya no",
        "reemplazad[oa]s?|antig[oa]s?|removid[oa]s?|excluíd[oa]s?|renomead[oa]s?|não existe mais",
        "substituíd[oa]s?|vecchi[oae]?|rimoss[oaie]|eliminat[oaie]|rinominat[oaie]|non più",
        "sostituit[oaie]",
        // Dutch, Polish, Turkish
        "verwijderd|hernoemd|voorheen|niet meer|oude?|usunięt\\w*|przemianowan\\w*|dawn\\w*|już nie",
        "zastąpion\\w*|star[yaei]|eski|silindi|kaldırıldı|artık|önceki|adı değişti",
        // Russian and Ukrainian
        "стар[а-яё]+|устаре[а-яё]+|удал[а-яё]+|переименован[а-яё]*|ранее|больше не|заменен[а-яё]*",
        "заменён[а-яё]*|бывш[а-яё]+|видален[а-яії]*|перейменован[а-яії]*|більше не",
        "구|옛",
    ];
    let letters = [
        "삭제|제거|폐기|폐지|예전|개명|이름 변경|이름이 바뀌|흡수|통합|더 이상|대체|레거시",
        "削除|廃止|旧|以前|改名|移動した|もはや|レガシー|置き換え",
        "删|移除|废弃|曾经|重命名|不再|遗留|刪除|廢棄|舊|重新命名|弃用|棄用|取代|退役|并入|併入|合并|吸收|下线",
    ];
    let words = words.join("|");
    let letters = letters.join("|");
    Regex::new(&format!("(?i)\\b(?:{words})\\b|{letters}")).expect("a valid pattern")
});

/// `was` and its kin, which say so only next to what they are about.
static WAS: LazyLock<Regex> = LazyLock::new(|| {
    let words = "was|were|war|waren|était|étaient|era|eran|eram|erano|был[аио]?|był[aoy]?";
    Regex::new(&format!("(?i)\\b(?:{words})\\b")).expect("a valid pattern")
});

/// The start of a sentence that goes on about what the one before named.
static BACK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:The|It|Its|This|That|These|Those|They|Their)\b").expect("a valid pattern")
});

/// How near `was` must be, in bytes.
const NEAR: usize = 16;

/// Words of a sentence about another project.
static ELSEWHERE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:its own|their own|(?:other|another|separate|sibling|different|upstream) (?:repo|repository|project|codebase)|upstream|submodule|git repo)\b",
    )
    .expect("a valid pattern")
});

/// A name of a file that records what was done, once it has a date too.
static RECORD_NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)(?:^|[^a-z])(?:session|sessions|handoff|standup|retro|retrospective|post-?mortem|incident|log|notes)(?:[^a-z]|$)",
    )
    .expect("a valid pattern")
});

/// A name of a file with the notes of a day, as in `c-20260310-1345.md`.
static DAY_FILE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:[a-z]-)?20\d\d-?[01]\d-?[0-3]\d(?:\D|$)").expect("a valid pattern")
});

/// Whether a file has the notes of a day.
pub(super) fn is_of_day(path: &str) -> bool {
    DAY_FILE.is_match(file_name(path))
}

/// Words of a sentence about a file that may be there or not.
static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:if|when|unless)\b[^.;]{0,20}[`\w./-]{3,60} (?:exists?|is (?:there|present|missing))\b")
        .expect("a valid pattern")
});

/// A name of a file in which everything is a record.
static RECORD_FILE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:^|[^a-z])(?:archives?|legacy|retired|change-?log|work-?log|training-?log|journal|diary|(?:last|latest|current|this)[_-]?session|hand-?off)(?:[^a-z]|$)")
        .expect("a valid pattern")
});

/// Words of a heading below which everything is a record.
static CHANGE_LOG: LazyLock<Regex> = LazyLock::new(|| {
    let words = "changelog|change log|worklog|work log|journal|diary|history|timeline|milestones|completed|done|resolved|archived?|verlauf|erledigt|historique|historial|histórico|история";
    Regex::new(&format!(
        r"(?i)(?:^|[^a-z])(?:{words})(?:[^a-z]|$)|历史|歷史|变更|履歴|変更|이력|완료|已完成"
    ))
    .expect("a valid pattern")
});

static DATE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b\d{4}-\d{2}(?:-\d{2})?").expect("a valid pattern"));

/// Words of a heading that say of a file that it is used no longer.
static RETIRED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:retired|deprecated|archived?|superseded)\b").expect("a valid pattern")
});

static DATE_IN_NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|[^0-9])20\d\d[-_]?[01]\d[-_]?[0-3]\d(?:[^0-9]|$)").expect("a valid pattern")
});

/// Words with which an entry says that its work is finished.
static FINISHED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:DONE|MERGED|SHIPPED|COMPLETED?|RESOLVED|FIXED|CLOSED|LANDED)\b|✅|✔|☑|\[x\]")
        .expect("a valid pattern")
});

/// Words with which a text says since when it describes what is so now.
static STATE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:as of|current(?:ly)?|(?:final|present|overall|project|system) (?:state|status))\b|现状|当前|현재|現在").expect("a valid pattern")
});

/// How much of an entry is its lead, in which a date or a word says what the entry is.
const LEAD: usize = 200;

/// Whether a passage claims that something is so today.
pub(super) fn is_claim(document: &Document, range: &Range<usize>) -> bool {
    !is_past(document, range)
        && !is_record(document, range.start)
        && !ELSEWHERE.is_match(document.sentence(range))
        && !CONDITION.is_match(document.sentence(range))
}

/// Whether the byte is in a record of what was done: the notes of a day or a session, a change log, an
/// entry that begins with a date or says that it is finished.
pub(super) fn is_record(document: &Document, at: usize) -> bool {
    if is_record_file(&document.memory) {
        return true;
    }
    let mut headings = document.headings(at).into_iter();
    let is_of_record = |heading: &str| {
        CHANGE_LOG.is_match(heading) || DATE.is_match(heading) && !STATE.is_match(heading)
    };
    headings.any(is_of_record) || document.leads(at).into_iter().any(is_record_lead)
}

/// Whether a file is a record by its name: of a day or a session, a change log, in an archive.
pub(super) fn is_record_file(memory: &Memory) -> bool {
    let names = [memory.path.as_str(), memory.title.as_str()];
    let is_dated = names.iter().any(|name| DATE.is_match(name));
    is_of_day(&memory.path)
        || is_dated && names.iter().any(|name| RECORD_NAME.is_match(name))
        || RECORD_FILE.is_match(&memory.path)
}

/// Whether the name of a file has a date.
pub(super) fn has_date(path: &str) -> bool {
    DATE_IN_NAME.is_match(file_name(path))
}

/// Whether the first heading of a text says that the file is used no longer.
pub(super) fn is_retired(text: &str) -> bool {
    let title = text.lines().find_map(|line| line.strip_prefix("# "));
    title.is_some_and(|title| RETIRED.is_match(title))
}

/// Whether an entry with this first line is a record.
fn is_record_lead(line: &str) -> bool {
    let mut end = LEAD.min(line.len());
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let lead = &line[..end];
    let bare = lead.trim_start_matches(|c: char| c.is_whitespace() || "-*+>|#_[(`".contains(c));
    let starts_with_date = DATE.find(bare).is_some_and(|date| date.start() == 0);
    // The words between the first two `**`, if the entry begins with them.
    let bold = lead.split("**").nth(1).filter(|_| {
        let before = lead.split("**").next().unwrap_or_default();
        before.chars().all(|c| !c.is_alphabetic())
    });
    let is_dated = bold.is_some_and(|bold| DATE.is_match(bold) && !STATE.is_match(bold));
    starts_with_date || is_dated || FINISHED.is_match(lead)
}

/// Whether the sentence around the range says that what it names is past.
pub(super) fn is_past(document: &Document, range: &Range<usize>) -> bool {
    let sentence = document.sentence(range);
    if is_struck(document, range) || is_left_of_arrow(document, range) || says_past(sentence) {
        return true;
    }
    // "The legacy kit does it. The script (`x.sh`) …" goes on about the same thing.
    if BACK.is_match(sentence)
        && let Some(before) = document.sentence_before(range)
        && says_past(before)
    {
        return true;
    }
    let text = &document.text;
    let end = near_end(text, range.end);
    WAS.is_match(&text[range.end..end]) || {
        let start = near_start(text, range.start);
        text[start..range.start]
            .trim_end_matches(['`', ' ', '"'])
            .ends_with("(was")
    }
}

/// Whether an arrow follows the range: it became what is right of it, or is made into it.
fn is_left_of_arrow(document: &Document, range: &Range<usize>) -> bool {
    let after = document.text[range.end..].trim_start_matches(['`', '/', '"', '\'', '*', ')', ' ']);
    ["→", "->", "=>", "⇒", "➜"]
        .iter()
        .any(|arrow| after.starts_with(arrow))
}

/// Whether a sentence has a word for the past that is not a part of a path.
fn says_past(sentence: &str) -> bool {
    PAST.find_iter(sentence).any(|word| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
        let before = sentence[..word.start()].rsplit(|c| !is_part(c)).next();
        let after = sentence[word.end()..].split(|c| !is_part(c)).next();
        let is_file = |part: Option<&str>| {
            let part = part.unwrap_or_default().trim_end_matches('.');
            part.contains('.') || part.contains('/') && part.len() > 1
        };
        !is_file(before) && !is_file(after)
    })
}

fn near_end(text: &str, from: usize) -> usize {
    let mut end = (from + NEAR).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

fn near_start(text: &str, to: usize) -> usize {
    let mut start = to.saturating_sub(NEAR);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    start
}

/// Whether the range is struck through: between `~~` and `~~` on its line.
fn is_struck(document: &Document, range: &Range<usize>) -> bool {
    let text = &document.text;
    let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[range.end..]
        .find('\n')
        .map_or(text.len(), |at| range.end + at);
    text[start..range.start].matches("~~").count() % 2 == 1 && text[range.end..end].contains("~~")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::memory::Memory;

    fn says(text: &str) -> bool {
        let document = Document::new(Memory::bare("a.md", 0), text.to_owned());
        let at = text.find("x.sh").expect("named");
        is_past(&document, &(at..at + 4))
    }

    #[test]
    fn what_a_sentence_calls_past_is_past_in_every_language() {
        for text in [
            "The legacy `x.sh` did this.",
            "`x.sh` was folded into y.",
            "~~x.sh~~ runs the tests.",
            "Now y.sh (was x.sh) runs.",
            "구 x.sh 훅은 통합됐다.",
            "x.sh 삭제됨.",
            "旧 x.sh を使う。",
            "x.sh 已删除。",
            "Das alte x.sh lief.",
            "x.sh a été supprimé.",
            "x.sh ya no existe.",
            "x.sh удалён.",
            "x.sh no longer exists.",
            "A legacy kit did it. The shim (`x.sh`) picked the file.",
            "The v1 kit (`x.sh`) kept these apart.",
            "The legacy one copies by\n`cp -R a/. $W/`, then runs x.sh.",
        ] {
            assert!(says(text), "{text}");
        }
        for text in [
            "Run x.sh before a commit.",
            "The legacy kit is slow. Run x.sh.",
            "The legacy kit is slow.\n\nThe test is x.sh.",
            "It was late; x.sh runs the tests.",
            "Run legacy/x.sh and x.sh.old now.",
            "- the old one\n- x.sh",
            "~~y.sh~~ x.sh",
        ] {
            assert!(!says(text), "{text}");
        }
    }
}
