//! Countries from addresses.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use tickmark_server::Countries;

use crate::running::{Running, memory, open};

/// Two networks; `make.py` beside it made it.
const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/server/audience/countries/tiny.mmdb");

#[tokio::test]
async fn an_address_tells_the_country_where_nothing_else_does() {
    let mut settings = open();
    settings.countries = Some(Arc::new(Countries::open(Path::new(TINY)).unwrap()));
    let server = Running::start(settings, memory()).await;
    let client = server.client();
    for (user, ip, country, expected) in [
        ("a", "203.0.113.9", None, json!("HK")),
        ("b", "198.51.100.1", None, json!("DE")),
        ("c", "203.0.113.9", Some("JP"), json!("JP")),
        ("d", "192.0.2.1", None, json!(null)),
        ("e", "2001:db8::9", None, json!(null)),
    ] {
        client.beat("expo", &json!({ "user": user, "ip": ip, "country": country }).to_string()).await;
        assert_eq!(client.audience(&format!("expo/viewers/{user}")).await["country"], expected, "{ip}");
    }
    let live = client.audience("expo/statistics/live").await;
    assert_eq!(live["by_country"], json!({ "HK": 1, "DE": 1, "JP": 1 }));
}

#[test]
fn what_is_no_such_file_is_refused() {
    for path in ["/nowhere.mmdb", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")] {
        let error = Countries::open(Path::new(path)).unwrap_err();
        assert!(error.contains(path), "{error}");
    }
}
