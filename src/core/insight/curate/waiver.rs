//! Waivers: findings that a person has looked at and wants to keep, with date and words.
//!
//! They are lines of `waivers.jsonl` in tome's data directory. A waiver names the evidence that
//! the person saw; with other evidence the finding is open again.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Finding;
use crate::core::change::history::Author;
use crate::core::disk::foreign::read_text;
use crate::core::disk::private;
use crate::core::{Error, Result};

/// The largest file that is read.
const LARGEST: u64 = 16 << 20;

const FILE: &str = "waivers.jsonl";

/// Why a person has waived a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiver {
    /// The id of the finding.
    pub finding: String,
    /// The hash of the evidence that the person saw.
    pub evidence: String,
    /// The date, `YYYY-MM-DD`.
    pub date: String,
    /// The person.
    pub who: String,
    /// The reason.
    pub words: String,
    /// Whether this line takes an earlier one back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub revoked: bool,
}

/// The waivers in a data directory, oldest first. Lines that are not understood are ignored.
pub fn read(data: &Path) -> Result<Vec<Waiver>> {
    let text = read_text(&data.join(FILE), LARGEST)?.unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    Ok(lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect())
}

/// Marks the findings that are waived with the same evidence.
pub fn apply(findings: &mut [Finding], waivers: &[Waiver]) {
    let by_finding = waivers.iter().map(|waiver| (&*waiver.finding, waiver));
    let last: HashMap<&str, &Waiver> = by_finding.collect();
    for finding in findings {
        let holds =
            |waiver: &&&Waiver| !waiver.revoked && waiver.evidence == finding.evidence_hash();
        finding.waived = last.get(&*finding.id).filter(holds).copied().cloned();
    }
}

/// Waives a finding, or takes that back where `words` is `None`.
pub fn record(
    data: &Path,
    finding: &Finding,
    author: &Author,
    date: jiff::civil::Date,
    words: Option<&str>,
) -> Result<()> {
    let waiver = Waiver {
        finding: finding.id.clone(),
        evidence: finding.evidence_hash(),
        date: date.to_string(),
        who: author.who.clone(),
        words: words.unwrap_or_default().to_owned(),
        revoked: words.is_none(),
    };
    let path = data.join(FILE);
    let failed = |e| Error::io(&path, e);
    private::create_dir(data).map_err(failed)?;
    let mut line = serde_json::to_string(&waiver).map_err(|e| failed(e.into()))?;
    line.push('\n');
    let mut file = private::open_append(&path).map_err(failed)?;
    file.write_all(line.as_bytes()).map_err(failed)
}
