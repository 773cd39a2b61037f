use serde_json::json;

use super::now;
use crate::series::stores::on_each;

/// Long ago, at the start of five minutes.
const LONG_AGO: i64 = 1_700_000_100;

#[tokio::test]
async fn who_is_there_now() {
    on_each(async |server| {
        let client = server.client();
        let at = now();
        let lines = [
            json!({ "user": "u1", "session": "keynote", "location": "web", "country": "HK", "groups": ["staff"] }),
            json!({ "user": "u2", "session": "keynote", "country": "de", "groups": ["vip", "staff", "vip"] }),
            json!({ "user": "u3", "at": at - 60.0 }),
            json!({ "user": "u4", "at": at - 70.0, "country": "HK" }),
            json!({ "user": "u5", "at": at + 200.0, "country": "HK" }),
            // The same user in two tabs, and again from elsewhere.
            json!({ "user": "u1", "session": "panel", "country": "JP", "ip": "203.0.113.9", "at": at - 1.0 }),
        ];
        let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
        client.beat("expo", &lines.join("\n")).await;
        assert_eq!(client.audience("expo/viewers/active").await, json!({ "active": 3 }));
        assert_eq!(client.audience("expo/viewers/active?within=65").await, json!({ "active": 3 }));
        assert_eq!(client.audience("expo/viewers/active?within=30").await, json!({ "active": 2 }));
        assert_eq!(client.audience("expo/viewers/active?within=100").await, json!({ "active": 4 }));
        assert_eq!(client.audience("expo/viewers/attended").await, json!({ "attended": 5 }));
        assert_eq!(client.audience("expo/sessions/keynote/viewers/active").await, json!({ "active": 2 }));
        assert_eq!(client.audience("expo/sessions/panel/viewers/attended").await, json!({ "attended": 1 }));
        let live = client.audience("expo/statistics/live").await;
        assert_eq!(live["viewer_count"], 3);
        assert_eq!(
            (&live["by_group"], &live["by_country"]),
            (&json!({ "staff": 2, "vip": 1 }), &json!({ "HK": 1, "DE": 1 }))
        );
        let panel = client.audience("expo/sessions/panel/statistics/live").await;
        assert_eq!(panel["by_country"], json!({ "JP": 1 }));
        let overview = client.audience("expo/overview").await;
        assert_eq!(
            (&overview["active"], &overview["attended"], &overview["threshold_seconds"]),
            (&json!(3), &json!(5), &json!(65))
        );
        assert_eq!(client.audience("expo/sessions").await, json!({ "sessions": ["keynote", "panel"], "next": null }));
        assert_eq!(
            client.audience("expo/sessions?limit=1").await,
            json!({ "sessions": ["keynote"], "next": "keynote" })
        );
    })
    .await;
}

#[tokio::test]
async fn viewing_sessions_and_the_peak() {
    on_each(async |server| {
        let client = server.client();
        // A gap of exactly the threshold does not split; one of a millisecond more does.
        let lines = [("a", 0.0), ("a", 65.0), ("a", 130.001), ("b", 65.0), ("c", 130.0), ("c", 100.0), ("b", 400.0)]
            .map(|(user, after)| json!({ "user": user, "location": "web", "at": LONG_AGO as f64 + after }).to_string());
        client.beat("old", &lines.join("\n")).await;
        let history = client.audience("old/viewers/a").await;
        let sessions = json!([
            { "start": LONG_AGO, "end": LONG_AGO + 65, "duration_seconds": 65 },
            { "start": LONG_AGO as f64 + 130.001, "end": LONG_AGO as f64 + 130.001, "duration_seconds": 0 },
        ]);
        assert_eq!(history["viewing_sessions"], sessions);
        assert_eq!((&history["first_seen"], &history["active"]), (&json!(LONG_AGO), &json!(false)));
        assert_eq!(client.audience("old/viewers/peak").await, json!({ "peak": 3, "at": LONG_AGO + 100 }));
        let viewing = client.audience("old/viewers/viewing").await;
        let expected = json!({ "viewers": 3, "viewing_sessions": 5, "total_seconds": 95, "mean_seconds": 19, "median_seconds": 0 });
        assert_eq!(viewing, expected);
        let records = client.audience(&format!("old/statistics?from={LONG_AGO}&to={}", LONG_AGO + 900)).await;
        let counts: Vec<_> = records["records"].as_array().unwrap().iter().map(|record| &record["viewer_count"]).collect();
        assert_eq!(counts, [1, 0, 0, 0]);
        assert_eq!(client.audience("old/viewers/active").await, json!({ "active": 0 }));
        // A late one never moves anyone back, and fills a gap.
        client.beat("old", &json!({ "user": "a", "at": LONG_AGO + 100 }).to_string()).await;
        let history = client.audience("old/viewers/a").await;
        assert_eq!(history["viewing_sessions"].as_array().unwrap().len(), 1);
        assert_eq!(history["last_seen"], json!(LONG_AGO as f64 + 130.001));
    })
    .await;
}

#[tokio::test]
async fn lists() {
    on_each(async |server| {
        let client = server.client();
        for event in ["c", "a", "b"] {
            client.beat(event, "{\"user\":\"u\"}").await;
        }
        assert_eq!(client.audience("?limit=2").await, json!({ "events": ["a", "b"], "next": "b" }));
        assert_eq!(client.audience("?after=b").await, json!({ "events": ["c"], "next": null }));
        let lines: Vec<_> = (0..2_500).map(|number| json!({ "user": format!("u{number}") }).to_string()).collect();
        client.beat("a", &lines.join("\n")).await;
        let (mut users, mut after) = (std::collections::BTreeSet::new(), String::new());
        loop {
            let page = client.audience(&format!("a/viewers/attended?list=true&limit=1000{after}")).await;
            assert_eq!(page["attended"], 2_501);
            users.extend(page["users"].as_array().unwrap().iter().map(|user| user.as_str().unwrap().to_owned()));
            let Some(next) = page["next"].as_str() else { break };
            after = format!("&after={next}");
        }
        assert_eq!(users.len(), 2_501);
    })
    .await;
}
