//! `tickmark serve`.

use std::sync::Arc;
use std::time::Duration;

use tickmark_engine::accounts::{Limits, Registry};
use tickmark_server::line_protocol::Strings;
use tickmark_server::{
    AccessSettings, Bounds, Countries, JwtSettings, KeySource, Openness, Server, Settings, Statsd, WebhookReach,
};
use tickmark_store::{Account, Store};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::Outcome;
use crate::arguments::{JwtOptions, LimitOptions, LineStrings, ServeOptions};
use crate::{logs, store};

pub(crate) async fn serve(options: ServeOptions) -> Outcome {
    let _last_lines = logs::start(&options.log)?;
    tickmark_server::start_counting();
    // Listened for from the start, so that a signal during a long recovery is not lost.
    let shutdown = shutdown_signal()?;
    let store = store::open(&options.store).await?;
    let outcome = serve_store(&options, Arc::clone(&store), shutdown).await;
    let closed = store.close().await.map_err(|error| format!("closing the store: {error}"));
    outcome.and(closed)
}

async fn serve_store(options: &ServeOptions, store: Arc<dyn Store>, shutdown: impl Future<Output = ()>) -> Outcome {
    let jwt = jwt(&options.jwt)?;
    let openness = openness(options, Arc::clone(&store)).await?;
    let listen = options.listen;
    let listener = TcpListener::bind(listen).await.map_err(|error| format!("could not listen on {listen}: {error}"))?;
    let address = listener.local_addr().map_err(|error| format!("listening on {listen}: {error}"))?;
    say!("listening on  http://{address}");
    say!("store         {}", options.store.store);
    say!("durability    {}", store::durability(&options.store));
    say!("access        {}", described(openness, options));
    let settings = Settings {
        bounds: bounds(&options.limits),
        access: AccessSettings { openness, jwt },
        cors_origins: options.cors_origins.iter().map(|origin| origin.0.clone()).collect(),
        countries: countries(options)?,
        audience_retention: (options.audience_days > 0).then(|| Duration::from_hours(24) * options.audience_days),
        webhooks: if options.private_webhooks { WebhookReach::Everywhere } else { WebhookReach::Public },
        line_strings: match options.line_strings {
            LineStrings::Count => Strings::Count,
            LineStrings::Skip => Strings::Skip,
        },
    };
    let mut server = Server::new(settings, store);
    if let Some(statsd) = statsd(options).await? {
        server = server.with_statsd(statsd);
    }
    server.run(listener, shutdown).await;
    say!("stopped");
    Ok(())
}

fn countries(options: &ServeOptions) -> Outcome<Option<Arc<Countries>>> {
    let Some(path) = &options.geoip else { return Ok(None) };
    let countries = Countries::open(path).map_err(|error| format!("--geoip: {error}"))?;
    Ok(Some(Arc::new(countries)))
}

/// There is no door to StatsD at all, so beyond loopback it takes the same word as a server without one.
async fn statsd(options: &ServeOptions) -> Outcome<Option<Statsd>> {
    let Some(address) = options.statsd else { return Ok(None) };
    if !address.ip().is_loopback() && !options.insecure {
        return Err(format!(
            "refusing to take StatsD on {address}, which others can reach: it has no access control; listen on 127.0.0.1, or \
             say --insecure"
        ));
    }
    let failed = |error: std::io::Error| format!("could not take StatsD on {address}: {error}");
    let statsd = Statsd::bind(address).await.map_err(failed)?;
    say!("statsd        {}", statsd.local_addr().map_err(failed)?);
    Ok(Some(statsd))
}

/// Beyond loopback someone must be at the door, or be told that nobody is.
async fn openness(options: &ServeOptions, store: Arc<dyn Store>) -> Outcome<Openness> {
    if options.insecure || options.listen.ip().is_loopback() {
        return Ok(Openness::OpenWithoutTokens);
    }
    let asking = Registry::new(store).is_empty().await;
    let no_tokens = asking.map_err(|error| format!("could not look for tokens in the store: {error}"))?;
    if no_tokens && options.jwt.jwt_keys.is_none() {
        return Err(format!(
            "refusing to listen on {}, which others can reach, without access control; make a token first \
             (`tickmark token create --name you --scopes read,write,admin`), or set --jwt-keys, or listen on 127.0.0.1, or \
             say --insecure",
            options.listen
        ));
    }
    Ok(Openness::Closed)
}

fn described(openness: Openness, options: &ServeOptions) -> &'static str {
    match (openness, options.jwt.jwt_keys.is_some()) {
        (_, true) => "tokens and JWTs",
        (Openness::Closed, false) => "tokens",
        (Openness::OpenWithoutTokens, false) => "open to all who can reach it, as long as there are no tokens",
    }
}

fn jwt(options: &JwtOptions) -> Outcome<Option<JwtSettings>> {
    let JwtOptions { jwt_keys: Some(keys), jwt_issuer: Some(issuer), jwt_audience: Some(audience), .. } = options
    else {
        return Ok(None);
    };
    let keys = if keys.starts_with("https://") || keys.starts_with("http://") {
        KeySource::Url(keys.to_owned())
    } else {
        // Better said now than to everyone who comes with a token.
        std::fs::metadata(keys).map_err(|error| format!("--jwt-keys {keys:?} is not a URL, and no file: {error}"))?;
        KeySource::File(keys.into())
    };
    Ok(Some(JwtSettings {
        keys,
        issuer: issuer.clone(),
        audience: audience.clone(),
        account: Account(options.jwt_account),
        scopes: options.jwt_scopes,
        limits: Limits {
            requests_per_second: options.jwt_requests_per_second,
            bytes_per_day: options.jwt_bytes_per_day.map(|size| size.0),
        },
    }))
}

fn bounds(options: &LimitOptions) -> Bounds {
    Bounds {
        body_bytes_max: options.max_body.as_usize(),
        unpacked_bytes_max: options.max_body.as_usize(),
        bodies_bytes_max: options.max_bodies.as_usize(),
        points_max: options.max_points,
        requests_max: options.max_requests.0,
        listeners_max: options.max_listeners.0,
        connections_max: options.max_connections.0,
        shutdown_wait: Duration::from_secs(options.shutdown_seconds.into()),
        ..Bounds::default()
    }
}

/// Done at the first SIGTERM or SIGINT.
fn shutdown_signal() -> Outcome<impl Future<Output = ()>> {
    let failed = |error: std::io::Error| format!("could not listen for signals: {error}");
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        say!("stopping");
    })
}
