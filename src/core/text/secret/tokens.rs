//! Secrets recognized by their start: one row each, with an example and a similar text that is not
//! a secret. Examples are made up and leave out the start, so that this file contains no complete
//! one.

use super::scan::Scan;
use super::value::{is_random, is_uuid};

/// A secret that starts with a fixed text.
#[derive(Debug)]
pub(super) struct Token {
    /// The kind of secret.
    pub(super) name: &'static str,
    /// The start, which is not masked.
    pub(super) start: &'static str,
    body: Body,
    /// The minimum and the maximum length after the start, in bytes.
    length: (usize, usize),
    /// The rest of an example.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read it"))]
    pub(super) example: &'static str,
    /// A similar text that is not a secret.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read it"))]
    pub(super) innocent: &'static str,
}

/// The characters after the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// `0-9a-fA-F`
    Hex,
    /// `a-z0-9`
    Lower,
    /// `A-Z0-9`
    Upper,
    /// Letters and digits.
    Alnum,
    /// Letters, digits and `_`.
    Word,
    /// Letters, digits, `_` and `-`.
    Dash,
    /// Letters, digits, `_`, `-` and `.`.
    Dot,
    /// Base64 of either alphabet, also URL-encoded.
    Base64,
    /// Letters, digits and `$`.
    Dollar,
    /// Three parts with `.` between them: the number of an account, a time and a code.
    Bot,
    /// A path in a URL.
    Path,
    /// Five groups of hexadecimal digits.
    Uuid,
    /// Parts of base64 with `.` between them.
    Jwt,
}

use Body::{Alnum, Base64, Bot, Dash, Dollar, Dot, Hex, Jwt, Lower, Path, Upper, Uuid, Word};

impl Body {
    fn holds(self, byte: u8) -> bool {
        match self {
            Hex => byte.is_ascii_hexdigit(),
            Lower => byte.is_ascii_lowercase() || byte.is_ascii_digit(),
            Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Alnum => byte.is_ascii_alphanumeric(),
            Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Dash => byte.is_ascii_alphanumeric() || b"_-".contains(&byte),
            Dollar => byte.is_ascii_alphanumeric() || byte == b'$',
            Dot | Jwt | Bot => byte.is_ascii_alphanumeric() || b"_-.".contains(&byte),
            Base64 => byte.is_ascii_alphanumeric() || b"_-+/=%".contains(&byte),
            Path => byte.is_ascii_alphanumeric() || b"_-/@.%".contains(&byte),
            Uuid => byte.is_ascii_hexdigit() || byte == b'-',
        }
    }

    /// Whether the text after the start, up to the window, can be a secret.
    fn fits(self, body: &str) -> bool {
        match self {
            Uuid => is_uuid(body),
            Bot => is_bot(body),
            Jwt => body.split('.').filter(|part| part.len() >= 4).count() >= 2,
            _ => is_random(body),
        }
    }
}

/// Whether this is the rest of a bot's token, behind the first two characters of its number.
fn is_bot(body: &str) -> bool {
    let lengths: Vec<usize> = body.split('.').map(str::len).collect();
    matches!(lengths[..], [20..=26, 6..=7, 27..=40]) && is_random(body)
}

/// The number of bytes that decide whether a text is a secret; a longer secret is masked whole.
const WINDOW: usize = 160;

impl Token {
    /// Whether nothing else starts like this, also behind the `_` of a longer name.
    pub(super) fn is_unmistakable(&self) -> bool {
        let is_separated = self.start.ends_with(['_', '-']) && self.start.len() >= 4;
        is_separated || self.name.starts_with("AWS ")
    }

    /// Checks the text after the start, which ends at `at`.
    pub(super) fn find(&self, scan: &mut Scan<'_>, start: usize, at: usize) {
        let is_glued = self.is_unmistakable() && scan.byte_before(start) == Some(b'_');
        // `repo-api-` and an id is the name of a repository.
        let is_in_name = self.start == "api-"
            && scan.byte_before(start) == Some(b'-')
            && start > 1
            && scan
                .byte_before(start - 1)
                .is_some_and(|byte| byte.is_ascii_alphanumeric());
        if is_in_name || (!scan.starts_word(start) && !is_glued) {
            return;
        }
        let (least, most) = self.length;
        let window = WINDOW.max(least + 1);
        let end = scan.run(at, window, |byte| self.body.holds(byte));
        let body = trimmed(scan.slice(at..end));
        let is_cut = end - at == window;
        let goes_on = !is_cut
            && scan
                .byte(end)
                .is_some_and(|byte| byte.is_ascii_alphanumeric());
        let fits = body.len() >= least && (body.len() <= most) && !goes_on && self.body.fits(body);
        // The keys in the documentation of AWS.
        if !fits || body.ends_with("EXAMPLE") {
            return;
        }
        let end = if is_cut {
            scan.run(at, usize::MAX, |byte| self.body.holds(byte))
        } else {
            end
        };
        let end = at + trimmed(scan.slice(at..end)).len();
        scan.accept(self.name, at..end);
    }
}

/// Returns the text without the punctuation that ends a sentence or a path.
fn trimmed(text: &str) -> &str {
    text.trim_end_matches(['.', '-', '/', '@'])
}

/// A secret that is recognized by its middle.
#[derive(Debug)]
pub(super) struct Infix {
    pub(super) name: &'static str,
    pub(super) middle: &'static str,
    before: (Body, usize, usize),
    after: (Body, usize, usize),
    /// The text before and after the middle of an example.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read it"))]
    pub(super) example: (&'static str, &'static str),
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read it"))]
    pub(super) innocent: &'static str,
}

impl Infix {
    /// Checks the text on both sides of the middle.
    pub(super) fn find(&self, scan: &mut Scan<'_>, start: usize, at: usize) {
        let (body, least, most) = self.before;
        let from = scan.run_back(start, most + 1, |byte| body.holds(byte));
        let (before, (body, least_after, most_after)) = (start - from, self.after);
        let end = scan.run(at, most_after.saturating_add(1).min(WINDOW), |byte| {
            body.holds(byte)
        });
        let after = end - at;
        let fits = (least..=most).contains(&before)
            && (least_after..=most_after).contains(&after)
            && !scan
                .byte(end)
                .is_some_and(|byte| byte.is_ascii_alphanumeric());
        if fits {
            scan.accept(self.name, from..end);
        }
    }
}

/// No upper limit.
const MANY: usize = usize::MAX;

const fn token(
    name: &'static str,
    start: &'static str,
    (body, least, most): (Body, usize, usize),
    example: &'static str,
    innocent: &'static str,
) -> Token {
    Token {
        name,
        start,
        body,
        length: (least, most),
        example,
        innocent,
    }
}

/// Secrets recognized by their middle.
pub(super) const INFIXES: &[Infix] = &[
    Infix {
        name: "Telegram bot token",
        middle: ":AA",
        before: (Hex, 8, 10),
        after: (Dash, 30, 36),
        example: ("5312746890", "Hf3kQ9dPz_7LmWc2RbYx8TnVg5JsEa4Uio"),
        innocent: "12345678:AA is how one begins",
    },
    Infix {
        name: "Azure client secret",
        middle: "8Q~",
        before: (Dot, 3, 3),
        after: (Dot, 31, 34),
        example: ("k3L", "pW7xYz1aBc_dEf.gHiJkLmNoPqRsTuVw2"),
        innocent: "abc8Q~ is in the middle of one",
    },
    Infix {
        name: "Terraform Cloud token",
        middle: ".atlasv1.",
        before: (Alnum, 14, 14),
        after: (Dash, 60, 70),
        example: (
            "k3LpW7xYz1aBcd",
            "EfgHiJkLmNoPqRsTuVw2xYz1aBcdEfgHiJkLmNoPqRsTuVw2xYz1aBcdEfgHiJkLmNo",
        ),
        innocent: "k3LpW7xYz1aBcd.atlasv1.short",
    },
    Infix {
        name: "Azure DevOps token",
        middle: "JQQJ99",
        before: (Alnum, 40, 60),
        after: (Alnum, 20, 40),
        example: (
            "k3LpW7xYz1aBcdEfgHiJkLmNoPqRsTuVw2xYz1aBcdEfgHiJkLmN",
            "BBACAAAAAAAAAAAAASAZDO4xYz",
        ),
        innocent: "JQQJ99 is in the middle of one",
    },
    Infix {
        name: "Azure storage key",
        middle: "+ASt",
        before: (Base64, 76, 76),
        after: (Base64, 6, 8),
        example: (
            "eUK98iEG8IR3YvDzy012TccHIFEVmg+J8sbayuNEuzESRf1vhN+a18Wz0HasDo9TpzVsiJE/IPb3",
            "0k0Kg==",
        ),
        innocent: "+ASt is near the end of one",
    },
    Infix {
        name: "Mailchimp key",
        middle: "-us",
        before: (Hex, 32, 32),
        after: (Hex, 1, 2),
        example: ("9f3c2a7be1d048569f3c2a7be1d04856", "14"),
        innocent: "deadbeef-us1 is a host",
    },
];

/// Secrets recognized by their start.
#[rustfmt::skip] // One row per line.
pub(super) const TOKENS: &[Token] = &[
    // Models and related services.
    token("OpenAI or compatible key", "sk-", (Dash, 20, MANY), "FkM-R5Kjp1vRt_1fjORS-6ilI8ihN5KXSc7Tvo-hBKqFYY-k", "sk-estimator-with-10-features-and-2-targets"),
    token("OpenAI project key", "sk-proj-", (Dash, 40, MANY), "q8Zt2LmW_4RbYx7TnVg5JsEa9UioHf3kQ-dPz6LcN1vKpB0wXyMe", "sk-proj-then-come-plain-words"),
    token("Anthropic key", "sk-ant-", (Dash, 40, MANY), "api03-Hf3kQ9dPz_7LmWc2RbYx8TnVg5JsEa4Uio-1pKvN6wXyZb0MtCq", "sk-ant-then-come-plain-words"),
    token("OpenAI session key", "sess-", (Alnum, 32, MANY), "kCzJr4i0B3JrTAwR4y9ojfljoQoaF1LlqsajAIxN", "sess-start-of-the-session-2"),
    token("Groq key", "gsk_", (Alnum, 30, MANY), "Ku8iS2G8NPRVdD53X83RZJzzzzgEOzdmenCkhvMdgaKjIg8xNbe3", "gsk_then-come-plain-words"),
    token("xAI key", "xai-", (Alnum, 30, MANY), "nNyjOq9wMxEhh2FDEEtfjgVvVqE1SkHbn88HxjSI6bWHtP3fS2qHx6kwXoIIXGvOoNZYW2mZp0zVZomH", "xai-then-come-plain-words"),
    token("Perplexity key", "pplx-", (Alnum, 30, MANY), "TWmE4lBYOvfZ8UzDzV8fUkkibjL5DZPjN0MEQ7wjJJibaZUP", "pplx-then-come-plain-words"),
    token("Hugging Face token", "hf_", (Alnum, 30, MANY), "gHV7iB3m03nbqnsGpWLuqIA1id6Vw5DQL0", "hf_hub_download_with_retries_and_backoff"),
    token("Hugging Face organisation token", "api_org_", (Alnum, 30, MANY), "5HA064GiIjHGb3CXlMaXZjljENUhJduRHH", "api_org_then-come-plain-words"),
    token("Replicate token", "r8_", (Alnum, 30, MANY), "JEYXg4JdpmrcXgGCJbW56eCuNGMGmSrCGIZEG", "r8_then-come-plain-words"),
    token("Cerebras key", "csk-", (Alnum, 30, MANY), "8pSH4487q7J58m1CiAhzCueQpBenQtYh5Xj8TPQxjq4i9DoV", "csk-then-come-plain-words"),
    token("Nvidia key", "nvapi-", (Dash, 40, MANY), "mY_uCu3ZR1zTOlUcR64cXQLioDnkHIfxIq2HZt-PlJhx2jIclHkCiHp6bR1IqfEo", "nvapi-then-come-plain-words"),
    token("Pinecone key", "pcsk_", (Word, 30, MANY), "bkqdlm7tOtHWnsCGRlrwZbqcabUGJbmGEp7CgQ0PBQFI14zbGtSnbovm14TU", "pcsk_then-come-plain-words"),
    token("Jina key", "jina_", (Word, 30, MANY), "Oizwbd1iaeOV4qBkdfQ1y3GQbsMpSscDlkrCaqx9vbJupc94tnwlavyfErGP", "jina_embeddings_v2_base_en_and_its_settings"),
    token("Tavily key", "tvly-", (Dash, 20, MANY), "cF_Ha6ili8GjHEAD6-Wj9KfzjsQGMrb9h_Im", "tvly-then-come-plain-words"),
    token("LangSmith key", "lsv2_pt_", (Word, 32, MANY), "8xiM0OGr4hTxoF54Fzbka8FRCztUjAwyuh1vauWv1zh", "lsv2_pt_then-come-plain-words"),
    token("LangSmith service key", "lsv2_sk_", (Word, 32, MANY), "87mTa5Vsqxezy3Lex7BWr2drgd1QsO7jpbrBGumXxY9", "lsv2_sk_then-come-plain-words"),
    token("Fireworks key", "fw_", (Alnum, 20, MANY), "B4bZWOz648JJnUfd7UACNWiP", "fw_then-come-plain-words"),
    token("Voyage key", "pa-", (Dash, 40, MANY), "K_gqv81RKMGHZEM9YpvujA-C5Q52ryFlwRlOEVHzc0X", "pa-rt-of-a-long-name-that-is-written-with-dashes-2"),
    token("ElevenLabs key", "sk_", (Hex, 48, 48), "d6c8a1f8b46287cced9041dff02cee737443e210471948d3", "sk_buff_head_init_and_other_names_of_the_kernel"),
    token("PostHog personal key", "phx_", (Alnum, 32, MANY), "getH8LmyqoYMaaItDr9uP14pEHpJpb9ATPtdbmF4RPAf", "phx_then-come-plain-words"),
    token("Unkey key", "unkey_", (Word, 16, MANY), "qoQB7xoFcSvTAxRzmaZsV2Ge", "unkey_then-come-plain-words"),
    // Code, packages and builds.
    token("GitHub personal token", "ghp_", (Alnum, 30, MANY), "nFmtX0moDoqW4sg8NFNl5oFA6Qd8Mj7zdnbM", "ghp_then-come-plain-words"),
    token("GitHub OAuth token", "gho_", (Alnum, 30, MANY), "afrfwA94hJ9WnywX0t0ZBfdTEmxI6CmuxV5E", "gho_then-come-plain-words"),
    token("GitHub user token", "ghu_", (Alnum, 30, MANY), "rtaUWM6ZO88eb0ogET9D9XyYq6B0Fi7FlaZ7", "ghu_then-come-plain-words"),
    token("GitHub server token", "ghs_", (Alnum, 30, MANY), "Vt0SXjMpu3uDxYYMfGmzWkpAePcEJIukB4ge", "ghs_then-come-plain-words"),
    token("GitHub refresh token", "ghr_", (Alnum, 30, MANY), "c4sohdmM0Lm7exG3lCMqXXQ8agOMTNwncxvj", "ghr_then-come-plain-words"),
    token("GitHub fine-grained token", "github_pat_", (Word, 22, MANY), "cnqcMUP6n0a0uARxlNtencYFJEeAgYzQJjOIfPkzSrAsQtA9dtVK4wAAb3XZ", "github_pat_then-come-plain-words"),
    token("GitLab personal token", "glpat-", (Dot, 20, MANY), "UzYZAa3u2olZU6uqbgsY", "glpat-then-come-plain-words"),
    token("GitLab pipeline trigger token", "glptt-", (Dash, 20, MANY), "pX6N1NF2XV54wca_7E56w8ZniqT3Ul4ffqkOkgWr", "glptt-then-come-plain-words"),
    token("GitLab runner token", "glrt-", (Dot, 20, MANY), "tL31Ugq_DfcgaTMnTC0M", "glrt-then-come-plain-words"),
    token("GitLab runner registration token", "GR1348941", (Dash, 20, MANY), "rAU8urbFt5misIZHbhS4", "GR1348941 is a prefix"),
    token("GitLab feed token", "glft-", (Dash, 20, MANY), "NiMg9aW37k5wCnHDepQH", "glft-then-come-plain-words"),
    token("GitLab deploy token", "gldt-", (Dash, 20, MANY), "NiMg9aW37k5wCnHDepQH", "gldt-then-come-plain-words"),
    token("GitLab job token", "glcbt-", (Dash, 20, MANY), "gI3HLBkbvHEzuPyXQEW88ad3", "glcbt-then-come-plain-words"),
    token("GitLab agent token", "glagent-", (Dash, 40, MANY), "VP8Kd0d3mS8gBlKv3azKgaS_m_x-SHuKBD-vok_nPTmZYl2dVA", "glagent-then-come-plain-words"),
    token("GitLab incoming mail token", "glimt-", (Dash, 20, MANY), "MH2vWD6qeSPt5Pv74GDqQ7EyI", "glimt-then-come-plain-words"),
    token("GitLab SCIM token", "glsoat-", (Dash, 20, MANY), "3JznnJAX7ebZ3CL7csGZ", "glsoat-then-come-plain-words"),
    token("GitLab OAuth secret", "gloas-", (Dash, 40, MANY), "aF31DDxp63OHm1FZuG296c0xPbX_neGBuzSm6A8cVR06AxYpThGJWZhbj11THnCM", "gloas-then-come-plain-words"),
    token("GitLab feature flag token", "glffct-", (Dash, 20, MANY), "ZCY7Bvqiy8CsT07Lq8TD", "glffct-then-come-plain-words"),
    token("Bitbucket app password", "ATBB", (Word, 28, MANY), "2ydf0K5uY8iH1wOLaQan8ePsqMgLj2ol", "ATBB is a prefix"),
    token("Atlassian token", "ATATT3", (Base64, 40, MANY), "5StAZvlMz/Bk4opH1Dr8/h97s+F/vauP7/L7V21jxUdcfQm9+seB1qRmUR8AK3R2GgLLT/ZQISA/pQyO", "ATATT3 is a prefix"),
    token("Atlassian access token", "ATCTT3", (Base64, 40, MANY), "PVGXpV9Wv4Esb7yeuCjVr5mXcj5RPD9oUsQChx5s4tI10FtdILQvH+nO69othB9KpGzU3HEEmXL1uhLs", "ATCTT3 is a prefix"),
    token("npm token", "npm_", (Alnum, 30, MANY), "1f4MUFWrlniNQTOZmLtmaeSUHA1U6dHZwvs1", "npm_config_registry_and_npm_lifecycle_event"),
    token("PyPI token", "pypi-", (Dash, 30, MANY), "lb09rIFxUeuVaT5jpTFPWhLn-5drcFlCxvnNGdcmyHc7E4nSmwfIp7-Joppa", "pypi-publish-with-a-trusted-publisher-2"),
    token("RubyGems key", "rubygems_", (Hex, 48, 48), "c4774ec50cd1c1bac7adac1a4b7d0b352ad6074dce111881", "rubygems_then-come-plain-words"),
    token("NuGet key", "oy2", (Lower, 43, 43), "gqh7a1pcshtwkhd6rf38j2h6is0srpf8s3oym9x39t4", "oy2 is a prefix"),
    token("Clojars token", "CLOJARS_", (Lower, 60, 60), "4tbpvom68yzawkpu9u5rsnsdbk9ew2d7y2wg7oj0vwimr7g4ri0ga09h5zj0", "CLOJARS_then-come-plain-words"),
    token("crates.io token", "cio", (Alnum, 32, 32), "2Yr3NMhy2CSDsUwswzHJMyPuaYV2FyCt", "cio is a prefix"),
    token("Docker personal token", "dckr_pat_", (Dash, 20, MANY), "xMs3WDlQPFPA2bdgG-MN33X7TfS", "dckr_pat_then-come-plain-words"),
    token("Docker organisation token", "dckr_oat_", (Dash, 20, MANY), "5biDm0VZty1_Z4RlvUOUjNwoLR1uLAy0", "dckr_oat_then-come-plain-words"),
    token("JFrog API key", "AKCp", (Alnum, 60, MANY), "Atz4TFbY3pflkwyla4szJxhvI3yvzPe9hB06wJpymDswpBcrQbvZjpTifmrI1YiJCD1YZ", "AKCp is a prefix"),
    token("JFrog reference token", "cmVmd", (Alnum, 40, MANY), "fSlX2oumQ5geJ6xZGWtmeTtfosi0Tzswz26DXO4O33i7rlbxRZQSw5AbQTS", "cmVmd is a prefix"),
    token("CircleCI token", "CCIPAT_", (Word, 30, MANY), "Dp2zw5Oglshr6MUoTRczcMkBmWtjyVcJtOO8lK1oKFTHq7BQRKw7ah1WXPs5c4", "CCIPAT_then-come-plain-words"),
    token("Buildkite token", "bkua_", (Hex, 40, 40), "1731a6b2dc782bdeae16d4f6185578715bbd2694", "bkua_then-come-plain-words"),
    token("Sonar project token", "sqp_", (Hex, 40, 40), "4ff770e4b9447a3d54ec6390bf61189639e35aee", "sqp_then-come-plain-words"),
    token("Sonar user token", "squ_", (Hex, 40, 40), "b95210ef2a83fdf6a0b29872400c49b5539ac5ba", "squ_then-come-plain-words"),
    token("Sonar global token", "sqa_", (Hex, 40, 40), "7b4b87113c16fdf5924754ec21ef66b01d4921da", "sqa_then-come-plain-words"),
    token("Sourcegraph token", "sgp_", (Word, 40, MANY), "eCaQ90l5UkysaCZKRwKmEfIuHDBbI6O3jbz9MNfZZdURvMQtKKA8xEQPi", "sgp_then-come-plain-words"),
    token("Snyk service token", "snyk_sa_", (Word, 20, MANY), "t3vH4Ob2moRVCSfjQLxJL8AxHpKCzqhol94mJVho", "snyk_sa_then-come-plain-words"),
    token("Postman key", "PMAK-", (Dash, 40, MANY), "8368f7e732d2e433ec56f24b-1c71b106e934d263b5ba0837bbf1b3ba31", "PMAK-then-come-plain-words"),
    token("ReadMe key", "rdme_", (Lower, 60, MANY), "pqwm2b2hb5heqlj9syjq8r2abvj564ccelz4k2zo7exv7nticnkx3v3ywuav4vobp3cjjr", "rdme_then-come-plain-words"),
    token("Scalingo token", "tk-us-", (Dash, 40, MANY), "ykwMT7T2i_OwJGcvIEcBgZ5zKmzEhqgkjRrayIbPdBPPd_ZR", "tk-us-then-come-plain-words"),
    token("Deno Deploy token", "ddp_", (Alnum, 30, MANY), "ld3AYcfONvXFMzq8D3ab7uKPudANTU1vkfbj", "ddp_then-come-plain-words"),
    token("Linear key", "lin_api_", (Alnum, 30, MANY), "njHX1fw0xBwIRL3JjQMKvoVNq0TEWcXPtPXJTDJr", "lin_api_then-come-plain-words"),
    token("Linear OAuth token", "lin_oauth_", (Alnum, 30, MANY), "xHH8riqaJEgPZXxjOozWf7bNihdIGnJXlq8MxVj5l3V26XkHbwXTpC3FnO6w5ZyD", "lin_oauth_then-come-plain-words"),
    token("Figma token", "figd_", (Dash, 30, MANY), "uO5BgAUf4x3rMdotbrMtTmv7Yl1RYQeEzberD3nc", "figd_then-come-plain-words"),
    token("Notion token", "ntn_", (Alnum, 40, MANY), "d5ue4hh9FiHBaloRIjOVIGhHw1F96ewn294oUerTlaqre9", "ntn_then-come-plain-words"),
    token("Notion integration secret", "secret_", (Alnum, 40, MANY), "cmGdAYJ8xrauScPDIsJvSA3VTrzBuIAyjyWy4AZj5Oa", "secret_names_are_written_with_underscores_and_stay_2"),
    token("Airtable token", "pat", (Dot, 60, MANY), "pMG7qSNUyp0mQh.211caeae0ffac7cb2c8a2788fbf742b65b754e51acbd3d48c3bb9e28c9e3ef54", "pattern.with.many.dots.and.words.that.go.on.for.a.while.in.a.row"),
    token("Typeform token", "tfp_", (Dash, 40, MANY), "318wi4Y_rbDzZfLQX6plCjbn-lB6hzQ9h1r0gsPQyaxJHlOXGMY1gNMFW3G", "tfp_then-come-plain-words"),
    token("Contentful token", "CFPAT-", (Dash, 40, MANY), "NzqgAV7_sURz6gObi0PeJC4LzA6Z4AAhx3pgrj-xbva", "CFPAT-then-come-plain-words"),
    token("Prefect key", "pnu_", (Lower, 36, MANY), "osn8kjn7g3gmfd0oq21jdick2sou9jtqu9nj", "pnu_then-come-plain-words"),
    token("Prefect service key", "pnb_", (Lower, 36, MANY), "fmi4rotcgawmjtdlvw24pvxlhte93g9hkz3c", "pnb_then-come-plain-words"),
    token("SettleMint token", "sm_pat_", (Alnum, 16, MANY), "QUkxkQ8fva1P31Et", "sm_pat_then-come-plain-words"),
    // Clouds and hosting.
    token("AWS access key", "AKIA", (Upper, 16, MANY), "JQGGPHJ5R88HU3PK", "AKIA is a prefix"),
    token("AWS temporary key", "ASIA", (Upper, 16, MANY), "8C6QXMSZ9NIP86PG", "ASIATIC LIONS LIVE HERE"),
    token("AWS bearer key", "ABIA", (Upper, 16, MANY), "AGD5NOFKJQB1Z7HS", "ABIA is a prefix"),
    token("AWS certificate key", "ACCA", (Upper, 16, MANY), "HFNOP6DPEVGCNLTV", "ACCA is a prefix"),
    token("AWS Bedrock key", "ABSK", (Base64, 100, MANY), "k7xbO00elFsvtSrAzCQia9e/QiizgU0lSu//rHMg7v3XMoiGDEz6E/gYYRWZlDR2NaM+co810M6sQBkTY7eLQlIx40EpBfWxXIQtUvCSYN/OyuYbawnF6GTmWrG1jQ4I", "ABSK is a prefix"),
    token("Alibaba access key", "LTAI", (Alnum, 16, MANY), "9sxtQTORy8HZRd6PFFxS", "LTAI is a prefix"),
    token("Tencent secret id", "AKID", (Alnum, 32, MANY), "bd414RhJyCtWG5jUMVDc8uEia875rjmL", "AKID is a prefix"),
    token("Yandex API key", "AQVN", (Dash, 35, MANY), "fYwJELd10kW-UJPu-gSrzhuNvNgMXUxIN8zP", "AQVN is a prefix"),
    token("Google API key", "AIza", (Dash, 35, MANY), "4ZnHUYOX8IoA50uOftJ80jJYUYKpH5bfNTU", "AIza is a prefix"),
    token("Google OAuth client secret", "GOCSPX-", (Dash, 24, MANY), "HFim0oNvwpZYRZY-RSxs0KrBRi0i", "GOCSPX-then-come-plain-words"),
    token("Google OAuth token", "ya29.", (Dash, 20, MANY), "aE3ZBJqtCEpKeWKqXJiIBCNmUkUcjpPBa6r5Jh5ef7o9CLRQDBAKdCwdI2Vi", "ya29.then-come-plain-words"),
    token("Google refresh token", "1//0", (Dash, 30, MANY), "JloZX0ChVQGj9r366yRyoZvKyjc4zzHzLcciTA1bHTuOTNnfwT1d6nRntU8a", "1//0 is no comment"),
    token("DigitalOcean token", "dop_v1_", (Hex, 40, MANY), "2aaf438c6b8068dc5d44036c002e162aaef6076bc3346eee21f5c7ff43fc2770", "dop_v1_then-come-plain-words"),
    token("DigitalOcean OAuth token", "doo_v1_", (Hex, 40, MANY), "c7173601e1c771d814e0f33545a3c0202219ec0605e636d32b32732b89994fa6", "doo_v1_then-come-plain-words"),
    token("DigitalOcean refresh token", "dor_v1_", (Hex, 40, MANY), "022136ced620104d159e8489b0ac35e5fa870d0a7ba07a2531adab23e5617d26", "dor_v1_then-come-plain-words"),
    token("Heroku key", "HRKU-", (Dash, 36, MANY), "AABKbH3pw4vKYFRGdlAHsiiYMjiibjUjso-J5wmGMY0w4m6RPAdXCnASQJby", "HRKU-then-come-plain-words"),
    token("Fly.io token", "fm2_", (Base64, 60, MANY), "5OmAJUip89Gxbd8eD/rUsXPfVxDc6k5BeK4ryMOziZdvbU9Di9V+BBy8zN6ICPe0wR0cVuEatH68XrHEpJ1trrPhvD2vk50GCtI0", "fm2_then-come-plain-words"),
    token("Fly.io older token", "fo1_", (Dash, 40, MANY), "mg3ncLjKwr1jWMo5F-Vy3jGWxGE0UGjh8BPb48Rx7PD", "fo1_then-come-plain-words"),
    token("Netlify token", "nfp_", (Alnum, 30, MANY), "Bf9nIAz9i5VoxVTxyQFXxioOn4rhcGi4zNAPeELD", "nfp_then-come-plain-words"),
    token("Render key", "rnd_", (Alnum, 28, MANY), "8vKIwwTWBulZESbRRXkzxh9OXs1JPnOp", "rnd_then-come-plain-words"),
    token("Supabase token", "sbp_", (Hex, 40, 40), "6b9852e160d80205270575870032264fa2ba9df8", "sbp_then-come-plain-words"),
    token("Supabase secret key", "sb_secret_", (Dash, 20, MANY), "7Dl83rbyBn6EH2QhdDdCLB6yxANHquh", "sb_secret_then-come-plain-words"),
    token("PlanetScale password", "pscale_pw_", (Dot, 32, MANY), "C7RNYONhOlLgPEtwF7dzPpU8NjniX39iGC5O91V5Ogn", "pscale_pw_then-come-plain-words"),
    token("PlanetScale token", "pscale_tkn_", (Dot, 32, MANY), "6lJreqi7eMiR3ksYmgeKrnjOu0vEwX2RUpF6olHX8Cx", "pscale_tkn_then-come-plain-words"),
    token("PlanetScale OAuth token", "pscale_oauth_", (Dot, 32, MANY), "K7Yzqy_nRFdG8tPOwRy1haDSbGfePDOIUMVTYWKoDb0", "pscale_oauth_then-come-plain-words"),
    token("Neon key", "napi_", (Lower, 40, MANY), "pdkjtq6uy1tip8vdwlui8d93v43nvxpeghubboxee5dm3zt4yt4uwtwg7e420aon", "napi_then-come-plain-words"),
    token("Cloudflare origin CA key", "v1.0-", (Dash, 60, MANY), "6bb31ed04d259b3717bd5c2d-6a9a5f04c5503b11606e4644e0d4887d6e120a578757563e68d1f0e22d4ae56ad7675dbd9956e246a395dfeff8f6f4572bc2c3bdabc4e01fbcd9504bca7a5c59340afef8b0baf3a8c8", "v1.0-beta.2 is out"),
    token("Tailscale key", "tskey-", (Dash, 20, MANY), "auth-bxZyexZ6OIar-5vs0Fk8SybemndVZijtoodBqhUU66g8j", "tskey-then-come-plain-words"),
    token("Vercel token", "vcp_", (Alnum, 24, MANY), "7Dl83rbyBn6EH2QhdDdCLB6yxANHquhTWlMibtcfdkhcbuTSOkhDkgl2", "vcp_then-come-plain-words"),
    token("Vercel integration token", "vci_", (Alnum, 24, MANY), "Qm4TzW9cXv2LbK7nRj5HsYd8GfPa3UeViB6oNt1rEwZyCxMkJhSg0qAl", "vci_then-come-plain-words"),
    token("Vercel app token", "vca_", (Alnum, 24, MANY), "h8RkZ3vTqLw6YbNc1XdJm5GsPf9EaUo2WiV7tBnKyHxCrMjQl4SgDz0e", "vca_then-come-plain-words"),
    token("Vercel gateway key", "vck_", (Alnum, 24, MANY), "h8RkZ3vTqLw6YbNc1XdJm5GsPf9EaUo2WiV7tBnKyHxCrMjQl4SgDz0e", "vck_then-come-plain-words"),
    token("Vercel refresh token", "vcr_", (Alnum, 24, MANY), "h8RkZ3vTqLw6YbNc1XdJm5GsPf9EaUo2WiV7tBnKyHxCrMjQl4SgDz0e", "vcr_then-come-plain-words"),
    token("Vercel blob token", "vercel_blob_rw_", (Word, 30, MANY), "JJ7bfX7jB1mcVF2UyBfO3TWlMibtcfdkhcbuTSOkhDkgl", "vercel_blob_rw_then-come-plain-words"),
    token("Doppler personal token", "dp.pt.", (Alnum, 40, MANY), "mMwR8mxh2BuzAqCoEbRT5lkl5jYwOVPdCHNR5cYCJY4", "dp.pt.then-come-plain-words"),
    token("Doppler service token", "dp.st.", (Dot, 40, MANY), "dev.KaCC4bMOvQzG8j3d6YJHjFlSykSPaGZ7YSG8a2ZxATQ", "dp.st.all.of.this.is.a.path.into.some.object.tree"),
    token("Doppler CLI token", "dp.ct.", (Alnum, 40, MANY), "mKyUQAv9E9L7Nku5ymr5nYQYN0aLSuuPWJqZNvkK2IF", "dp.ct.then-come-plain-words"),
    token("HashiCorp Vault token", "hvs.", (Dash, 20, MANY), "Jk_ft2k1L2alrnWJo34Gk5Vme-MBiHJVA2J6OZ8pfsLgqTWFHe49dlkeB78kLRxrpxHRvuC8CGHhCuMiX4Bm18OhXD", "hvs.then-come-plain-words"),
    token("HashiCorp Vault batch token", "hvb.", (Dash, 40, MANY), "79zHupOZvr88-IVm-QuRmVWor-KQXwOdOA6pK6VU9zwUyyMLFi1bAjApEoKmyaIg2lJOb1SxbzwCnApIPXZdi2oIs2Ucdg2XuVUrTVGsuuttopuNm-07bhE2rEaETEl9X2Q8fCg5Eexz", "hvb.then-come-plain-words"),
    token("HashiCorp Vault recovery token", "hvr.", (Dash, 20, MANY), "iHkQlRk2Nj5FtwN3Pn2vf-puhKfQgnyZvDA3H6lE7aCYmz0lKUQFIQCeZ13itkjhyHmW_Gym-5Li8qsi93qdxfjoPE", "hvr.then-come-plain-words"),
    token("Pulumi token", "pul-", (Hex, 40, 40), "178b5bd85ee5042d74833c27041b29ae696fa4bb", "pul-then-come-plain-words"),
    token("Infracost key", "ico-", (Alnum, 30, MANY), "3GIyIssz1Tc0qEuURnUC3wTtDxfWxUPn", "ico-then-come-plain-words"),
    token("Harness token", "pat.", (Dot, 60, MANY), "0oYBPVRqOxSbrJdvxAcB9M.97aaf35f3b68f14ade9d4a45.Tkwrd7R2pvc2l5dBBmjX", "pat.length.of.all.the.parts.of.this.very.long.path.into.an.object"),
    token("Databricks token", "dapi", (Hex, 32, MANY), "b338ec80cc5c0b3aa41660793677fa31", "dapi is a prefix"),
    token("Dynatrace token", "dt0c01.", (Dot, 60, MANY), "U7F63HPN2T0XAOHVZP1PVPYC.79TR443ADY3OL49YKGQ2FT3NAEFFLXA1063SW7XKG675HXS8NOYWV9RSFXHX8UIV", "dt0c01.then-come-plain-words"),
    token("Grafana Cloud token", "glc_", (Base64, 32, MANY), "oRu1cUCZauz5UZHDw6vVhdWCPZf/8zwiwxHrvOLr9orJNMzC4OqU/5vhnkes", "glc_then-come-plain-words"),
    token("Grafana service account token", "glsa_", (Word, 40, MANY), "rZ2el508HbbN4oCf10SDIp3lmu5OvMbi_ab220315", "glsa_then-come-plain-words"),
    token("New Relic user key", "NRAK-", (Upper, 27, MANY), "SRTFN2R9ADSOTF94JY83Y3MORR6", "NRAK-then-come-plain-words"),
    token("New Relic insert key", "NRII-", (Dash, 32, MANY), "JSp9KWBO3aMGrqvLm3733ymt0wtOC3XJ", "NRII-then-come-plain-words"),
    token("New Relic browser key", "NRJS-", (Hex, 19, MANY), "43565f6ef306e13d697", "NRJS-then-come-plain-words"),
    token("Sentry organisation token", "sntrys_", (Base64, 60, MANY), "wSVn9iuNtGmhgzFAkGGlH+xGaM7CVF0oCboQn5+cCASeOX0YCN1j438Jw00BgB7FpkV3bbH+uy8qM3AsYaLcW4PDRiqgkKfLNuoliMdVwY1pp7M+4Xn3DWzP", "sntrys_then-come-plain-words"),
    token("Sentry user token", "sntryu_", (Hex, 60, MANY), "fcc831e864ec8b45d48730d21e9e233c90cb4f20047226249de87a13d9133d26", "sntryu_then-come-plain-words"),
    token("ClickHouse Cloud key", "4b1d", (Alnum, 38, 38), "L1U3rRFslKBbsDLutJrOPGfgZHFvoxhuG1GsUt", "4b1d is a prefix"),
    token("OpenShift token", "sha256~", (Dash, 43, 43), "VF0JE37GArqbkGwUHyZ7wmMnx81fyYY2zVKZZYyXsR7", "sha256~ is how such a token begins"),
    token("1Password service token", "ops_eyJ", (Base64, 100, MANY), "ekEjwUI68QNVxwvltB9RntsCQKMkIAYb3CW7b4WamDZGEdm71lF5KBhVepc+sZt7ISZuylQ3yLPgVneQGHJ35577OowoFqArA/QyQ59fwhw5ji5dc90l0Drg0ERN+1YhbPe3zCQbdmh2", "ops_eyJ is a prefix"),
    token("Defined Networking key", "dnkey-", (Dash, 40, MANY), "55XGYUAYQ0E587YG5GZG516BH4-TC0RA4PW3YGSDVT8PZB139J4T8CSAJUDPBKQPYO7UJGP27YWJ2L9", "dnkey-then-come-plain-words"),
    token("Launchdarkly SDK key", "sdk-", (Uuid, 36, 36), "9b08f135-0c2a-a24c-4913-e4f364970183", "sdk-version-2024-and-other-words-with-10-dashes"),
    token("Launchdarkly API key", "api-", (Uuid, 36, 36), "5ea45ac4-e885-4b47-0369-09a39e5e32bc", "api-gateway-v2-with-routes-and-stages"),
    token("Authress key", "sc_", (Dot, 40, MANY), "3d02hbzvmp.DIxS2i.acc_yes0sshn1u2sm4.tyN6f8hCeKC3BqFqzgoGSXPkGBmaE4y1195vyPhJ", "sc_signal.of.one.bit.and.others.of.the.same.long.kind"),
    // Messages, mail and people.
    token("Slack app token", "xoxa-", (Base64, 10, MANY), "897302928051-Vf7zQjtAGisuC1Ds635X7LEN", "xoxa-then-come-plain-words"),
    token("Slack bot token", "xoxb-", (Base64, 10, MANY), "787041778725-il6qOG3bATZbr2I0Fx413nBW", "xoxb-then-come-plain-words"),
    token("Slack client token", "xoxc-", (Base64, 10, MANY), "611187780501-4npFXtC5IAIecUelQnSfyj6H", "xoxc-then-come-plain-words"),
    token("Slack cookie token", "xoxd-", (Base64, 10, MANY), "923860434990-rlDlk0WD8T5wWZiMTPZzWJem", "xoxd-then-come-plain-words"),
    token("Slack configuration token", "xoxe-", (Base64, 10, MANY), "840291736193-MlU6mtzvbgsw6UmKjlAUshxW", "xoxe-then-come-plain-words"),
    token("Slack user token", "xoxp-", (Base64, 10, MANY), "261443305584-9gtqWGArP4D85sWVRS6JvqQ8", "xoxp-then-come-plain-words"),
    token("Slack refresh token", "xoxr-", (Base64, 10, MANY), "116014748679-A6NYqJlEFv6ip4qMSgp7p4pc", "xoxr-then-come-plain-words"),
    token("Slack workspace token", "xoxs-", (Base64, 10, MANY), "869645466457-HpiIR1Fw3FxQdmQOoBHEmcTv", "xoxs-then-come-plain-words"),
    token("Slack app-level token", "xapp-", (Dash, 20, MANY), "1-A0CFRWH5J67-4070420333970-34c496af2fac6b0ff663e73a436ab2d319cef8a906f526bd622140fe880d8184", "xapp-then-come-plain-words"),
    token("Slack webhook", "hooks.slack.com/services/", (Path, 30, MANY), "T03NNPJBRI5/B00XA10D6G5/9L12U3czSiFXFljXGzZ4iG47", "hooks.slack.com/services/ is where they are"),
    token("Slack workflow webhook", "hooks.slack.com/workflows/", (Path, 30, MANY), "T00RRFPH3XG/A0686L7NIBF/u6d65p1QpCq0S3Y5ECyholZZ", "hooks.slack.com/workflows/ is where they are"),
    token("Discord bot token", "MT", (Bot, 50, MANY), "k4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs", "MT is how a base64 of 1 begins"),
    token("Discord bot token", "Mj", (Bot, 50, MANY), "k4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs", "Mj is how a base64 of 2 begins"),
    token("Discord bot token", "Mz", (Bot, 50, MANY), "k4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs", "Mz is how a base64 of 3 begins"),
    token("Discord bot token", "ND", (Bot, 50, MANY), "k4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs", "ND is how a base64 of 4 begins"),
    token("Discord bot token", "NT", (Bot, 50, MANY), "k4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs", "NT is how a base64 of 5 begins"),
    token("Discord bot token", "Nj", (Bot, 50, MANY), "k4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs", "Nj is how a base64 of 6 begins"),
    token("Discord bot token", "Nz", (Bot, 50, MANY), "k4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs", "Nz is how a base64 of 7 begins"),
    token("Discord bot token", "OD", (Bot, 50, MANY), "k4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs", "OD is how a base64 of 8 begins"),
    token("Discord bot token", "OT", (Bot, 50, MANY), "k4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs", "OT is how a base64 of 9 begins"),
    token("Discord webhook", "discord.com/api/webhooks/", (Path, 60, MANY), "521308773272109841/oS6sh2Bi48qmb10FpD4RBPl4xQiPcoG0wRe5pPAvNtIGJ5tLH4Bvy4qBQwYNZ8YtUg2G", "discord.com/api/webhooks/ is where they are"),
    token("Discord webhook of the older host", "discordapp.com/api/webhooks/", (Path, 60, MANY), "705689980078371419/QAWIrqU6ArwRHa3xiHlBnL-PFLJSgofcvHk3yE_R6fNGpYTMmzPKJIlDfkWSx3RIFvLw", "discordapp.com/api/webhooks/ is where they were"),
    token("Teams webhook", "webhook.office.com/webhookb2/", (Path, 60, MANY), "3507bf4d-e51b-20a4-0154-9935d49a54e5/ec549c4a-7cb2-ae33-834a-ad0335d8a148/IncomingWebhook/3bba4ee1a9a3a1bcbbe842926d1195d2/4734e071-7074-c45c-f807-a9f1bd4e4a0f", "webhook.office.com/webhookb2/ is where they are"),
    token("Zapier webhook", "hooks.zapier.com/hooks/catch/", (Path, 12, MANY), "3496756/av4zxb59", "hooks.zapier.com/hooks/catch/ is where they are"),
    token("SendGrid key", "SG.", (Dot, 40, MANY), "fp8jlZPDH5k44NS_B3j0pS.q2AECECRcZJKhb1MXMv867KZfm7Pxd_wDIVoQaTSXoR", "SG.then-come-plain-words"),
    token("Brevo key", "xkeysib-", (Dash, 60, MANY), "aa94502ea730b6d8a8028b2c80bd0980b117e3a28b342ee758af8d62014ea5dd-2LsBmaRf0TIiiqCZ", "xkeysib-then-come-plain-words"),
    token("Mailgun key", "key-", (Hex, 32, 32), "500ba01d8773e6273773e3adaf5cf5ac", "key-value-store-of-32-entries"),
    token("Resend key", "re_", (Word, 24, MANY), "CJ6FgeVp_QYx2ifNRWAEEyRiN3BFl7DsJ", "re_compile_pattern_and_other_names_of_the_library"),
    token("Twilio key", "SK", (Hex, 32, 32), "35ab777ecfd467ba2293f5ee0c21d604", "SKIP the first 32 of them"),
    token("HubSpot token", "pat-na1-", (Uuid, 36, 36), "6bda6b68-607a-1190-30cd-eb0e415ea8e0", "pat-na1-then-come-plain-words"),
    token("GoCardless token", "live_", (Dash, 40, MANY), "KRScij4a1o9lpIbXlEYCpPa1vbkwDCwPRYhS3q-z", "live_reload_of_the_page_when_a_file_changes_2"),
    token("Lob key", "live_", (Hex, 32, 39), "2a1b9c8d7e6f504132a1b9c8d7e6f504132", "live_ then come plain words"),
    token("Flutterwave live secret", "FLWSECK-", (Dash, 24, MANY), "9c1f0b7de2a84c559c1f0b7de2a84c55-X", "FLWSECK-then-come-plain-words"),
    token("Flutterwave secret", "FLWSECK_TEST-", (Alnum, 12, MANY), "IhFd3TfUSNcncUi04NHoNKAzprwjP3vO", "FLWSECK_TEST-then-come-plain-words"),
    token("Facebook token", "EAAC", (Alnum, 60, MANY), "D7lCq9GDd2tnIoEt65KQOLLYYJxPaUIYUiehoVQOi2bkFkaIqxy0nEa0qRp2uiAqxuujbG1tVMFQaPof5EDQn10E5ih8GDJhaulNIRmOMNZyHeQbm1K325te", "EAAC is a prefix"),
    token("Facebook Graph token", "EAAG", (Alnum, 60, MANY), "4XhkCwhmK3071yr7mqzKhRAoqyAgBYHlki3rjOQOjHX2SWnFI8knpljzeEwS4uPQfoeL7HbbRgKK9MWfgXxp7LAH9vx8UzKBJI1SkXRI6TZO79ctWnnkKzC6", "EAAG is a prefix"),
    token("Instagram token", "IGQV", (Dash, 60, MANY), "D38Cj_20IM3H-f5-Td8uNMn_9jjv44S9JRXr6clUKtTOP0-atqAVCZQXq4fEQesiNV1_KWVzJDC_Iw_oA8j1GjpmT-C8k9VGt-qguz-tC9I7anYHEKnLgGvE", "IGQV is a prefix"),
    token("Dropbox token", "sl.", (Dash, 60, MANY), "r6r8bsASNKgO7iDXG5tGorFB5vnO6PWxxtJZb9mik2uCnDEgPljXTmeqm85PlPlpZnRgEHgQTp8F_pBBqarbbjwHHAomREaxz1eomCwgknKGWZT8eEi5hV37W2xgP8btcH", "sl.then-come-plain-words"),
    token("Frame.io token", "fio-u-", (Dash, 50, MANY), "O-7lKoGqdCX-ETQGrMVFNjddMR4HMuWUDl6noBGeM__18cTKe7g_YaPTzlc8TFul", "fio-u-then-come-plain-words"),
    token("Plaid token", "access-production-", (Uuid, 36, 36), "c0bc311c-e041-b325-628e-da45b032e3a5", "access-production-then-come-plain-words"),
    token("Plaid sandbox token", "access-sandbox-", (Uuid, 36, 36), "a4e16432-cbf2-a54f-a897-e8d97559fbc2", "access-sandbox-then-come-plain-words"),
    // Shops and payment.
    token("Stripe live key", "sk_live_", (Alnum, 16, MANY), "WrEdr4XOtgfgFj3XudT8NBEZ", "sk_live_then-come-plain-words"),
    token("Stripe test key", "sk_test_", (Alnum, 16, MANY), "VPrs10I1W21oqaAxxJeW4KRr", "sk_test_then-come-plain-words"),
    token("Stripe restricted live key", "rk_live_", (Alnum, 16, MANY), "FBIG4CedweRjIdFQq1oZQdvb", "rk_live_then-come-plain-words"),
    token("Stripe restricted test key", "rk_test_", (Alnum, 16, MANY), "7N5SvrMGmggwseIGh9DWpx9r", "rk_test_then-come-plain-words"),
    token("Stripe webhook secret", "whsec_", (Base64, 16, MANY), "gFiBX2NVUPBbj/jyU8byAhOuqVrTy7wR", "whsec_then-come-plain-words"),
    token("Shopify token", "shpat_", (Hex, 32, 32), "2af69f111ea25bcb26ee8f4642cd11d4", "shpat_then-come-plain-words"),
    token("Shopify custom app token", "shpca_", (Hex, 32, 32), "148d3eddac8164b6b1bb59d6a38fda97", "shpca_then-come-plain-words"),
    token("Shopify private app password", "shppa_", (Hex, 32, 32), "ebdd293f4b55a7775e4822fde2bfb322", "shppa_then-come-plain-words"),
    token("Shopify shared secret", "shpss_", (Hex, 32, 32), "c2b9b806427be5d046b98ad4d4f8638d", "shpss_then-come-plain-words"),
    token("Square token", "sq0atp-", (Dash, 22, MANY), "To8OYe1fXSfKxWgzerucXa", "sq0atp-then-come-plain-words"),
    token("Square secret", "sq0csp-", (Dash, 43, MANY), "cvCo3wb0_fB8kBpZj7Cf6wX9k2L7fYVEH-hpsRb_6YL", "sq0csp-then-come-plain-words"),
    token("Square access token", "EAAA", (Dash, 60, MANY), "3BebE7mqleClrV0dUo17x0xo4l9TVmlxU7z9s8xAQE51M-Yb1ZC938U-bBSK", "EAAA is a prefix"),
    token("PayPal sandbox token", "access_token$sandbox$", (Dollar, 16, MANY), "8sknefnwjf7jcr6u$c1f2a9b07e364d58c1f2a9b07e364d58", "access_token$sandbox$ is a prefix"),
    token("PayPal token", "access_token$production$", (Dollar, 16, MANY), "8sknefnwjf7jcr6u$c1f2a9b07e364d58c1f2a9b07e364d58", "access_token$production$ is a prefix"),
    token("Razorpay live key", "rzp_live_", (Alnum, 14, MANY), "lQtm5CJo1MhhQH", "rzp_live_then-come-plain-words"),
    token("Shippo token", "shippo_live_", (Hex, 40, 40), "02e955d5242d19e082c8f245f50ab14621156803", "shippo_live_then-come-plain-words"),
    token("EasyPost key", "EZAK", (Alnum, 54, 54), "S8zLU9Lqiot0W1bjO0IrTfvaEGEJVXeGjq6LSqFnkoD5NxV4aV9rrJ", "EZAK is a prefix"),
    token("EasyPost test key", "EZTK", (Alnum, 54, 54), "Wa7UO1hTH9FEQWsG6JNCek0F4itqTh3z4beZ1qpcZIRmDz58Z699uK", "EZTK is a prefix"),
    token("Duffel token", "duffel_live_", (Dash, 43, MANY), "P6q4KKJxodEqUcOKM-iFBbG8tpQlrpnf-EMoZk8fpUC", "duffel_live_then-come-plain-words"),
    token("Duffel test token", "duffel_test_", (Dash, 43, MANY), "qfm2sL_DZ9BXwhRA-HJBB6aYtAh66abf2pH0OKTB_L7", "duffel_test_then-come-plain-words"),
    token("Adafruit IO key", "aio_", (Alnum, 28, 28), "pUtxISG7ukXOs91yH4hZ2uSjEZMA", "aio_then-come-plain-words"),
    // Keys without a service.
    token("age secret key", "AGE-SECRET-KEY-1", (Upper, 50, MANY), "2WX30Z6XLXIADMUVL45I0OPUAURBNSQPZJAB9ODFS1JEOKLPPEC9FNMLCF", "AGE-SECRET-KEY-1 is how they begin"),
    token("JSON web token", "eyJ", (Jwt, 30, MANY), "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.0AQYdCNB6CqkBmX5v-lSodxZMsrsqylHG_MZlMhbOja", "eyJ is an encoded brace"),
];
