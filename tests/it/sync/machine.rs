//! Machines with a project and a memory each, and the remote between them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tome::core::change::history::{Author, History, Observer};
use tome::core::change::{ChangeContext, ChangeRequest, Direction, plan, plan_and_commit, replay};
use tome::core::insight::curate::git::Git;
use tome::core::insight::review::{Item, Selection, accept, observe_store, plan_reverts, queue};
use tome::core::insight::sync::{Mode, Sync, SyncReport};
use tome::core::memory::config::{AgentSetting, IncomingMode, OutgoingMode, Settings, Sharing};
use tome::core::memory::discover::Environment;
use tome::core::memory::layout::Layout;
use tome::core::memory::store::Store;
use tome::core::text::time::Moment;

use crate::support::{copy, directory_in_memory};

/// The program.
const GIT: &str = "/usr/bin/git";

fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args([
            "-c",
            "init.defaultBranch=main",
            "-c",
            "core.hooksPath=/dev/null",
        ])
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs(["AUTHOR", "COMMITTER"].into_iter().flat_map(|who| {
            [
                (format!("GIT_{who}_NAME"), "x"),
                (format!("GIT_{who}_EMAIL"), "x@example.org"),
                (format!("GIT_{who}_DATE"), "2026-01-01T00:00:00Z"),
            ]
        }))
        .output()
        .expect("git runs");
    assert!(
        output.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Makes a repository whose first commit is always the same.
pub(crate) fn make_project(dir: &Path) {
    fs::create_dir_all(dir).expect("a folder");
    git(dir, &["init", "--quiet"]);
    git(
        dir,
        &["commit", "--quiet", "--allow-empty", "--message", "first"],
    );
}

/// A bare repository.
pub(crate) struct Remote {
    dir: tempfile::TempDir,
}

impl Remote {
    pub(crate) fn new() -> Self {
        let remote = Self {
            dir: directory_in_memory(),
        };
        fs::create_dir_all(remote.path()).expect("a folder");
        git(&remote.path(), &["init", "--quiet", "--bare"]);
        remote
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("memory.git")
    }

    pub(crate) fn url(&self) -> String {
        self.path().display().to_string()
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.path(), args)
    }

    /// The paths of the files, without those that tell what a store is.
    pub(crate) fn paths(&self) -> Vec<String> {
        let refs = self.git(&["for-each-ref", "refs/heads/main"]);
        if refs.is_empty() {
            return Vec::new();
        }
        let told = self.git(&["ls-tree", "-r", "-z", "--name-only", "main"]);
        let paths = told
            .split('\0')
            .filter(|path| !path.is_empty() && !path.ends_with(".about"));
        paths.map(str::to_owned).collect()
    }

    /// Whether a file has this end.
    pub(crate) fn has(&self, end: &str) -> bool {
        let is_deleted = end.contains(".deleted");
        self.paths()
            .iter()
            .any(|path| path.ends_with(end) && path.contains(".deleted") == is_deleted)
    }

    /// The text of the file of a store.
    pub(crate) fn text(&self, name: &str) -> String {
        let paths = self.paths();
        let end = format!("/{name}");
        let path = paths
            .iter()
            .find(|path| path.ends_with(&end) && !path.contains("/."));
        self.git(&["show", &format!("main:{}", path.expect("it has the file"))])
    }

    /// Takes a file away, as somebody does who knows nothing of tombstones.
    pub(crate) fn remove(&self, name: &str) {
        let work = directory_in_memory();
        let at = work.path().join("work");
        git(work.path(), &["clone", "--quiet", &self.url(), "work"]);
        let path = self
            .paths()
            .into_iter()
            .find(|path| path.ends_with(&format!("/{name}")));
        git(&at, &["rm", "--quiet", &path.expect("it has the file")]);
        git(&at, &["commit", "--quiet", "--message", "gone"]);
        git(&at, &["push", "--quiet"]);
    }

    /// Refuses or takes what is pushed.
    pub(crate) fn refuse(&self, is_refused: bool) {
        let hook = self.path().join("hooks/pre-receive");
        fs::create_dir_all(hook.parent().expect("a folder")).expect("made");
        let script = format!("#!/bin/sh\nexit {}\n", i32::from(is_refused));
        fs::write(&hook, script).expect("written");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    pub(crate) fn hide(&self) {
        fs::rename(self.path(), self.dir.path().join("away")).expect("moved");
    }

    /// Takes away the locks that a killed git left, as who keeps the remote does.
    pub(crate) fn unlock(&self) {
        for entry in walkdir::WalkDir::new(self.path()).into_iter().flatten() {
            if entry.file_name().to_string_lossy().ends_with(".lock") {
                fs::remove_file(entry.path()).expect("removed");
            }
        }
    }

    pub(crate) fn show(&self) {
        fs::rename(self.dir.path().join("away"), self.path()).expect("moved");
    }

    /// Another history takes the place of this one.
    pub(crate) fn replace(&self) {
        fs::remove_dir_all(self.path()).expect("removed");
        fs::create_dir_all(self.path()).expect("a folder");
        self.git(&["init", "--quiet", "--bare"]);
        let tree = self.git(&["mktree"]);
        let commit = self.git(&["commit-tree", "-m", "other", tree.trim()]);
        self.git(&["update-ref", "refs/heads/main", commit.trim()]);
    }

    pub(crate) fn copied(&self) -> tempfile::TempDir {
        let to = directory_in_memory();
        copy(&self.path(), to.path());
        to
    }

    pub(crate) fn restore(&self, from: &Path) {
        fs::remove_dir_all(self.path()).expect("removed");
        copy(from, &self.path());
    }
}

/// The files of a store, by their paths.
pub(crate) fn texts(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    let files = files.iter();
    files
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}

/// A home with a project and a memory in it, which is shared.
pub(crate) struct Machine {
    dir: Arc<tempfile::TempDir>,
    project: PathBuf,
    pub(crate) name: String,
    pub(crate) history: History,
    settings: Settings,
    git: Git,
    /// By how many seconds its clock is wrong.
    pub(crate) skew: i64,
    /// After how many steps it is killed; 0 for never.
    pub(crate) fuse: Arc<AtomicUsize>,
}

/// What a killed machine unwinds with.
pub(crate) struct Killed;

impl Machine {
    pub(crate) fn new(remote: &Remote, name: &str, incoming: IncomingMode) -> Self {
        Self::at(remote, name, incoming, &format!("{name}/project"))
    }

    pub(crate) fn at(remote: &Remote, name: &str, incoming: IncomingMode, project: &str) -> Self {
        let dir = Arc::new(directory_in_memory());
        let project = dir.path().canonicalize().expect("canonical").join(project);
        make_project(&project);
        fs::create_dir_all(project.join(".memory")).expect("a folder");
        fs::write(project.join(".memory/MEMORY.md"), "# Memory\n").expect("written");
        let sharing = Sharing {
            sync: Some(true),
            incoming: Some(incoming),
            outgoing: None,
        };
        let settings = Settings {
            agents: vec![AgentSetting {
                name: ".memory".to_owned(),
                sharing,
            }],
            ..Settings::default()
        };
        let fuse = Arc::new(AtomicUsize::new(0));
        let burning = Arc::clone(&fuse);
        let observer: Observer = Arc::new(move |_| {
            if burning.load(Ordering::SeqCst) > 0 && burning.fetch_sub(1, Ordering::SeqCst) == 1 {
                std::panic::resume_unwind(Box::new(Killed));
            }
            Ok(())
        });
        let history = History::with_observer(&dir.path().join("data/history"), observer);
        let git = Git::at(GIT).without_variables(std::env::vars_os().map(|(name, _)| name));
        let machine = Self {
            dir,
            project,
            name: name.to_owned(),
            history,
            settings,
            git,
            skew: 0,
            fuse,
        };
        machine.init(remote);
        machine
    }

    /// Lets every call of git be killed that takes longer than so many milliseconds, with all that it
    /// started; 0 for none.
    pub(crate) fn kill_git_after(&mut self, milliseconds: usize) {
        let program = if milliseconds == 0 {
            PathBuf::from(GIT)
        } else {
            let program = self.dir.path().join(format!("git-{milliseconds}"));
            if !program.exists() {
                let limit = format!("{}.{:03}", milliseconds / 1000, milliseconds % 1000);
                let script = format!("#!/bin/sh\nexec timeout -s KILL {limit} {GIT} \"$@\"\n");
                fs::write(&program, script).expect("written");
                let mode = fs::Permissions::from_mode(0o755);
                fs::set_permissions(&program, mode).expect("a mode");
            }
            program
        };
        self.git = Git::at(program).without_variables(std::env::vars_os().map(|(name, _)| name));
    }

    /// Lets git be silent for ever when it is to fetch.
    pub(crate) fn with_silent_fetches(mut self) -> Self {
        let program = self.dir.path().join("git-silent");
        let script = format!(
            "#!/bin/sh\nfor word in \"$@\"; do [ \"$word\" = fetch ] && exec sleep 600; done\nexec {GIT} \"$@\"\n"
        );
        fs::write(&program, script).expect("written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a mode");
        self.git = Git::at(program).with_limit(std::time::Duration::from_millis(500));
        self
    }

    /// Lets something happen once, after what was fetched was taken in and before anything is sent:
    /// `happens` returns whether it did. What is known already is sent without a fetch first, so that the
    /// first time may be too early.
    pub(crate) fn before_the_push(
        &mut self,
        happens: impl Fn() -> bool + Send + std::marker::Sync + 'static,
    ) {
        let is_over = AtomicBool::new(false);
        let observer: Observer = Arc::new(move |step| {
            if step == "sync: taken in" && !is_over.load(Ordering::SeqCst) && happens() {
                is_over.store(true, Ordering::SeqCst);
            }
            Ok(())
        });
        self.history = History::with_observer(self.history.dir(), observer);
    }

    /// Has the steps of its syncs told.
    pub(crate) fn with_steps(
        mut self,
        told: impl Fn(&str) + Send + std::marker::Sync + 'static,
    ) -> Self {
        let observer: Observer = Arc::new(move |step| {
            told(step);
            Ok(())
        });
        self.history = History::with_observer(self.history.dir(), observer);
        self
    }

    /// Names the remote again.
    pub(crate) fn init(&self, remote: &Remote) {
        self.with_sync(|sync| sync.init(&remote.url(), &self.name).expect("initialized"));
    }

    /// The same machine, whose changes go to a branch.
    pub(crate) fn with_branch(mut self) -> Self {
        self.settings.agents[0].sharing.outgoing = Some(OutgoingMode::Branch);
        self
    }

    /// The same machine, whose project begins with another commit.
    pub(crate) fn with_another_first_commit(self) -> Self {
        let args = [
            "commit",
            "--quiet",
            "--amend",
            "--allow-empty",
            "--message",
            "other",
        ];
        git(&self.project, &args);
        self
    }

    /// The same machine after its project was moved.
    pub(crate) fn moved(mut self, to: &str) -> Self {
        let to = self.dir.path().canonicalize().expect("canonical").join(to);
        fs::create_dir_all(to.parent().expect("a parent")).expect("folders");
        fs::rename(&self.project, &to).expect("moved");
        self.project = to;
        self
    }

    pub(crate) fn moment(&self) -> Moment {
        let now = jiff::Timestamp::now();
        let time = now
            .checked_add(jiff::SignedDuration::from_secs(self.skew))
            .expect("a time");
        Moment {
            time,
            today: time.to_zoned(jiff::tz::TimeZone::UTC).date(),
        }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.project.join(".memory")
    }

    pub(crate) fn store(&self) -> Store {
        Store::open(".memory", &self.root(), Some(Layout::Index)).expect("opens")
    }

    fn with_sync<T>(&self, act: impl FnOnce(&Sync<'_>) -> T) -> T {
        let home = self.dir.path().canonicalize().expect("canonical");
        let environment = Environment::of_home(&home, self.project.clone(), home.join("data"));
        let moment = self.moment();
        let dir = home.join("data/sync");
        act(&Sync {
            dir: &dir,
            git: &self.git,
            history: &self.history,
            environment: &environment,
            settings: &self.settings,
            moment: &moment,
        })
    }

    pub(crate) fn try_sync(&self) -> SyncReport {
        self.with_sync(|sync| sync.run(Mode::Real, &[]).expect("runs"))
    }

    pub(crate) fn sync(&self) -> SyncReport {
        let report = self.try_sync();
        assert_eq!(report.failure, None, "{}", self.name);
        report
    }

    /// Syncs, and lets pass what has this name.
    pub(crate) fn sync_allowing(&self, name: &str) -> SyncReport {
        let report = self.with_sync(|sync| sync.run(Mode::Real, &[name.to_owned()]).expect("runs"));
        assert_eq!(report.failure, None, "{}", self.name);
        report
    }

    /// Whether a version of the history has a word.
    pub(crate) fn has_version_with(&self, word: &str) -> bool {
        let records = self.history.records().expect("reads");
        let revisions = records.iter().flat_map(|record| record.revisions());
        let mut versions = revisions.filter_map(|revision| self.history.version(&revision).ok());
        versions.any(|bytes| String::from_utf8_lossy(&bytes).contains(word))
    }

    /// What a sync would do.
    pub(crate) fn report(&self) -> SyncReport {
        self.with_sync(|sync| sync.run(Mode::Dry, &[]).expect("runs"))
    }

    pub(crate) fn observe(&self) {
        let moment = self.moment();
        // A process that another test starts holds a copy of our locks until it is running.
        while observe_store(&self.history, &self.store(), &moment)
            .expect("observed")
            .is_busy
        {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Writes a file as an agent does.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("written");
        self.observe();
    }

    pub(crate) fn delete(&self, path: &str) {
        let (store, moment) = (self.store(), self.moment());
        let request = ChangeRequest::Delete {
            paths: vec![path.to_owned()],
        };
        let context = ChangeContext {
            moment: moment.clone(),
            expected: None,
            history: None,
        };
        let author = Author {
            who: "you".into(),
            door: "cli".into(),
        };
        let roots = [store.root().path()];
        let done =
            plan_and_commit::<tome::core::Error>(&self.history, &roots, &author, &moment, || {
                plan(&store, &request, &context)
            });
        done.expect("deleted");
    }

    pub(crate) fn undo(&self) {
        let (store, moment) = (self.store(), self.moment());
        let roots = [store.root().path()];
        let author = Author {
            who: "you".into(),
            door: "cli".into(),
        };
        let record = self
            .history
            .undoable(&roots)
            .expect("reads")
            .expect("something");
        let roots = record.roots();
        let done =
            plan_and_commit::<tome::core::Error>(&self.history, &roots, &author, &moment, || {
                replay(&self.history, &record, Direction::Back, &moment)
            });
        done.expect("undone");
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.root().join(path).exists()
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path))
            .unwrap_or_else(|e| panic!("{}: {path}: {e}", self.name))
    }

    /// The memories, without the index.
    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        if self.root().is_dir() {
            for file in self.store().root().markdown("", 4).expect("lists") {
                if file.path != "MEMORY.md" {
                    files.insert(file.path.clone(), self.read(&file.path));
                }
            }
        }
        files
    }

    /// What other machines sent and nobody decided about.
    pub(crate) fn items(&self) -> Vec<Item> {
        let items = queue(&self.history, &self.store()).expect("reads");
        items
            .into_iter()
            .filter(|item| item.sent.is_some())
            .collect()
    }

    /// Accepts what others sent.
    pub(crate) fn accept(&self) {
        let ids = self.items().iter().flat_map(Item::ids).collect();
        self.accept_ids(ids);
    }

    pub(crate) fn accept_ids(&self, ids: Vec<String>) {
        let (store, moment) = (self.store(), self.moment());
        let author = Author {
            who: "you".into(),
            door: "cli".into(),
        };
        accept(
            &self.history,
            &[&store],
            &Selection::Ids(ids),
            &author,
            &moment,
        )
        .expect("accepted");
    }

    /// Rejects what others sent.
    pub(crate) fn reject(&self) {
        let ids = self.items().iter().flat_map(Item::ids).collect();
        self.reject_ids(ids);
    }

    pub(crate) fn reject_ids(&self, ids: Vec<String>) {
        let (store, moment) = (self.store(), self.moment());
        let author = Author {
            who: "you".into(),
            door: "cli".into(),
        };
        let chosen = Selection::Ids(ids);
        let plan = || plan_reverts(&self.history, &[&store], &chosen, &moment);
        let first = plan().expect("planned");
        let done = plan_and_commit::<tome::core::Error>(
            &self.history,
            &first.roots(),
            &author,
            &moment,
            plan,
        );
        done.expect("rejected");
    }
}
