//! A real server for a test, stopped when the test ends.

use std::net::SocketAddr;
use std::sync::Arc;

use tickmark_engine::Seconds;
use tickmark_engine::accounts::{Limits, Registry, Scopes, Secret, Token, TokenId};
use tickmark_server::{AccessSettings, Openness, Server, Settings};
use tickmark_store::embedded::{EmbeddedStore, Options};
use tickmark_store::redis::{Options as RedisOptions, RedisStore};
use tickmark_store::{Account, Store};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::Client;

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) store: Arc<dyn Store>,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<()>>,
}

pub(crate) fn memory() -> Arc<dyn Store> {
    Arc::new(EmbeddedStore::in_memory(&Options::default()).unwrap())
}

pub(crate) async fn redis(url: &str) -> Arc<dyn Store> {
    Arc::new(RedisStore::connect(url, RedisOptions::default()).await.unwrap())
}

/// Open to all, as on loopback without tokens.
pub(crate) fn open() -> Settings {
    let access = AccessSettings { openness: Openness::OpenWithoutTokens, jwt: None };
    Settings { access, ..Settings::default() }
}

impl Running {
    pub(crate) async fn open() -> Self {
        Self::start(open(), memory()).await
    }

    pub(crate) async fn start(settings: Settings, store: Arc<dyn Store>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let server = Server::new(settings, Arc::clone(&store));
        let task = tokio::spawn(server.run(listener, async {
            let _ = stopped.await;
        }));
        Self { address, store, stop: Some(stop), task: Some(task) }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// A client with a new token.
    pub(crate) async fn bearer(&self, account: u32, scopes: &str) -> Client {
        self.client().with_token(&self.token(account, scopes, None, Limits::default()).await)
    }

    pub(crate) async fn token(&self, account: u32, scopes: &str, expires_at: Option<u64>, limits: Limits) -> String {
        let mut random = [0; 32];
        getrandom::fill(&mut random).unwrap();
        let secret = Secret::from_random(random);
        let token = Token {
            id: TokenId::of(&secret.digest()),
            account: Account(account),
            name: "tester".into(),
            scopes: scopes.parse::<Scopes>().unwrap(),
            created_at: Seconds(0),
            expires_at: expires_at.map(Seconds),
            limits,
        };
        Registry::new(Arc::clone(&self.store)).create(&secret, &token).await.unwrap();
        secret.reveal().to_owned()
    }

    /// Tells the server to stop, and waits until it has.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        self.task.take().unwrap().await.unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}
