use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RsaKeyPair};
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use tickmark_server::{AccessSettings, JwtSettings, KeySource, Openness, Settings};
use tickmark_store::Account;
use tokio::net::TcpListener;

use crate::running::{Running, memory};

const ISSUER: &str = "https://issuer.example";
const AUDIENCE: &str = "tickmark";

/// Someone who signs tokens, and an endpoint that hands out their public keys and counts who asks.
struct Signer {
    rsa: EncodingKey,
    elliptic: EncodingKey,
    url: String,
    asked: Arc<AtomicUsize>,
}

impl Signer {
    async fn start() -> Self {
        let elliptic = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
        let elliptic = EncodingKey::from_ec_der(elliptic.as_ref());
        let rsa = rsa_key();
        let keys =
            JwkSet { keys: vec![public(&rsa, Algorithm::RS256, "rsa"), public(&elliptic, Algorithm::ES256, "ec")] };
        let document = serde_json::to_string(&keys).unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let answer = move || {
            counter.fetch_add(1, Ordering::SeqCst);
            let document = document.clone();
            async move { document }
        };
        let routes = axum::Router::new().route("/jwks", axum::routing::get(answer));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/jwks", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { rsa, elliptic, url, asked }
    }

    fn settings(&self) -> Settings {
        let jwt = JwtSettings {
            keys: KeySource::Url(self.url.clone()),
            issuer: ISSUER.into(),
            audience: AUDIENCE.into(),
            account: Account(3),
            scopes: "read,write".parse().unwrap(),
            limits: tickmark_engine::accounts::Limits::default(),
        };
        let access = AccessSettings { openness: Openness::OpenWithoutTokens, jwt: Some(jwt) };
        Settings { access, ..Settings::default() }
    }
}

fn rsa_key() -> EncodingKey {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
    let der: Pkcs8V1Der<'_> = pair.as_der().unwrap();
    // The library wants the bare RSA key, which PKCS #8 wraps in a header of constant size.
    EncodingKey::from_rsa_der(&der.as_ref()[26..])
}

fn public(key: &EncodingKey, algorithm: Algorithm, kid: &str) -> Jwk {
    let mut jwk = Jwk::from_encoding_key(key, algorithm).unwrap();
    jwk.common.key_id = Some(kid.into());
    jwk
}

fn claims() -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    json!({ "sub": "ada", "iss": ISSUER, "aud": AUDIENCE, "exp": now + 600 })
}

fn with(changes: &Value) -> Value {
    let mut claims = claims();
    for (name, value) in changes.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims
}

fn without(name: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().unwrap().remove(name);
    claims
}

fn sign(key: &EncodingKey, algorithm: Algorithm, kid: &str, claims: &Value) -> String {
    let header = Header { kid: Some(kid.into()), ..Header::new(algorithm) };
    encode(&header, claims, key).unwrap()
}

#[tokio::test]
async fn valid_tokens_come_in_and_others_do_not() {
    let signer = Signer::start().await;
    let server = Running::start(signer.settings(), memory()).await;
    let rs = |claims: &Value| sign(&signer.rsa, Algorithm::RS256, "rsa", claims);
    let stranger = rsa_key();
    let unsigned = {
        let whole = rs(&claims());
        let (_, payload) = whole.split_once('.').unwrap();
        format!("eyJhbGciOiJub25lIiwia2lkIjoicnNhIn0.{}.", payload.split('.').next().unwrap())
    };
    for (what, token, status) in [
        ("RS256", rs(&claims()), 202),
        ("ES256", sign(&signer.elliptic, Algorithm::ES256, "ec", &claims()), 202),
        ("one of several audiences", rs(&with(&json!({ "aud": ["other", AUDIENCE] }))), 202),
        ("expired", rs(&with(&json!({ "exp": 1_000_000 }))), 401),
        ("not yet valid", rs(&with(&json!({ "nbf": 32_503_680_000_u64 }))), 401),
        ("wrong audience", rs(&with(&json!({ "aud": "other" }))), 401),
        ("wrong issuer", rs(&with(&json!({ "iss": "https://evil.example" }))), 401),
        ("no user", rs(&without("sub")), 401),
        ("no expiry", rs(&without("exp")), 401),
        ("no audience", rs(&without("aud")), 401),
        ("no issuer", rs(&without("iss")), 401),
        ("another's key", sign(&stranger, Algorithm::RS256, "rsa", &claims()), 401),
        ("unknown key", sign(&stranger, Algorithm::RS256, "unknown", &claims()), 401),
        ("a good key under an unknown id", sign(&signer.rsa, Algorithm::RS256, "unknown", &claims()), 401),
        ("the wrong key's id", sign(&signer.rsa, Algorithm::RS256, "ec", &claims()), 401),
        ("alg none", unsigned, 401),
        ("symmetric", sign(&EncodingKey::from_secret(b"rsa"), Algorithm::HS256, "rsa", &claims()), 401),
        ("RS512", sign(&signer.rsa, Algorithm::RS512, "rsa", &claims()), 401),
    ] {
        let answer = server.client().with_token(&token).post("/v1/updates/x", "").await;
        assert_eq!(answer.status, status, "{what}: {}", answer.text);
    }
    assert_eq!(server.client().post("/v1/updates/x", "").await.status, 401, "without a token");
}

#[tokio::test]
async fn the_signer_is_not_hammered() {
    let signer = Signer::start().await;
    let store = memory();
    let server = Running::start(signer.settings(), Arc::clone(&store)).await;
    let stranger = rsa_key();
    let mut attempts = Vec::new();
    for index in 0..100 {
        let kid = format!("made-up-{index}");
        let token = sign(&stranger, Algorithm::RS256, &kid, &claims());
        let client = server.client().with_token(&token);
        attempts.push(tokio::spawn(async move { client.post("/v1/updates/x", "").await.status }));
    }
    for attempt in attempts {
        assert_eq!(attempt.await.unwrap(), 401);
    }
    assert_eq!(signer.asked.load(Ordering::SeqCst), 1);

    // Another server on the same store finds what the first one fetched.
    let second = Running::start(signer.settings(), store).await;
    let token = sign(&signer.rsa, Algorithm::RS256, "rsa", &claims());
    assert_eq!(second.client().with_token(&token).post("/v1/updates/x", "").await.status, 202);
    assert_eq!(signer.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn keys_out_of_reach_are_a_503() {
    let mut settings = Signer::start().await.settings();
    if let Some(jwt) = &mut settings.access.jwt {
        jwt.keys = KeySource::File("/nonexistent/jwks.json".into());
    }
    let server = Running::start(settings, memory()).await;
    let token = sign(&rsa_key(), Algorithm::RS256, "rsa", &claims());
    let answer = server.client().with_token(&token).post("/v1/updates/x", "").await;
    assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (503, "keys_unavailable"));
}
