//! Divides a message into clauses, and tells by its words what each of them says.

use std::sync::LazyLock;

use regex::Regex;

use super::PointKind;
use super::heading::names;
use crate::core::insight::timeline::event::begin;
use crate::core::text::display::safe;

/// How much of a message is read, in bytes: the rest of a longer one is mostly pasted.
const READ: usize = 6_000;

/// The most words of a clause; the rest of a longer one is cut off.
const MOST_WORDS: usize = 24;

/// The fewest words of the part of a sentence that stands for it.
const LEAST_WORDS: usize = 6;

/// Compiles a pattern of this module; a pattern that is wrong fails the tests. Borders of words are
/// those of ASCII, which are found much faster in text that has other characters.
pub(super) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}

/// Placeholders of images, links with their texts, and addresses.
static LINK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x)\[[Ii]mage[^\]\n]*\] | \[(?P<text>[^\]\n]*)\]\([^)\s]*\) | https?://(?P<address>[^\s)>]+)",
    )
});

/// Returns the text of a link, or the last two parts of an address, which tell most.
fn told(link: &regex::Captures<'_>) -> String {
    if let Some(text) = link.name("text") {
        return text.as_str().to_owned();
    }
    let address = link.name("address").map_or("", |address| address.as_str());
    let mut parts: Vec<&str> = address.trim_end_matches('/').rsplit('/').take(2).collect();
    parts.reverse();
    parts.join("/")
}

/// The end of a sentence.
static END: LazyLock<Regex> = LazyLock::new(|| pattern(r#"[.!?…]["')]?\s+|[。！？]"#));

/// Where a long sentence can be ended.
static BREAK: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"; |:? [—–-] |: | \(|, (?:so|but|which)\b"));

/// Abbreviations before a full stop that ends no sentence.
const ABBREVIATIONS: [&str; 5] = ["e.g", "i.e", "etc", "vs", "cf"];

/// The marks of headings, lists and quotations.
static MARK: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:[#>*•-]+|\d+[.)])\s+(?:\[[ x]\]\s+)?"));

/// What an agent has done, if it says it: a verb in the past at the beginning, or behind the name of
/// a file.
static DONE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x)^(?:\S*[/._(]\S*(?::|\ [—–-])\ )?(?:(?:I|We)(?:['’]ve|\ have)?\ )?(?:[Aa]lso\ |[Nn]ow\ |[Tt]hen\ )?
        (?:(?P<verb>(?:Re-)?[A-Z][a-z]+ed|Built|Wrote|Rewrote|Made|Split|Cut|Set|Put|Took|Sent)\ \S
        |(?P<small>(?:re-)?[a-z]+ed|built|wrote|rewrote|made|split|cut|set|put|took|sent)\ (?:(?:the|a|an|all|its|both|every|each|in|to|from|into|on|for|as|out|up)\ |\S*[._(A-Z]))",
    )
});

/// What a file does now, in a list of changes.
static CHANGED_FILE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\S*[/._(]\S*(?::| [—–-]) (?:now )?[a-z]+s "));

/// Words that end like a verb in the past and are none.
const NO_VERBS: [&str; 17] = [
    "based",
    "dedicated",
    "detailed",
    "embed",
    "exceed",
    "expected",
    "feed",
    "indeed",
    "limited",
    "need",
    "needed",
    "nested",
    "proceed",
    "related",
    "required",
    "shared",
    "suggested",
];

/// What is found out and changes nothing.
static LOOKED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)^(?:confirm|verifi|check|review|validat|notic|discover|investigat|trac|reproduc|determin|identifi|examin|inspect|compar|audit|read|look|scann|search)e?d$",
    )
});

/// That something is not as it should be.
static BUT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)(?-u:\b)(?:still|although|even though|but)(?-u:\b)"));

/// That something is otherwise than before.
static CHANGED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:now\ [a-z]+s(?-u:\b)|(?:is|are)\ now(?-u:\b)|no\ longer(?-u:\b)
        |(?:has|have)\ been\ [a-z]+(?:ed|t|en)(?-u:\b)
        |(?:is|are)\ (?:merged|pushed|fixed|live|in\ place|landed|deployed|released)(?-u:\b))",
    )
});

/// What is not a fact: a plan, an opinion, a condition, an instruction.
static NO_FACT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:would|could|should|might|may|maybe|perhaps|probably|likely|possibly|presumably|if|unless|will|won['’]t
        |want|recommend(?:ed|ation)?|suggest(?:ion|ed)?|consider|i['’](?:d|ll)|we['’](?:d|ll)|going\ to|plan(?:s|ned|ning)?
        |let\ me|let['’]s|option|guess|i\ think|imho|either|worth|seems?|appears?|feel\ free|assum(?:e|ing)|hypothes[ie]s|suspect|expect)(?-u:\b)
        |^(?:next|first|then|try|run|check|use|see|note|yes|no|ok(?:ay)?|good|great|perfect|nice|you|your|i['’]m|i\ am
        |now\ (?:i|to|let)|checking|looking|running|reading|searching|waiting|still|here|got\ it|understood|verdict|keep|add|remove|make|update|avoid|ensure|do|don['’]t|please|change|move|replace|rename|delete
        |install|open|create|start|stop|think)(?-u:\b)",
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
        |cannot|can['’]t|stale|duplicates?|mismatch|found|confirmed|already|returns|requires)(?-u:\b)",
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
        r"(?xi)(?-u:\b)(?:chose|chosen|decided|picked|opted|went\ with|kept|left|skipped|dropped|avoided|switched|preferred|declined|deliberately
        |intentionally|on\ purpose)(?-u:\b)",
    )
});

/// Why, or what the other way was.
static REASON: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:because|since|so\ that|to\ avoid|to\ keep|instead\ of|rather\ than|otherwise|due\ to|in\ favou?r\ of|over\ the)(?-u:\b)",
    )
});

/// How the user wants the work to be done.
static WISH: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:always|never|don['’]t|do\ not|prefer|from\ now\ on|stop|instead\ of|make\ sure)(?-u:\b)",
    )
});

/// What the other way was.
static OTHER_WAY: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)(?-u:\b)(?:instead of|rather than)(?-u:\b)"));

/// A choice of the person.
static WILL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:let['’]?s\ (?:use|keep|go\ (?:with|for)|not|drop|skip|stick|leave|call|stay)|go\ with|stick\ with|instead\ of|rather\ than
        |no\ need\ (?:to|for)|i(?:['’]d)?\ prefer|i['’]d\ rather|(?:i|we)\ decided)(?-u:\b)
        |^(?:no,\ |please\ |but\ )*(?:do(?:\ not|n['’]t|nt)|never|always)(?-u:\b)",
    )
});

/// The beginning of a question, which often has no mark.
static ASKS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)^(?:so|and|but|ok(?:ay)?)?[,\ ]*(?:is|are|does|do\ (?:we|you|i|they)|can|could|should|would|what|why|how|which|when|where|who|will|did|was|has|have)(?-u:\b)",
    )
});

static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:not\ (?:pushed|yet|run|tested|committed|verified|done|merged|deployed)|remaining\ (?:work|items?|tasks?|issues?|steps?|findings?)|remains\ (?:open|to|un\w+)|still\ (?:need|fail|open|to|miss|unstaged)\w*
        |left\ (?:to|for|open)|to-?do|next\ steps?|follow-?ups?|open\ questions?|pending|blocked|unresolved|uncommitted|unstaged)(?-u:\b)",
    )
});

/// The offer at the end of an answer.
static OFFER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:want\ me\ to|shall\ i|should\ i|would\ you\ like|do\ you\ want|ready\ to|ok(?:ay)?\ to|i\ can|i['’]d\ (?:suggest|recommend|propose|like)
        |i\ (?:suggest|recommend|propose)|my\ recommendation|i['’]ll|i\ will|proceed|go\ ahead|say\ the\ word|if\ you\ want)(?-u:\b)",
    )
});

/// What a user says who agrees to an offer.
static CONSENT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)^(?:(?:yes|yep|yeah|yup|ok(?:ay)?|sure|please|and|then|great|perfect|nice|cool|good|lgtm|ja|oui|si|sí)(?-u:\b)[,.!\ ]*)*
        (?:(?:let['’]?s\ )?(?:go\ ahead|go\ for\ it|continue|proceed|carry\ on|keep\ going|do\ (?:it|that|this|so|both|all(?:\ of\ (?:it|them))?)
        |(?:sounds|looks)\ good|lgtm|agreed?|make\ it\ so|please\ do|yes|ok|go|start|ship\ it|mach(?:\ das)?|weiter|vas-y|好的?|可以|继续|是的?|네|응|좋아|계속)(?-u:\b|$))?[\ .!,:)]*",
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

/// What an agent says that took something back.
static UNDONE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:revert(?:ed|ing)?|undid|undone|rolled\ back|backed\ out|removed|dropped|deleted|no\ longer|replaced)(?-u:\b)",
    )
});

/// Words before a request.
static REQUEST: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)^(?:please|pls|can\ (?:you|we|u)|could\ (?:you|we)|would\ you|(?:i|we)\ (?:want|need|would\ like)
        (?:\ you)?\ to|i['’]d\ like\ (?:you\ )?to|let['’]s|let\ us|let\ me|now|ok(?:ay)?|yes|and|then|also|so|hey|hi|great|nice|perfect|hm+|i\ think|maybe|from\ now\ on)[,.!\ ]+",
    )
});

/// What a clause begins with that cannot be understood without the one before it.
static REFERS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)^(?:it|its|this|that|these|those|they|their|them|he|she|both|neither|same|so|then|which|and|but|also|or|such|all\ of|each|one|two|three|four
        |the\ (?:first|second|third|other|others|latter|former|rest|same|only|last|remaining|above)|everything|nothing|there|here|as\ (?:above|you)|like
        |(?:any|some)thing\ else|what\ else|any\ other|(?:i|we)\ \w+\ (?:it|this|that|them)|either|another|similarly|likewise|otherwise|however|instead|anyway|meanwhile|still|again|yours?|you)(?-u:\b)",
    )
});

/// A word that stands for something that was said before.
static POINTS_BACK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:this|that|these|those|it|them|ones|above|below|following|attached|suggested)(?-u:\b)\s*
        (?:$|[.?!,;:)]|(?:in|to|and|for|from|with|so|as|then|at|on|or|into|by|handle|one|is|was|are|issue|error|problem|bug|image|document|pull|pr|too|also|again|all|still|now|please|directly|first|instead)(?-u:\b))",
    )
});

/// What a program prints, a setting, or code.
static PASTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)^(?:error|fatal|warning|panic|traceback|exit\ (?:code|status)|caused\ by|info|debug|fail|ok|---|--\w|at\ \S+\()(?-u:\b|\s|:)
        |^\[|^(?-i:[a-z_]+):\ |\\$|:=|\{\{|=>|\(\);|==|<<'?\w
        |^(?:\w+=\S+\ )*(?:gh|git|npm|npx|go|cargo|env|cd|curl|docker|mise|python3?|bun|pnpm|yarn|make|sudo|ssh)\ .*(?:\ -|=|/)",
    )
});

/// How much a finding of a review matters.
static SEVERITY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)^(?:critical|high|medium|low|minor|major|nit|p[0-3])(?::| [—–-])")
});

/// A section of an answer, by its heading or by the line that announces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Section {
    #[default]
    Plain,
    /// What was changed.
    Done,
    /// What is proposed or left to do.
    Later,
}

static DONE_SECTION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:what\ (?:i\ )?(?:changed|did|added|shipped|landed)|(?:i|we)['’]?(?:ve)?\ (?:changed|added|patched|fixed|updated|implemented|made)|changes|changed
        |fixes|fixed|the\ fix|added|implemented|updated|done|summary\ of\ (?:the\ )?(?:fix|change|work)\w*)(?-u:\b)",
    )
});

static LATER_SECTION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:next|remaining|open|todo|follow-?ups?|left|plan(?:ned)?|proposal|proposed|options?|recommend\w*|suggest\w*|would|could|should|if|to\ do|paths?
        |approach(?:es)?|how\ to|trade-?offs?|questions?|alternatives?|experiments?|outcomes?|ideas?|steps|test\ plan|want|not\ (?:done|fixed|changed|in\ scope))(?-u:\b)",
    )
});

/// A clause of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clause {
    /// The text, on one line, without marks and secrets.
    pub(super) text: String,
    /// Whether it asks.
    pub(super) is_question: bool,
    /// Whether its sentence goes on.
    pub(super) is_cut: bool,
    /// The line of the message on which it begins, from 1.
    pub(super) line: usize,
    /// The section in which it stands.
    pub(super) section: Section,
}

/// Returns the clauses of a message, without code, tables and quoted output. A line that ends with a
/// colon announces what follows and is none.
pub(super) fn clauses(text: &str) -> Vec<Clause> {
    let text = safe(begin(text, READ));
    let text = LINK.replace_all(&text, told);
    let mut found: Vec<Clause> = Vec::new();
    let mut section = Section::Plain;
    let mut is_code = false;
    // A sentence that goes on in the next line, and the line on which it begins.
    let mut open: Option<(String, usize)> = None;
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        let is_fence = line.starts_with("```") || line.starts_with("~~~");
        is_code ^= is_fence;
        let is_pasted = line.starts_with(['|', '<', '{', '}', '+', '@', '$', '❯', '%', '>', ':']);
        let is_text = !is_fence && !is_code && !is_pasted && is_prose(line);
        let is_next = is_text && line.starts_with(char::is_lowercase);
        let has_ended = |begun: &str| begun.ends_with(['.', '!', '?']);
        if let Some((begun, at)) = open.take_if(|(begun, _)| !is_next || has_ended(begun)) {
            found.extend(sentences(&begun, at, section));
        }
        if !is_text {
            continue;
        }
        let bare = MARK.replace(line, "");
        let plain: String = bare.chars().filter(|c| !matches!(c, '`' | '*')).collect();
        let is_bold = line.starts_with("**") && line.ends_with("**");
        if line.starts_with('#') || plain.ends_with([':', '：']) || is_bold {
            section = if LATER_SECTION.is_match(&plain) {
                Section::Later
            } else if DONE_SECTION.is_match(&plain) {
                Section::Done
            } else {
                Section::Plain
            };
            if !line.starts_with('#') && !is_bold {
                // The sentences before the announcement.
                let end = END.find_iter(&plain).last().map_or(0, |end| end.end());
                found.extend(sentences(&plain[..end], number, Section::Plain));
            }
            continue;
        }
        match &mut open {
            Some((begun, _)) => {
                begun.push(' ');
                begun.push_str(&plain);
            }
            None => open = Some((plain, number)),
        }
    }
    if let Some((begun, at)) = open {
        found.extend(sentences(&begun, at, section));
    }
    found
}

/// Whether a line consists mostly of words.
fn is_prose(line: &str) -> bool {
    let (mut letters, mut all) = (0, 0);
    for c in line.chars() {
        all += 1;
        letters += usize::from(c.is_alphabetic() || c == ' ');
    }
    all > 0 && letters * 10 >= all * 7
}

fn sentences(text: &str, line: usize, section: Section) -> Vec<Clause> {
    let mut found = Vec::new();
    let mut from = 0;
    let is_end = |end: &regex::Match<'_>| {
        let before = &text[..end.start()];
        !ABBREVIATIONS.iter().any(|short| before.ends_with(short))
    };
    let ends = END.find_iter(text).filter(is_end).map(|end| end.end());
    for end in ends.chain([text.len()]) {
        found.extend(clause(&text[from..end], line, section));
        from = end;
    }
    found
}

/// Returns a sentence as a clause; of a long one the part before a dash, a colon or the like, or
/// else its beginning.
fn clause(text: &str, line: usize, section: Section) -> Option<Clause> {
    let text = text.trim();
    let is_question = text.ends_with(['?', '？']);
    let count = |text: &str| text.split_whitespace().count();
    let mut is_cut = false;
    let text = if count(text) > MOST_WORDS {
        let parts = BREAK.find_iter(text).map(|end| &text[..end.start()]);
        let fitting = parts.filter(|part| (LEAST_WORDS..=MOST_WORDS).contains(&count(part)));
        match fitting.last() {
            Some(part) => part.to_owned(),
            None => {
                is_cut = true;
                let words: Vec<&str> = text.split_whitespace().take(MOST_WORDS).collect();
                format!("{}…", words.join(" "))
            }
        }
    } else {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = text.trim_end_matches([';', ',', ' ', ':', '—', '–']);
    (!text.is_empty()).then(|| Clause {
        text: text.to_owned(),
        is_question,
        is_cut,
        line,
        section,
    })
}

/// Returns a request without the words before it.
pub(in crate::core::insight) fn without_request(mut text: &str) -> &str {
    while let Some(lead) = REQUEST.find(text) {
        text = &text[lead.end()..];
    }
    text
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

/// Whether a request can be understood without what was said before it, and is nothing pasted.
pub(super) fn asks_alone(clause: &Clause, text: &str) -> bool {
    let is_pasted = !clause.is_question && PASTED.is_match(text);
    stands_alone(text) && !POINTS_BACK.is_match(text) && !is_pasted
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

/// Returns what an answer offers: what stands behind the number or letter, or the last offer.
pub(super) fn offer(text: &str, reply: Reply) -> Option<Clause> {
    match reply {
        Reply::Consent => {
            let is_offer = |found: &Clause| found.is_question || OFFER.is_match(&found.text);
            clauses(text).into_iter().rev().find(is_offer)
        }
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

/// Whether a clause of a report says that something was taken back.
pub(super) fn is_undone(text: &str) -> bool {
    UNDONE.is_match(text)
}

/// Returns what a clause of a request is: a choice of the person, or else something asked.
pub(super) fn request_kind(clause: &Clause) -> PointKind {
    if !clause.is_question && WILL.is_match(&clause.text) && !ASKS.is_match(&clause.text) {
        PointKind::Decided
    } else {
        PointKind::Asked
    }
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
    if clause.section == Section::Later || NO_FACT.is_match(text) {
        return None;
    }
    let has_reason = REASON.is_match(text);
    let first = text.split(' ').next().unwrap_or_default();
    let is_letter = |c: char| c.is_alphabetic() && !c.is_lowercase();
    let is_sentence = first.contains(is_letter) || first.contains(['.', '/', '_', '(']);
    let is_finding = SEVERITY.is_match(text);
    let done = DONE.captures(text).and_then(|found| {
        let verb = found.name("verb").or_else(|| found.name("small"))?;
        let verb = verb.as_str().to_lowercase();
        let is_none = NO_VERBS.contains(&verb.as_str()) || verb.starts_with("un");
        (!is_none).then_some(verb)
    });
    let has_looked = done.as_ref().is_some_and(|verb| LOOKED.is_match(verb));
    let has_other_way = done.is_some() && OTHER_WAY.is_match(text);
    if is_sentence && (has_reason && CHOICE.is_match(text) || has_other_way) {
        Some(PointKind::Decided)
    } else if PASSED.is_match(text) {
        None
    } else if has_looked || is_finding {
        Some(PointKind::Found)
    } else if done.is_some()
        || CHANGED.is_match(text) && !BUT.is_match(text)
        || clause.section == Section::Done && CHANGED_FILE.is_match(text)
    {
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
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        clauses(text).into_iter().map(|found| found.text).collect()
    }

    #[test]
    fn a_message_is_divided_at_sentences_without_code_tables_and_marks() {
        let text = "## What shipped\n\n- **Added** `retry` to [the client](src/a.rs:3). It waits — at most 5 s.\n\
                    | a | b |\n```\nlet x = 1;\n```\nThis is it. The rest:\n1. Tests pass: All of them.\n{\"a\":1}\n";
        assert_eq!(
            texts(text),
            [
                "Added retry to the client.",
                "It waits — at most 5 s.",
                "This is it.",
                "Tests pass: All of them.",
            ]
        );
        assert!(texts("").is_empty());
        assert_eq!(texts("Why? [image: a dog]"), ["Why?"]);
        assert_eq!(
            texts("Use a lock, e.g. a file; "),
            ["Use a lock, e.g. a file"]
        );
        assert_eq!(texts("a line that\ngoes on"), ["a line that goes on"]);
        assert_eq!(
            texts("첫째 문장。둘째 문장。"),
            ["첫째 문장。", "둘째 문장。"]
        );
        let see = "see https://example.org/o/r/pull/66 for it";
        assert_eq!(texts(see), ["see pull/66 for it"]);
    }

    #[test]
    fn a_clause_knows_its_line() {
        let lines: Vec<usize> = clauses("One is here.\n\n- Two. Three.\nand\nmore")
            .iter()
            .map(|found| found.line)
            .collect();
        assert_eq!(lines, [1, 3, 3, 4]);
    }

    #[test]
    fn a_long_clause_is_cut_and_says_so() {
        let found = texts(&"word ".repeat(50));
        assert_eq!(found.len(), 1);
        assert!(found[0].ends_with("word…"), "{found:?}");
        assert_eq!(found[0].split(' ').count(), MOST_WORDS);
        let found = texts(&format!(
            "The lock is removed when it ends — {}",
            "word ".repeat(30)
        ));
        assert_eq!(found, ["The lock is removed when it ends"]);
    }

    #[test]
    fn a_secret_is_masked_before_its_message_is_divided() {
        let found = texts("Use ghp_16C7e42F292c6912E7710c838347Ae178B4a. Done.").join(" ");
        assert!(!found.contains("16C7e42F292c6912"), "{found}");
        assert!(found.contains("Done."), "{found}");
    }

    #[test]
    fn a_report_is_known_by_its_words() {
        use PointKind::{Decided, Done, Found, Open};
        for (text, kind) in [
            ("Added a retry to the client", Some(Done)),
            ("I've moved the parser into its own file.", Some(Done)),
            ("`src/a.rs` — added the lock", Some(Done)),
            ("The client now waits for the lock", Some(Done)),
            ("The root cause is a stale lock", Some(Found)),
            ("Confirmed the race in rotate()", Some(Found)),
            ("High: the lock is now never removed", Some(Found)),
            ("`readAll` doesn't close the file", Some(Found)),
            ("We kept the lock because two tabs share it", Some(Decided)),
            ("Used a queue instead of a lock", Some(Decided)),
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
        let listed =
            clauses("## Changes\n- a.rs: emits the tag of a release\n## Next steps\n- Added later");
        let kinds: Vec<_> = listed.iter().map(report_kind).collect();
        assert_eq!(kinds, [Some(Done), None]);
    }

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
            ("let's go with a queue", PointKind::Decided),
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
