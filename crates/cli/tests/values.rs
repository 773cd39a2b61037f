//! `tickmark values` against a running server.

mod serving;

use serving::Serving;

#[test]
fn from_the_first_value_to_a_result() {
    let serving = Serving::start();
    for (arguments, expected) in [
        (
            &["declare", "2", "job skills", "{\"calculations\":{\"sum\":[\"days\"],\"average\":[\"days\"]}}"][..],
            "{\"average\":[\"days\"],\"sum\":[\"days\"]}",
        ),
        (&["add", "2", "job skills", "C++", "8", "--at", "0"], "kept for C++"),
        (&["add", "2", "job skills", "C++", "-4.5", "--at", "1970-01-02T00:00:00Z", "--json"], "{\"accepted\":1}"),
        (&["show", "2", "job skills", "C++"], "0\t8\n86400\t-4.5"),
        (&["show", "2", "job skills", "C++", "--from", "1"], "86400\t-4.5"),
        (&["show", "2", "job skills", "C++", "sum", "days"], "█▁\n1970-01-01\t8\n1970-01-02\t-4.5"),
        (&["show", "2", "job skills", "C++", "average", "days"], "average\t1.75"),
        (&["show", "2", "job skills", "C++", "average", "days", "--json"], "{\"average\":1.75}"),
        (
            &["declare", "2", "job skills", "{\"calculations\":{}}", "--key", "C++"],
            "{\"average\":[\"days\"],\"sum\":[\"days\"]}",
        ),
    ] {
        assert_eq!(serving.run("values", arguments), (0, expected.to_owned()), "{arguments:?}");
    }
    for (arguments, code, said) in [
        (&["show", "2", "nothing", "x"][..], 1, "unknown_dimension, 404"),
        (&["show", "2", "job skills", "C++", "count", "days"], 1, "not_declared, 404"),
        (&["add", "2", "a:b", "k", "1"], 1, "bad_name, 422"),
        (&["add", "2", "a", "k", "many"], 2, "many"),
        (&["show", "2", "job skills", "C++", "count"], 2, "INTERVAL"),
    ] {
        let (found, why) = serving.run("values", arguments);
        assert!(found == code && why.contains(said), "{arguments:?}: {found}, {why}");
    }
}
