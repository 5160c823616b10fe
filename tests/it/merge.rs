//! `tome merge`, `tome generalize` and `tome rehome`: from many places to one.

use std::fs;

use crate::support::{Home, ends, has, lacks, not_run, tree};

fn memory(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: about {name}\ntype: project\n---\n\n{body}\n")
}

#[test]
fn memories_become_one_and_undo_makes_them_several_again() {
    let home = Home::new();
    home.memory(
        "test.md",
        memory("Test", "Run make test.\n\nSee [ci](ci.md)."),
    );
    home.memory(
        "tests.md",
        memory("Tests", "Run make test.\n\nNever on Friday."),
    );
    home.memory(
        "ci.md",
        memory("CI", "Runs [tests](tests.md) and [[Tests]]."),
    );
    home.ok("--store ./.memory --layout index index");
    let before = tree(&home.project().join(".memory"));
    let shown = home.ok("merge test.md tests.md --dry-run");
    has(&shown, ["+Never on Friday.", "+++ /dev/null"]);
    assert_eq!(tree(&home.project().join(".memory")), before);
    let said = home.ok("merge test.md tests.md");
    assert_eq!(said, "Memory merged into test.md: tests.md\n");
    let text = home.read_memory("test.md");
    ends(
        &text,
        "Run make test.\n\nSee [ci](ci.md).\n\nNever on Friday.\n",
    );
    let ci = home.read_memory("ci.md");
    ends(&ci, "Runs [tests](test.md) and [[Test]].\n");
    lacks(home.read_memory("MEMORY.md"), ["tests.md"]);
    home.ok("undo");
    assert_eq!(tree(&home.project().join(".memory")), before);
    let said = home.json("merge test.md tests.md ci.md --into ci.md");
    assert_eq!(
        said["message"],
        "Memories merged into ci.md: test.md, tests.md"
    );
    has(home.fails("merge ci.md ci.md"), ["name another memory"]);
}

#[test]
fn a_principle_and_its_lessons_link_to_each_other() {
    let home = Home::new();
    let lesson = |title: &str| {
        format!(
            "**Title:** {title}\n**Description:** d\n\n**Content:** It failed once.\n\n**Tags:** #failure\n"
        )
    };
    home.file("lessons/episodic/one.md", lesson("First flake"));
    home.file("lessons/episodic/two.md", lesson("Second flake"));
    let store = home.path().join("lessons");
    let store = store.to_str().expect("a path");
    let before = tree(&home.path().join("lessons"));
    home.ok(&format!("generalize semantic/clocks.md --store {store} --layout coder --from episodic/one.md --from episodic/two.md --name 'Inject clocks' --content 'A test that reads the clock fails at midnight.'"));
    let principle = home.read("lessons/semantic/clocks.md");
    for (link, lesson) in [
        ("[First flake](../episodic/one.md)", "one.md"),
        ("[Second flake](../episodic/two.md)", "two.md"),
    ] {
        has(&principle, [link]);
        let lesson = home.read(&format!("lessons/episodic/{lesson}"));
        let back = "[Inject clocks](../semantic/clocks.md)";
        has(&lesson, [back, "It failed once."]);
    }
    home.ok(&["undo", "--store", store, "--layout", "coder"]);
    assert_eq!(tree(&home.path().join("lessons")), before);
}

#[test]
fn memories_of_the_former_path_are_listed_with_proof_and_gathered_with_one_undo() {
    let home = Home::new();
    fs::remove_dir_all(home.project().join(".git")).expect("removed");
    if home.git("init -q").is_none() {
        return not_run("there is no git");
    }
    home.git("commit -q --allow-empty -m first")
        .expect("commits");
    let hash = home.git("rev-parse --short HEAD").expect("a hash");
    let slug = |name: &str| {
        let path = home.path().canonicalize().expect("there").join(name);
        let letters = path.to_string_lossy().into_owned();
        let slug: String = letters
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        (path, slug)
    };
    for (name, said) in [("before", hash.trim()), ("before-2", "1234567")] {
        let (path, slug) = slug(name);
        let at = format!(".claude/projects/{slug}");
        home.file(&format!("{at}/memory/plan.md"), memory("Plan", "Ship it."));
        home.file(&format!("{at}/memory/old/b.md"), memory("B", "Kept."));
        home.file(
            &format!("{at}/memory/MEMORY.md"),
            "# Memory\n\n- [Plan](plan.md) - about Plan\n",
        );
        let record =
            serde_json::json!({ "type": "user", "cwd": path, "x": format!("[main {said}] c") });
        home.file(&format!("{at}/s.jsonl"), format!("{record}\n"));
    }
    let claude = home.path().join(".claude/projects");
    let before = tree(&claude);
    let listed = home.json("rehome");
    let former = listed["former"].as_array().expect("a list");
    assert_eq!(former.len(), 1, "{listed}");
    assert_eq!(
        (&former[0]["memories"], &former[0]["there"]),
        (&2.into(), &false.into())
    );
    let from = former[0]["project"].as_str().expect("a path").to_owned();
    ends(&from, "/before");
    let doctor = home.run("doctor").out;
    has(&doctor, ["no session reads them"]);
    let shown = home.ok(&["rehome", &from, "--dry-run"]);
    has(&shown, ["+Ship it."]);
    assert_eq!(tree(&claude), before);
    let said = home.ok(&["rehome", &from]);
    has(&said, ["2 memories of"]);
    let here = slug("project").1;
    let plan = home.read(&format!(".claude/projects/{here}/memory/plan.md"));
    ends(&plan, "Ship it.\n");
    has(
        home.read(&format!(".claude/projects/{here}/memory/MEMORY.md")),
        ["(plan.md)"],
    );
    let sibling = slug("before-2").1;
    assert!(claude.join(sibling).join("memory/plan.md").exists());
    let none = home.run("rehome");
    assert_eq!(none.code, 1, "{}{}", none.out, none.err);
    has(&none.err, ["nothing to do", "~/.claude/projects"]);
    let again = home.finds_nothing(&["rehome", &from]);
    has(&again.err, ["nothing to do"]);
    home.ok("undo");
    let mut after = tree(&claude);
    after.retain(|path, _| before.contains_key(path));
    assert_eq!(after, before);
    has(home.fails("rehome /nowhere/at/all"), ["/nowhere/at/all"]);
}
