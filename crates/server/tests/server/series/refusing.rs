//! What is refused leaves the store as it was.

use super::stores::{dump, on_each};
use crate::running::Running;

#[tokio::test]
async fn every_refusal_leaves_the_store_as_it_was() {
    on_each(every_refusal).await;
}

async fn every_refusal(server: &Running) {
    let client = server.client();
    client.put("/v1/series/plays", "{\"kind\":\"unique\"}").await;
    client.count("clicks", "{\"at\":5,\"n\":9223372036854775807}\n").await;
    client.count("plays", "{\"at\":5,\"member\":\"max\"}\n").await;
    let before = dump(&server.store).await;

    let points = |query: &str| format!("/v1/series/clicks/points?{query}");
    for (path, status, word) in [
        (points("granularity=2min&from=0&to=1"), 404, "unknown_granularity"),
        (points("granularity=1sec&from=2&to=1"), 422, "from_after_to"),
        (points("granularity=1sec&from=0&to=1000000"), 422, "too_many_points"),
        (points("granularity=1sec&from=yesterday&to=1"), 400, "bad_parameter"),
        (points("granularity=1sec&from=-1&to=1"), 400, "bad_parameter"),
        (points("from=0&to=1"), 400, "bad_parameter"),
        ("/v1/series/nothing/points?granularity=1sec&from=0&to=1".into(), 404, "unknown_series"),
        ("/v1/series/nothing/live?granularity=1sec".into(), 404, "unknown_series"),
        ("/v1/series/clicks/live?granularity=2min".into(), 404, "unknown_granularity"),
        ("/v1/series/clicks/total?from=2&to=1".into(), 422, "from_after_to"),
        ("/v1/series/tm:x".into(), 422, "bad_name"),
        ("/v1/series/nothing".into(), 404, "unknown_series"),
        ("/v1/series?limit=0".into(), 400, "bad_parameter"),
    ] {
        let answer = client.get(&path).await;
        assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (status, word), "{path}");
    }

    let good = "{\"series\":\"new\",\"at\":1}\n";
    for (line, status, word) in [
        ("{\"series\":\"clicks\",\"member\":\"max\"}", 422, "unexpected_member"),
        ("{\"series\":\"plays\",\"at\":1}", 422, "missing_member"),
        ("{\"series\":\"plays\",\"n\":1,\"member\":\"max\"}", 422, "rule_broken"),
        ("{\"series\":\"plays\",\"member\":\"\"}", 422, "rule_broken"),
        ("{\"series\":\"clicks\",\"n\":9223372036854775808}", 422, "rule_broken"),
        ("{\"series\":\"clicks\",\"at\":-1}", 422, "rule_broken"),
        ("{\"series\":\"clicks\",\"at\":253402300800}", 422, "rule_broken"),
        ("{\"series\":\"set:projects\"}", 422, "bad_name"),
        ("{\"series\":\"a{b}\"}", 422, "bad_name"),
        ("{\"series\":\"\"}", 422, "bad_name"),
        ("{\"at\":1}", 422, "rule_broken"),
        ("{\"series\":\"clicks\",\"att\":1}", 422, "rule_broken"),
        ("{\"series\":\"clicks\"", 400, "malformed_json"),
    ] {
        let answer = client.ndjson("/v1/events", &format!("{good}{line}\n")).await;
        assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (status, word), "{line}");
        assert_eq!(answer.json()["line"], 2, "{line}");
    }
    for overflow in ["{\"series\":\"clicks\",\"at\":5}", "{\"series\":\"clicks\",\"at\":6}"] {
        let answer = client.ndjson("/v1/events", &format!("{good}{overflow}\n")).await;
        assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (422, "overflow"), "{overflow}");
    }
    let both = "{\"series\":\"fresh\",\"at\":1}\n{\"series\":\"fresh\",\"at\":1,\"member\":\"max\"}\n";
    assert_eq!(client.ndjson("/v1/events", both).await.problem(), "unexpected_member");

    for (declaration, status, word) in [
        ("{\"kind\":\"unique\"}", 409, "series_has_data"),
        ("{\"layout\":\"string\"}", 409, "series_has_data"),
        ("{\"granularities\":[{\"name\":\"1sec\",\"duration\":2}]}", 409, "series_has_data"),
        ("{\"granularities\":[]}", 422, "bad_declaration"),
        ("{\"granularities\":[{\"name\":\"a:b\",\"duration\":2}]}", 422, "bad_declaration"),
        ("{\"granularities\":[{\"name\":\"x\",\"duration\":0}]}", 422, "bad_declaration"),
        ("{\"granularities\":[{\"name\":\"x\",\"duration\":60,\"group\":90}]}", 422, "bad_declaration"),
        ("{\"granularities\":[{\"name\":\"x\",\"calendar\":\"week\",\"time_zone\":\"Mars\"}]}", 422, "bad_declaration"),
        ("{\"kind\":\"sum\"}", 422, "rule_broken"),
        ("{\"kind\":\"unique\",\"layout\":\"hash\"}", 422, "bad_declaration"),
    ] {
        let answer = client.put("/v1/series/clicks", declaration).await;
        assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (status, word), "{declaration}");
    }
    assert_eq!(client.delete("/v1/series/nothing").await.problem(), "unknown_series");
    assert_eq!(dump(&server.store).await, before);
}
