//! `tome ledger`: what each memory is worth: how often it was in a session's context, read, cited,
//! and corrected again; and the corrections.

use std::io;
use std::path::Path;

use serde_json::json;

use super::args::LedgerArgs;
use super::context::WorldContexts;
use super::corpus::LogCorpus;
use super::print::{Answer, Cell, Json, Printer, Report, Reported, TextStyle, print_note};
use super::world::{World, or_left_out};
use super::{Failure, Outcome};
use crate::core;
use crate::core::insight::context::Piece;
use crate::core::insight::ledger::{
    Account, Contexts, Correction, Ledger, Sources, directory, words_of,
};
use crate::core::log::Agent;
use crate::core::memory::citation::CitedPart;
use crate::core::memory::store::Store;
use crate::core::search::index::Corpus;
use crate::core::text::display::{format_age, safe_line};
use crate::tui::ContextSource as _;

pub(super) fn run(args: &LedgerArgs, world: &World) -> Reported<'static> {
    if args.corrections {
        // Without a store, no memory says what was corrected.
        let stores = world.stores().unwrap_or_default();
        let ledger = world.read_whole_corpus(|logs| world.ledger(&logs.corpus, &stores))??;
        return Ok(Box::new(CorrectionReport {
            corrections: ledger.corrections,
            now: world.moment.time.as_millisecond(),
        }));
    }
    let Some(reference) = &args.path else {
        let stores = world.stores()?;
        for store in &stores {
            or_left_out(store, store.files())?;
        }
        let ledger = world.read_whole_corpus(|logs| world.ledger(&logs.corpus, &stores))??;
        return Ok(Box::new(LedgerReport(ledger.accounts)));
    };
    let (store, citation) = world.store_holding(reference)?;
    let entry = match &citation.part {
        CitedPart::Entry(entry) => Some(entry.clone()),
        _ => None,
    };
    let path = store.read(&citation.path)?.path;
    let found = world.read_whole_corpus(|LogCorpus { corpus, .. }| -> core::Result<_> {
        let ledger = world.ledger(corpus, std::slice::from_ref(&store))?;
        let is_it =
            |account: &Account| account.path == path && (entry.is_none() || account.entry == entry);
        let accounts: Vec<Account> = ledger.accounts.into_iter().filter(is_it).collect();
        let words = accounts.iter().take(1).flat_map(|account| lists(account));
        let words = words.flat_map(|(_, cited)| cited).map(|cited| {
            let words = words_of(corpus, cited).unwrap_or_default();
            (cited.clone(), safe_line(&words))
        });
        let words: Vec<(String, String)> = words.collect();
        Ok((accounts, words))
    })??;
    let (accounts, words) = found;
    let json = json!({ "memories": accounts });
    Answer::found(!accounts.is_empty(), json, move |printer| {
        show_accounts(&accounts, &words, printer)
    })
}

impl World {
    /// Returns the ledger of some stores, from the logs of all projects.
    pub(super) fn ledger(&self, corpus: &Corpus, stores: &[Store]) -> core::Result<Ledger> {
        Ledger::read(&Sources {
            corpus,
            cache: &directory(&self.cache),
            stores,
            contexts: &WorldContexts(self.clone()),
            history: &self.history,
            git: self.git(),
        })
    }
}

impl Contexts for WorldContexts {
    fn pieces(&self, agent: Agent, cwd: &Path) -> Vec<Piece> {
        let mut world = self.0.clone();
        world.environment.cwd = cwd.to_owned();
        let context = Self(world).read(agent, None);
        context.map(|context| context.pieces).unwrap_or_default()
    }
}

/// The lists of an account with their names.
fn lists(account: &Account) -> [(&'static str, &[String]); 4] {
    [
        ("in context", &account.context),
        ("read", &account.read),
        ("cited", &account.cited),
        ("corrected", &account.corrected),
    ]
}

const TITLES: [&str; 5] = ["memory", "in context", "read", "cited", "corrected"];

/// The numbers of all memories; entries are in the JSON alone.
struct LedgerReport(Vec<Account>);

impl Report for LedgerReport {
    fn json(&self) -> Result<Json<'_>, Failure> {
        Ok(Json::list(
            "memories",
            self.0.iter().map(|account| json!(account)),
        ))
    }

    fn print(&self, printer: &mut Printer) -> io::Result<()> {
        let memories = self.0.iter().filter(|account| account.entry.is_none());
        let mut rows = vec![Cell::titles(TITLES)];
        rows.extend(memories.map(row));
        if rows.len() > 1 {
            printer.table(&rows)?;
        }
        print_note("tome ledger PATH lists the messages, --corrections what you corrected");
        Ok(())
    }

    fn outcome(&self) -> Outcome {
        Outcome::found(!self.0.is_empty())
    }
}

fn row(account: &Account) -> Vec<Cell> {
    let number = |list: &[String]| {
        let style = if list.is_empty() {
            TextStyle::Quiet
        } else {
            TextStyle::Plain
        };
        Cell::number(style, list.len().to_string())
    };
    let cited = account.cited.len();
    let corrected = match account.corrected.len() {
        0 => Cell::number(TextStyle::Quiet, "0"),
        count => Cell::number(TextStyle::Attention, count.to_string()),
    };
    vec![
        Cell::new(TextStyle::Strong, account.name()),
        number(&account.context),
        number(&account.read),
        Cell::number(TextStyle::Quiet, cited.to_string()),
        corrected,
    ]
}

/// Prints a memory and its entries, and the messages that the memory's lists cite, each with its
/// first line.
fn show_accounts(
    accounts: &[Account],
    words: &[(String, String)],
    printer: &mut Printer,
) -> io::Result<()> {
    let Some(account) = accounts.first() else {
        return Ok(());
    };
    let mut rows = vec![Cell::titles(TITLES)];
    rows.extend(accounts.iter().map(row));
    printer.table(&rows)?;
    for (name, cited) in lists(account) {
        if cited.is_empty() {
            continue;
        }
        printer.line("")?;
        printer.painted_line(TextStyle::Strong, name)?;
        for citation in cited {
            let words = words.iter().find(|(known, _)| known == citation);
            let words = words.map(|(_, words)| words.as_str()).unwrap_or_default();
            let place = printer.paint(TextStyle::Quiet, citation);
            let words: String = words.chars().take(160).collect();
            printer.styled_line(&format!("  {place}  {words}"))?;
        }
    }
    Ok(())
}

/// The corrections.
struct CorrectionReport {
    corrections: Vec<Correction>,
    now: i64,
}

impl Report for CorrectionReport {
    fn json(&self) -> Result<Json<'_>, Failure> {
        let rows = self.corrections.iter().map(|correction| json!(correction));
        Ok(Json::list("corrections", rows))
    }

    fn print(&self, printer: &mut Printer) -> io::Result<()> {
        for correction in &self.corrections {
            let age = format_age(correction.time.unwrap_or(0), self.now);
            let memory = correction.memory.as_deref();
            let memory = memory
                .map(|memory| format!("  {memory}"))
                .unwrap_or_default();
            let place = printer.paint(TextStyle::Quiet, &correction.citation);
            let memory = printer.paint(TextStyle::Attention, &memory);
            let what = format!("{}%  {age}", correction.confidence);
            printer.styled_line(&format!("{place}  {what}{memory}"))?;
            let words = correction.text.lines().next().unwrap_or_default();
            printer.line(&format!("  {}", safe_line(words)))?;
        }
        Ok(())
    }

    fn outcome(&self) -> Outcome {
        Outcome::found(!self.corrections.is_empty())
    }
}
