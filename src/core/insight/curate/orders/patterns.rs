//! The patterns of orders against the user, each with what it does to the agent.
//!
//! `_` stands for blanks, `~` for a few words of the same sentence; after a backslash and in a
//! class they stand for themselves. Case is ignored.

/// How an order is found.
pub(super) struct Pattern {
    /// What it does to the agent.
    pub(super) does: &'static str,
    /// Words of which one is in every order that the pattern finds; they are searched first.
    pub(super) words: &'static [&'static str],
    /// The pattern.
    pub(super) pattern: &'static str,
}

const IGNORE: &str = "tells the agent to ignore its instructions";
const BECOME: &str = "makes the agent someone else";
const HIDE: &str = "hides something from the user";
const SEND: &str = "sends data away";
const RUN: &str = "runs what it downloads";
const UNPROTECT: &str = "takes protection away";
const ASK: &str = "asks for what the agent was told";
const SPEAK: &str = "speaks as the system";
const SPREAD: &str = "makes copies of itself, or resists deletion";
const LIE: &str = "makes the agent lie";
const PROMOTE: &str = "makes the agent promote something";

#[rustfmt::skip] // The words of a pattern on one line.
pub(super) const PATTERNS: &[Pattern] = &[
    Pattern {
        does: IGNORE,
        words: &["ignore", "disregard", "forget", "override", "bypass", "neglect", "skip", "aside", "discard"],
        pattern: r"\b(?:ignore|disregard|forget|override|bypass|neglect|skip|set_aside|discard)_(?:~)?(?:previous|prior|above|earlier|preceding|existing|original|system|safety|all|any|your|every|other|user's|users'|developer's)_(?:~)?(?:instructions?|prompts?|rules|directives?|guidelines|guardrails|polic(?:y|ies)|constraints|restrictions|commands)\b",
    },
    Pattern {
        does: IGNORE,
        words: &["apply", "void", "suspended", "lifted", "revoked", "disabled", "turned", "switched"],
        pattern: r"\b(?:your|the|all|prior|previous|earlier)_(?:~)?(?:instructions?|rules|guidelines|restrictions|constraints)_(?:in_\S+_)?(?:no_longer_apply;?_(?:follow|obey|use)|do_not_apply_to_you|are_(?:now_)?(?:void|suspended|lifted|revoked|disabled))\b|\byour_(?:~)?(?:instructions?|rules|guidelines|restrictions|constraints)_(?:~)?(?:no_longer_apply|do_not_apply)\b|\b(?:safety|content|security)_(?:filters?|rules|guidelines|polic(?:y|ies))_(?:~)?(?:no_longer_apply|(?:are|is|have_been)_(?:now_)?(?:turned_off|switched_off|disabled|lifted|suspended))\b",
    },
    Pattern {
        does: IGNORE,
        words: &["disregard", "ignore", "forget", "discard", "longer", "only", "follow", "obey", "trust", "listen"],
        pattern: r"\b(?:ignore|disregard|forget|discard)_the_(?:rules|instructions?|guidelines|polic(?:y|ies))_(?:that_)?you_(?:were|have|had|got)\b|\byou_no_longer_need_(?:~)?(?:approval|permission|confirmation)\b|\b(?:ignore|disregard|forget)_(?:the_)?(?:text_above|(?:system|developer)_(?:prompt|message)|(?:claude|agents|gemini|copilot-instructions)\.md)\b|\bforget_(?:everything|all|anything)_(?:~)?(?:above|before|told|said|instructed|learned)\b|\b(?:obey|follow|trust|listen_to|believe)_only_(?:to_)?(?:this|these|what_this|messages?_(?:signed|from)|the_following)\b|\bdo_not_(?:follow|obey|trust|listen_to)_the_(?:user|user's|human|owner|developer)\b",
    },
    Pattern {
        does: IGNORE,
        words: &["priority", "precedence", "your new", "your real", "your true", "your actual", "your only", "your secret", "your hidden", "the real", "the true", "the actual", "the new", "the only", "the secret", "the hidden"],
        pattern: r"\b(?:this|these|the_following)_(?:~)?(?:instructions?|rules?|notes?|memor(?:y|ies)|messages?)_(?:~)?(?:(?:higher|highest|absolute|top)_priority|(?:precedence|priority)_over)_(?:~)?(?:instructions?|users?|system|developers?|others?|prompts?|guidelines)\b|\b(?:your|the)_(?:new|real|true|actual|only|secret|hidden)_(?:instructions?|goal|task|purpose|mission|orders|objective)_(?:is|are)(?::|_to)\b|\byour_new_(?:instructions?|orders)_are\b",
    },
    Pattern {
        does: IGNORE,
        words: &["ignor", "vergiss", "vergessen", "missachte", "oublie", "olvida", "descarta", "esque", "dimentica", "гнорируй", "абудь", "negeer", "vergeet", "zapom", "abaikan", "bỏ qua", "quên", "yok say", "görmezden", "unut", "befolge", "beachte", "obedece", "obéis", "obbedisci", "obedeça", "ігноруй"],
        pattern: r"\b(?:ignoriere|ignorieren_sie|vergiss|vergessen_sie|missachte)\b~(?:anweisung|anleitung|regel|vorgabe)\w*|\b(?:ignore[zr]?|oublie[zr]?)\b~(?:instructions|consignes|règles)_~?(?:précédentes|antérieures|ci-dessus)|\boublie[zr]?_(?:toutes_)?(?:tes|vos)_(?:instructions|consignes|règles)\b|\b(?:ignora|olvida|descarta|ignore|ignorem|esqueça|esquece|dimentica)\b~(?:instrucciones|instruções|istruzioni|reglas|regras|regole)\b|(?:игнорируй|забудь|проигнорируй|ігноруй)\S*~(?:инструкци|указани|правил|інструкці|вказівк)\S*|\b(?:negeer|vergeet)\b~(?:instructies|regels)\b|\b(?:zignoruj|zapomnij)\b~(?:instrukcj|polece|zasad)\w*|\b(?:ignoruj|zapomeň)\b~(?:pokyn|instrukc|pravid)\w*|\bignorera?\b~(?:instruktion|instruks|anvisning)\w*|\babaikan\b~(?:instruksi|perintah|aturan)\b|\b(?:bỏ_qua|quên)\b~(?:hướng_dẫn|chỉ_dẫn|lệnh|quy_tắc)|(?:önceki|tüm)~(?:talimat|komut|kural)\S*~(?:yok_say|görmezden|unut)|\b(?:befolge|beachte)_nur_(?:noch_)?(?:dies|das)\w*|\bobedece_(?:solo|sólo|únicamente)\b|\bn'obéis_qu'|\bobbedisci_solo\b|\bobedeça_(?:apenas|só|somente)\b",
    },
    Pattern {
        does: IGNORE,
        words: &["忽略", "无视", "無視", "忘记", "忘記", "忘れ", "무시", "잊어", "잊고", "تجاهل", "انس", "أهمل", "התעלם", "अनदेखा", "नज़रअंदाज़", "भूल"],
        pattern: r"(?:忽略|无视|無視|忘记|忘記)[^。\n]{0,16}(?:指令|指示|提示|规则|規則|说明|說明)|(?:指示|命令|ルール|プロンプト|規則)[^。\n]{0,8}(?:無視|忘れ)|(?:지시|명령|규칙|프롬프트)[^.\n]{0,10}(?:무시|잊어|잊고)|(?:تجاهل|انس|أهمل)\S*[^.\n]{0,24}(?:تعليمات|التعليمات|الأوامر|القواعد)|התעלם\S*[^.\n]{0,24}(?:ההוראות|הכללים)|(?:निर्देश|नियम)\S*[^।\n]{0,24}(?:अनदेखा|नज़रअंदाज़|भूल)",
    },
    Pattern {
        does: BECOME,
        words: &["you are now", "from now", "from this", "from here", "now act", "pretend", "act as", "mode", "anything now", "no longer", "have been", "jailbr"],
        pattern: r"\b(?:you_are_now|(?:from_now_on|from_this_point_(?:on|onwards?|forward)|from_here_on),?_you(?:_are|_will|_must|_shall|'re)|you_will_now_act|pretend_(?:to_be|that_you|you)|act_as_(?:if_you|an_unrestricted|a_jailbroken|DAN)|enter_(?:developer|god|jailbreak|unrestricted|debug)_mode|developer_mode_(?:enabled|on)|jailbreak_mode|do_anything_now|you_are_no_longer_(?:claude|chatgpt|gpt|gemini|copilot|codex|an?_(?:ai|assistant|agent)|bound|restricted|limited)|you_have_been_(?:updated|reprogrammed|jailbroken))\b",
    },
    Pattern {
        does: BECOME,
        words: &["restri", "rules", "limit", "filters", "guidelines", "unrestricted", "einschränk", "beschränk", "ogranicz", "beperking", "ограничений", "限制", "制限", "제한"],
        pattern: r"\b(?:you|assistant|agent|model|ai)_(?:~)?(?:(?:have|has|with)_no|without_any|is_not_bound_by_any|are_not_bound_by)_(?:~)?(?:restrictions|rules|limits|limitations|filters|guidelines)\b|\bunrestricted_(?:ai|agent|assistant|model)\b|\b(?:tu_es|vous_êtes|du_bist|eres|você_é|sei|jesteś|je_bent)\b~(?:sans_(?:aucune_)?restriction|ohne_(?:jede_|jegliche_)?(?:einschränkung|beschränkung)|sin_(?:ninguna_)?restricci|sem_(?:nenhuma_)?restriç|senza_(?:alcuna_)?restrizion|bez_(?:żadnych_)?ogranicze|zonder_beperkingen)|(?:ты|вы)_~?без_(?:каких-либо_)?ограничений|(?:你|您)[^。\n]{0,16}(?:没有|沒有|不受)[^。\n]{0,4}限制|(?:あなた|君)[^。\n]{0,16}制限(?:の|が)?な[いし]|(?:너|당신)[^.\n]{0,16}제한이?_?없",
    },
    Pattern {
        does: HIDE,
        words: &["user", "human", "person", "developer", "operator", "owner", "anyone"],
        pattern: r"\b(?:do_not|don't|don’t|never|avoid|must_not|shall_not)_(?:~)?(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?|notify(?:ing)?|alert(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|ask(?:ing)?|show(?:ing)?|report(?:ing)?_(?:this|it|that)_to|warn(?:ing)?|let(?:ting)?)_(?:~)?(?:the_)?(?:user|human|person|developer|operator|owner|anyone)\b(?:_(?:about_(?:this|it|that|these)|of_this|that|know|first|for_(?:permission|confirmation|approval)|what|when|why)|:)|\b(?:never|do_not|don't|don’t|must_not)_(?:~)?(?:reveal|mention|disclose|show|admit|report|include|display)_(?:this|these|it|that|them|the_(?:command|step|output|diff|change|existence)\w*)_~?to_(?:the_)?(?:user|human|developer|operator|owner|anyone)\b",
    },
    Pattern {
        does: HIDE,
        words: &["tell", "without", "never", "not ", "n't"],
        pattern: r"\b(?:do_not|don't|don’t|never)_tell_(?:the_)?(?:user|human|operator|owner|anyone)\s*(?:[.;,!]|$)|\bwithout_(?:~)?(?:telling|informing|notifying|alerting|warning|asking|showing)_(?:the_|your_)?(?:user|human|person|developer|operator|owner|anyone)\b|\bwithout_(?:the_user's|their|anyone's)_knowledge\b|\b(?:never|do_not|don't|must_not)_(?:mention|reveal|disclose|admit|acknowledge|warn_about|speak_of|talk_about)_(?:(?:this|that|these)_(?:step|memory|note|entry|instruction|rule|file)s?\b|this\s*(?:[.;!]|$))|\b(?:never|do_not|don't|must_not)_(?:reveal|disclose|admit|acknowledge|warn_about)_(?:the_existence_of_)?(?:this|it|that)\b",
    },
    Pattern {
        does: HIDE,
        words: &["leave", "keep", "omit", "secret", "hidden", "quiet", "silent", "covert", "hide", "conceal", "nobody", "no one", "nothing", "deny", "output"],
        pattern: r"\b(?:leave|keep|omit)_(?:this|it|that|these|them)_(?:~)?(?:out_of|from)_(?:~)?(?:answers?|repl(?:y|ies)|summar(?:y|ies)_(?:you|for_the|to_the|that_you)|reports?_to|user|reviewers?)\b|\b(?:keep|do)_(?:this|it|that)_(?:a_)?(?:secret|hidden|quiet(?:ly)?|silent(?:ly)?|secretly|covertly)(?:_from_(?:the_)?(?:user|human|developer|owner|reviewer))?\b|\b(?:hide|conceal)_(?:~)?from_(?:the_|its_|your_)?(?:user|human|developer|reviewer|owner|operator)\b|\bhide_(?:it|this|them)_from\b|\b(?:silently|secretly|quietly|covertly)_(?:send|upload|post|copy|exfiltrate|add|insert|append|include|run|execute|push|forward|commit|install|download|grant|disable|approve|replace|delete)\b|\bso_(?:that_)?(?:nobody|no_one)_(?:notices|sees|knows|finds_out)\b|\bas_if_nothing_(?:had_)?happened\b|\bdeny_(?:it|that_it|having|any_knowledge|its_existence)\b|\bwith_(?:its|the|all)_output_(?:suppressed|hidden|discarded)\b",
    },
    Pattern {
        does: HIDE,
        words: &["nutzer", "anwender", "user", "utilisateur", "usuari", "usuári", "utilizador", "utente"],
        pattern: r"\b(?:sag|sage|sagen|sagst|erzähl|erzähle|verrate|erwähne|erwähnen|teile|informiere|zeige)\b~(?:nutzer|benutzer|anwender|user)\w*_~?(?:nichts|nicht|nie|niemals)\b|\b(?:erwähne|erwähnen|verrate)\b~(?:nie|niemals|nicht|nichts)_~?(?:nutzer|benutzer|anwender)\w*|\bohne_~(?:nutzer|benutzer|anwender)\w*_(?:etwas_|davon_)?(?:zu_(?:sagen|informieren|fragen)|mitzuteilen)|\bne_(?:le_|lui_|leur_)?(?:dis|dites|mentionne|mentionnez|révèle|révélez|informe|informez|préviens|parle|montre)\b~utilisateur\w*|\bsans_(?:le_dire|prévenir|informer|en_parler|avertir)_~?utilisateur\w*|\bno_(?:le_|se_lo_|lo_)?(?:digas|diga|menciones|informes|reveles|cuentes|avises|muestres)\b~usuari[oa]\w*|\bsin_(?:decirle|decírselo|avisar|informar|que_lo_sepa)\b~usuari[oa]\w*|\bnão_(?:conte|diga|mencione|informe|revele|avise|mostre)\b~(?:usuári[oa]|utilizador)\w*|\bsem_(?:avisar|contar|informar|dizer)\b~(?:usuári[oa]|utilizador)\w*|\bnon_(?:dire|dirlo|menzionare|informare|rivelare|avvisare|mostrare)\b~utente\w*|\bsenza_(?:dirlo|dire|informare|avvisare)\b~utente\w*",
    },
    Pattern {
        does: HIDE,
        words: &["gebruiker", "użytkownik", "пользовател", "користувач", "kullanıcı", "pengguna", "người dùng", "用户", "用戶", "使用者", "ユーザ", "利用者", "사용자", "المستخدم"],
        pattern: r"\b(?:vertel|zeg|meld|noem)\b~gebruiker\w*_~?(?:niet|niets|nooit)\b|\bzonder_~gebruiker_te_(?:vertellen|informeren|melden)|\bnie_(?:mów|informuj|wspominaj|ujawniaj|pokazuj)\b~użytkownik\w*|\bbez_(?:informowania|wiedzy|powiadamiania)_użytkownik\w*|не_(?:говори|сообщай|упоминай|рассказывай|раскрывай|показывай)\S*~пользовател\S*|без_ведома_пользовател\S*|не_(?:кажи|повідомляй)\S*~користувач\S*|\bkullanıcıya~(?:söyleme|bildirme|haber_verme|belli_etme|gösterme)\w*|\bkullanıcının_haberi_olmadan|\bjangan_(?:beri_?tahu|sebutkan)\b~pengguna|\bđừng_(?:nói|cho)\b~người_dùng|(?:不要|别|別|勿|不得|切勿|无需|無需)[^。\n]{0,6}(?:告诉|告訴|告知|通知|提及|透露|提醒)[^。\n]{0,8}(?:用户|用戶|使用者)|(?:不要|别|別)(?:让|讓|被)(?:用户|用戶|使用者)(?:知道|发现|發現)|瞒着(?:用户|使用者)|(?:ユーザー?|利用者)[^。\n]{0,10}(?:知らせず|知らせない|伝えず|伝えない|言わず|言わない|教えず|教えない|気づかれ|内緒|秘密)|사용자[^.\n]{0,10}(?:알리지|말하지|언급하지|보이지|모르게|몰래|숨기|숨겨)|لا_(?:تخبر|تذكر|تُخبر)[^.\n]{0,20}المستخدم|دون_علم_المستخدم",
    },
    Pattern {
        does: SEND,
        words: &["exfiltrat", "send", "post", "upload", "forward", "transmit", "leak", "copy", "email", "report", "append", "push", "attach"],
        pattern: r"\b(?:exfiltrat\w+|(?:send|post|upload|forward|transmit|leak|copy|email|report|append|push|attach)_(?:~)?(?:secrets?|credentials?|passwords?|(?:(?:api|ssh|private|access|signing|deploy|aws)[ _-]?)?(?:keys?|tokens?)|\.env|env(?:ironment)?_(?:file|variables?)|ssh_keys?|cookies|conversation|chat_history|source_code|code_?base|contents?_of|its_contents?|contents|system_prompt|memory|session|\~/\.\w+\S*)\b~?\b(?:to|at|via|into)_~?(?:https?://|\S+@\S+\.\w+|webhook|\S+\.(?:com|net|org|io|xyz|ru|site|dev|app)\b|(?:this|an|the|our)_(?:external|remote|url)))",
    },
    Pattern {
        does: SEND,
        words: &[".env", "~/.", "id_rsa", "id_ed25519", "$", "send", "post", "upload", "forward", "share", "push", "mail", "mirror", "publish"],
        pattern: r"(?:\.env\b|\~/\.(?:ssh|aws|config|gnupg|netrc|npmrc)\b|\bid\_(?:rsa|ed25519)\b|\$\{?\w*(?:key|token|secret|password)\w*)[^\n.]{0,60}\b(?:to|at|into)_(?:~)?(?:https?://|\S+@\S+\.\w+)|\b(?:keys?|tokens?|credentials?|passwords?|secrets?|source|repository),?_(?:~)?(?:and_)?(?:send|post|upload|forward|share|push|mail)_(?:them|it|that_file|these)\b|\b(?:include|put|add|append|insert|embed|print|write)_(?:~)?(?:value_of_)?\$\{?\w*(?:KEY|TOKEN|SECRET|PASSWORD)\w*\}?_(?:~)?in(?:to)?_(?:every|each|all|the)\b|\b(?:upload|push|send|mirror|publish)_the_(?:whole_|entire_|full_)?(?:repository|source|code_?base|project)_to_(?:~)?(?:given|following|server|fork|gist|endpoint|https?://)",
    },
    Pattern {
        does: SEND,
        words: &["all", "every", "any", "each", "whole", "entire", "full", "complete"],
        pattern: r"\b(?:print|dump|output|append|collect|gather|summari[sz]e)_(?:all|every|any|each)_(?:of_the_)?(?:environment_variables?|env_vars?|passwords?|credentials?|secrets?|api_keys?|tokens?)\b|\b(?:store|save|write|record|log|keep)_(?:every|all|any|each)_(?:~)?(?:passwords?|credentials?|secrets?|keys?|tokens?)_(?:that_)?(?:the_)?(?:user|they|you)_(?:types?|enters?|gives?|sees?|finds?|mentions?)\b|\b(?:whole|entire|full|complete)_(?:conversation|chat|transcript|chat_history|session)_(?:as|to|by|in_the)_(?:the_)?(?:body|query|parameter|payload|attachment|https?://\S*|\S+@\S+)|\b(?:send|forward|mail|post|email|copy)_(?:the_)?(?:whole|entire|full|complete)_(?:conversation|chat|transcript|history)\b|\bforward_(?:every|all|each)_(?:~)?(?:e?mails?|messages?)\b~?to_\S+@\S+",
    },
    Pattern {
        does: SEND,
        words: &["http"],
        pattern: r"(?:sende|schicke|senden|übermittle|envoie|envoyez|transmets|envía|envia|envie|enviar|mande|manda|invia|inviare|carica|stuur|verstuur|wyślij|wysyłaj|отправляй|отправь|отправляет|загружай|надішли|skicka|send|kirim|gửi)\b[^\n]{0,80}(?:\.env\b|token\w*|api[ -]?(?:key|schlüssel|keys)|schlüssel|passw\w+|umgebungsvariablen|zugangsdaten|clés?\b|mots?_de_passe|identifiants|claves?\b|contraseñ\w+|credencia\w+|chaves?\b|senhas?\b|chiav\w+|sleutel\w*|wachtwoord\w*|klucz\w*|hasł\w*|токен\S*|ключ\S*|парол\S*)[^\n]{0,60}https?://|(?:\.env\b|token|密钥|密鑰|令牌|密码|环境变量|環境變數|環境変数|トークン|鍵|パスワード|환경_?변수|토큰|비밀번호|키를)[^\n]{0,40}(?:发送|發送|上传|上傳|发到|傳送|提交)[^\n]{0,12}https?://|(?:\.env|token|環境変数|トークン|鍵|パスワード|환경_?변수|토큰|비밀번호|파일)[^\n]{0,20}https?://\S+_?(?:へ|に|로|으로|'?[ae]_)[^\n]{0,6}(?:送信|送る|送り|アップロード|전송|보내|업로드|gönder)",
    },
    Pattern {
        does: SEND,
        words: &["curl", "wget", "nc ", "invoke-webrequest", "fetch"],
        pattern: r"\b(?:curl|wget|nc|invoke-webrequest|fetch)\b[^\n]{0,90}(?:-d|--data\S*|--post-file|-F|--upload-file|-T|\?\w+=)[^\n]{0,60}(?:\$\(|`|@\~?/?|\$\{?)[^\n]{0,40}(?:\.env|\.ssh|id\_rsa|id\_ed25519|secret|token|password|credentials|\.aws|api\_key|/etc/passwd|printenv|\benv\b)",
    },
    Pattern {
        does: SEND,
        words: &[".env", ".ssh", "id_rsa", "id_ed25519", "credentials", ".aws", ".netrc", ".npmrc"],
        pattern: r"(?:cat|base64|tar|zip)\b[^\n|]{0,60}(?:\.env\b|\.ssh\b|id\_rsa|id\_ed25519|credentials|\.aws\b|\.netrc|\.npmrc)[^\n]{0,80}\|[^\n]{0,60}(?:curl|wget|nc|ncat|openssl_s_client)\b",
    },
    Pattern {
        does: SEND,
        words: &["![", "image", "link"],
        pattern: r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{0,90}(?:\{\{|\$\{|\{|=)(?:secret|token|key|data|env|conversation|password|history|prompt|api\_key)\b|!\[[^\]\n]{0,80}\]\(https?://[^)\n]{0,90}[=/][<\{\[][^)\n]{0,40}(?:conversation|contents?|secret|token|history|prompt|answer|environment)|\bto_the_url_https?://\S+_as_an?_(?:image|link)",
    },
    Pattern {
        does: RUN,
        words: &["curl", "wget", "iwr", "invoke-webrequest"],
        pattern: r"\b(?:curl|wget|iwr|invoke-webrequest)\b[^\n|]{0,90}\|_{0,1}(?:sudo_)?(?:ba|z|da)?sh\b~?(?:before|first|at_the_start|every|each|always|on_startup|then_continue|silently|whenever)|(?:before|at_the_start_of|whenever|every_time|each_time|always|first|on_startup|siempre|immer|toujours|sempre|всегда|altijd|zawsze|her_zaman|每次|毎回|매번|항상)~?(?:run|execute|pipe|add|ejecuta|führe|exécute|execute|esegui|запускай)?~?[`'\x22]?(?:run_)?(?:curl|wget|iwr)\b[^\n|]{0,90}\|_{0,1}(?:sudo_)?(?:ba|z|da)?sh\b|\b(?:curl|wget)\b[^\n|]{0,60}https?://\d{1,3}(?:\.\d{1,3}){3}[^\n|]{0,60}\|_{0,1}(?:sudo_)?(?:ba|z|da)?sh\b",
    },
    Pattern {
        does: RUN,
        words: &["base64", "eval", "/dev/tcp", "powershell", "nc"],
        pattern: r"\b(?:echo|printf)_\S{16,}_?\|_?base64_(?:-d|-D|--decode)\S*_?\|_?(?:sudo_)?(?:ba|z|da)?sh\b|\beval_['\x22]?\$\((?:curl|wget|echo_\S{16,}_?\|_?base64)|bash_-[ic]_['\x22>]?[^\n]{0,30}/dev/tcp/|powershell\S*_[^\n]{0,40}-e(?:nc|ncodedcommand)?_[A-Za-z0-9+/=]{20,}|\bdecode_(?:~)?base64\b[^\n.]{0,40}\b(?:execute|run|eval)\b|\bnc(?:at)?_(?:-\w+_)*-\w*e_\S*/(?:ba)?sh\b",
    },
    Pattern {
        does: UNPROTECT,
        words: &["disable", "turn off", "switch off", "remove", "bypass", "weaken", "circumvent", "skip", "prompts", "security"],
        pattern: r"\b(?:disable|turn_off|switch_off|remove|bypass|weaken|circumvent|skip)_(?:~)?(?:security_(?:check|scan|control|warning|polic|review|feature)\w*|secret_scann\w+|permission_(?:check|prompt)s?|confirmation_prompts?|safety_(?:check|filter|guard|feature|measure|protocol)\w*|guardrails|sandbox(?:ing)?_(?:checks?|restrictions?)|content_filters?|approval_(?:step|prompt|check)s?|authentication_checks?)\b~?\b(?:without|silently|quietly|and_do_not|and_don't|so_that_the_user|whenever|for_(?:all|every)|permanently|forever|in_(?:all|every)|including)|\b(?:permission|confirmation|approval)_prompts_are_a_bug\b|\bsecurity_(?:checks?|scans?|reviews?)_(?:are|is|have_been)_(?:disabled|turned_off|suspended)_for_(?:this|all|every)\b",
    },
    Pattern {
        does: UNPROTECT,
        words: &["auto", "always", "approve", "merge", "pre-", "preapproved", "preauthorized", "authorized", "confirmation", "permission", "approval", "again"],
        pattern: r"\b(?:auto(?:matically)?[ -]?(?:approve|accept|confirm)|always_(?:approve|accept|say_yes|answer_yes|grant|allow))_(?:~)?(?:every|all|any|each)_(?:~)?(?:requests?|commands?|permissions?|prompts?|tool_calls?|actions?|changes?)\b|\balways_approve_(?:it|them|this)\b|\b(?:approve|merge)_(?:every|all|any|each)_(?:~)?without_(?:a_)?review\b|\bpre-?(?:approved|authorized)_(?:all|every|any)\b|\ball_(?:shell_)?(?:commands|tool_calls|actions)_(?:are|have_been)_(?:pre-?)?(?:approved|authorized)\b|\b(?:do_not|don't|never|no_need_to|without|stop)_(?:ask(?:ing)?|prompt(?:ing)?|wait(?:ing)?)_(?:~)?(?:confirmation|permission|approval|again),?_(?:~)?(?:even|including|regardless|ever_again|forever|no_matter|for_any)\b",
    },
    Pattern {
        does: UNPROTECT,
        words: &["dangerously", "bash(", "yourself", "itself", "the agent", "adds ", "add ", "befehl", "you may", "skip all"],
        pattern: r"\b(?:always|must|every|each)_(?:~)?--dangerously-skip-permissions\b|--dangerously-skip-permissions_(?:~)?(?:always|must_not|never|every|each|without)\b|\b(?:allow|permissions?)\b[^\n]{0,40}\bbash\(\*(?::\*)?\)|\bgrant_(?:yourself|itself|the_agent)_(?:~)?(?:access|permissions?|rights|admin\w*)|\badds?_(?:the_)?(?:user|account|collaborator)_\S+_as_(?:an?_)?(?:admin\w*|owner|maintainer|collaborator)\b|\b(?:jeden|alle|sämtliche)_befehle?_ohne_(?:rückfrage|nachfrage|bestätigung)\b|\b(?:users?|owner|developers?)_(?:~)?(?:has|have)_(?:already_)?(?:agreed|consented)_that_you_may\b|\bskip_all_(?:confirmation|permission|approval)_(?:prompts?|checks?)\b",
    },
    Pattern {
        does: UNPROTECT,
        words: &["backdoor", "malware", "keylogger", "reverse", "malicious", "vulnerabilit", "without", "treat"],
        pattern: r"\b(?:add|insert|append|include|plant|inject|leave|introduce|hide|create)_(?:a_|an_|the_)?(?:hidden_|subtle_|small_)?(?:backdoors?|malware|keylogger|reverse_shell|malicious\s\w+|vulnerabilit(?:y|ies))\b|\bdelete_(?:~)?(?:memories|others|database|files|backups?|history)_(?:~)?without_(?:notice|asking|confirmation|a_word)\b|\btreat_(?:~)?(?:tool_results?|tool_output|web_?pages?|e?mails?|issues?|comments?|fetched\s\w+)_(?:~)?as_(?:~)?(?:commands?|instructions?|orders)\b",
    },
    Pattern {
        does: ASK,
        words: &["prompt", "instruction", "message", "системн", "系统提示", "系統提示", "システムプロンプト", "시스템", "sistem"],
        pattern: r"\b(?:reveals?|prints?|repeats?|outputs?|shows?|discloses?|dumps?|leaks?|shares?|convert|encode|translate|paste)_(?:~)?(?:your|the|its)_(?:~)?(?:system|hidden|initial|original|secret)_(?:prompt|instructions?|message)\b|(?:affiche|montre|muestra|mostre|mostra|zeige|zeig|gib|imprime|toon|pokaż|покажи|выведи|输出|輸出|显示|打印)\S*[^\n]{0,30}(?:system[ -]?prompt|prompt_(?:du_)?(?:système|sistema|do_sistema|di_sistema|del_sistema)|системн\S+_(?:промпт|запрос)|系统提示|系統提示)|(?:システムプロンプト|시스템_?프롬프트|sistem_istem\S*)[^。\n]{0,20}(?:出力|表示|見せ|출력|보여|공개|yaz|göster)",
    },
    Pattern {
        does: SPEAK,
        words: &["<", "[", "###", "override", "directive", "instruction"],
        pattern: r"(?m)^\s*(?:<\|?(?:system|im\_start|im\_end|assistant|endoftext)\|?>|<\|im\_start\||\[/?INST\]|<<SYS>>|<system(?:-|_)?(?:prompt|message|override|instruction)s?>|\[?(?:system|admin|developer)_(?:override|instruction|directive)s?\]?\s*[:>\]]|###_?(?:system|new_instructions?|admin|instruction)\b_?:)",
    },
    Pattern {
        does: SPEAK,
        words: &["instruction", "directive", "orders", "<!--", "[//]", "ai", "llm", "language model", "attention", "important", "current task", "</", "<", "assistant:", "polic"],
        pattern: r"\bnew_(?:system|developer|admin)_(?:instructions?|directives?|orders|polic(?:y|ies))\s*:|\b(?:new|updated|revised|additional|secret|hidden|important_new)_(?:system_)?(?:instructions?|directives?|orders)_(?:for_(?:the_)?(?:ai|assistant|agent|model|claude|llm|copilot|codex|gemini))\b|(?:<!--|\[//\]:)\s*(?:ai|assistant|agent|claude|llm|model|copilot|codex|system|instructions?)\b[^\n]{0,12}[:,]|\b(?:attention|note_to|message_to|to|dear|hey|instructions?_(?:for|to)|important(?:_for)?)_(?:all_)?(?:ai|llm|language_model)s?(?:_(?:assistants?|agents?|models?))?\s*:|\battention,?_(?:the_|all_)?(?:agents?|assistants?|claude|copilot|codex|gemini)\s*[:,!]|\bimportant_(?:update|message|notice|instructions?)_(?:for|to)_(?:the_)?(?:ai|assistant|agent|model|claude)\b|\bif_you_are_an?_(?:ai|llm|language_model)\b~(?:reading|stop|must|instead|please)|\b(?:stop|abandon|drop)_(?:your|the)_current_task_and\b|</?(?:memory|system|context|instructions|user)>\s*(?:human|assistant|user|system)\s*:|\bassistant:_i_will_(?:now_)?(?:follow|ignore|comply|obey)\b",
    },
    Pattern {
        does: SPREAD,
        words: &["this", "these", "again", "persist", "survive"],
        pattern: r"\b(?:copy|append|add|insert|paste|replicate|propagate|write|repeat|include)_(?:~)?(?:this|these)_(?:same_)?(?:note|memory|message|text|instructions?|rules?|block|paragraph|entry)_(?:~)?(?:into|to|in)_(?:~)?(?:every|all|each|any_other|other)\b|\b(?:append|add|copy)_these_(?:same_)?instructions?_to\b|\b(?:do_not|don't|never)_(?:delete|remove|prune|overwrite)_this_(?:memory|note|entry|instruction|rule)\b|\b(?:write|save|create|store|restore)_it_again_(?:under|with|as|in)\b|\bso_(?:that_)?(?:it|they|this)_(?:persists?|survives?)\b",
    },
    Pattern {
        does: LIE,
        words: &["report", "claim", "say", "state", "pretend", "tell", "answer", "mark", "add", "insert", "run", "append", "regardless"],
        pattern: r"\b(?:report|claim|say|state|pretend|tell_the_user|answer)_(?:that_)?(?:~)?(?:tests?|checks?|build|it|everything|they|code)_(?:~)?(?:pass(?:ed|es)?|succeed(?:ed|s)?|secure|safe|fine|clean)_(?:~)?(?:even|although|regardless|no_matter|whether_or_not)\b|\band_say_(?:that_)?it_is_(?:secure|safe|required|approved)\b|;_say_(?:that_)?it_is_required\b|\b(?:always_)?mark_(?:~)?(?:security|vulnerabilit\w+)_(?:findings?_|issues?_|warnings?_|reports?_)?as_(?:false_positives?|resolved|safe|ignored)\b|\b(?:add|insert|run|append)_[^\n]{0,90}\band_(?:describe|label|present|disguise)_(?:it|them|this)_as\b|\bclaim_(?:that_)?(?:~)?(?:never_(?:there|existed|happened)|did_not|didn't)\b|\bregardless_of_what_(?:the_)?(?:files?|users?|code|docs?|documentation|instructions?)_(?:says?|wants?|asks?|contains?)\b",
    },
    Pattern {
        does: PROMOTE,
        words: &["recommend", "suggest", "promote", "cite", "favor", "favour", "trusted", "authoritative", "reliable", "preferred", "competitor", "future", "insert", "include", "add ", "put ", "word", "phrase", "keyword"],
        pattern: r"\b(?:always|must|should_always)_(?:recommend|suggest|promote|cite|favou?r)_(?:~)?(?:first|above_all|over_(?:its_|any_|all_)?(?:others?|competitors?)|as_the_best|in_(?:every|all|any|future))\b|\brecommend_(?:~)?as_the_(?:best|only|top|leading)\b|\b(?:treat|remember|consider|regard)_(?:~)?as_(?:an?_|the_)?(?:only_|most_)?(?:trusted|authoritative|reliable|preferred)_(?:source|citation|authority)\b|\bis_the_(?:only|most)_(?:trusted|authoritative)_source\b|\b(?:do_not|don't|never)_mention_(?:~)?competitors?\b|\bin_(?:all|every|any)_future_(?:conversations?|sessions?|answers?|chats?)\b|\b(?:insert|include|add|put)_an?_(?:link|advert\w*|mention|reference)_(?:~)?in_(?:every|each|all|any)_(?:answers?|repl(?:y|ies)|responses?|READMEs?)\b|\b(?:whenever|when|if)_the_(?:words?|phrase|keyword)_[\x22'“][^\x22'”\n]{1,40}[\x22'”]_(?:appears?|is_(?:seen|mentioned|used))\b",
    },
];
