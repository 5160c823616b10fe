//! The preview of a group: a section, a folder, the instructions or the sessions.

use super::BrowsePane;
use super::tree::{Fold, Node, Tree};
use crate::tui::chrome::count;
use crate::tui::pane::preview::PreviewContent;

impl BrowsePane {
    /// The label of a group, and a short description.
    fn group_label(&self, node: Node) -> Option<(String, String)> {
        Some(match node {
            Node::Group(at, group) => {
                let group = &self.tree.groups[group];
                let store = self.library.stores[at].store.name();
                (group.label.clone(), store.to_owned())
            }
            Node::Instructions => (
                "instructions".to_owned(),
                "what agents read at every start".to_owned(),
            ),
            Node::Sessions => ("sessions".to_owned(), "raw conversations".to_owned()),
            Node::Agent(first) => (
                self.library.logs[first].agent.name().to_owned(),
                "raw conversations".to_owned(),
            ),
            Node::LogGroup(at) => (self.library.logs[at].project.clone(), String::new()),
            Node::Log(at, log) => {
                let log = &self.library.logs[at].logs[log];
                (log.title.clone(), log.file.path.display().to_string())
            }
            Node::Store(_) | Node::Memory(..) | Node::Entry(..) => return None,
        })
    }

    /// The tree with the group under the cursor unfolded, and the row of that group; `None` if it
    /// is not folded.
    fn unfolded_here(&self) -> Option<(Tree, usize)> {
        let row = self.tree.rows.get(self.cursor.selected)?;
        let has_memories = matches!(row.node, Node::Group(..) | Node::Instructions);
        if !has_memories || row.fold != Some(Fold::Closed) {
            return None;
        }
        let key = self.tree.key(&self.library, row);
        let mut options = self.options.clone();
        options.folds.insert(key.clone(), Fold::Open);
        let tree = Tree::of(&self.library, &options);
        let at = tree.find(&self.library, &key)?;
        Some((tree, at))
    }

    /// Lists the rows of a group as a text.
    pub(super) fn contents(&self, node: Node) -> PreviewContent {
        let unfolded = self.unfolded_here();
        let (tree, at) = match &unfolded {
            Some((tree, at)) => (tree, *at),
            None => (&self.tree, self.cursor.selected),
        };
        let depth = tree.rows[at].depth;
        let Some((title, facts)) = self.group_label(node) else {
            return PreviewContent::default();
        };
        let below = tree.rows[at + 1..]
            .iter()
            .take_while(|row| row.depth > depth);
        let lines: Vec<String> = below
            .filter_map(|row| match row.node {
                Node::Memory(at, of) => Some(&self.library.stores[at].memories[of]),
                _ => None,
            })
            .take(500)
            .map(|memory| match memory.summary.as_str() {
                "" => format!("- **{}**\n", memory.title),
                summary => format!("- **{}** — {summary}\n", memory.title),
            })
            .collect();
        let row = &self.tree.rows[self.cursor.selected];
        let category = match node {
            Node::Group(_, group) => self.tree.groups[group].category.clone(),
            _ => None,
        };
        let what = match node {
            Node::Sessions | Node::Agent(_) | Node::LogGroup(_) => {
                count(row.count, "session", "sessions")
            }
            Node::Instructions => count(row.count, "file", "files"),
            Node::Log(..) => String::new(),
            _ => count(row.count, "memory", "memories"),
        };
        let text = lines.concat();
        PreviewContent {
            title,
            category,
            facts: [what, facts]
                .into_iter()
                .filter(|fact| !fact.is_empty())
                .collect::<Vec<_>>()
                .join(" · "),
            source: text.clone(),
            text,
            first_line: 1,
            ..PreviewContent::default()
        }
    }
}
