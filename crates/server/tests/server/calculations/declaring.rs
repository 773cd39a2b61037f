//! Projects, dimensions and keys: declared, listed, read back.

use serde_json::json;

use super::declaration;
use crate::client::send;
use crate::running::Running;
use crate::series::stores::on_each;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_there_is() {
    on_each(async |server| {
        let client = server.client();
        client.keep("2", "{\"dimension\":\"visits\",\"key\":\"b\",\"at\":1.5,\"value\":0.5}").await;
        client.post("/v1/projects/2/values", "[{\"dimension\":\"jobs\",\"key\":\"a\",\"at\":\"2\",\"value\":-3},{\"dimension\":\"visits\",\"key\":\"a\",\"value\":1}]").await;
        assert_eq!(client.put("/v1/projects/10", "{\"gaps\":\"skip\"}").await.status, 201);
        let list = client.get("/v1/projects").await.json();
        assert_eq!(list, json!({ "projects": ["10", "2"], "next": null }));
        assert_eq!(client.get("/v1/projects?limit=1").await.json(), json!({ "projects": ["10"], "next": "10" }));
        assert_eq!(client.get("/v1/projects?after=10").await.json()["projects"], json!(["2"]));
        assert_eq!(client.get("/v1/projects?prefix=1").await.json()["projects"], json!(["10"]));
        let project = client.get("/v1/projects/10").await.json();
        assert_eq!(project, json!({ "project": "10", "time_zone": "UTC", "gaps": "skip" }));
        let dimensions = client.get("/v1/projects/2/dimensions").await.json();
        assert_eq!(dimensions, json!({ "dimensions": ["jobs", "visits"], "next": null }));
        assert_eq!(client.get("/v1/projects/2/dimensions/visits/keys").await.json()["keys"], json!(["a", "b"]));
        let values = client.get("/v1/projects/2/dimensions/visits/keys/b/values").await.json();
        assert_eq!(values, json!({ "values": [{ "at": 1.5, "value": 0.5 }], "next": null }));
    })
    .await;
}

#[tokio::test]
async fn values_are_paged_in_the_order_of_time() {
    let server = Running::open().await;
    let client = server.client();
    let line = |at: &i32| format!("{{\"dimension\":\"d\",\"key\":\"k\",\"at\":{at},\"value\":{at}}}");
    let lines = [5, 1, 4, 2, 3].iter().map(line).collect::<Vec<_>>().join("\n");
    client.keep("2", &lines).await;
    let page =
        async |query: &str| client.get(&format!("/v1/projects/2/dimensions/d/keys/k/values{query}")).await.json();
    let ats = |page: &serde_json::Value| {
        page["values"].as_array().unwrap().iter().map(|value| value["at"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    let first = page("?limit=2").await;
    assert_eq!((ats(&first), &first["next"]), (vec![1, 2], &json!(3)));
    assert_eq!(ats(&page("?from=3").await), [3, 4, 5]);
    assert_eq!(ats(&page("?from=2&to=4").await), [2, 3, 4]);
    assert_eq!(ats(&page("?from=1970-01-01T00:00:05Z").await), [5]);
}

#[tokio::test]
async fn a_declaration_replaces_what_was_declared() {
    let server = Running::open().await;
    let client = server.client();
    client.declare("d", "count=days+weeks").await;
    client.keep("2", "{\"dimension\":\"d\",\"key\":\"k\",\"at\":5,\"value\":8}").await;
    client.declare("d/keys/k", "sum=days").await;
    let view = client.get("/v1/projects/2/dimensions/d/keys/k").await.json();
    assert_eq!(view["calculations"], json!({ "count": ["days", "weeks"], "sum": ["days"] }));
    assert_eq!(view["declared"], json!({ "sum": ["days"] }));
    client.declare("d", "average=months").await;
    let refused = client.get("/v1/projects/2/dimensions/d/keys/k/calculations/count/days").await;
    assert_eq!(refused.problem(), "not_declared");
    assert_eq!(client.result("d", "k/average/months").await, json!({ "average": 8.0 }));
    client.declare("d/keys/k", "").await;
    let view = client.get("/v1/projects/2/dimensions/d/keys/k").await.json();
    assert_eq!(view["calculations"], json!({ "average": ["months"] }));
    client.declare("d", "count=days").await;
    assert_eq!(client.result("d", "k/count/days").await, json!({ "values": { "1970-01-01": 1 } }));
    let empty =
        client.put("/v1/projects/2/dimensions/e/keys/k", &declaration("average=days,linear_regression=days")).await;
    assert_eq!(empty.status, 201);
    assert_eq!(client.result("e", "k/average/days").await, json!({ "average": null }));
    let nothing = json!({ "intercept": null, "slope": null, "ci_90": null, "ci_95": null, "ci_99": null, "n": 0 });
    assert_eq!(client.result("e", "k/linear_regression/days").await, nothing);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sent_again_with_the_same_key_it_is_answered_as_the_first_time() {
    on_each(async |server| {
        let client = server.client();
        let post = |body: &str| {
            let request = client.request("POST", "/v1/projects/2/values").header("idempotency-key", "once");
            request.header("content-type", "application/x-ndjson").body(body.to_owned())
        };
        let body = "{\"dimension\":\"d\",\"key\":\"a\",\"at\":5,\"value\":8}\n{\"dimension\":\"d\",\"key\":\"b\",\"at\":5,\"value\":8}";
        let first = send(post(body)).await;
        assert_eq!((first.status.as_u16(), first.header("idempotency-replayed")), (200, ""));
        let again = send(post(body)).await;
        assert_eq!((again.status.as_u16(), again.header("idempotency-replayed"), &again.text), (200, "true", &first.text));
        assert_eq!(send(post("{}")).await.status, 422);
        let other = send(post("{\"dimension\":\"d\",\"key\":\"a\",\"at\":6,\"value\":8}")).await;
        assert_eq!((other.status.as_u16(), other.problem().as_str()), (409, "idempotency_conflict"));
    })
    .await;
}
