//! What is refused, with its reason, and that nothing of it is kept.

use serde_json::json;

use crate::running::Running;
use crate::series::stores::{dump, on_each};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_kept_of_a_refused_batch() {
    on_each(async |server| {
        let client = server.client();
        assert_eq!(client.put("/v1/projects/2", "{\"time_zone\":\"America/New_York\"}").await.status, 201);
        let before = dump(&server.store).await;
        for (line, status, word) in [
            ("{\"dimension\":\"d\",\"key\":\"k\",\"at\":1,\"value\":\"NaN\"}", 422, "not_finite"),
            ("{\"dimension\":\"d\",\"key\":\"k\",\"at\":1,\"value\":\"-Infinity\"}", 422, "not_finite"),
            ("{\"dimension\":\"d\",\"key\":\"k\",\"at\":1,\"value\":\"8\"}", 422, "rule_broken"),
            ("{\"dimension\":\"d\",\"key\":\"k\",\"at\":1,\"value\":null}", 422, "rule_broken"),
            ("{\"dimension\":\"d\",\"key\":\"k\",\"at\":1}", 422, "rule_broken"),
            ("{\"dimension\":\"d\",\"key\":\"k\",\"at\":1,\"value\":1e999}", 400, "malformed_json"),
            ("{\"dimension\":\"d\",\"key\":\"k\",\"at\":-1,\"value\":1}", 422, "bad_time"),
            ("{\"dimension\":\"d\",\"key\":\"k\",\"at\":253402300800,\"value\":1}", 422, "bad_time"),
            ("{\"dimension\":\"d\",\"key\":\"k\",\"at\":\"yesterday\",\"value\":1}", 422, "bad_time"),
            ("{\"dimension\":\"d\",\"key\":\"k\",\"at\":\"2014-11-02 01:30:00\",\"value\":1}", 422, "ambiguous_time"),
            ("{\"dimension\":\"d\",\"key\":\"k\",\"at\":\"2014-03-09 02:30:00\",\"value\":1}", 422, "ambiguous_time"),
            ("{\"dimension\":\"d:e\",\"key\":\"k\",\"at\":1,\"value\":1}", 422, "bad_name"),
            ("{\"dimension\":\"d\",\"key\":\"k:l\",\"at\":1,\"value\":1}", 422, "bad_name"),
            ("{\"dimension\":\"d\",\"key\":\"k{l\",\"at\":1,\"value\":1}", 422, "bad_name"),
            ("{\"dimension\":\"d\",\"key\":\"\",\"at\":1,\"value\":1}", 422, "bad_name"),
            ("{\"dimension\":\"d\",\"at\":1,\"value\":1}", 422, "rule_broken"),
            ("{\"dimension\":\"d\",\"key\":\"k\",\"at\":1,\"value\":1,\"unit\":\"m\"}", 422, "rule_broken"),
            ("{\"dimension\":\"d\",", 400, "malformed_json"),
        ] {
            let good = "{\"dimension\":\"d\",\"key\":\"k\",\"at\":\"2014-11-02 00:30:00\",\"value\":1}";
            let answer = client.ndjson("/v1/projects/2/values", &format!("{good}\n\n{line}\n{good}\n")).await;
            assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (status, word), "{line}: {answer:?}");
            assert_eq!(answer.json()["line"], 3, "{line}");
        }
        assert_eq!(dump(&server.store).await, before);
    })
    .await;
}

#[tokio::test]
async fn names_zones_calculations_and_intervals() {
    let server = Running::open().await;
    let client = server.client();
    for (path, body, status, word) in [
        ("2", json!({ "time_zone": "Mars/Olympus" }), 422, "bad_time_zone"),
        ("2", json!({ "time_zone": "+02:00" }), 422, "bad_time_zone"),
        ("2", json!({ "gaps": "one" }), 422, "rule_broken"),
        ("a:b", json!({}), 422, "bad_name"),
        ("a%7Bb", json!({}), 422, "bad_name"),
        ("2/dimensions/d", json!({ "calculations": { "mode": ["days"] } }), 422, "unknown_calculation"),
        ("2/dimensions/d", json!({ "calculations": { "sum": ["fortnights"] } }), 422, "unknown_interval"),
        ("2/dimensions/d/keys/k", json!({ "calculations": { "sum": ["Days"] } }), 422, "unknown_interval"),
        ("2/dimensions/d/keys/k:l", json!({ "calculations": {} }), 422, "bad_name"),
        ("2/dimensions/d/keys/k", json!({ "calculations": [] }), 422, "rule_broken"),
        ("2/dimensions/d/keys/k", json!({}), 422, "rule_broken"),
    ] {
        let answer = client.put(&format!("/v1/projects/{path}"), &body.to_string()).await;
        assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (status, word), "{path} {body}: {answer:?}");
    }
    assert!(dump(&server.store).await.is_empty());
    assert_eq!(client.get("/v1/projects/2").await.problem(), "unknown_project");
    assert_eq!(client.get("/v1/projects/2/dimensions").await.problem(), "unknown_project");
    client.keep("2", "{\"dimension\":\"d\",\"key\":\"k\",\"value\":1}").await;
    for (path, status, word) in [
        ("dimensions/e", 404, "unknown_dimension"),
        ("dimensions/e/keys", 404, "unknown_dimension"),
        ("dimensions/d/keys/l", 404, "unknown_key"),
        ("dimensions/d/keys/l/values", 404, "unknown_key"),
        ("dimensions/d/keys/k/values?from=5&to=4", 422, "from_after_to"),
        ("dimensions/d/keys/k/values?from=never", 400, "bad_parameter"),
        ("dimensions/d/keys/k/values?limit=0", 400, "bad_parameter"),
        ("dimensions/d/keys/l/calculations/sum/days", 404, "unknown_key"),
        ("dimensions/d/keys/k/calculations/sum/days", 404, "not_declared"),
        ("dimensions/d/keys/k/calculations/mode/days", 404, "not_declared"),
        ("dimensions/d/keys/k/calculations/sum/fortnights", 404, "not_declared"),
    ] {
        let answer = client.get(&format!("/v1/projects/2/{path}")).await;
        assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (status, word), "{path}: {answer:?}");
    }
}
