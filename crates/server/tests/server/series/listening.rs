use std::time::Duration;

use serde_json::{Value, json};

use crate::running::Running;

#[tokio::test]
async fn listeners_of_two_granularities_each_see_their_own() {
    let server = Running::open().await;
    let client = server.client();
    client.put("/v1/series/a", "{}").await;
    let mut streams = Vec::new();
    for granularity in ["1hour", "1day"] {
        let path = format!("/v1/series/a/live?granularity={granularity}");
        let mut response = client.request("GET", &path).send().await.unwrap();
        let first = next(&mut response).await;
        assert_eq!((&first.0, &first.1["granularity"]), (&"snapshot".to_owned(), &json!(granularity)));
        assert_eq!(first.1["points"].as_array().unwrap().len(), 60);
        streams.push((granularity, response));
    }
    client.count("a", "{}\n{}\n").await;
    for (granularity, response) in &mut streams {
        let (event, data) = next(response).await;
        assert_eq!((event.as_str(), &data["granularity"]), ("change", &json!(granularity)));
        assert_eq!(data["points"][59]["value"], 2);
    }
}

async fn next(response: &mut reqwest::Response) -> (String, Value) {
    let mut text = String::new();
    while !text.contains("\n\n") {
        let chunk = tokio::time::timeout(Duration::from_secs(10), response.chunk()).await.unwrap().unwrap().unwrap();
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap();
    (field("event").to_owned(), serde_json::from_str(field("data")).unwrap())
}
