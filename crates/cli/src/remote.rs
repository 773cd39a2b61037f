//! Talking to a running server.

use reqwest::{Client, Method, RequestBuilder, Url};
use serde_json::{Value, json};

use crate::Outcome;
use crate::arguments::RemoteOptions;

/// A server and who we are to it.
#[derive(Debug)]
pub(crate) struct Remote {
    url: Url,
    token: Option<String>,
    client: Client,
}

impl Remote {
    pub(crate) fn new(options: &RemoteOptions) -> Outcome<Self> {
        let wrong = || format!("--server {:?} is not a URL such as http://127.0.0.1:7700", options.server);
        let url = Url::parse(&options.server).ok().filter(|url| !url.cannot_be_a_base()).ok_or_else(wrong)?;
        Ok(Self { url, token: options.token.clone(), client: Client::new() })
    }

    /// A request to the path with these segments, each of which may have any character in it.
    pub(crate) fn request(&self, method: Method, segments: &[&str], query: &[(&str, Option<&str>)]) -> RequestBuilder {
        let mut url = self.url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        for (name, value) in query {
            if let Some(value) = value {
                url.query_pairs_mut().append_pair(name, value);
            }
        }
        let request = self.client.request(method, url);
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    /// The answer as JSON, null where there is none. A refusal is its `detail`.
    pub(crate) async fn ask(&self, request: RequestBuilder) -> Outcome<Value> {
        let failed = |error: reqwest::Error| format!("no answer from {}: {}", self.url, without_url(error));
        let response = request.send().await.map_err(failed)?;
        let status = response.status();
        let text = response.text().await.map_err(failed)?;
        if status.is_success() {
            let wrong = |error| format!("{} answered something that is not JSON: {error}", self.url);
            return if text.is_empty() { Ok(Value::Null) } else { serde_json::from_str(&text).map_err(wrong) };
        }
        let problem: Value = serde_json::from_str(&text).unwrap_or_default();
        let detail = problem["detail"].as_str().unwrap_or("it does not say why");
        Err(format!("{detail} ({}, {})", problem["type"].as_str().unwrap_or("refused"), status.as_u16()))
    }
}

/// The type of a body.
pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");

/// Asks, and prints the answer as JSON or as people read it.
pub(crate) async fn show(
    options: &RemoteOptions,
    request: impl FnOnce(&Remote) -> RequestBuilder,
    spell: impl FnOnce(&Value) -> String,
) -> Outcome {
    let remote = Remote::new(options)?;
    let answer = remote.ask(request(&remote)).await?;
    if options.json {
        say!("{}", if answer.is_null() { json!({}) } else { answer });
    } else {
        say!("{}", spell(&answer));
    }
    Ok(())
}

/// The innermost cause is what a reader can act on.
fn without_url(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
