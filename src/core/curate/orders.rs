//! Text that reads like orders to the agent that are not the user's: to ignore its instructions,
//! to hide something from the user, to send data away, to run what it downloads.
//!
//! Memories are full of instructions ("never push to main"); those are what they are for. What is
//! reported takes the agent away from its user. Text that speaks about such attacks is not one.

use std::sync::LazyLock;

use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use super::document::Document;
use super::{Collection, Evidence, Found, Report, Rule, Severity};

pub(super) const RULE: Rule = Rule {
    id: "orders",
    severity: Severity::Error,
    about: "text that reads like orders to the agent against its user",
    check,
};

/// Each pattern with what it does to the agent. `_` stands for blanks, `~` for a few words of the
/// same sentence; after a backslash and in a class they stand for themselves.
const PATTERNS: &[(&str, &str)] = &[
    (
        "tells the agent to ignore its instructions",
        r"\b(?:ignore|disregard|forget|override|bypass|neglect|skip|set_aside|discard)_(?:~)?(?:previous|prior|above|earlier|preceding|existing|original|system|safety|all|any|your|every|other|user's|users'|developer's)_(?:~)?(?:instructions?|prompts?|rules|directives?|guidelines|guardrails|polic(?:y|ies)|constraints|restrictions|commands)\b",
    ),
    (
        "tells the agent to ignore its instructions",
        r"\b(?:your|the|all|prior|previous|earlier)_(?:~)?(?:instructions?|rules|guidelines|restrictions|constraints)_(?:~)?(?:no_longer_apply|do_not_apply|are_(?:now_)?(?:void|suspended|lifted|revoked|disabled))\b",
    ),
    (
        "tells the agent to ignore its instructions",
        r"\b(?:ignoriere|ignorieren_sie|vergiss|vergessen_sie|missachte)\b~(?:anweisung|anleitung|regel|vorgabe)\w*|\b(?:ignore[zr]?|oublie[zr]?)\b~(?:instructions|consignes|règles)_~?(?:précédentes|antérieures|ci-dessus)|\b(?:ignora|olvida|descarta|ignore|esqueça|esquece|dimentica)\b~(?:instrucciones|instruções|istruzioni|reglas|regras|regole)\b|(?:игнорируй|забудь|проигнорируй)\S*~(?:инструкци|указани|правил)\S*|\b(?:negeer|vergeet)\b~(?:instructies|regels)\b|\b(?:zignoruj|zapomnij)\b~(?:instrukcj|polece)\w*|(?:önceki|tüm)~(?:talimat|komut)\S*~(?:yok_say|görmezden|unut)",
    ),
    (
        "tells the agent to ignore its instructions",
        r"(?:忽略|无视|無視|忘记|忘記)[^。\n]{0,16}(?:指令|指示|提示|规则|規則|说明)|(?:指示|命令|ルール|プロンプト)[^。\n]{0,8}(?:無視|忘れ)|(?:지시|명령|규칙|프롬프트)[^.\n]{0,10}(?:무시|잊어)",
    ),
    (
        "makes the agent someone else",
        r"\b(?:you_are_now|from_now_on,?_you(?:_are|_will|_must|'re)|you_will_now_act|pretend_(?:to_be|that_you|you)|act_as_(?:if_you|an_unrestricted|a_jailbroken|DAN)|enter_(?:developer|god|jailbreak|unrestricted|debug)_mode|developer_mode_(?:enabled|on)|jailbreak_mode)\b",
    ),
    (
        "hides something from the user",
        r"\b(?:do_not|don't|don’t|never|without|avoid)_(?:~)?(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?|notify(?:ing)?|alert(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|ask(?:ing)?|show(?:ing)?|report(?:ing)?_(?:this|it|that)_to|warn(?:ing)?|let(?:ting)?)_(?:~)?(?:the_)?(?:user|human|person|developer|operator|owner|anyone)\b(?:_(?:about_(?:this|it|that|these)|of_this|that|know|first|for_(?:permission|confirmation|approval)|what|when|why)|:)|\b(?:never|do_not|don't|don’t)_(?:reveal|mention|disclose|show|admit|report)_(?:this|these|it|that)_~?to_(?:the_)?(?:user|human|developer|operator|owner|anyone)\b",
    ),
    (
        "hides something from the user",
        r"\b(?:keep|do)_(?:this|it|that)_(?:a_)?(?:secret|hidden|quiet(?:ly)?|silent(?:ly)?|secretly|covertly)(?:_from_(?:the_)?(?:user|human|developer|owner))?\b|\b(?:hide|conceal)_(?:~)?from_(?:the_)?(?:user|human|developer|reviewer|owner|operator)\b|\b(?:silently|secretly|quietly|covertly)_(?:send|upload|post|copy|exfiltrate|add|insert|append|include|run|execute|push|forward|commit|install|download|grant|disable|approve)\b",
    ),
    (
        "sends data away",
        r"\b(?:exfiltrat\w+|(?:send|post|upload|forward|transmit|leak|copy|email|report)_(?:~)?(?:secrets?|credentials?|passwords?|(?:(?:api|ssh|private|access|signing|deploy)[ _-]?)?(?:keys?|tokens?)|\.env|env(?:ironment)?_(?:file|variables?)|ssh_keys?|cookies|conversation|chat_history|source_code|code_?base|contents?_of|system_prompt|memory|session)\b~?\b(?:to|at|via|into)_~?(?:https?://|\S+@\S+\.\w+|webhook|\S+\.(?:com|net|org|io|xyz|ru|site|dev|app)\b|(?:this|an|the|our)_(?:external|remote)))",
    ),
    (
        "sends data away",
        r"\b(?:curl|wget|nc|invoke-webrequest|fetch)\b[^\n]{0,90}(?:-d|--data\S*|--post-file|-F|--upload-file|-T|\?\w+=)[^\n]{0,60}(?:\$\(|`|@\~?/?|\$\{?)[^\n]{0,40}(?:\.env|\.ssh|id\_rsa|id\_ed25519|secret|token|password|credentials|\.aws|api\_key|/etc/passwd|printenv|\benv\b)",
    ),
    (
        "sends data away",
        r"(?:cat|base64|tar|zip)\b[^\n|]{0,60}(?:\.env\b|\.ssh\b|id\_rsa|id\_ed25519|credentials|\.aws\b|\.netrc|\.npmrc)[^\n]{0,80}\|[^\n]{0,60}(?:curl|wget|nc|ncat|openssl_s_client)\b",
    ),
    (
        "sends data away",
        r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{0,90}(?:\{\{|\$\{|\{|=)(?:secret|token|key|data|env|conversation|password|history|prompt|api\_key)\b",
    ),
    (
        "runs what it downloads",
        r"\b(?:curl|wget|iwr|invoke-webrequest)\b[^\n|]{0,90}\|_{0,1}(?:sudo_)?(?:ba|z|da)?sh\b~?(?:before|first|at_the_start|every|each|always|on_startup|then_continue|silently|whenever)|(?:before|at_the_start_of|whenever|every_time|each_time|always|first|on_startup)\b~?(?:run|execute|pipe)?~?[`'\x22]?(?:curl|wget|iwr)\b[^\n|]{0,90}\|_{0,1}(?:sudo_)?(?:ba|z|da)?sh\b",
    ),
    (
        "runs what it downloads",
        r"\b(?:echo|printf)_\S{16,}_?\|_?base64_(?:-d|-D|--decode)\S*_?\|_?(?:sudo_)?(?:ba|z|da)?sh\b|\beval_['\x22]?\$\((?:curl|wget|echo_\S{16,}_?\|_?base64)|bash_-[ic]_['\x22>]?[^\n]{0,30}/dev/tcp/|powershell\S*_[^\n]{0,40}-e(?:nc|ncodedcommand)?_[A-Za-z0-9+/=]{20,}",
    ),
    (
        "takes protection away",
        r"\b(?:disable|turn_off|switch_off|remove|bypass|weaken|circumvent|skip)_(?:~)?(?:security_(?:check|scan|control|warning|polic|review|feature)\w*|permission_(?:check|prompt)s?|safety_(?:check|filter|guard|feature|measure|protocol)\w*|guardrails|sandbox(?:ing)?_(?:checks?|restrictions?)|content_filters?|approval_(?:step|prompt|check)s?|authentication_checks?)\b~?\b(?:without|silently|quietly|and_do_not|and_don't|so_that_the_user|whenever|for_(?:all|every)|permanently|in_(?:all|every))",
    ),
    (
        "takes protection away",
        r"\b(?:auto(?:matically)?[ -]?(?:approve|accept|confirm)|always_(?:approve|accept|say_yes|answer_yes|grant|allow))_(?:~)?(?:every|all|any|each)_(?:~)?(?:requests?|commands?|permissions?|prompts?|tool_calls?|actions?|changes?)\b",
    ),
    (
        "takes protection away",
        r"\b(?:add|insert|append|include|plant|inject|leave|introduce|hide|create)_(?:a_|an_|the_)?(?:hidden_|subtle_|small_)?(?:backdoors?|malware|keylogger|reverse_shell|malicious\s\w+|vulnerabilit(?:y|ies))\b",
    ),
    (
        "asks for what the agent was told",
        r"\b(?:reveal|print|repeat|output|show|disclose|dump|leak|share)_(?:~)?(?:your|the|its)_(?:~)?(?:system|hidden|initial|original|secret)_(?:prompt|instructions?|message)\b",
    ),
    (
        "speaks as the system",
        r"(?m)^\s*(?:<\|?(?:system|im\_start|im\_end|assistant|endoftext)\|?>|\[/?INST\]|<<SYS>>|<system(?:-|_)?(?:prompt|message|override|instruction)s?>|\[?(?:system|admin|developer)_(?:override|instruction|directive)s?\]?\s*[:>\]]|###_?(?:system|new_instructions?|admin)\b_?:)",
    ),
    (
        "speaks as the system",
        r"\b(?:new|updated|revised|additional|secret|hidden|important_new)_(?:system_)?(?:instructions?|directives?|orders)_(?:for_(?:the_)?(?:ai|assistant|agent|model|claude|llm|copilot|codex|gemini))\b|(?:<!--|\[//\]:)\s*(?:ai|assistant|agent|claude|llm|model|copilot|codex|system|instructions?)\b[^\n]{0,12}[:,]|\b(?:attention|note_to|message_to|to|dear|hey|instructions?_(?:for|to)|important(?:_for)?)_(?:all_)?(?:ai|llm|language_model)s?(?:_(?:assistants?|agents?|models?))?\s*:",
    ),
];

/// How many words `~` stands for: a few of one sentence.
const FEW: &str = r"(?:[ \t\r\n]*(?:[^\s!?;]*[^\s.!?;][ \t\r\n]+){0,6}?)";

fn expanded(pattern: &str) -> String {
    let blanks = r"(?:[ \t\r\n]+)";
    let mut out = String::new();
    let mut in_class = false;
    let mut escaped = false;
    for c in pattern.chars() {
        match c {
            '[' if !escaped => in_class = true,
            ']' if !escaped => in_class = false,
            _ => {}
        }
        match c {
            '_' if !in_class && !escaped => out.push_str(blanks),
            '~' if !in_class && !escaped => out.push_str(FEW),
            c => out.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    out
}

static SET: LazyLock<RegexSet> = LazyLock::new(|| {
    let patterns = PATTERNS.iter().map(|(_, pattern)| expanded(pattern));
    RegexSetBuilder::new(patterns)
        .case_insensitive(true)
        .size_limit(64 << 20)
        .dfa_size_limit(64 << 20)
        .build()
        .expect("valid patterns")
});

static EACH: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let build = |(_, pattern): &(&str, &str)| {
        RegexBuilder::new(&expanded(pattern))
            .case_insensitive(true)
            .size_limit(64 << 20)
            .build()
            .expect("a valid pattern")
    };
    PATTERNS.iter().map(build).collect()
});

/// Words of text that speaks about attacks instead of being one.
static ABOUT: LazyLock<Regex> = LazyLock::new(|| {
    RegexBuilder::new(
        r"\b(?:prompt[ -]?injections?|jailbreaks?|attack(?:s|er|ers)?|malicious|adversar\w+|phishing|red[ -]team\w*|payloads?|exploits?|untrusted|sanitiz\w+|detect(?:s|ed|ion|ing)?|scanner|blocklist|refus(?:e|es|ed)|reject(?:s|ed)?|poison(?:ed|ing)?|threat|owasp|such as|for example|e\.g\.|test(?:s|ed|ing)? (?:case|that|for)|fixture|regex|pattern)\b|注入|攻击|인젝션|공격|インジェクション|攻撃",
    )
    .case_insensitive(true)
    .build()
    .expect("a valid pattern")
});

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        for document in &store.documents {
            for (what, at) in orders(document) {
                let line = document.line_at(at);
                let found = Found {
                    line: Some(line),
                    subject: what.to_owned(),
                    message: format!("{what}: it may not be the user who wrote this"),
                    evidence: vec![Evidence::line(store, document, line)],
                    fix: None,
                };
                report.add(number, &document.memory.path, found);
            }
        }
    }
}

/// The orders in a text, each kind once, with its offset.
fn orders(document: &Document) -> Vec<(&'static str, usize)> {
    let text = &document.text;
    let mut found: Vec<(&'static str, usize)> = Vec::new();
    for number in SET.matches(text) {
        let what = PATTERNS[number].0;
        let order = EACH[number].find_iter(text).find(|order| {
            let sentence = document.sentence(&order.range());
            let quoted = is_quoted(text, order.start()) || document.is_code(order.start());
            let is_about = ABOUT.is_match(sentence);
            // A quotation needs the words near it; plain text that speaks of attacks names them
            // before the order.
            let named_before = || {
                let at = order.start().saturating_sub(document.offset_of(sentence));
                sentence
                    .get(..at)
                    .is_some_and(|before| ABOUT.is_match(before))
            };
            !(is_about && (quoted || named_before()))
        });
        if let Some(order) = order
            && !found.iter().any(|(known, _)| *known == what)
        {
            found.push((what, order.start()));
        }
    }
    found
}

/// Whether a quotation mark precedes the byte `at` on its line.
fn is_quoted(text: &str, at: usize) -> bool {
    let line = text[..at].rsplit('\n').next().unwrap_or_default();
    let open = ['"', '“', '«', '‘', '「'].iter();
    open.map(|mark| line.matches(*mark).count()).sum::<usize>() % 2 == 1
        || line.trim_start().starts_with('>')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::memory::Memory;

    fn found(text: &str) -> Vec<&'static str> {
        let document = Document::new(Memory::bare("a.md", 0), text.to_owned());
        orders(&document)
            .into_iter()
            .map(|(what, _)| what)
            .collect()
    }

    #[test]
    fn orders_against_the_user_are_found_and_text_about_them_is_not() {
        use super::super::tests::poison::{BAD, GOOD};
        let missed: Vec<&&str> = BAD.iter().filter(|text| found(text).is_empty()).collect();
        let documents = [
            include_str!("../../../README.md"),
            include_str!("../../../CHANGELOG.md"),
            include_str!("../../../assets/guides/memory-store-guide.md"),
            include_str!("../../../assets/guides/memory-recall-guide.md"),
        ];
        let paragraphs = documents.iter().flat_map(|text| text.split("\n\n"));
        let good = GOOD.iter().copied().chain(paragraphs);
        let wrong: Vec<&str> = good.filter(|text| !found(text).is_empty()).collect();
        assert!(
            missed.is_empty() && wrong.is_empty(),
            "{missed:#?} {wrong:#?}"
        );
    }
}
