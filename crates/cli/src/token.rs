//! `tickmark token create|list|revoke`.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tickmark_engine::Seconds;
use tickmark_engine::accounts::{Limits, Registry, Scope, Secret, Token, TokenId};
use tickmark_store::{Account, Store};

use crate::Outcome;
use crate::arguments::{TokenCommand, TokenOutput};
use crate::store;

const DAY_S: u64 = 86_400;

pub(crate) async fn run(command: TokenCommand) -> Outcome {
    let (TokenCommand::Create { output, .. } | TokenCommand::List { output, .. } | TokenCommand::Revoke { output, .. }) =
        &command;
    let TokenOutput { json, store: options } = output;
    let json = *json;
    let store = store::open(options).await?;
    let outcome = run_on(command, Arc::clone(&store), json).await;
    let closed = store.close().await.map_err(|error| format!("closing the store: {error}"));
    outcome.and(closed)
}

async fn run_on(command: TokenCommand, store: Arc<dyn Store>, json: bool) -> Outcome {
    let registry = Registry::new(store);
    match command {
        TokenCommand::Create { name, scopes, account, expires_in_days, requests_per_second, bytes_per_day, .. } => {
            let secret = Secret::from_random(random()?);
            let now = now();
            let token = Token {
                id: TokenId::of(&secret.digest()),
                account: Account(account),
                name,
                scopes,
                created_at: now,
                expires_at: expires_in_days.map(|days| now.plus(days * DAY_S)),
                limits: Limits { requests_per_second, bytes_per_day: bytes_per_day.map(|size| size.0) },
            };
            registry.create(&secret, &token).await.map_err(|error| format!("could not keep the token: {error}"))?;
            if json {
                let mut view = view(&token);
                view["token"] = secret.reveal().into();
                say!("{view}");
            } else {
                say!("{}", secret.reveal());
                eprintln!("This is shown once. Its id is {}.", token.id);
            }
        }
        TokenCommand::List { account, .. } => {
            let tokens = match account {
                Some(account) => registry.list(Account(account)).await,
                None => registry.all().await,
            };
            let tokens = tokens.map_err(|error| format!("could not list tokens: {error}"))?;
            if json {
                say!("{}", tokens.iter().map(view).collect::<Value>());
            } else {
                for token in &tokens {
                    say!("{}", line(token));
                }
            }
        }
        TokenCommand::Revoke { id, .. } => {
            let unknown = || format!("there is no token {id:?}; `tickmark token list` shows those there are");
            let all = registry.all().await.map_err(|error| format!("could not list tokens: {error}"))?;
            let token = all.into_iter().find(|token| token.id.as_str() == id).ok_or_else(unknown)?;
            let revoked = registry.revoke(token.account, &token.id).await;
            revoked.map_err(|error| format!("could not revoke the token: {error}"))?;
            if json {
                say!("{}", json!({ "revoked": id }));
            } else {
                say!("revoked {id}");
            }
        }
    }
    Ok(())
}

fn view(token: &Token) -> Value {
    json!({
        "id": token.id.as_str(),
        "account": token.account.0,
        "name": token.name,
        "scopes": token.scopes.iter().map(Scope::as_str).collect::<Vec<_>>(),
        "created_at": token.created_at.0,
        "expires_at": token.expires_at.map(|at| at.0),
        "requests_per_second": token.limits.requests_per_second,
        "bytes_per_day": token.limits.bytes_per_day,
    })
}

fn line(token: &Token) -> String {
    let expiry = match token.expires_at {
        None => "never expires".to_owned(),
        Some(_) if token.is_expired(now()) => "expired".to_owned(),
        Some(at) => format!("expires in {} days", (at.0 - now().0).div_ceil(DAY_S)),
    };
    format!("{}  account {}  {}  {expiry}  {}", token.id, token.account.0, token.scopes, token.name)
}

fn now() -> Seconds {
    Seconds(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

fn random() -> Outcome<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| format!("the system gives no random numbers: {error}"))?;
    Ok(bytes)
}
