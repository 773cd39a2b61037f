//! `tickmark audience` against a running server.

mod serving;

use serving::Serving;

#[test]
fn from_the_first_heartbeat_to_deletion() {
    let serving = Serving::start();
    for (arguments, expected) in [
        (&["beat", "expo", "max", "--session", "keynote", "--location", "web"][..], "seen at expo"),
        (&["beat", "expo", "hugo", "--json"], "{\"accepted\":1}"),
        (&["list"], "expo"),
        (&["sessions", "expo"], "keynote"),
        (&["viewers", "expo", "--session", "keynote"], "max"),
        (&["viewers", "expo", "--session", "keynote", "--json"], "\"max\""),
    ] {
        assert_eq!(serving.run("audience", arguments), (0, expected.to_owned()), "{arguments:?}");
    }
    let (_, shown) = serving.run("audience", &["show", "expo"]);
    assert!(shown.contains("active            2") && shown.contains("peak              2 at"), "{shown}");
    let (_, shown) = serving.run("audience", &["show", "expo", "keynote", "--json"]);
    assert!(shown.contains("\"session\":\"keynote\""), "{shown}");
    let (code, shown) = serving.run("audience", &["viewers", "expo", "max"]);
    assert!(code == 0 && shown.ends_with("0 s"), "{shown}");
    assert_eq!(serving.run("audience", &["records", "expo"]).0, 0);
    assert_eq!(serving.run("audience", &["delete", "expo"]), (0, "deleted expo".to_owned()));
    assert_eq!(serving.run("audience", &["list"]), (0, String::new()));
}

#[test]
fn failures_say_why() {
    let serving = Serving::start();
    for (arguments, code, said) in [
        (&["show", "nothing"][..], 1, "unknown_event, 404"),
        (&["beat", "a#b", "max"], 1, "bad_name, 422"),
        (&["beat", "expo", "a#b"], 1, "bad_user, 422"),
        (&["beat", "expo"], 2, "<USER>"),
    ] {
        let (found, why) = serving.run("audience", arguments);
        assert!(found == code && why.contains(said), "{arguments:?}: {found}, {why}");
    }
}
