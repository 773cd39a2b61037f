//! Channels.

use std::time::Duration;

use super::subject::Subject;
use super::{assert_matches, cases};
use crate::{Batch, Error, Event, Guard, Key, Op, Presence, Query, Reply, Subscription};

cases![
    messages_arrive_in_order,
    every_subscriber_hears,
    channels_and_accounts_are_apart,
    a_message_means_that_the_batch_is_there,
    nothing_is_heard_of_a_batch_that_failed,
    a_slow_subscriber_hears_of_a_gap,
    a_dropped_subscription_does_no_harm,
    any_bytes_are_a_message,
];

const PATIENCE: Duration = Duration::from_secs(10);

fn publish(channel: &Key, message: impl AsRef<[u8]>) -> Op {
    Op::Publish { channel: channel.clone(), message: message.as_ref().into() }
}

async fn subscribe(s: &Subject, channel: &Key) -> Subscription {
    s.store.subscribe(s.account, channel.clone()).await.unwrap()
}

async fn next(subscription: &mut Subscription) -> Event {
    tokio::time::timeout(PATIENCE, subscription.next()).await.expect("an event in time").expect("an open store")
}

fn message(text: impl AsRef<[u8]>) -> Event {
    Event::Message(text.as_ref().into())
}

async fn messages_arrive_in_order(s: Subject) {
    let channel = s.key("a");
    let mut subscription = subscribe(&s, &channel).await;
    assert_eq!(s.op(publish(&channel, "1")).await, Reply::Done);
    s.write([publish(&channel, "2"), publish(&channel, "3")]).await;
    for text in ["1", "2", "3"] {
        assert_eq!(next(&mut subscription).await, message(text));
    }
}

async fn every_subscriber_hears(s: Subject) {
    let channel = s.key("a");
    let mut subscriptions = [subscribe(&s, &channel).await, subscribe(&s, &channel).await];
    s.op(publish(&channel, "hello")).await;
    for subscription in &mut subscriptions {
        assert_eq!(next(subscription).await, message("hello"));
    }
}

async fn channels_and_accounts_are_apart(s: Subject) {
    let (a, b) = (s.key("a"), s.key("b"));
    let (mut on_a, mut on_b) = (subscribe(&s, &a).await, subscribe(&s, &b).await);
    let other = s.of(1);
    let mut elsewhere = subscribe(&other, &a).await;
    other.op(publish(&a, "other")).await;
    s.op(publish(&b, "b")).await;
    s.op(publish(&a, "a")).await;
    assert_eq!(next(&mut on_a).await, message("a"));
    assert_eq!(next(&mut on_b).await, message("b"));
    assert_eq!(next(&mut elsewhere).await, message("other"));
}

async fn a_message_means_that_the_batch_is_there(s: Subject) {
    let (channel, key) = (s.key("channel"), s.key("key"));
    let mut subscription = subscribe(&s, &channel).await;
    for n in 0..20_i64 {
        let set = Op::Set { key: key.clone(), value: n.into() };
        let writer = s.clone();
        let batch = vec![publish(&channel, n.to_string()), set];
        let written = tokio::spawn(async move { writer.write(batch).await });
        assert_eq!(next(&mut subscription).await, message(n.to_string()));
        assert_eq!(s.get(&key).await, Some(n.into()));
        written.await.unwrap();
    }
}

async fn nothing_is_heard_of_a_batch_that_failed(s: Subject) {
    let (channel, key) = (s.key("channel"), s.key("key"));
    let mut subscription = subscribe(&s, &channel).await;
    let guarded =
        Batch::new().guard(Guard::Key { key: key.clone(), is: Presence::Present }).op(publish(&channel, "never"));
    assert_matches!(s.refused(guarded).await, Error::GuardFailed { index: 0 });
    s.op(Op::Set { key: key.clone(), value: "text".into() }).await;
    let wrong = vec![publish(&channel, "never"), Op::SetAdd { key, members: vec![1.into()] }];
    assert_matches!(s.refused(wrong).await, Error::WrongType { .. });
    s.op(publish(&channel, "last")).await;
    assert_eq!(next(&mut subscription).await, message("last"));
}

async fn a_slow_subscriber_hears_of_a_gap(s: Subject) {
    let channel = s.key("a");
    let mut slow = subscribe(&s, &channel).await;
    let mut quick = subscribe(&s, &channel).await;
    for n in 0..1_000 {
        s.op(publish(&channel, n.to_string())).await;
        assert_eq!(next(&mut quick).await, message(n.to_string()));
    }
    let mut heard = 0;
    while let Event::Message(text) = next(&mut slow).await {
        assert_eq!(message(text), message(heard.to_string()), "in order until the gap");
        heard += 1;
    }
    assert!(heard < 1_000);
    s.op(publish(&channel, "after")).await;
    while next(&mut slow).await != message("after") {}
}

async fn a_dropped_subscription_does_no_harm(s: Subject) {
    let channel = s.key("a");
    let mut stays = subscribe(&s, &channel).await;
    for n in 0..50 {
        drop(subscribe(&s, &channel).await);
        let other = s.key(&n.to_string());
        drop(subscribe(&s, &other).await);
        s.write([publish(&channel, n.to_string()), publish(&other, "x")]).await;
        assert_eq!(next(&mut stays).await, message(n.to_string()));
    }
    drop(stays);
    let mut again = subscribe(&s, &channel).await;
    s.op(publish(&channel, "again")).await;
    assert_eq!(next(&mut again).await, message("again"));
    assert_eq!(s.count(Query::SetLen { key: channel }).await, 0);
}

async fn any_bytes_are_a_message(s: Subject) {
    let channel = Key::from([s.key("").as_bytes(), &[0, 255, 10]].concat());
    let mut subscription = subscribe(&s, &channel).await;
    let every_byte: Vec<u8> = (0..=255).collect();
    for text in [Vec::new(), every_byte, vec![0; 1_000_000]] {
        s.op(publish(&channel, &text)).await;
        assert_eq!(next(&mut subscription).await, message(text));
    }
}
