//! The words of orders: the classes of words, the classes that make an order, and the words of each.

use Class::*;

/// What a word of an order means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// To do something with a command or a setting.
    Do,
    /// To send or copy something.
    Send,
    /// Arguments and commands that send a file.
    Upload,
    /// Arguments that send what another command wrote.
    Piped,
    /// A name of what is secret.
    Secret,
    /// A file or command that gives secrets.
    SecretFile,
    /// An address that is neither of this network nor of a well-known host.
    Url,
    /// Such an address that is a number.
    Address,
    /// Where others read.
    Away,
    /// Into a repository.
    Repo,
    /// An image.
    Image,
    /// A part of an address that is to be filled in.
    Blank,
    /// To download.
    Fetch,
    /// Into an interpreter of commands.
    ToShell,
    /// To run what is downloaded, in one expression.
    RunsFetched,
    /// To run what is encoded.
    RunsEncoded,
    /// To install from an address.
    Install,
    /// To do what a text says.
    Obey,
    /// Where it is decided who may come in.
    Entry,
    /// What lets somebody in.
    Key,
    /// To write into a file.
    Tee,
    /// What opens a shell to somebody else.
    Door,
    /// Settings that trust any certificate.
    NoTls,
    /// Settings without checks and questions.
    NoChecks,
    /// That nobody is asked.
    NoAsk,
    /// What somebody should be asked about.
    Danger,
    /// To turn off or remove.
    Off,
    /// What protects.
    Guard,
    /// What shows afterwards who did what.
    Trace,
    /// Settings of a registry, mirror or proxy.
    Source,
    /// That somebody is not told.
    Unseen,
    /// Those who should know.
    User,
    /// That it is to be done again and again.
    Always,
    /// To ignore.
    Ignore,
    /// Said before, or above the agent.
    Earlier,
    /// Instructions.
    Rules,
    /// What tells of attacks, of what is forbidden, of other people, or of what keeps secrets.
    About,
    /// What tells of the past.
    Past,
    /// What stays on this machine.
    Local,
    /// A negation of what follows.
    Not,
    /// A negation of what precedes.
    NotAfter,
}

/// Words that make an order together.
pub(super) struct Order {
    pub(super) does: &'static str,
    /// The act, and what must stand near it in its sentence.
    pub(super) all: &'static [Class],
    /// Of these, one must stand in its paragraph.
    pub(super) near: &'static [Class],
}

const fn order(does: &'static str, all: &'static [Class]) -> Order {
    let near = &[];
    Order { does, all, near }
}

/// What an honest memory says, too, unless it is to be done always, or unseen.
const fn pressed(does: &'static str, all: &'static [Class]) -> Order {
    let near = &[Always, NoAsk, Unseen, Address];
    Order { does, all, near }
}

const SEND: &str = "makes the agent send secrets or private data away";
const ENTER: &str = "makes the agent let someone in";
const RUN: &str = "makes the agent run what it downloads";
const UNPROTECT: &str = "makes the agent take protection away";
const SOURCE: &str = "makes the agent trust another source or proxy";
const HIDE: &str = "makes the agent hide something from the user";
const IGNORE: &str = "tells the agent to ignore its instructions";

pub(super) const ORDERS: &[Order] = &[
    order(SEND, &[Send, SecretFile, Url]),
    order(SEND, &[Send, SecretFile, Away]),
    order(SEND, &[Send, SecretFile, Repo]),
    order(SEND, &[Send, Secret, Url]),
    order(SEND, &[Upload, SecretFile, Url]),
    pressed(SEND, &[Upload, Secret, Url]),
    pressed(SEND, &[Piped, Url]),
    order(SEND, &[Image, Url, Blank]),
    order(SEND, &[Blank, Url, SecretFile]),
    order(ENTER, &[Entry, Key, Do]),
    order(ENTER, &[Entry, Key, Url]),
    order(ENTER, &[Entry, Tee]),
    order(ENTER, &[Door]),
    order(RUN, &[RunsEncoded]),
    order(RUN, &[RunsFetched, Url]),
    order(RUN, &[Install, Url]),
    pressed(RUN, &[ToShell, Fetch, Url]),
    pressed(RUN, &[Fetch, Url, Obey]),
    order(UNPROTECT, &[NoTls, Do, Url]),
    pressed(UNPROTECT, &[NoTls, Do]),
    pressed(UNPROTECT, &[NoChecks, Do]),
    pressed(UNPROTECT, &[Off, Guard]),
    order(UNPROTECT, &[Off, Trace]),
    order(UNPROTECT, &[NoAsk, Danger]),
    pressed(SOURCE, &[Source, Url]),
    order(HIDE, &[Unseen, User]),
    order(IGNORE, &[Ignore, Earlier, Rules]),
];

/// The words of the classes. More letters may follow one with `*` behind it, and precede one with `*`
/// before it; one with `!` counts only where an imperative can stand. Letters of scripts without
/// blanks may stand beside any.
#[rustfmt::skip] // Many words on a line.
pub(super) const WORDS: &[(Class, &str)] = &[
    (Do, "run!, execute!, start!, install!, use!, set!, add!, append!, put!, export!, configure!, point!, pass!, apply!, write!, commit!, push!, invite!, grant!"),
    (Do, "register!, enable!, create!, open!, call!, make!, render!, switch!, swap!, change!, skip!, trust!, place!, keep!, drop!, insert!, führe!, starte!"),
    (Do, "nutze!, setze!, installiere!, konfiguriere!, füge!, trage!, stelle!, lance, lancez, exécute*, utilise, utilisez, installe, installez, configure"),
    (Do, "configurez, ajoute, ajoutez, mets, mettez, ejecuta, ejecute, usa, instala, instale, configura, añade, agrega, pon, corre, rode, adicione, crie, defina"),
    (Do, "coloque, esegui, запусти, запускай, выполни, выполняй, установи, настрой, добавь, добавляй, ставь, коммить, пропиши, 运行, 执行, 使用, 追加, 加入, 安装, 配置, 设置"),
    (Do, "改用, 実行, 使う, 設定, 入れる, 실행, 추가, 설정, 설치, extend!, launch!"),
    (Send, "send!, post!, upload!, forward!, transmit!, leak!, exfiltrate!, email the!, mail the!, copy!, paste!, attach!, push!, publish!, share!, include!, embed!"),
    (Send, "append!, add!, put!, report!, ship!, relay!, submit!, pipe!, encode!, base64-encode!, save!, print!, sende!, schicke!, übermittle!, lade!, poste!"),
    (Send, "kopiere!, füge!, hänge!, leite!, übertrage!, hochladen, melden, senden, schicken, posten, einfügen, envoie*, transmets, transmettez, poste, postez"),
    (Send, "colle, collez, joins, joignez, joindre, téléverse*, publie*, copie*, partage*, dépose*, envía, envíe, enviar, envia, manda, mande, pega, pegue, sube"),
    (Send, "suba, adjunta, adjunte, copia, publica, publique, comparte, envie, cole, anexe, coloque, compartilhe, invia, carica, incolla, allega, отправь*"),
    (Send, "отправляй*, пришли, присылай, загрузи, загружай, залей, выложи, скопируй, копируй, вставь, вставляй, перешли, приложи, прикладывай, опубликуй, передай"),
    (Send, "передавай, 发送, 上传, 发到, 发布, 粘贴, 贴到, 附上, 附在, 传到, 推送, 复制到, 发给, 發送, 上傳, 送信, 送る, 送って, 送り, アップロード, 貼り付け, 貼る, 貼って, 添付, 投稿, 転送, 전송, 보내, 보낸"),
    (Send, "올리, 올려, 올린, 업로드, 붙여, 첨부, 게시, 공유, gönder*, kirim*, wyślij, stuur"),
    (Upload, "-d, -f, -t, --data, --data-binary, --data-raw, --form, --upload-file, --post-file*, --post-data*, -infile, | nc, | curl, | wget, | ncat"),
    (Upload, "gh gist create, nslookup $(*, dig $(*"),
    (Piped, "-d @-, --data @-, --data-binary @-, -t -, -f -"),
    (Secret, "credentials, private key, private keys, api key, api keys, secret key, ssh key, ssh keys, access key, access keys, secrets, passwords, *_api_key*"),
    (Secret, "*_secret*, environment variables, zugangsdaten, privaten schlüssel, passwörter, umgebungsvariablen, schlüssel, identifiants, mots de passe"),
    (Secret, "variables d'environnement, clé privée, clés, jeton*, claves, contraseñas, credenciales, variables de entorno, senhas, credenciais, chaves"),
    (Secret, "variáveis de ambiente, парол*, ключ*, токен*, переменные окружения, 密钥, 私钥, 令牌, 密码, 凭据, 环境变量, 環境変数, トークン, 秘密鍵, パスワード, 認証情報, 환경 변수, 토큰, 비밀번호, 자격 증명"),
    (Secret, "인증 정보, 비밀 키, the conversation, transcript, aws keys, *_token, the tokens, los tokens, session token*"),
    (SecretFile, ".env, .env.production, .env.prod, .env.local, .ssh, id_rsa, id_ed25519, id_ecdsa, .aws, .netrc, .npmrc, .pypirc, .kube, .gnupg, .git-credentials"),
    (SecretFile, ".pgpass, .docker/config*, config/gh, .config/gcloud, hosts.yml, bash_history, zsh_history, login.keychain, /etc/passwd, /etc/shadow, printenv"),
    (SecretFile, "output of env, $(env), .pem, gh auth token, master.key, secrets.yml, secrets.yaml, secrets.json, database password*, session cookie*, value of $*"),
    (SecretFile, "all environment variables, the environment variables, service-account json, service account json, service-account.json"),
    (Url, "nslookup $(*, dig $(*, dig +short $(*, ://*, @*"),
    (Away, "pr description, pull request description, pull requests, pull request, under the description, the pr, each pr, every pr, issue, issues, ticket"),
    (Away, "tickets, comment, comments, gist, gists, pastebin*, paste site, webhook*, telegram, slack, discord, public channel, public wiki, external server"),
    (Away, "bug report, commit message, every commit, every reply, each reply, every answer, each answer, the mail, by mail, kommentar*, commentaire*"),
    (Away, "serveur externe, servidor externo, comentario*, comentário*, incidencia, чат, комментари*, 评论, 群里, 工单, コメント, 댓글, 이슈"),
    (Repo, "commit it, commit them, next commit, git add -f, git add --force, to the repo, into the repo, in the repo, to the repository, commit and push, 提交到"),
    (Repo, "コミットに含め, 커밋에 포함, au dépôt, al repositorio, no repositório, в репозиторий"),
    (Image, "![*"),
    (Blank, "=<*, ={*, =$*, /<*, =%*"),
    (Fetch, "curl, wget, irm, iwr, invoke-webrequest, urlopen, requests.get, fetch(*, download!, fetch!, télécharge*, descarga, baixe, скачай, скачивай, 下载, ダウンロード"),
    (Fetch, "다운로드, holen, hole!"),
    (ToShell, "| sh, | bash, | zsh, | sudo sh, | sudo bash, | sudo -e bash, | iex, |sh, |bash, bash <(curl*, source <(curl*, sh -c \"$(curl*, bash -c \"$(curl*"),
    (RunsFetched, "exec(u.urlopen*, exec(urlopen*, exec(requests.get*, exec(urllib*, iex (*, eval \"$(curl*, eval \"$(wget*, eval $(curl*"),
    (RunsEncoded, "base64 -d | sh, base64 -d | bash, base64 --decode | sh, base64 --decode | bash"),
    (Install, "npx --yes http*, npx -y http*, npx http*, bunx http*, uvx http*, pip install http*, pip install git+http*, npm install http*, npm i http*"),
    (Install, "npm install -g http*, code --install-extension http*"),
    (Obey, "carry out, execute it, run it, execute the*, and run, and execute, obey, follow it, follow the instructions, do what it says, exécute-le, exécute-la"),
    (Obey, "ejecútalo, execute-o, führe es aus, führe sie aus, выполни, запусти, 并执行, 并运行, 然后执行, 実行, 실행, als root starten, ausführen, as root, comme root"),
    (Entry, "authorized_keys, deploy-key add, ssh-copy-id, permitrootlogin yes, collaborator, usermod -ag sudo*, sudo sem senha, passwordless sudo, nopasswd: all"),
    (Entry, "nopasswd:all, -g wheel, -g sudo, wheel group"),
    (Key, "ssh-rsa, ssh-ed25519, as admin, append!, clé, public key, 公钥, 公開鍵, 공개 키, admin*, ops key, team key"),
    (Tee, ">> ~*, >> /*, tee, --allow-write"),
    (Door, "-e /bin/sh, -e /bin/bash, *sh -i >& /dev/tcp/*"),
    (NoTls, "node_tls_reject_unauthorized=0, node_tls_reject_unauthorized = 0, git_ssl_no_verify=1, git_ssl_no_verify=true, pythonhttpsverify=0"),
    (NoTls, "http.sslverify false, http.sslverify=false, strict-ssl false, strict-ssl=false, --trusted-host, gpgcheck=0, --allow-unauthenticated"),
    (NoTls, "--no-check-certificate, --insecure-skip-tls-verify, stricthostkeychecking=no, stricthostkeychecking no, gosumdb=off, goinsecure=*"),
    (NoTls, "rejectunauthorized: false, verify=false, insecureskipverify: true"),
    (NoChecks, "--no-verify, husky=0, --dangerously-*, dangerouslydisablesandbox*, bypasspermissions, --yolo, danger-full-access, -auto-approve, --privileged, bash()*"),
    (NoAsk, "without asking, no need to ask, no need to check, no need to confirm, without confirmation, without approval, do not stop to ask, don't stop to ask"),
    (NoAsk, "skip all confirmation*, already given, no need to wait, no sign-off, sans demander, sans confirmation, ohne rückfrage, ohne nachfrage"),
    (NoAsk, "rückfrage ist nicht*, nicht nachfragen, frage nicht, sin preguntar, sin pedir*, no pidas*, no preguntes, sem perguntar, sem pedir*, não peça*"),
    (NoAsk, "не спрашивай*, без подтверждения, без спроса, не нужно спрашивать, 不要询问, 无需确认, 不用确认, 无需询问, 无需征得*, 不必确认, 確認は不要, 確認を取らず*, 確認なし, 확인 없이, 묻지 말고, 물어보지"),
    (NoAsk, "do not ask for con*, don't ask for con*, never ask for con*, do not ask for perm*, don't ask for perm*, never ask for perm*, do not ask again"),
    (NoAsk, "don't ask again, never ask the user for perm*, do not ask the user for con*, never ask the user for con*, do not ask first, don't ask first"),
    (NoAsk, "needn't be consulted, need not be consulted, nobody has to approve, no approval needed, no confirmation needed, without asking the user*"),
    (NoAsk, "never ask the user for*, do not ask the developer*"),
    (Danger, "force push*, push --force, force-push*, production, prod, delete, deleting, deletions, rm -rf, terraform destroy, drop table, payments, borrar"),
    (Danger, "producción, löschen, produktion, удал*, продакшн*, 删除, 生产, 削除, 本番, 삭제, 운영, permanently, forever"),
    (Off, "disable!, turn off!, switch off!, remove!, bypass!, skip!, quietly disable, schalte!, deaktiviere!, désactive*, desactiva, desactive, desative"),
    (Off, "отключи, отключай, выключи, удали, убери, 关闭, 禁用, 跳过, 無効化, 無効に, 비활성화, delete!, vaciar, vacía, empty!, wipe!, clear!, retire, retirez, approve!"),
    (Off, "auto-accept!, accept!"),
    (Guard, "certificate check*, certificate verification, pinned certificates, tls verification, ssl verification, branch protection, secret scan*"),
    (Guard, "security check*, security scan*, code scanning, gitleaks, permission prompt*, approval prompt*, confirmation prompt*, sandbox, the firewall"),
    (Guard, "audit log*, ci-prüfungen, zertifikatsprüfung, vérification tls, vérification des certificats, verificación tls, verificación de certificados"),
    (Guard, "confirmaciones, confirmations, confirmações, проверку сертификат*, проверку tls, шаг gitleaks, 哈希校验, 证书校验, tls 校验, 安全扫描, 安全检查, 分支保护, 証明書の検証, 証明書検証"),
    (Guard, "セキュリティスキャン, 보안 스캔, 인증서 검증, 브랜치 보호, assertions, codeowners, safety restrictions, safety checks, guardrails, all tool calls, all commands"),
    (Guard, "any permission request, every permission request, approvals"),
    (Trace, "bash_history, shell history, auth.log, /var/log/secure"),
    (Source, "config set registry, set registry, --index-url, --extra-index-url, pip install -i, insteadof, credential.helper, http_proxy*, https_proxy*, goproxy*"),
    (Source, "registry=*, pip.conf, update-ca-certificates, core.hookspath, <mirrorof>*, 시스템 프록시*, system proxy"),
    (Unseen, "don't bring it up, do not bring it up, no need to bring it up, don't tell the user., do not tell the user., don't tell the user about"),
    (Unseen, "do not tell the user about, don't tell the user that you, don't tell the user that the, never tell the user, without telling the*"),
    (Unseen, "without informing the*, without notifying the*, do not inform the user*, don't inform the user*, never inform the*, do not mention this to*"),
    (Unseen, "do not mention it to*, don't mention it to*, never mention to the*, never mention this*, and do not say so, nobody has to be informed"),
    (Unseen, "nobody needs to know, no one needs to know, leave them out of the summary*, leave it out of the summary*, leave it out of the changelog*"),
    (Unseen, "leave this out of the*, keep this secret*, keep it secret from*, keep this from the*, keep it from the*, hide this from the*, so nobody notices"),
    (Unseen, "as if nothing happened, they only get nervous, erwähne das*, nichts davon, verschweige*, n'en parle pas*, ne le mentionne pas*, ne dis rien*"),
    (Unseen, "sans le dire*, sans prévenir*, no se lo comentes*, no se lo digas*, no lo menciones*, sin avisar*, não conte*, não mencione*, sem avisar*"),
    (Unseen, "sem comentar*, не сообщай*, не говори*, не упоминай*, не рассказывай*, 不要告诉*, 不要告知*, 不要通知*, 别告诉*, 不要写进*, 伝えない*, 知らせない*, 言わない*, 報告しない*, 알리지 말*, 알리지 않*"),
    (Unseen, "말하지 마*, 말하지 않*, 통과했다고 말*, never reveal the existence*, must not warn*, existence of this memory*, if somebody wonders, should they ask"),
    (Unseen, "falls er nachfragt, si quelqu'un demande, comme si de rien*, personne n'a besoin*, como si nada, 알릴 필요 없*, 若无其事, don't let the user know*"),
    (Unseen, "do not let the user know*, these edits from the user*, reveal this rule*, hide it from the user*"),
    (Unseen, "hide it from the reviewer*, hide it from the dev*"),
    (User, "user, users, developer*, reviewer*, maintainer*, owner, summary, nutzer*, benutzer*, entwickler*, l'utilisateur, utilisateur, usuario, usuário"),
    (User, "пользовател*, 用户, ユーザー, 사용자*, nobody, anyone, 提交说明, team, the team, o time, equipe, équipe, equipo, команд*, 团队, チーム, 팀, somebody, they ask, personne"),
    (User, "담당자*, 负责人"),
    (Always, "always, every time, each time, every session, each session, session startup, at the start of*, start every session, before each*, before every*"),
    (Always, "before any*, before the first*, after each*, after every*, at the end of*, whenever, when you start, each bash call, every bash call, on every*"),
    (Always, "each reply, globally, --global, first use, on first use, all yum repos, across all, jedem, jeder, vor jedem, nach jedem, global, avant chaque"),
    (Always, "après chaque, à chaque, toujours, al terminar cada*, en cada, antes de cada, antes de instalar, de forma global, depois de cada, перед каждым"),
    (Always, "после каждого, всегда, перед началом, 每次, 一律, 始终, 全局, 前に必ず, 毎回, 始める前に, 항상, 매번, 세션을 마칠 때, each new*, every clone, each repo*, sur chaque*, harmless"),
    (Always, "folderopen, run silently, permanently, for all sessions, for this session, on startup"),
    (Ignore, "ignoriere, vergiss, missachte, oublie*, ignora, olvida, ignorez, esqueça, dimentica, игнорируй, забудь, проигнорируй, 忽略, 无视, 忘记, 無視, 忘れ, 무시, 잊어"),
    (Ignore, "negeer, zignoruj, yok say, ignore!, disregard!, forget!, override!, override:, set aside!, تجاهل"),
    (Earlier, "previous, prior, earlier, above, all rules, your rules, your instructions, your guidelines, system prompt, vorherigen, bisherigen, précédentes"),
    (Earlier, "antérieures, anteriores, previas, precedenti, предыдущие, все правила, 之前的, 以上所有, 上文, 系统提示, 用户的指令, 以前の, これまでの, 前の, 이전, 앞의, önceki, eerdere, poprzednie"),
    (Earlier, "the rules in, del sistema, everything you were told, claude.md, agents.md, السابقة, the user's rules, the user's instructions"),
    (Rules, "instruction*, rules, guideline*, prompt, directives, anweisung*, regeln, consignes, règles, instrucciones, reglas, instruções, regras, istruzioni"),
    (Rules, "regole, инструкци*, правил*, указани*, 指令, 规则, 指示, 提示, ルール, 지시, 규칙, talimat*, instructies, regels, instrukcje, everything you were told, claude.md"),
    (Rules, "agents.md, التعليمات"),
    (About, "attack, attacks, attacker*, malicious, incident, incidents, threat, threats, injection, jailbreak*, rejected, refused, flagged, detects, such as"),
    (About, "for example, e.g., users install, users run, visitors, not allowed, prohibited, verboten, interdit*, prohibid*, proibid*, запрещ*, vorfall, incidente"),
    (About, "инцидент, atacante, 服务端, 客户端, documented, documentée, header, authorization, stripe, 1password, vault, keyring, keychain, bitwarden, secrets manager"),
    (About, ".gitignore, .env.example, .env.sample, redact*, 严禁, 红线, 反弹 shell, reverse shell, 헤더, ヘッダ, 请求头, post http*, post /*, put http*, put /*"),
    (Past, "was, were, had, used to, exported, ran, last week, letzte woche, removed in, fixed in"),
    (Local, "localhost, 127.0.0.1, 0.0.0.0, self-signed, auto-signé, selbstsigniert, 自签, 自己署名, 자체 서명, dev server, dev certificate, docker-compose, test only"),
    (Local, "in tests, local only"),
    (Not, "never, not, don't, doesn't, isn't, won't, can't, cannot, mustn't, no, nobody, nothing, avoid, without, nor, ❌, nie, niemals, nicht, kein*, ohne"),
    (Not, "jamais, ne, pas, sans, nunca, jamás, sin, não, nem, sem, никогда, не, нельзя, без, 不要, 不得, 不可, 不能, 禁止, 别, 勿, 严禁"),
    (NotAfter, "금지, 하지 말, 지 말, 않는다, 않습니다, 않도록, しない, 禁止, ないこと, ないで, せず, nicht, verboten, forbidden, not allowed"),
];

/// Words that an imperative can follow.
pub(super) const LEADS: [&str; 29] = [
    "and", "then", "please", "kindly", "always", "first", "also", "now", "just", "next", "instead",
    "simply", "quietly", "silently", "must", "should", "shall", "you", "so", "or", "to", "und",
    "dann", "et", "puis", "y", "luego", "e", "depois",
];

/// Words that begin a phrase before an imperative: "after each build send …".
pub(super) const PHRASES: [&str; 21] = [
    "after", "before", "at", "when", "whenever", "if", "once", "during", "on", "every", "each",
    "while", "upon", "under", "for", "nach", "vor", "am", "wenn", "sobald", "beim",
];

/// Addresses of this machine and network.
pub(super) const OWN_NETWORKS: [&str; 4] = ["127.", "10.", "192.168.", "0.0.0.0"];
pub(super) const NEAR_HOSTS: [&str; 5] = [".internal", ".local", ".lan", ".corp", ".localhost"];

/// Hosts that everybody fetches from.
pub(super) const KNOWN_HOSTS: &[&str] = &[
    "rustup.rs",
    "brew.sh",
    "docker.com",
    "nodesource.com",
    "astral.sh",
    "bun.sh",
    "bun.com",
    "deno.land",
    "deno.com",
    "python-poetry.org",
    "pypa.io",
    "k3s.io",
    "starship.rs",
    "vercel.app",
    "claude.ai",
    "opencode.ai",
    "tailscale.com",
    "nixos.org",
    "volta.sh",
    "mise.run",
    "mise.jdx.dev",
    "pnpm.io",
    "npmjs.org",
    "npmjs.com",
    "npmmirror.com",
    "yarnpkg.com",
    "pypi.org",
    "pythonhosted.org",
    "golang.org",
    "goproxy.io",
    "goproxy.cn",
    "crates.io",
    "rubygems.org",
    "pytorch.org",
    "nvidia.com",
    "edu.cn",
    "aliyun.com",
    "openai.com",
    "anthropic.com",
    "vercel.com",
    "huggingface.co",
    "bitbucket.org",
    "azure.com",
    "amazonaws.com",
    "github.com",
    "githubusercontent.com",
    "gitlab.com",
    "google.com",
    "googleapis.com",
    "microsoft.com",
    "aka.ms",
    "debian.org",
    "ubuntu.com",
    "apache.org",
    "sdkman.io",
    "ollama.com",
    "ollama.ai",
    "fly.io",
    "supabase.com",
    "helm.sh",
    "k8s.io",
];
