//! Posting alerts: signed, bounded in time, never to where only this machine or its network can reach.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use serde::Serialize;
use sha2::{Digest, Sha256};
use tickmark_engine::calculations::{Alert, Delivery, Posting};
use utoipa::ToSchema;

use crate::hexadecimal::hexadecimal;
use crate::problem::{Problem, Result, Word};
use crate::settings::WebhookReach;

const POST_WAIT: Duration = Duration::from_secs(10);
const SIGNATURE: &str = "x-tickmark-signature";
const ALERT: &str = "x-tickmark-alert";

/// An alert, as it is listed and as it is posted.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Alert)]
pub(crate) struct AlertView {
    /// The same however often it is posted.
    alert: String,
    project: String,
    rule: String,
    dimension: String,
    key: String,
    calculation: String,
    interval: String,
    field: String,
    operator: String,
    threshold: f64,
    /// What the result was.
    value: f64,
    /// Seconds since 1970.
    at: f64,
    /// How posting it went: `pending`, `delivered`, `failed`; null where there was nowhere to post it.
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook: Option<&'static str>,
}

impl AlertView {
    pub(crate) fn of(alert: &Alert) -> Self {
        Self {
            alert: alert.id.clone(),
            project: alert.path.project.to_string(),
            rule: alert.rule.clone(),
            dimension: alert.path.dimension.to_string(),
            key: alert.path.key.to_string(),
            calculation: alert.calculation.clone(),
            interval: alert.interval.clone(),
            field: alert.field.clone(),
            operator: alert.operator.clone(),
            threshold: alert.threshold,
            value: alert.value,
            at: alert.at_ms as f64 / 1_000.0,
            webhook: alert.delivery.map(|delivery| match delivery {
                Delivery::Pending { .. } => "pending",
                Delivery::Delivered => "delivered",
                Delivery::Failed => "failed",
            }),
        }
    }
}

/// Where to post.
#[derive(Debug)]
pub(crate) struct Target {
    url: Url,
    host: String,
    port: u16,
}

impl Target {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let wrong =
            || Problem::new(Word::BadRule, "`webhook` is an http or https address, such as https://example.com/hook.");
        let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https")).ok_or_else(wrong)?;
        let host = url.host_str().ok_or_else(wrong)?.trim_matches(['[', ']']).to_owned();
        let port = url.port_or_known_default().ok_or_else(wrong)?;
        Ok(Self { url, host, port })
    }

    /// Refuses what is plainly out of reach. Names are looked up when there is something to post, because they change.
    pub(crate) fn check_literal(&self, reach: WebhookReach) -> Result<()> {
        let is_private = self.host == "localhost" || self.host.parse().is_ok_and(|address| !is_public(address));
        if reach == WebhookReach::Public && is_private {
            let detail = "`webhook` is on a private, loopback or link-local address; --private-webhooks allows those.";
            return Err(Problem::new(Word::BadRule, detail));
        }
        Ok(())
    }

    /// The addresses behind the name, if all may be posted to.
    async fn addresses(&self, reach: WebhookReach) -> Result<Vec<SocketAddr>, String> {
        let found =
            tokio::net::lookup_host((self.host.as_str(), self.port)).await.map_err(|error| error.to_string())?;
        let found: Vec<_> = found.collect();
        if found.is_empty() {
            return Err("the name has no address".into());
        }
        if reach == WebhookReach::Public && !found.iter().all(|address| is_public(address.ip())) {
            return Err("the name is of a private address".into());
        }
        Ok(found)
    }
}

/// Posts an alert once.
pub(super) async fn post(posting: &Posting, reach: WebhookReach) -> Result<(), String> {
    let target = Target::parse(&posting.url).map_err(|problem| problem.detail().to_owned())?;
    let addresses = target.addresses(reach).await?;
    // Connects to what was just looked at, whatever the name says a moment later.
    let client = Client::builder()
        .redirect(Policy::none())
        .timeout(POST_WAIT)
        .no_proxy()
        .resolve_to_addrs(&target.host, &addresses)
        .build()
        .map_err(|error| error.to_string())?;
    let view = AlertView { webhook: None, ..AlertView::of(&posting.alert) };
    let body = serde_json::to_vec(&view).map_err(|error| error.to_string())?;
    let signature = format!("sha256={}", hexadecimal(&hmac(posting.secret.as_bytes(), &body)));
    let request = client.post(target.url).header("content-type", "application/json").header(SIGNATURE, signature);
    let request = match reqwest::header::HeaderValue::from_str(&posting.alert.id) {
        Ok(id) => request.header(ALERT, id),
        Err(_) => request,
    };
    let answer = request.body(body).send().await.map_err(|error| error.without_url().to_string())?;
    if answer.status().is_success() { Ok(()) } else { Err(format!("answered {}", answer.status().as_u16())) }
}

/// HMAC-SHA256, as RFC 2104 has it.
fn hmac(secret: &[u8], message: &[u8]) -> [u8; 32] {
    const BLOCK: usize = 64;
    let mut key = [0_u8; BLOCK];
    if secret.len() > BLOCK {
        key[..32].copy_from_slice(&Sha256::digest(secret));
    } else {
        key[..secret.len()].copy_from_slice(secret);
    }
    let inner = Sha256::new().chain_update(key.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(key.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().into()
}

/// Whether an address is of the Internet at large.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(mapped) => is_public_v4(mapped),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    // Of carriers, of benchmarks, and all that is reserved from 240 on.
    let is_special = (first == 100 && second & 0xc0 == 64) || (first == 198 && second & 0xfe == 18) || first >= 240;
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_unspecified()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || first == 0
        || is_special)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let first = address.segments()[0];
    // Of one link, of one site, and those that wrap an address of version 4.
    let is_special = first & 0xffc0 == 0xfe80 || first & 0xfe00 == 0xfc00 || first == 0x64 || first == 0x2002;
    !(address.is_loopback() || address.is_unspecified() || address.is_multicast() || is_special)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_rfc_4231() {
        for (secret, message, expected) in [
            (&[0x0b; 20][..], &b"Hi There"[..], "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            assert_eq!(hexadecimal(&hmac(secret, message)), expected);
        }
    }

    #[test]
    fn private_addresses() {
        for (address, public) in [
            ("8.8.8.8", true),
            ("2606:4700::1111", true),
            ("127.0.0.1", false),
            ("10.1.2.3", false),
            ("172.31.0.1", false),
            ("192.168.0.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("0.0.0.0", false),
            ("::1", false),
            ("fe80::1", false),
            ("fd00::1", false),
            ("::ffff:127.0.0.1", false),
        ] {
            assert_eq!(is_public(address.parse().unwrap()), public, "{address}");
        }
    }

    #[test]
    fn targets() {
        for (text, right) in [
            ("https://example.com/hook", true),
            ("http://93.184.215.14:8080/", true),
            ("ftp://example.com/", false),
            ("example.com", false),
            ("http://127.0.0.1/", false),
            ("http://[::1]/", false),
            ("http://localhost/", false),
            ("http://2130706433/", false),
            ("http://0x7f.1/", false),
        ] {
            let checked = Target::parse(text).and_then(|target| target.check_literal(WebhookReach::Public));
            assert_eq!(checked.is_ok(), right, "{text}");
        }
        assert!(Target::parse("http://127.0.0.1/").unwrap().check_literal(WebhookReach::Everywhere).is_ok());
    }
}
