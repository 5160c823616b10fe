//! Tests what is masked and what is not.

mod held_out;

use proptest::prelude::*;

use super::*;

/// Made-up secrets with the text before them. They are joined at run time, so that this file
/// contains no complete one.
#[rustfmt::skip] // One row per line.
const SECRETS: &[(&str, &str)] = &[
    ("DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=", "q3Zk9xW1vB7nM5cL2jH8gF4dS6aP0oIuYtReWq+/AbCdEfGhIjKlMnOpQrStUvWxYz0123456789abcd=="),
    ("Endpoint=sb://shop.example/;SharedAccessKeyName=Root;SharedAccessKey=", "Zk9xW1vB7nM5cL2jH8gF4dS6aP0oIuYtReWq1234567="),
    ("Server=db;User Id=sa;Password=", "Str0ng!Pass"),
    ("Server=db;Uid=sa;Pwd=", "str0ngpass"),
    ("Authorization: token ", "9f8e7d6c5b4a39281706"),
    ("Authorization: Basic ", "a2ltOmh1bnRlcjIy"),
    ("authorization: BEARER ", "9f8e7d6c5b4a39281706"),
    ("Authorization: ApiKey ", "VnVhQ2ZHY0JDZGJrUW0tZTVhT3g6dWkybHAyYXhUTm1zeWFrdzl0dk5udw"),
    ("Authorization: AWS4-HMAC-SHA256 Credential=", "ABCDEFGH12345678/20260101/eu/s3/aws4_request, SignedHeaders=host, Signature=fe5f80f77d5fa3beca038a248ff027"),
    ("\"Authorization\": \"Bearer ", "9f8e7d6c5b4a39281706"),
    ("curl -H \"PRIVATE-TOKEN: ", "9f8e7d6c5b4a39281706"),
    ("X-Api-Key: ", "9f8e7d6c5b4a39281706"),
    ("x-auth-token: ", "9f8e7d6c5b4a39281706"),
    ("Set-Cookie: sessionid=", "k2j4h6g8f0d1s3a5"),
    ("Cookie: theme=darkmode; sid=", "k2j4h6g8f0d1s3a5"),
    ("curl --cookie \"sid=", "k2j4h6g8f0d1s3a5"),
    ("curl -u kim:", "hunter22"),
    ("curl --user kim:", "hunter22"),
    ("curl -X POST -u 'kim:", "hunter22"),
    ("psql --password ", "hunt3r!22"),
    ("deploy --token ", "9f8e7d6c5b4a3928"),
    ("deploy --api-key ", "9f8e7d6c5b4a3928"),
    ("mysql -uroot -p", "hunter22"),
    ("mysqldump -uroot -p", "hunter22"),
    ("mariadb -uroot -p", "hunter22"),
    ("sshpass -p ", "hunter22"),
    ("docker login -u kim -p ", "hunter22"),
    ("machine shop.example login kim password ", "hunter22"),
    ("machine shop.example\n  login kim\n  password ", "hunter22"),
    ("the password is ", "hunter22"),
    ("My password was `", "hunter22"),
    ("SMTP_PASS=", "mailer"),
    ("SMTP_PASS=", "correct horse battery"),
    ("  3\tDB_PASSWORD=", "correct horse"),
    ("- password: ", "p@ss w0rd of kim"),
    ("Password: ", "my d0!g bites"),
    ("DB_PASS: ", "m4iler!"),
    ("dbPass = \"", "m4iler!"),
    ("SSH_PASSPHRASE=", "correcthorse"),
    ("GOOGLE_CREDENTIALS=", "a8f3k2l9d7s6"),
    ("ENCRYPTION_KEY=", "a8f3k2l9d7s6g5h4"),
    ("SECRET_KEY_BASE=", "a8f3k2l9d7s6g5h4a8f3k2l9d7s6g5h4"),
    ("PASSWORD=", "ab(cd1234"),
    ("PASSWORD=", "ab::cd12"),
    ("PASSWORD=", "ab,cd12"),
    ("PASSWORD=", "$ecret12!"),
    ("PASSWORD=", "*ecret12!"),
    ("DB_PASSWORD='", "correct horse"),
    ("export DB_PASSWORD=\"", "it's 5 o'clock"),
    ("password: ", "hunter22"),
    ("password = \"", "hunter22"),
    ("password => '", "hunter22"),
    ("<password>", "hunter22"),
    ("<servers><password>", "8Fk2L9d7S6g5"),
    ("{\"password\":\"", "hunter22"),
    ("{\\\"password\\\": \\\"", "hunter22"),
    ("jdbc:mysql://db/shop?user=kim&password=", "hunter22"),
    ("https://api.example/v1?access_token=", "9f8e7d6c5b4a3928"),
    ("https://api.example/v1?api_key=", "9f8e7d6c5b4a3928"),
    ("postgres://app:", "s3cret"),
    ("postgres://app:", "pa/ss:w0rd"),
    ("redis://:", "s3cret"),
    ("https://kim:", "p@ss"),
    ("amqp://guest:", "gu3st"),
    ("mongodb+srv://app:", "s3cret"),
    ("https://a.blob.example/c/d?sp=r&sig=", "k3Jd9%2Bf8Lm2Qx7Zp4Rt6Yh8Uj0Wv5Nb1Ca%3D"),
    ("https://s3.example/x?X-Amz-Signature=", "fe5f80f77d5fa3beca038a248ff027d0445342fe2855ddc963176630326f1024"),
    ("https://s3.example/x?X-Amz-Security-Token=", "IQoJb3JpZ2luX2VjEJr1K2l3M4n5O6p7"),
    ("//registry.npmjs.org/:_authToken=", "9f8e7d6c-5b4a-3928-1706-a1b2c3d4e5f6"),
    ("//registry.example/:_auth=", "a2ltOmh1bnRlcjIy"),
    ("{\"auths\":{\"ghcr.io\":{\"auth\":\"", "a2ltOmh1bnRlcjIy"),
    ("aws_secret_access_key = ", "wJalr9UtnF3MIK7MDENGbPxRfiCYzzKEYqqq1234"),
    ("\"aws_session_token\": \"", "FwoGZXIvYXdzEBYaDH7k2l9d7S6g5"),
    ("client_secret=", "8fK2l9D7s6G5h4J3"),
    ("webhook_secret: ", "8fK2l9D7s6G5h4J3"),
    ("JWT_SECRET=", "8fK2l9D7s6G5h4J3"),
    ("const apiKey = '", "8fK2l9D7s6G5h4J3"),
    ("os.environ[\"API_KEY\"] = \"", "8fK2l9D7s6G5h4J3"),
    ("APP_KEY=base64:", "8fK2l9D7s6G5h4J3k1M0n2B3v4C5x6Z7a8S9d0F1g2H="),
    ("service_role_key: ", "8fK2l9D7s6G5h4J3"),
    ("PASSWORD_2=", "hunter22"),
    ("PuTTY-User-Key-File-3: ssh-rsa Private-Lines: 2 ", "AAAAgQC3x9Zk8s7QwPz1 b4Lm2Nf0Rt6Yh8Uj=="),
    ("glft-", "NiMg9aW37k5wCnHDepQH"),
    ("bot: ", "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs"),
    ("", "k3LpW7xYz1aBcd.atlasv1.EfgHiJkLmNoPqRsTuVw2xYz1aBcdEfgHiJkLmNoPqRsTuVw2xYz1aBcdEfgHiJkLmNo"),
    ("access_token$production$", "8sknefnwjf7jcr6u$c1f2a9b07e364d58c1f2a9b07e364d58"),
    ("FLWSECK-", "9c1f0b7de2a84c559c1f0b7de2a84c55-X"),
    ("live_", "2a1b9c8d7e6f504132a1b9c8d7e6f504132"),
    ("https://a.blob.example/c?se=2026&sig=", "k3Jd9f8L"),
    ("aws configure set aws_secret_access_key ", "wJalr9UtnF3MIK7MDENGbPxRfiCYzzKEYqqq1234"),
    ("az login --service-principal -u app -p ", "hunter22"),
    ("sed -i 's/DB_PASSWORD=.*/DB_PASSWORD=", "hunter22"),
    ("tt=Bearer exp=", "9f8e7d6c5b4a39281706"),
    ("token: ", "agent:main:k9f3a8c2e7b1k9f3a8c2e7b1q0x7"),
    ("password=", ".*Xk29vQ7m"),
    ("vault login ", "8fK2l9D7s6G5h4J3"),
    ("htpasswd -b .htpasswd kim ", "hunter22"),
    ("password → ", "hunter22"),
    ("ALTER USER kim WITH PASSWORD '", "hunter22"),
    ("CREATE USER kim IDENTIFIED BY '", "hunter22"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\n", "b3BlbnNzaC1rZXktdjEAAAAA"),
    ("-----BEGIN EC PRIVATE KEY-----\\n", "MHcCAQEEIIrYSSNQFaA2Hwf1"),
    ("\"private_key\": \"-----BEGIN PRIVATE KEY-----\\n", "MIIEvQIBADANBgkqhkiG9w0B\\nAQEFAASCBKcwggSjAgEAAoIB"),
    ("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n", "lQOYBGPx1Y0BCADG7b8mWq2z"),
];

/// Lines without a secret.
#[rustfmt::skip] // One row per line.
const INNOCENT: &[&str] = &[
    "Total archived this pass: **65**.",
    "Tests that pass: **12** of 14",
    "docToken=HbRkdo7BhoQ2RQx5lG4cpyQknUc",
    "session_key: agent:main:subagent:0b17d36b-a351-4f16-a302-1068ff4e0854",
    "postgresql://user:pass@localhost:5432/shop",
    "postgres://postgres:password@localhost",
    "fell back to `Username:` / `Password:` prompts on 2 hosts (`https` only)", "\"user=\" + user + \"\\npassword=\" + password + \"\\n\"",
    "assert.Contains(t, output, \"password=\"+expectedToken1) // \"", "--pass: #34d399;", "pass: #16a34a",
    "password: see the wiki, page 4b", "Password: 8+ characters, a # or a !", "password: ask kim@example.com for it", "password: use $PASSWORD or {{ pw }}",
    "PWD=/home/kim/shop", "OLDPWD=/home/kim", "echo $PWD", "cd \"$PWD/src\"",
    "let token = \"identifier\";", "Token: auth.Token,", "token: string;", "token?: string",
    "let token = lexer.next();", "let token = self.tokens[0];", "token = tokens.pop()",
    "let secret = Secret::new(value);", "secret: Option<String>,", "pub secret: &'a str,",
    "password: String,", "password: str = None", "def login(user, password=None):",
    "login(user=user, password=password)", "connect(password=settings.password)",
    "password = getpass.getpass()", "password = prompt(\"Password: \")", "const password = req.body.password;",
    "if (password === confirmPassword) {", "password.length < 8", "password must have 8 characters",
    "Password: min 8 characters", "the password is wrong", "the password is required",
    "\"password\": \"string\"", "\"password\": \"Enter your password\"", "type=\"password\" name=\"password\"",
    "<label for=\"password\">Password</label>", "forgot_password_url: /reset", "\"forgotPassword\": \"Forgot password?\"",
    "password=$PASSWORD and token=${TOKEN}", "TOKEN=$GITHUB_TOKEN make release", "token: ${{ secrets.GITHUB_TOKEN }}",
    "API_KEY=<your api key>", "API_KEY=your-api-key", "api_key: YOUR_API_KEY", "API_KEY=xxxxxxxxxxxxxxxx",
    "password: ********", "password: ••••••••", "PASSWORD=changeme", "SECRET=<secret>", "token: <token>",
    "Authorization: Bearer <token>", "Authorization: Bearer $TOKEN", "Authorization: Bearer ${token}",
    "\"Authorization\": f\"Bearer {token}\"", "headers.Authorization = `Bearer ${token}`", "Authorization: required",
    "a Bearer of bad news indeed today", "bearer token authentication", "Basic authentication is on", "Basic usage: tome find x",
    "sk-estimator-with-10-features-and-2-targets", "sk-learn-is-a-library-for-machine-learning", "ask-me-anything-about-this-long-hyphenated-sentence",
    "task-4-of-12-is-done-and-the-others-follow", "risk-assessment-2024-q3-final-version", "npm_config_registry=https://registry.npmjs.org",
    "npm_lifecycle_event and npm_package_version", "hf_hub_download(repo_id, filename)", "live_reload_server_started_on_port_3000",
    "key-value-store-with-32-entries", "re_match_object = re.compile(pattern)", "SKIP the first 32 of them", "EAAAAH is what she cried",
    "commit 6f1ed002ab5595859014ebf0951522d9e2b1c3d4", "index 83db48f..bf2a1c3 100644", "Merge 1f9c3e7 into main",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "md5 = d41d8cd98f00b204e9800998ecf8427e",
    "id: 550e8400-e29b-41d4-a716-446655440000", "\"uuid\": \"550e8400-e29b-41d4-a716-446655440000\"", "session 01HZX3V9K2M4N6P8Q0R2S4T6V8",
    "integrity sha512-oRmd5qk8s0ZkG9ZrWb1jL2K3m4N5p6Q7r8S9t0UvWxYz==", "etag: W/\"3f80f-1b6-4e1cb03b\"",
    "max_tokens=4096", "max_tokens: 4096000", "token_count: 12345678", "tokens: 1234567890", "total_tokens=987654321",
    "prompt_tokens: 1024, completion_tokens: 2048", "\"next_token\": \"abc123def456ghi\"", "nextPageToken: 'CAUQAA8f3k2'", "cancellation_token: ct1a2b3c4d5e",
    "primary_key: user_id", "primary_key = \"id_2024_orders\"", "foreign_key: true", "public_key: ssh-ed25519", "partition_key = 'tenant#1234'",
    "cache_key: user:1234:profile", "key: value", "sort_key=created_at", "keyboard: qwerty1234", "monkey=banana123", "turkey: 12345678a",
    "bypass=enabled", "compass: north12", "passed: 12 failed: 3", "pass: 42, fail: 0", "pass=true", "passing 128 of 130 tests",
    "auth: required", "auth = Auth::new()", "auth: { user, pass }", "author: Kim Example", "oauth: enabled",
    "https://example.com/a:b@c", "ssh://git@github.com:22/a", "git@github.com:kim/shop.git", "http://localhost:8080/npm/@scope/pkg",
    "https://host.example:8443/x@1.2.3/y", "https://user@example.com/path", "mailto:kim@example.com", "see http://127.0.0.1:3000/?a=b@c",
    "postgres://app:${DB_PASSWORD}@db/x", "postgres://app:<password>@db/x", "postgres://localhost:5432/shop",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----", "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIE\n-----END CERTIFICATE-----",
    "grep -l \"-----BEGIN PRIVATE KEY-----\" *", "the file starts with -----BEGIN RSA PRIVATE KEY----- (see above)",
    "credentials: 'include'", "credentials: \"same-origin\"", "credentials.json", "aws credentials are missing", "secretName: shop-tls", "secret: kubernetes-secret-name",
    "secretKeyRef: { name: shop, key: token }", "kubectl get secret shop-tls -o yaml", "client_secret_path: ./secret.json", "token_path=/run/secrets/token",
    "TOKEN_FILE=/var/run/secrets/token", "SECRET=/run/secrets/db-password", "PASSWORD_FILE=/run/secrets/db-password", "token: /var/lib/shop/token",
    "mkdir -p src/core/secret12", "cp -p a1b2c3d4 b", "docker run -u 1000:1000 image", "ps -u kim", "sort -u names2024.txt", "curl -u $USER:$PASS https://x", "ssh -p 2222 host",
    "cookie: a small thing", "cookies = response.cookies", "Cookie policy: accept all", "set-cookie: theme=dark", "cookie.name=value",
    "sig=SIGTERM", "signal: sigint12", "signature: fn(a: u32)", "sig = hmac(key, body)",
    "AKIA is a prefix", "repo-api-96928a50-9c08-4729-96db-ec553d4550ee", "ghp_ is how a token begins", "tokens such as xoxb-… are masked", "sk-… and sk_live_… are keys",
    "日本語 password", "пароль: секрет", "mot de passe : obligatoire", "🔑 token rotated",
    "1700000000000", "2026-01-31T10:00:00Z", "v1.0-beta.2", "1.2.3-rc.4+build.5678", "0x7fff5fbff8c0", "192.168.178.200:8080", "aa:bb:cc:dd:ee:ff",
    "src/core/log/mask.rs:123:45", "at Object.<anonymous> (/home/kim/shop/src/token.ts:12:34)", "node_modules/.pnpm/@babel+core@7.24.0/node_modules/@babel/core",
    "target/debug/deps/tome-bfb562e588cd201d", "/tmp/.tmp7osuIL/.claude/settings.json", "fn secret_is_masked_1() {}", "assert_eq!(token, expected);",
    "#[serde(rename = \"token\")]", "SELECT token, password FROM users WHERE id = 1234567", "ALTER TABLE users ADD COLUMN password_hash TEXT", "password_hash = bcrypt(password)",
    "token == \"identifier\"", "switch (token) { case 'a1': break; }", "match token { Token::Word(w) => w, _ => \"\" }", "token => token.text",
    "compile_error!(concat!(\"Cfg does not pass: \", stringify!($($cfg)*)));", "ERROR_CONNECTED_OTHER_PASSWORD: WIN32_ERROR = 2108", "UNRECOGNIZED_TOKEN = 0x8004400a,", "the pipe identified by `addr1234`",
    "access_token and refresh_token are returned", "api_key is read from the environment", "The API key: see settings", "secret: see 1Password", "1Password: `A=\"$B\" sh -c 'set -a; . ./x'`",
];

fn is_masked(before: &str, secret: &str, after: &str) -> bool {
    let masked = mask(&format!("{before}{secret}{after}"));
    // What is left must be too short to be useful.
    let left = masked.as_str();
    !left.contains(secret)
        && !secret
            .get(secret.len() / 2..)
            .is_some_and(|half| half.len() >= 4 && left.contains(half))
}

#[test]
fn an_underscore_before_an_unmistakable_start_ends_the_word() {
    let starts: Vec<&str> = TOKENS
        .iter()
        .filter(|token| token.is_unmistakable())
        .inspect(|token| {
            let before = format!("T_{}", token.start);
            assert!(is_masked(&before, token.example, "\n"), "{before}");
            for before in ["T_", "my_old_"] {
                let innocent = format!("{before}{}", token.innocent);
                assert_eq!(mask(&innocent), innocent);
            }
        })
        .map(|token| token.start)
        .collect();
    for start in [
        "ghp_",
        "github_pat_",
        "glpat-",
        "xoxb-",
        "xoxp-",
        "sk-ant-",
        "AKIA",
    ] {
        assert!(starts.contains(&start), "{start}");
    }
    // Short starts are parts of ordinary names.
    for start in ["sk-", "sk_", "hf_", "fw_", "r8_"] {
        assert!(!starts.contains(&start), "{start}");
    }
    let name = "test_sk_4f1c2aa0b9d8e7f6a5b4c3d2e1f00f1e2d3c4b5a69788f9e";
    assert_eq!(mask(name), name);
    for line in INNOCENT {
        let line = format!("x_{line}");
        let word = line.split(' ').next().unwrap_or_default();
        assert_eq!(mask(word), word);
    }
}

#[test]
fn every_row_finds_its_example_and_leaves_what_looks_alike() {
    let mut wrong = Vec::new();
    for token in TOKENS {
        if !is_masked(token.start, token.example, "\n") {
            wrong.push(format!("missed: {}", token.name));
        }
        if mask(token.innocent) != token.innocent {
            wrong.push(format!("{}: {}", token.name, mask(token.innocent)));
        }
    }
    for infix in INFIXES {
        let (before, after) = infix.example;
        let whole = format!("{before}{}{after}", infix.middle);
        if mask(&whole) != MASKED || mask(infix.innocent) != infix.innocent {
            wrong.push(format!(
                "{}: {}, {}",
                infix.name,
                mask(&whole),
                mask(infix.innocent)
            ));
        }
    }
    for name in NAMES {
        let (before, value) = name.example;
        let secret = value.trim_matches(['"', '\'']);
        if mask(&format!("{before}{value}")).contains(secret) {
            wrong.push(format!("missed: {before}{value}"));
        }
        if mask(name.innocent) != name.innocent {
            wrong.push(format!("{}: {}", name.word, mask(name.innocent)));
        }
    }
    for context in CONTEXTS {
        let [before, secret, after] = context.example;
        if !is_masked(before, secret, after) {
            wrong.push(format!(
                "missed: {}: {}",
                context.name,
                mask(&context.example.concat())
            ));
        }
        if mask(context.innocent) != context.innocent {
            wrong.push(format!("{}: {}", context.name, mask(context.innocent)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn secrets_are_found_and_what_is_none_is_left() {
    let after = |before: &str| match before {
        before if before.contains("://") && before.ends_with(':') => "@host.example/x",
        before if before.ends_with('>') => "</password>",
        _ => "\n",
    };
    let rows = TOKENS.iter().map(|token| (token.start, token.example));
    let all: Vec<(&str, &str)> = rows.chain(SECRETS.iter().copied()).collect();
    let missed: Vec<String> = all
        .iter()
        .filter(|(before, secret)| !is_masked(before, secret, after(before)))
        .map(|(before, secret)| mask(&format!("{before}{secret}")))
        .collect();
    let struck: Vec<String> = INNOCENT
        .iter()
        .filter(|line| mask(line) != **line)
        .map(|line| mask(line))
        .collect();
    let counts = format!(
        "{} of {} secrets missed, {} of {} innocent lines struck\nmissed: {missed:#?}\nstruck: {struck:#?}\n",
        missed.len(),
        all.len(),
        struck.len(),
        INNOCENT.len()
    );
    #[expect(clippy::print_stdout, reason = "the counts are what this test is for")]
    {
        print!("{counts}");
    }
    assert!(all.len() >= 137 && INNOCENT.len() >= 137, "{counts}");
    assert!(missed.len() * 100 <= all.len() * 3, "{counts}");
    assert!(struck.len() * 100 <= INNOCENT.len(), "{counts}");
}

#[test]
fn what_has_the_shape_of_a_secret_is_masked() {
    let cases = [
        (
            "key sk-ant-api03-AbCdEf0123456789_xyz end",
            "key sk-‹masked› end",
        ),
        ("ghp_0123456789abcdefghijABCDEFGHIJ012345.", "ghp_‹masked›."),
        ("DB_PASSWORD=%s9!Kd#2x%", "DB_PASSWORD=‹masked›"),
        (
            "github_pat_11ABCDE_0123456789abcdefghij",
            "github_pat_‹masked›",
        ),
        ("id AKIAIOSFODNN7EXAMPLE1, ok", "id AKIA‹masked›, ok"),
        ("xoxb-123456789012-abcdef", "xoxb-‹masked›"),
        (
            "Authorization: Bearer abcdef0123456789abcdef",
            "Authorization: Bearer ‹masked›",
        ),
        (
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl!",
            "eyJ‹masked›!",
        ),
        ("PASSWORD=hunter22 next", "PASSWORD=‹masked› next"),
        ("DB_PASSWORD='correct horse'", "DB_PASSWORD='‹masked›'"),
        ("api_key: \"a1b2c3d4e5\"", "api_key: \"‹masked›\""),
        (
            "{\"access_token\":\"a1b2c3d4e5\"}",
            "{\"access_token\":\"‹masked›\"}",
        ),
        (
            "\\\"apiKey\\\": \\\"a1b2c3d4e5\\\"",
            "\\\"apiKey\\\": \\\"‹masked›\\\"",
        ),
        ("--token=abcdef123456", "--token=‹masked›"),
        (
            "postgres://app:s3cret@db.example/x?y=1",
            "postgres://app:‹masked›@db.example/x?y=1",
        ),
    ];
    for (given, expected) in cases {
        assert_eq!(mask(given), expected);
    }
}

#[test]
fn a_private_key_keeps_only_its_fences() {
    let text =
        "a\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\nbnNz\n-----END OPENSSH PRIVATE KEY-----\nb";
    assert_eq!(
        mask(text),
        "a\n-----BEGIN OPENSSH PRIVATE KEY-----‹masked›-----END OPENSSH PRIVATE KEY-----\nb"
    );
    assert_eq!(
        mask("-----BEGIN PRIVATE KEY-----\ncut"),
        "-----BEGIN PRIVATE KEY-----‹masked›"
    );
}

#[test]
fn what_only_looks_like_one_stays() {
    let cases = [
        "ask-me-anything-about-this-long-hyphenated-sentence",
        "sk-learn-is-a-library-for-machine-learning",
        "the token: whatever follows",
        "password=$PASSWORD and token=${TOKEN}",
        "PASSWORD=%DB_PASSWORD%",
        "let token = lexer.next();",
        "let secret = Secret::new(value);",
        "token_count: 12345678",
        "max_tokens=4096000",
        "https://example.com/a:b@c",
        "ssh://git@github.com:22/a",
        "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----",
        "a Bearer of bad news indeed today",
        "OK: tt=Bearer exp=1775228057972",
        "sed -i 's/password=.*/password=changeme/' a.env",
        "sessionKey: agent:my-agent2:subagent:0b17d36b-a351-4f16-a302-1068ff4e0854",
        "commit 6f1ed002ab5595859014ebf0951522d9e2b1c3d4",
        "日本語 password",
    ];
    for text in cases {
        assert_eq!(mask(text), text);
    }
}

#[test]
fn a_token_without_start_and_name_is_told_from_hashes_and_encoded_text() {
    let token = "k4v2zq7m3xw5nfp6tbyd2hcs4rjeu7lgoa3i5xqzw2mvn6ktfbyq";
    let long = "padding ".repeat(20);
    for (before, after) in [
        ("", ""),
        ("use ", " for the pipeline"),
        ("\"", "\","),
        ("git clone with pat ", "."),
        ("x\\n", "\\nkim"),
        (&long, "\n"),
    ] {
        let masked = mask(&format!("{before}{token}{after}"));
        assert_eq!(masked, format!("{before}{MASKED}{after}"));
    }
    for innocent in [
        format!("sha256-{token}"),
        format!("the SHA-256 in base32 is {token}"),
        format!("integrity: {token}"),
        format!("http://{token}.b32.i2p/"),
        format!("/ipfs/{token}/readme.md"),
        format!("{token}===="),
        format!("{token}a"),
        format!("x_{token}"),
        token.to_uppercase(),
        token[1..].to_owned(),
        // 256 bits end in `a` or `q`.
        format!("{}b", &token[..51]),
        "a".repeat(52),
        // "the words of a plain memory, 32 b"
        "orugkidxn5zgi4zan5tcayjaobwgc2loebwwk3lpoj4syibtgiqa".to_owned(),
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d".to_owned(),
        "thequickbrownfoxjumpsoverthelazydogandthenrunsawayqa".to_owned(),
    ] {
        assert_eq!(mask(&innocent), innocent);
    }
}

#[test]
fn known_secrets_are_masked_whole_longest_first_and_in_part_at_an_end() {
    let said = |secret: &str| format!("PASSWORD={secret}\n");
    let all = [
        "hunter22x",
        "hunter22xyz99",
        "hunter3q!",
        "zürich77q",
        "deployment",
        "Postgres",
        "correcthorsebatterystaple",
        "hunTerTwo",
    ];
    let all = all.map(said);
    let known = KnownSecrets::of(all.iter().map(String::as_str));
    for (text, masked) in [
        (
            "the deployment restarts; PASSWORD=deployment",
            "the deployment restarts; PASSWORD=‹masked›",
        ),
        ("Postgresql and deploy", "Postgresql and deploy"),
        (
            "a correcthorsebatterystaple hunTerTwo",
            "a ‹masked› ‹masked›",
        ),
        ("a hunter22xyz99 b", "a ‹masked› b"),
        ("a hunter22xyz b", "a ‹masked›yz b"),
        ("ahunter22xb zürich77q", "a‹masked›b ‹masked›"),
        ("hunter22hunter3q!", "hunter22‹masked›"),
        ("it is hunter3q…", "it is ‹masked›…"),
        ("it is hunte", "it is hunte"),
        ("hunters and zürich is", "hunters and zürich is"),
        ("hunters and zürich7", "hunters and ‹masked›"),
        ("", ""),
    ] {
        assert_eq!(known.mask(text), masked, "{text}");
    }
    assert_eq!(KnownSecrets::default().mask("hunter22x"), "hunter22x");
}

#[test]
fn masking_twice_changes_nothing_more() {
    let once = mask("PASSWORD=hunter22 ghp_0123456789abcdefghijABCDEFGHIJ012345");
    assert_eq!(mask(&once), once);
}

#[test]
fn a_secret_is_found_behind_a_written_line_break_and_inside_a_string() {
    for token in TOKENS {
        for (before, after) in [
            ("{\"text\":\"a\\n", "\\n\"}"),
            ("(", ")"),
            ("'", "',"),
            ("=", "&x=1"),
        ] {
            let before = format!("{before}{}", token.start);
            assert!(
                is_masked(&before, token.example, after),
                "{} {before}",
                token.name
            );
        }
    }
}

/// Texts whose repetition could make a row read far ahead at each position.
const HARD: &[&str] = &[
    "-",
    "\u{1b}]",
    "token=",
    ".",
    "QUJDRA",
    "token=$",
    "http://a:b@@",
    "-----BEGIN PRIVATE KEY-----",
    "- -",
    "token: \"",
    "token=\\x",
    "password is ",
    "login password ",
    "sk-",
    "sk-a1",
    "eyJ.",
    "ghp_aB3",
    "a.",
    "-----BEGIN PRIVATE KEY----- -----END CERTIFICATE-----",
    "Private-Lines: 1\n",
    "://a:",
    "http://a:@",
    "Authorization: Basic ",
    "Authorization: x y=,",
    "bearer ",
    "Cookie: a=",
    "Cookie: a=xxxxxxxx ",
    "curl -u a:",
    "mysql -p",
    "sig=",
    "identified by '",
    "12345678:AA",
    "key-us",
    "hooks.slack.com/services/",
    "secret_key_base",
    "ключ password: ",
];

#[test]
fn a_long_value_may_end_in_any_character() {
    for end in ["é", "€", "𖩀", "*𖩀"] {
        for length in 60..70 {
            let value = format!("{}{end}", "a".repeat(length));
            let text = format!("//registry.example/:_auth={value}");
            mask(&mask(&text));
            assert!(!value::is_pair(&value), "{value}");
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_masked_once_and_for_all(parts in proptest::collection::vec(prop_oneof![
        "\\PC{0,12}",
        "[a-zA-Z0-9=:;,.@/\\\\ \"'-]{0,12}",
        proptest::sample::select(HARD).prop_map(str::to_owned),
        proptest::sample::select(SECRETS).prop_map(|(before, secret)| format!("{before}{secret}")),
    ], 0..8)) {
        let text = parts.concat();
        let found = find(&text);
        for pair in found.windows(2) {
            prop_assert!(pair[0].span.end <= pair[1].span.start);
        }
        for secret in &found {
            prop_assert!(text.get(secret.span.clone()).is_some_and(|part| !part.is_empty()));
        }
        mask(&mask(&text));
    }
}
