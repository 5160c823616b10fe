//! Corrections: the person's words that correct what the agent did or said.
//!
//! A message is judged by signs in the person's own words, without quotations and pasted text, and
//! by what stands around it: whether the agent had done anything, whether it was interrupted, and
//! whether it then agrees that it was wrong. Signs add up, each further one less; what speaks for an
//! answer, a question, a joke or a report about the program is taken off. Below [`LEAST`] a message
//! is no correction.

use std::sync::LazyLock;

use regex::Regex;

use crate::core::text::clip;

/// A message of the person, and what stands around it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Turn<'a> {
    /// What the person says.
    pub said: &'a str,
    /// The agent's last words before it.
    pub reply: &'a str,
    /// Whether the agent had called a tool since the person's message before.
    pub has_acted: bool,
    /// Whether the person had interrupted the agent.
    pub is_interruption: bool,
    /// Whether the agent's next calls take something back.
    pub is_undone: bool,
    /// The agent's first words after it.
    pub answer: &'a str,
}

/// The least confidence with which a message is a correction, in percent.
pub const LEAST: u8 = 50;

/// The highest confidence: rules are never certain.
const MOST: f32 = 95.0;

/// How many bytes of the person's own words are judged, and of the agent's words around them.
const READ: usize = 400;
const READ_AROUND: usize = 160;

/// From this length on, a message is more than a correction; up to that one, behind a question, it is
/// an answer.
const LONG: usize = 1_200;
const SHORT: usize = 60;

/// How much of its weight each further sign adds.
const FURTHER: [f32; 6] = [1.0, 0.6, 0.4, 0.3, 0.2, 0.1];

/// What counts beside the words themselves.
const AGREED: f32 = 3.5;
const INTERRUPTED: f32 = 4.0;
const TOO_LONG: f32 = -3.0;
const UNDONE: f32 = 1.5;
const UNPROVOKED: f32 = -2.0;
const ANSWERED: f32 = -2.0;

/// A sign and its weight.
struct Sign(f32, Regex);

/// Compiles a pattern of this module; one that is wrong fails the tests.
fn pattern(text: &str) -> Regex {
    Regex::new(&format!("(?xim){text}")).expect("a valid pattern")
}

/// Signs of a correction, in the languages that people write to agents in.
static SIGNS: LazyLock<Vec<Sign>> = LazyLock::new(|| {
    let signs = [
        // The person's own earlier words.
        (
            8.0,
            r"\b(?:that['’]?s|this\ is|it['’]?s)\ not\ what\ i\b
            |\bi(?:['’]ve|\ have)?\ (?:already\ |just\ |never\ |\w+ly\ )?(?:told|asked|said|mentioned|did(?:n['’]?t|\ not)\ (?:tell|say|ask|want|mean))\b
            |\bhow\ (?:often|many\ times)\ (?:do|must|should)\ i\b|\b(?:as|like|what)\ i\ (?:said|meant|mean|asked|mentioned|told)\b
            |\bich\ (?:habe?|hatte)\ (?:\S+\ ){0,4}gesagt\b|\bich\ sagte\b|\bj['’]ai\ (?:déjà\ )?dit\b
            |\bte\ (?:he\ dicho|dije)\b|\beu\ (?:já\ )?disse\b|\bя\ (?:же\ )?(?:сказал|говорил|просил)
            |我(?:已经|不是)?(?:说过|说了|让你|要的是)|(?:と|って)言った|말했잖|라고\ 했",
        ),
        (
            7.0,
            r"\A(?:(?:no|nope|ok(?:ay)?|sorry|well|oh|ah|hm+|but)[,.\ ]+)*i\ mean(?:t|\ ?,)?\b|\bi\ meant\b|\bi\ mean[.!]?\z
            |\bich\ meinte?\b|\bje\ voulais\ dire\b|\bquiero\ decir\b|我的意思是|という意味",
        ),
        (
            6.0,
            r"\bi\ (?:actually\ )?(?:thought|assumed|expected|was\ (?:actually\ )?(?:assuming|expecting))\b
            |\bich\ dachte\b|\bje\ pensais\b|\bpensé\ que\b|我以为",
        ),
        // The agent's choice is questioned.
        (
            6.0,
            r"\bwhy\ (?:the\ \w+\ )?(?:are|aren['’]?t|do|don['’]?t|did|didn['’]?t|have|haven['’]?t|would|is|isn['’]?t)\ ?(?:you|we)\b|\bwhy\ you\b
            |\b(?:warum|wieso)\ (?:hast|machst|nutzt|verwendest|bist)\ du\b|\bpourquoi\ (?:as[-\ ]tu|tu)\b|\bpor\ qué\ (?:has|estás|lo)\b
            |\b(?:зачем|почему)\ ты\b|为什么(?:你|要|还)|なぜ|왜\ ",
        ),
        (
            5.0,
            r"\A(?:no|nope|nah|nein|non|нет|não|不|不对|不是|いや|違う|違います|아니|아뇨)(?:[,.!:;—–，。、\ -]|\z)",
        ),
        (
            4.0,
            r"\A(?:oh\ no|wait|hold\ on|stop|halt|warte|attends|espera)\b|\A(?:等等|待って|잠깐)",
        ),
        (
            6.0,
            r"\bstop\ (?:\w+ing|it|that|this)\b|\bhör\ auf\b|\barrête\b|\bdeja\ de\b|\bpare\ de\b|\bхватит\b|别再|やめて|하지\ ?마",
        ),
        // What the agent did, or did not.
        (
            6.0,
            r"\byou(?:['’]ve)?\ (?:just\ |again\ |still\ |also\ |only\ )?(?:forgot|missed|ignored|broke|committed|merged|pushed|ran|touched|removed|deleted|dropped|lost|skipped|marked|changed
            |added|put|used|made|updated|wrote|misunderst\w+|misread|keep|kept|shouldn['’]?t|should\ not|should\ have|were\ supposed|didn['’]?t|did\ not
            |haven['’]?t|have\ old|are\ (?:on|wrong|missing|not))\b
            |\byou(?:['’]?re|\ are)\ (?:just|only|still|again|always)\ \w+ing\b|\bisn['’]?t\ your\b|\byour\ \w+(?:\ \w+){0,4}\ (?:is|are)\ (?:wrong|just|not)\b
            |\bdu\ (?:hast|solltest)\b|\btu\ (?:as|n['’]as)\b|你(?:又|忘|没|不应该|把|错)",
        ),
        (
            6.0,
            r"\Awrong\b|\bthat['’]?s\ not\ [^,.]{1,30},\ (?:that|it)['’]?s\b
            |\b(?:that|this|it|which|we|you)(?:['’]?s|\ is|\ was|\ are|\ were|\ got?|\ had|\ have|\ did)\ (?:this\ |it\ |that\ |all\ )?
            (?:completely\ |totally\ |just\ |still\ )?(?:wrong|incorrect|not\ (?:right|correct|true|the\ right|the\ appropriate|appropriate|what|how|needed|necessary))\b
            |\bis\ not\ the\ (?:right|appropriate|correct)\b|\b(?:falsch|faux|incorrecto|errado|неправильно)\b|错了|不对|間違|틀렸",
        ),
        (
            6.0,
            r"\A(?:(?:no|please|ok(?:ay)?|actually|hm+|can\ you|could\ you|let['’]?s|sorry|just)[,.\ ]+)*(?:revert|undo|roll\ ?back)\b
            |\b(?:change|put|set|switch|move|take)\ (?:it|that|this|them)\ back\b|\bput\ (?:\S+\ ){1,3}back\b|\bgo\ back\ (?:here\ )?to\ how\b
            |\brückgängig\b|\bannule\b|\bdeshaz\b|\bdesfaz\b|\bоткати\b|\bверни\b|撤销|回滚|改回|元に戻|되돌려",
        ),
        // It is not wanted, or otherwise.
        (
            5.0,
            r"\b(?:i|we)\ (?:really\ )?(?:do\ not|don['’]?t|didn['’]?t|never|wouldn['’]?t)\ (?:want|need|like|think\ we\ need|use)\b
            |\bno\ need\ (?:for|to)\b|\bwe\ no\ longer\b|\bnot\ sure\ i\ like\b
            |\bich\ will\ (?:kein\w*|nicht)\b|\bje\ ne\ veux\ pas\b|\bno\ quiero\b|\bnão\ quero\b|\bне\ нужно\b|不需要|不想|いらない|필요\ ?없",
        ),
        (
            5.0,
            r"(?:\A|[.!]\ )(?:please\ )?(?:do\ not|don['’]?t|never)\b|\bshould(?:n['’]?t|\ not|\ never)\b|\bmust\ not\b|\bnot\ supposed\ to\b|\b(?:is|are)\ never\b|不要|别",
        ),
        (
            4.0,
            r"\A[^?.!]{0,100}\S\S+\ (?:should|needs?\ to|must|has\ to|have\ to)\ (?:be|live|go|say|keep|use|call|rename|match|align|follow|stay|look|fail|only)\b[^?]*(?:\z|[.!])",
        ),
        (
            3.0,
            r"\binstead(?:\ of)?\b|,\ not\ |\brather\ than\b|\bstattdessen\b|\bau\ lieu\b|\ben\ lugar\b|\bem\ vez\b|\bвместо\b|而不是|じゃなくて|말고",
        ),
        (
            4.0,
            r"\A(?:(?:yeah|yes|ok(?:ay)?|hm+|and|ah)[,.\ ]+)?(?:but|aber|mais|pero|но)\b|\A但",
        ),
        (
            4.0,
            r"\A(?:\w+,\ )?you\ should\b|\A(?:can['’]?t|isn['’]?t|aren['’]?t|doesn['’]?t|shouldn['’]?t|couldn['’]?t|wouldn['’]?t)\b|\bdoesn['’]?t\ that\ mean\b|\bshouldn['’]?t\ (?:this|it|we|that|you|the)\b",
        ),
        (
            4.0,
            r"\bi['’]?m\ not\ sure\ (?:if|i\ follow|that|about|this)\b|\A(?:i\ )?not\ sure\ (?:why|i\ like)\b",
        ),
        (
            4.0,
            r"\A(?:(?:and|ok|also)\ )?i\ want\ (?:the|it|this|that|only|just|\S+\ to|to\ be\ able)\b",
        ),
        (
            3.0,
            r"\bagain\b(?:[.!:]|\z)|\bonce\ more\b|\bstill\ (?:not|too)\b|\bschon\ wieder\b|\bencore\ une\ fois\b|\botra\ vez\b|\bопять\b|又|また|또",
        ),
        (
            4.5,
            r"\bstill\ (?:using|doing|adding|failing|fails|there|wrong|the\ (?:same|old|wrong))\b",
        ),
        (
            4.0,
            r"\bremember\ (?:to|not|never|always|(?:that\ )?(?:we|you|i))\b|\bremember\ that[.!]?\z|\bremember:|\bfrom\ now\ on\b|\bnext\ time\b|\bmerk\ dir\b|\bà\ partir\ de\ maintenant\b|\ba\ partir\ de\ ahora\b|记住|以后",
        ),
        (
            3.0,
            r"\bi\ (?:only\ |just\ )?wanted\ (?:a|an|the|only|just)\b|\b(?:like|as)\ (?:everywhere|always|usual)\b|\bwe\ already\ have\b",
        ),
        (3.0, r"\bactually\b|\bpreviously\b|\bwe\ lost\b"),
        (
            3.0,
            r"\bfeel\ like\b|\btoo\ (?:long|much|verbose|many|short|complicated|big|small|hard|strong|harsh)\b",
        ),
    ];
    let signs = signs.into_iter();
    signs
        .map(|(weight, text)| Sign(weight, pattern(text)))
        .collect()
});

/// Signs that a message is something else: consent, a question, a request, a doubt, a joke, a report
/// about the program, somebody else's words.
static OTHERWISE: LazyLock<Vec<Sign>> = LazyLock::new(|| {
    let signs = [
        (
            -4.0,
            r"\A(?:yes|yeah|yep|yup|ok(?:ay)?|sure|perfect|great|good|fine|nice|thanks|thank\ you|it\ works|awesome|excellent|continue|go\ (?:ahead|on)|do\ it|cool|looks\ good|lgtm|ja|oui|sí|да)\b|\A(?:好|はい|네)",
        ),
        (
            -3.0,
            r"\A(?:(?:so|and|ok(?:ay)?|hm+|(?:one\ )?question|also|or|now)[:,.\ ]+)*(?:is|are|does|do|what|how|which|when|where|who|could|can|would|will|did|has|have|any\w*)\ [^.]*\??\z",
        ),
        (
            -3.0,
            r"\A(?:(?:so|and|ok(?:ay)?|hm+|also|please|now|then)[:,.\ ]+)*(?:can|could|would)\ (?:you|we|i)\b",
        ),
        (-2.0, r"\Abut\ (?:what|how|why|where|one\ more)\b"),
        (
            -3.0,
            r"\b(?:maybe|perhaps|might|i\ guess|i\ wonder|anything\ else)\b",
        ),
        (
            -5.0,
            r"\b(?:lol|(?:ha){2,}h?|hehe|(?:just\ )?kidding|jk|joking|rofl)\b|😂|🤣|😄|😅|;-?\)|:-?D\b",
        ),
        (-3.0, r":-?\)"),
        // A question out of interest, a plan, a state of things, praise.
        (
            -5.0,
            r"\b(?:just|only)\ (?:curious|asking|wondering|interested)\b|\bout\ of\ (?:curiosity|interest)\b|\blike\ to\ understand\b",
        ),
        (
            -5.0,
            r"\A(?:wait|hold\ on|stop)\ (?:for|until|till|at|after|before|when)\b
            |\Ano\ \w+(?:\ \w+){0,2}\ (?:exists?|is|are|was|were|found|left|available|yet)\b
            |\Ano\ (?:hay|existen?|tenemos|tiene)\b|\bi\ thought\ (?:about|of|over)\b
            |(?:\A|[,.!:]\ |\bis\ |['’]s\ )exactly\ (?:what|as|like|how)\ i\b",
        ),
        // What others made, or the program does. `…` stands for what was quoted.
        (
            -6.0,
            r"\b(?:upstream|whoever|(?:previous|former|original|old)\ (?:author|developer|contractor|maintainer|owner|team)s?|commit\ [0-9a-f]{6,40}|(?:release|version)\ v?\d+)\b
            |\b(?:revert|undo|roll\ ?back)\ (?:(?-i:[A-Z][a-z]+)['’]s\b|(?:\S+\ ){1,4}(?:of|from)\ (?:last|yesterday|this)\b)
            |\b(?:that|what)\ (?:(?:the|our)(?:\ \w+){1,2}|(?-i:[A-Z][a-z]+))\ (?:\w+ed|set|made|wrote|did|put|built)\b|\b(?:revert|undo|roll\ ?back)\ [^.,]*\ by\ (?:the\ )?\w
            |\A\S+(?:\ \S+){0,3}\ (?:says|states|requires|recommends)\b
            |\b(?:librar(?:y|ies)|framework|plugin|vendor|v\d\S*|version\ \d\S*)\ (?:\w+\ ){0,2}(?:removed|renamed|changed|dropped|deprecated|made|broke)\b",
        ),
        (
            -3.0,
            r"\A(?:the|our|those|these)\ (?:\S+\ ){1,4}(?:is|are)\ (?:wrong|incorrect|broken|not)\b|\b(?:it|they|which)\ (?:should(?:n['’]?t|\ not|\ never)|must\ not|(?:is|are)\ not\ supposed)\b
            |\bthat\ should\ (?:not|never)\ happen\b|\A(?:the|our)\ (?:\w+\ ){1,3}(?:stor|skip|delet|ignor|accept|reject|send|load|sav|dropp?|los|show|hid|clos|open)(?:s|es|ed|ped)\b
            |\bsince\ (?-i:[A-Z]|\d|last|yesterday|the)|\A(?:we|i|it|you)\ also\b|\Anext\b|\ be\ …",
        ),
        (
            -4.0,
            r"\b(?:crash(?:es|ed)?|errors?|exception|stack\ ?trace|bugs?|segfault|panics|timeouts?|not\ working
            |does(?:n['’]?t|\ not)\ (?:work|show|load|start|render|compile|open|save|update)|returns|prints|throws|displays|outputs|renders|shows)\b",
        ),
        (-2.0, r"\b(?:fails?|failed|broken|regression)\b"),
        (
            -8.0,
            r"(?:\bno|n['’]?t)\ need\ to\ (?:worry|apologi[sz]e|hurry|rush|wait)\b|\bno\ (?:problem|worries|issues?|rush|idea|comments?|more\ \w+)\b
            |\Ano\ te\ preocupes\b|\A(?:do\ not|don['’]?t|never)\ (?:worry|mind|bother|panic)\b
            |\A(?:no|nope),?\ (?:then|that['’]?s\ (?:fine|good|ok|all|it)|thanks|thank\ you|it['’]?s\ (?:fine|good|ok)|not\ (?:yet|now))\b",
        ),
        (
            -6.0,
            r"\b(?:he|she|they|someone|somebody|docs?|documentation|readme|guide|reviewers?|maintainers?|customers?|users?|client|boss|manager|lead|colleague|teacher|comment|issue|feedback|linter|compiler|article|spec|ticket|quote|song|book|movie)(?:\ (?:from|of|in|on)\ \S+)?
            \ (?:just\ |also\ |keeps\ )?(?:say|says|said|saying|wrote|writes|told|tells|asks|asked|claims?|complains?)\b",
        ),
    ];
    let signs = signs.into_iter();
    signs
        .map(|(weight, text)| Sign(weight, pattern(text)))
        .collect()
});

/// How an agent begins that sees that it was wrong.
static AGREES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\byou(?:['’]re|\ are)\ (?:absolutely\ |completely\ |totally\ |quite\ )?(?:right|correct)\b|\bsorry\b|\bapologi[sz]e|\bmy\ (?:mistake|bad|error)\b
        |\bgood\ (?:catch|call|point)\b|\bfair\b|\bi\ (?:misunderst\w+|misread|was\ (?:wrong|sloppy)|over-?corrected|should(?:n['’]?t|\ not)?\ have)\b
        |\bthat\ was\ (?:wrong|my)\b|\A(?:understood|right)\b|\bcaught\ a\b|\bfixes\ my\b|\bentschuldig|\bdu\ hast\ recht\b|\bdésolé\b|\btu\ as\ raison\b|\blo\ siento\b
        |\btienes\ razón\b|\bизвини|\bты\ прав|抱歉|你说得对|申し訳|すみません|죄송",
    )
});

/// How an answer begins that refuses what was asked.
static REFUSES: LazyLock<Regex> = LazyLock::new(|| pattern(r"\A(?:no|do\ not|don['’]?t|never)"));

/// A line that a program or another agent has written.
static PASTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\A(?:❯|\$\ |>|\#\#|\*\*|\||\d+\.\ (?:high|medium|low|\*\*)|[-•]\ (?:high|medium|low)\b|\[|(?:error|fatal|warning|traceback|panic)\b|at\ \S+\(|time=|---|\+\+\+|@@)
        |\b(?:high|medium|low)\ severity\b|\blevel=|\{\{|=>|:=",
    )
});

/// Words in quotation marks, and those behind a word that says that a text follows.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#""[^"\n]*\ [^"\n]*"|“[^”\n]*\ [^”\n]*”|«[^»\n]*»|„[^“”\n]*[“”]|‘[^’\n]*\ [^’\n]*’
        |(?<before>\A|[\s(:])'[^'\s](?:[^'\n]|\w'\w)*\ (?:[^'\n]|\w'\w)*'(?<after>[\s.,;:!?)]|\z)
        |\b(?:heading|title|text|label|caption|subject\ line|prompt|stanza|sentence)(?:\ (?:of|for|on)(?:\ \S+){1,3})?(?:\ (?:should|must|shall))?(?:\ (?:read|say|be|is|reads|says))?:\ .+"#,
    )
});

/// What the person said to somebody else.
static TOLD_OTHERS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\bi\ (?:\w+\ )?(?:told|asked)\ (?:my|our|the|him|her|them|everyone|everybody|(?-i:[A-Z][a-z]+))\b",
    )
});

/// Returns with which confidence a message is a correction, in percent; `None` if it is none.
pub fn confidence(turn: &Turn<'_>) -> Option<u8> {
    let words = own_words(turn.said);
    let words = TOLD_OTHERS.replace_all(&words, "…");
    let words = clip(&words, READ);
    let mut weights: Vec<f32> = SIGNS
        .iter()
        .filter(|Sign(_, sign)| sign.is_match(words))
        .map(|Sign(weight, _)| *weight)
        .collect();
    if weights.is_empty() && !turn.is_interruption {
        return None;
    }
    weights.sort_by(|a, b| b.total_cmp(a));
    let mut score: f32 = weights.iter().zip(FURTHER).map(|(w, part)| w * part).sum();
    let first = words.lines().next().unwrap_or_default();
    let begin = clip(first, READ_AROUND);
    let against = OTHERWISE
        .iter()
        .filter(|Sign(_, sign)| sign.is_match(begin));
    score += against.map(|Sign(weight, _)| *weight).sum::<f32>();
    let is_no = REFUSES.is_match(first);
    let is_answer = is_no || words.len() <= SHORT;
    let tail = turn.reply.len().saturating_sub(READ_AROUND);
    let tail = turn.reply.get(tail..).unwrap_or(turn.reply);
    for (counts, weight) in [
        (AGREES.is_match(clip(turn.answer, READ_AROUND)), AGREED),
        (turn.is_interruption, INTERRUPTED),
        (turn.is_undone, UNDONE),
        (is_no && tail.contains('?'), ANSWERED),
        (is_answer && tail.trim_end().ends_with('?'), ANSWERED),
        (turn.said.len() > LONG, TOO_LONG),
        (turn.reply.is_empty() && !turn.has_acted, UNPROVOKED),
    ] {
        if counts {
            score += weight;
        }
    }
    let percent = (score * 10.0 + 10.0).min(MOST);
    (percent >= f32::from(LEAST)).then_some(percent as u8)
}

/// Returns the person's own words: without code, quotations and what is pasted, which ends them.
pub fn own_words(said: &str) -> String {
    let mut own = String::new();
    let mut is_code = false;
    for line in said.lines().map(str::trim) {
        if line.starts_with("```") {
            is_code = !is_code;
            continue;
        }
        if is_code || line.is_empty() {
            continue;
        }
        if PASTED.is_match(line) {
            if line.starts_with('>') {
                continue;
            }
            break;
        }
        if !own.is_empty() {
            own.push('\n');
        }
        own.push_str(&QUOTED.replace_all(line, "${before}…${after}"));
        if own.len() > READ {
            break;
        }
    }
    own
}

#[cfg(test)]
mod tests;
