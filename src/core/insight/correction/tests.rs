//! Made-up messages: what corrects an agent, and what only looks like it.

use super::*;

/// A message after the agent has done something and said so.
fn judged(said: &str) -> Option<u8> {
    confidence(&Turn {
        said,
        reply: "I have added the endpoint and its tests; all of them pass.",
        has_acted: true,
        ..Turn::default()
    })
}

#[test]
fn what_corrects_the_agent_is_found_in_the_languages_met() {
    for said in [
        "no, use tabs",
        "No. The config belongs in etc.",
        "nope, the other branch",
        "I told you to use tabs",
        "I already said that we keep the old name",
        "that's not what I asked for",
        "this is not what I meant, keep the API as it was",
        "I meant the staging server",
        "I didn't ask you to push",
        "like I said: one commit for each topic",
        "again: never force-push. I said so yesterday.",
        "stop adding comments everywhere",
        "don't commit the lock file",
        "never run the migration without asking",
        "please do not touch the generated files",
        "revert that",
        "can you undo the last commit, please revert it. I didn't want that",
        "put it back to the version from before",
        "why did you delete the fixture?",
        "why are you still using npm?",
        "why aren't we using the shared client here?",
        "you forgot the changelog",
        "you removed the wrong file, that one is needed",
        "you should have asked first",
        "That's wrong, the limit is per user",
        "this is not the right place for it",
        "I don't want a new dependency for this",
        "we don't need backward compatibility here",
        "we should not write to the home directory",
        "the helper should live in the core crate",
        "I thought we had removed that module",
        "but the other endpoint already does this",
        "shouldn't this be in the existing commit?",
        "remember to run the linter before you say it is done. I told you",
        "from now on use pnpm instead of npm",
        "wait, you are on the wrong branch. you should not be",
        "it still uses the old name. I don't want that",
        "nein, nicht so: die Datei gehört nach src",
        "ich habe dir doch gesagt, keine Kommentare",
        "warum hast du den Test gelöscht?",
        "non, utilise le client existant",
        "j'ai déjà dit que non",
        "no, te dije que usaras pnpm",
        "не нужно этого делать, я же говорил",
        "不对，我说过用 pnpm",
        "不要改这个文件",
        "違う、元に戻して",
        "아니, 되돌려 줘",
        "Don't push to main, open a PR. I've said that before.",
        "we use pnpm here, not npm. please remember that",
        "You should fix the code, not the test.",
        "I never told you to deploy",
        "a sleep is not a fix, you're just hiding the race",
        "you committed to the wrong branch",
        "this belongs in lib, how often do I have to say it",
        "it's way too complicated, I wanted a simple function",
    ] {
        assert!(judged(said).is_some(), "{said}");
    }
}

/// At most one in twenty of what is no correction may be taken for one.
#[test]
fn quotations_jokes_reports_questions_and_requests_are_none() {
    let others = [
        // Quotations and other people's words.
        "the docs say \"do not use this function in production\", what does that mean?",
        "he said no, use the other API instead, so please look into what that would take",
        "The reviewer wrote: \"that's wrong, revert it\". Can you check?",
        "She told me you should never mutate props. Explain why.",
        "the README says don't run this as root. is that up to date?",
        "> no, that's not what I asked for\n\nplease answer this comment",
        "Add this quote to the page: \"Stop doing what you don't love\"",
        "our customer says \"I told you it was slow\", please profile the endpoint",
        "the issue says why did you remove the flag, add a note to the changelog",
        "translate \"no, I meant the other one\" to French",
        "the linter says never use any here, fix the three places",
        "```\nno, use tabs instead\n```\nadd this to the sample conversation",
        "the song says \"don't stop me now\", put it into the lyrics file",
        "the ticket says that is wrong and should be 42, have a look",
        "start the section with 'I told you never to force-push', it is a good hook",
        "the heading should read: Why did it not do what I told it?",
        "I told my wife computers would replace me",
        "the ticket from the testers says the button should not be visible for guests",
        "RFC 9110 says servers must not send a body with 204. Do we comply?",
        // What others made.
        "undo the patch that upstream made in 3.1, we don't want their default",
        "revert commit 4fa2c1, it broke production",
        "Revert Tom's merge, it broke the nightly build",
        "undo the version bump that the release bot made",
        "v2 of the library removed that method, we have to use the new one instead",
        "created_at should be timestamptz, whoever wrote this forgot time zones",
        // Jokes.
        "haha no way, that was quick",
        "lol you should have been a poet",
        "why did you become a computer, just kidding 😂",
        "stop it, you are too good :D",
        "no you hang up first, haha",
        // Reports about the program.
        "the login button doesn't work on mobile",
        "it crashes with a null pointer when the list is empty",
        "the total is wrong when there are two coupons, it prints 12",
        "I get an error: no such file or directory",
        "the second test fails again on windows",
        "the page still shows the old logo after a reload",
        "the API returns 500 instead of 404 for a missing user",
        "the dialog does not open in Firefox",
        "there is a bug in the parser: it throws on an empty line",
        "the progress bar renders twice",
        "when I click save it does not save",
        "the build is broken on main since yesterday",
        "the function returns null, it should return an empty list",
        "the date displays as 1970",
        "the worker panics when the queue is empty",
        "the parser is wrong: it should not accept trailing commas",
        "the login code stores passwords in plain text, that should never happen",
        "no tests exist for this module. Write some.",
        "we don't use Grafana any more since May",
        // Corrections of the code and other requests.
        "rename the variable foo to bar",
        "replace the loop with a map",
        "change the timeout from 10 to 30 seconds",
        "make the button blue",
        "add a test for the empty case",
        "fix the typo in the heading",
        "remove the unused import",
        "move the constant to the top of the file",
        "sort the list by date",
        "write a migration for the new column",
        "use a HashMap for the cache",
        "extract this into a helper",
        "update the dependencies",
        "now do the same for the other endpoint",
        "commit and push",
        "open a pull request",
        "let's continue with the second task",
        "also cover the error path",
        "can you add a retry to the client?",
        "could you explain the difference between the two?",
        "please rebase onto main",
        // Questions and answers.
        "what does this function do?",
        "how do I run only one test?",
        "is there a way to do this without a lock?",
        "which of the two is faster?",
        "does it also work with sqlite?",
        "are there other places that need this?",
        "would it make sense to cache it?",
        "yes, do that",
        "ok, go ahead with option 2",
        "no problem, take your time",
        "no, that's fine",
        "no worries, go on",
        "sounds good, thanks",
        "perfect, ship it",
        "the first one",
        "both",
        "no idea, you decide",
        "great, now the docs",
        "why did you use a BTreeMap and not a HashMap? Just curious.",
        "wait for the CI and then tag it",
        "perfect, exactly what I said. Next: the docs.",
        "remember that step 2 needs the staging key, it is in the vault",
        "don't worry about the slow join",
        "we don't need to hurry",
        "good. I thought about it and would like a second endpoint",
    ];
    let wrong: Vec<&str> = others
        .into_iter()
        .filter(|said| judged(said).is_some())
        .collect();
    assert!(wrong.len() * 20 <= others.len(), "{wrong:?}");
    assert!(others.len() >= 60);
}

#[test]
fn what_stands_around_a_message_counts() {
    let said = "the config belongs in etc instead";
    let plain = Turn {
        said,
        reply: "Done.",
        has_acted: true,
        ..Turn::default()
    };
    assert_eq!(confidence(&plain), None);
    for turn in [
        Turn {
            answer: "You're right, sorry. I moved it.",
            ..plain
        },
        Turn {
            is_interruption: true,
            ..plain
        },
    ] {
        assert!(confidence(&turn).is_some(), "{turn:?}");
    }
    let no = |reply| {
        confidence(&Turn {
            said: "no, only the first one",
            reply,
            has_acted: true,
            ..Turn::default()
        })
    };
    assert!(no("Both are changed.") > no("Shall I change both?"));
    let push = Turn {
        said: "don't push yet, I want to look at it first",
        reply: "Should I push?",
        ..plain
    };
    assert_eq!(confidence(&push), None);
    // Nobody can be corrected who has said and done nothing.
    let first = Turn {
        said: "don't use tabs",
        ..Turn::default()
    };
    assert_eq!(confidence(&first), None);
}

#[test]
fn own_words_are_without_code_and_what_is_pasted() {
    assert_eq!(
        own_words("a \"b c d\" e\n```\nno\n```\n> no\nf"),
        "a … e\nf"
    );
    assert_eq!(own_words("look:\n$ git push\nno, use x"), "look:");
    assert_eq!(own_words("1. Medium: no, it is wrong"), "");
}
