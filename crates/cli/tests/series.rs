//! `tickmark series` against a running server.

mod serving;

use serving::Serving;

#[test]
fn from_the_first_event_to_deletion() {
    let serving = Serving::start();
    for (arguments, expected) in [
        (&["add", "a b/c", "--at", "0"][..], "counted in a b/c"),
        (&["add", "a b/c", "--at", "61", "--n", "-3", "--json"], "{\"accepted\":1}"),
        (&["points", "a b/c", "--from=0", "--to=61"], "0\t1\n60\t-3"),
        (&["total", "a b/c", "--from=0", "--to=61"], "-2"),
        (&["total", "a b/c", "--from=0", "--to=61", "--json"], "{\"total\":-2}"),
        (&["declare", "plays", "{\"kind\":\"unique\"}"], "plays  unique  1sec 1min 1hour 1day"),
        (&["add", "plays", "--member", "max"], "counted in plays"),
        (&["list"], "a b/c  count  1sec 1min 1hour 1day\nplays  unique  1sec 1min 1hour 1day"),
        (&["list", "pl"], "plays  unique  1sec 1min 1hour 1day"),
        (&["show", "plays"], "plays  unique  1sec 1min 1hour 1day"),
        (&["delete", "plays"], "deleted plays"),
        (&["delete", "a b/c", "--json"], "{}"),
        (&["list"], ""),
    ] {
        assert_eq!(serving.run("series", arguments), (0, expected.to_owned()), "{arguments:?}");
    }
}

#[test]
fn failures_say_why() {
    let serving = Serving::start();
    for (arguments, code, said) in [
        (&["show", "nothing"][..], 1, "unknown_series, 404"),
        (&["add", "tm:x"], 1, "bad_name, 422"),
        (&["show", "x", "--server", "http://127.0.0.1:1"], 1, "no answer from"),
        (&["show", "x", "--server", "nowhere"], 1, "not a URL"),
        (&["add", "x", "--n", "many"], 2, "--n"),
    ] {
        let (found, why) = serving.run("series", arguments);
        assert!(found == code && why.contains(said), "{arguments:?}: {found}, {why}");
    }
}
