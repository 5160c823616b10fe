//! Findings as SARIF 2.1.0, the format that the code scanning of GitHub and others reads.

use std::path::Path;

use serde_json::{Value, json};

use crate::core::insight::curate::{Finding, RULES};
use crate::core::memory::store::Store;
use crate::core::text::link::percent_encode;

/// The SARIF log with every finding. Paths below `project` are relative to it.
pub(super) fn log(stores: &[Store], findings: &[Finding], project: Option<&Path>) -> Value {
    let rules: Vec<Value> = RULES
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id,
                "shortDescription": { "text": rule.about },
                "defaultConfiguration": { "level": rule.severity.name() },
            })
        })
        .collect();
    let results: Vec<Value> = findings
        .iter()
        .map(|finding| result(stores, finding, project))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "tome",
                "version": env!("TOME_VERSION"),
                "rules": rules,
            }},
            "results": results,
        }],
    })
}

fn result(stores: &[Store], finding: &Finding, project: Option<&Path>) -> Value {
    let store = &stores[finding.store];
    let file_of = |path: &str| store.root().absolute(&store.rules().file_of(path));
    let place = location(&file_of(&finding.path), finding.line, project);
    let related: Vec<Value> = finding
        .evidence
        .iter()
        .filter(|piece| piece.commit.is_none())
        .filter_map(|piece| {
            let file = file_of(piece.path.as_deref()?);
            let mut place = location(&file, piece.line, project);
            place["message"] = json!({ "text": piece.text });
            Some(place)
        })
        .collect();
    let mut result = json!({
        "ruleId": finding.rule,
        "level": finding.severity.name(),
        "message": { "text": finding.message },
        "locations": [place],
        "relatedLocations": related,
        "partialFingerprints": { "finding/v1": finding.id },
    });
    if let Some(waiver) = &finding.waived {
        result["suppressions"] = json!([{
            "kind": "external",
            "justification": waiver.words,
        }]);
    }
    result
}

fn location(file: &Path, line: Option<usize>, project: Option<&Path>) -> Value {
    let below = project.and_then(|project| file.strip_prefix(project).ok());
    let uri = match below {
        Some(below) => percent_encode(&below.to_string_lossy()),
        None => format!("file://{}", percent_encode(&file.to_string_lossy())),
    };
    let mut place = json!({ "physicalLocation": { "artifactLocation": { "uri": uri } } });
    if let Some(line) = line {
        place["physicalLocation"]["region"] = json!({ "startLine": line });
    }
    place
}
