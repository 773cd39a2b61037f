//! A small HTTP client that shows what came back.

use std::net::SocketAddr;

use reqwest::{Method, RequestBuilder, StatusCode, header};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[derive(Clone)]
pub(crate) struct Client {
    address: SocketAddr,
    http: reqwest::Client,
    token: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: header::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {:?}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The type of the problem, having checked that it is whole.
    #[track_caller]
    pub(crate) fn problem(&self) -> String {
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status.as_u16(), "{self:?}");
        assert!(!problem["title"].as_str().unwrap().is_empty() && !problem["detail"].as_str().unwrap().is_empty());
        problem["type"].as_str().unwrap().to_owned()
    }
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { address, http, token: None }
    }

    #[must_use]
    pub(crate) fn with_token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.http.request(method, format!("http://{}{path}", self.address));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        send(self.request("GET", path)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        send(self.request("DELETE", path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: impl Into<String>) -> Answer {
        send(self.request("POST", path).header("content-type", "application/json").body(body.into())).await
    }

    /// Sends bytes that need not be HTTP, and returns what comes back until the server closes.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // The server may well answer and close before it has read everything.
        let _ = stream.write_all(bytes).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }
}

pub(crate) async fn send(request: RequestBuilder) -> Answer {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    Answer { status, headers, text: response.text().await.unwrap() }
}
