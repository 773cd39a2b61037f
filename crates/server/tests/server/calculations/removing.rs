//! Taken away: a calculation, a key, a dimension, a project, and nothing is left of it.

use serde_json::json;

use super::{hash, key, until};
use crate::series::stores::{dump, on_each};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left() {
    on_each(async |server| {
        let (client, store) = (server.client(), &server.store);
        client.declare("d", "count=days").await;
        client.declare("d/keys/a", "sum=days,average=weeks").await;
        for name in ["a", "b", "c"] {
            client.keep("2", &format!("{{\"dimension\":\"d\",\"key\":\"{name}\",\"at\":5,\"value\":8}}")).await;
            client.keep("2", &format!("{{\"dimension\":\"e\",\"key\":\"{name}\",\"at\":5,\"value\":8}}")).await;
        }
        until(async || {
            let found = hash(store, key(store, "hash", "2:d:a", "sum:days")).await;
            if found == ["1970-01-01=8"] { Ok(()) } else { Err(format!("{found:?}")) }
        })
        .await;
        let path = "/v1/projects/2/dimensions/d/keys/a";
        let answer = client.delete(&format!("{path}/calculations/sum/days")).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["declared"]), (200, &json!({ "average": ["weeks"] })));
        assert_eq!(client.delete(&format!("{path}/calculations/sum/days")).await.problem(), "not_declared");
        assert!(hash(store, key(store, "hash", "2:d:a", "sum:days")).await.is_empty());
        assert_eq!(client.result("d", "a/count/days").await, json!({ "values": { "1970-01-01": 1 } }));
        let answer = client.delete("/v1/projects/2/dimensions/d/calculations/count/days").await;
        assert_eq!((answer.status.as_u16(), &answer.json()["calculations"]), (200, &json!({})));
        assert_eq!(client.get(&format!("{path}/calculations/count/days")).await.problem(), "not_declared");

        assert_eq!(client.delete(path).await.status, 204);
        assert_eq!(client.delete(path).await.problem(), "unknown_key");
        assert_eq!(client.get("/v1/projects/2/dimensions/d/keys").await.json()["keys"], json!(["b", "c"]));
        assert_eq!(client.delete("/v1/projects/2/dimensions/d").await.status, 204);
        assert_eq!(client.get("/v1/projects/2/dimensions").await.json()["dimensions"], json!(["e"]));
        assert_eq!(client.delete("/v1/projects/2").await.status, 204);
        assert_eq!(client.delete("/v1/projects/2").await.problem(), "unknown_project");
        assert_eq!(client.get("/v1/projects").await.json()["projects"], json!([]));
        // A refresh that was under way may leave a word behind that it takes back.
        until(async || {
            let left: Vec<_> = dump(store).await.into_keys().map(|key| key.to_string()).collect();
            if left.iter().all(|key| key.contains("tm:calc:accounts")) { Ok(()) } else { Err(format!("{left:?}")) }
        })
        .await;
    })
    .await;
}
