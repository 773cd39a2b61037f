use serde_json::json;
use tickmark_store::{Account, Atom, Key, Query};

use super::now;
use crate::client::send;
use crate::running::{Running, memory, open, redis};
use crate::series::stores::on_each;

#[tokio::test]
async fn declared_once() {
    on_each(async |server| {
        let client = server.client();
        let declared = client.put("/v1/audience/expo", "{\"threshold_seconds\":10}").await;
        assert_eq!(
            (declared.status.as_u16(), declared.json()),
            (201, json!({ "event": "expo", "threshold_seconds": 10 }))
        );
        assert_eq!(client.put("/v1/audience/expo", "{\"threshold_seconds\":20}").await.status, 200);
        client.beat("expo", &json!({ "user": "u", "at": now() - 15.0 }).to_string()).await;
        assert_eq!(client.audience("expo/viewers/active").await, json!({ "active": 1 }));
        assert_eq!(client.put("/v1/audience/expo", "{\"threshold_seconds\":20}").await.status, 200);
        assert_eq!(client.put("/v1/audience/expo", "{}").await.problem(), "event_has_heartbeats");
        assert_eq!(client.audience("expo").await["threshold_seconds"], 20);
        for body in ["{\"threshold_seconds\":0}", "{\"threshold_seconds\":3601}", "{\"threshold\":5}", "[]"] {
            assert_eq!(client.put("/v1/audience/other", body).await.status, 422, "{body}");
        }
    })
    .await;
}

#[tokio::test]
async fn deleted_with_everything() {
    on_each(async |server| {
        let client = server.client();
        client.beat("keep", "{\"user\":\"u\",\"session\":\"s\"}").await;
        let before = keys(server).await;
        let lines = [("a", 0), ("a", 300), ("b", 50)].map(|(user, ago)| {
            json!({ "user": user, "session": "s", "location": "web", "at": now() - f64::from(ago) }).to_string()
        });
        client.beat("expo", &lines.join("\n")).await;
        assert!(keys(server).await.len() > before.len() + 10);
        assert_eq!(client.delete("/v1/audience/expo").await.status, 204);
        assert_eq!(keys(server).await, before);
        assert_eq!(client.delete("/v1/audience/expo").await.problem(), "unknown_event");
        assert_eq!(client.audience("").await["events"], json!(["keep"]));
        assert_eq!(client.audience("keep/sessions/s/viewers/attended").await, json!({ "attended": 1 }));
        client.beat("expo", "{\"user\":\"c\",\"session\":\"s\"}").await;
        assert_eq!(client.audience("expo/sessions/s/viewers/attended").await, json!({ "attended": 1 }));
    })
    .await;
}

async fn keys(server: &Running) -> std::collections::BTreeSet<Key> {
    let (mut keys, mut cursor) = (std::collections::BTreeSet::new(), None);
    loop {
        let page = server.store.scan(Account(0), Key::from(""), cursor, 1_000).await.unwrap();
        keys.extend(page.keys);
        cursor = page.next;
        if cursor.is_none() {
            return keys;
        }
    }
}

#[tokio::test]
async fn the_seeds_keys() {
    let seed = tickmark_rig::Redis::start().unwrap();
    let server = Running::start(open(), redis(&seed.url()).await).await;
    let client = server.client();
    for (at, country) in [(1_700_000_000, "HK"), (1_700_000_030, "HK"), (1_700_000_200, "JP"), (1_700_000_230, "JP")] {
        let line = json!({ "user": "u1", "session": "keynote", "location": "web", "country": country, "groups": ["staff"], "at": at });
        client.beat("expo", &line.to_string()).await;
    }
    let ask = |words: &[&str]| seed.command(words).unwrap().text().trim().to_owned();
    for scope in ["expo#Event", "keynote#Session"] {
        assert_eq!(ask(&["ZSCORE", &format!("{scope}#Heartbeat"), "u1"]), "1700000230000");
        assert_eq!(ask(&["SRANDMEMBER", &format!("{scope}AttendedUsers")]), "u1");
    }
    let record = ask(&["HGET", "expo#Event#Statistics", "u1"]);
    assert!(record.contains("web#JP#staff"), "{record}");
    assert_eq!(ask(&["TYPE", "keynote#Session#Statistics"]), "none");
    for place in ["expo", "expo#keynote"] {
        assert_eq!(ask(&["ZSCORE", &format!("{place}#web#ViewingSessionStart"), "u1"]), "1700000200000");
        assert_eq!(ask(&["ZSCORE", &format!("{place}#web#ViewingSessionEnd"), "u1"]), "1700000230000");
    }
}

#[tokio::test]
async fn the_same_session_of_two_events() {
    on_each(async |server| {
        let client = server.client();
        client.beat("first", "{\"user\":\"a\",\"session\":\"keynote\"}").await;
        client
            .beat("second", "{\"user\":\"b\",\"session\":\"keynote\"}\n{\"user\":\"c\",\"session\":\"keynote\"}")
            .await;
        for (event, attended) in [("first", 1), ("second", 2)] {
            let path = format!("{event}/sessions/keynote/viewers/attended");
            assert_eq!(client.audience(&path).await, json!({ "attended": attended }), "{event}");
        }
        assert_eq!(client.delete("/v1/audience/first").await.status, 204);
        client.beat("second", "{\"user\":\"d\",\"session\":\"keynote\"}").await;
        assert_eq!(client.audience("second/sessions/keynote/viewers/attended").await, json!({ "attended": 3 }));
    })
    .await;
}

#[tokio::test]
async fn sent_twice_with_a_key_counts_once() {
    on_each(async |server| {
        let client = server.client();
        let body = json!({ "user": "u", "session": "s", "at": now() }).to_string();
        let request = || {
            let request = client.request("POST", "/v1/audience/expo/heartbeats").header("idempotency-key", "k1");
            request.header("content-type", "application/json").body(body.clone())
        };
        let first = send(request()).await;
        let again = send(request()).await;
        assert_eq!((first.text, again.header("idempotency-replayed")), (again.text.clone(), "true"));
        assert_eq!(client.audience("expo/viewers/viewing").await["viewing_sessions"], 1);
    })
    .await;
}

#[tokio::test]
async fn many_at_once_are_all_counted() {
    let server = Running::start(open(), memory()).await;
    let tasks: Vec<_> = (0..40)
        .map(|number| {
            let client = server.client();
            tokio::spawn(async move {
                for beat in 0..10 {
                    let user = (number + beat) % 20;
                    client
                        .beat(
                            "expo",
                            &json!({ "user": format!("u{user}"), "session": "s", "country": "HK" }).to_string(),
                        )
                        .await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let client = server.client();
    for scope in ["expo", "expo/sessions/s"] {
        assert_eq!(client.audience(&format!("{scope}/viewers/active")).await, json!({ "active": 20 }));
        assert_eq!(client.audience(&format!("{scope}/viewers/peak")).await["peak"], 20);
        assert_eq!(client.audience(&format!("{scope}/statistics/live")).await["by_country"], json!({ "HK": 20 }));
        assert_eq!(client.audience(&format!("{scope}/viewers/viewing")).await["viewing_sessions"], 20);
    }
}

/// The same viewers in large requests that meet: whoever was in the way of another goes again, alone.
#[tokio::test]
async fn crowds_at_once_are_all_counted() {
    let server = Running::start(open(), memory()).await;
    let start = (now() - 60.0).floor();
    let request = |number: u32| {
        let line = |user| json!({ "user": format!("u{user}"), "session": "s", "at": start + f64::from(number) * 5.0 });
        (0..500).map(|user: u32| line(user).to_string()).collect::<Vec<_>>().join("\n")
    };
    let tasks: Vec<_> = (0..8)
        .map(|number| {
            let (client, body) = (server.client(), request(number));
            tokio::spawn(async move { client.beat("expo", &body).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let client = server.client();
    for scope in ["expo", "expo/sessions/s"] {
        let viewing = client.audience(&format!("{scope}/viewers/viewing")).await;
        assert_eq!((&viewing["viewers"], &viewing["viewing_sessions"]), (&json!(500), &json!(500)));
        assert_eq!(viewing["mean_seconds"], json!(35));
        assert_eq!(client.audience(&format!("{scope}/viewers/peak")).await["peak"], 500);
    }
}

#[tokio::test]
async fn foreign_heartbeats_are_adopted() {
    let seed = tickmark_rig::Redis::start().unwrap();
    let server = Running::start(open(), redis(&seed.url()).await).await;
    let last = (now() - 30.0).floor();
    let op = tickmark_store::Op::SortedAdd {
        key: Key::from("expo#Event#Heartbeat"),
        when: tickmark_store::AddWhen::Always,
        members: vec![(Atom::from("u"), last * 1_000.0)],
    };
    server.store.commit(Account(0), vec![op].into()).await.unwrap();
    server.client().beat("expo", "{\"user\":\"u\"}").await;
    let history = server.client().audience("expo/viewers/u").await;
    assert_eq!(history["first_seen"].as_f64(), Some(last));
    assert_eq!(server.client().audience("expo/viewers/active").await, json!({ "active": 1 }));
    let score =
        server.store.read(Account(0), vec![Query::SortedLen { key: Key::from("expo#Event#Heartbeat") }]).await.unwrap();
    assert_eq!(score[0].clone().count().unwrap(), 1);
}
