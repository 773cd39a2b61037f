//! `tickmark audience …`: the routes of audiences, from a terminal.

use reqwest::Method;
use serde_json::{Map, Value};

use crate::Outcome;
use crate::arguments::{AudienceCommand, RemoteOptions};
use crate::remote::{JSON, Remote, show};

pub(crate) async fn run(command: AudienceCommand) -> Outcome {
    match command {
        AudienceCommand::List { remote } => pages(&remote, &["v1", "audience"], &[], "events").await,
        AudienceCommand::Sessions { event, remote } => {
            pages(&remote, &["v1", "audience", &event, "sessions"], &[], "sessions").await
        }
        AudienceCommand::Show { event, session, remote } => {
            let path = path(&event, session.as_deref(), &["overview"]);
            show(&remote, |to| to.request(Method::GET, &path, &[]), overview).await
        }
        AudienceCommand::Viewers { event, user: Some(user), session, remote } => {
            let path = path(&event, session.as_deref(), &["viewers", &user]);
            show(&remote, |to| to.request(Method::GET, &path, &[]), history).await
        }
        AudienceCommand::Viewers { event, user: None, session, remote } => {
            let path = path(&event, session.as_deref(), &["viewers", "attended"]);
            pages(&remote, &path, &[("list", Some("true"))], "users").await
        }
        AudienceCommand::Records { event, session, range, remote } => {
            let path = path(&event, session.as_deref(), &["statistics"]);
            let query = [("from", range.from.as_deref()), ("to", range.to.as_deref())];
            show(&remote, |to| to.request(Method::GET, &path, &query), records).await
        }
        AudienceCommand::Beat { event, user, session, location, remote } => {
            let mut heartbeat = Map::new();
            heartbeat.insert("user".to_owned(), Value::from(user));
            heartbeat.extend(session.map(|session| ("session".to_owned(), Value::from(session))));
            heartbeat.extend(location.map(|location| ("location".to_owned(), Value::from(location))));
            let (path, body) = (["v1", "audience", &event, "heartbeats"], Value::Object(heartbeat).to_string());
            let request = |to: &Remote| to.request(Method::POST, &path, &[]).header(JSON.0, JSON.1).body(body);
            show(&remote, request, |_| format!("seen at {event}")).await
        }
        AudienceCommand::Delete { event, remote } => {
            let request = |to: &Remote| to.request(Method::DELETE, &["v1", "audience", &event], &[]);
            show(&remote, request, |_| format!("deleted {event}")).await
        }
    }
}

/// The segments of a path under an event, or under a session of it.
fn path<'a>(event: &'a str, session: Option<&'a str>, rest: &[&'a str]) -> Vec<&'a str> {
    let mut path = vec!["v1", "audience", event];
    path.extend(session.into_iter().flat_map(|session| ["sessions", session]));
    path.extend(rest);
    path
}

/// A list of names, page after page, so that one of any length is printed as it comes.
async fn pages(options: &RemoteOptions, path: &[&str], query: &[(&str, Option<&str>)], list: &str) -> Outcome {
    let remote = Remote::new(options)?;
    let mut after: Option<String> = None;
    loop {
        let mut query = query.to_vec();
        query.extend([("after", after.as_deref()), ("limit", Some("1000"))]);
        let page = remote.ask(remote.request(Method::GET, path, &query)).await?;
        for name in page[list].as_array().into_iter().flatten() {
            if options.json {
                say!("{name}");
            } else {
                say!("{}", name.as_str().unwrap_or_default());
            }
        }
        match page["next"].as_str() {
            Some(next) => after = Some(next.to_owned()),
            None => return Ok(()),
        }
    }
}

fn overview(answer: &Value) -> String {
    let (peak, viewing, statistics) = (&answer["peak"], &answer["viewing"], &answer["statistics"]);
    [
        format!("active            {}", answer["active"]),
        format!("attended          {}", answer["attended"]),
        format!("peak              {} at {}", peak["peak"], peak["at"]),
        format!("viewing sessions  {}", viewing["viewing_sessions"]),
        format!(
            "watched           {} s, {} s a session, median {} s",
            viewing["total_seconds"], viewing["mean_seconds"], viewing["median_seconds"]
        ),
        format!("by group          {}", counts(&statistics["by_group"])),
        format!("by country        {}", counts(&statistics["by_country"])),
    ]
    .join("\n")
}

fn history(answer: &Value) -> String {
    let sessions = answer["viewing_sessions"].as_array().into_iter().flatten();
    let lines: Vec<_> = sessions
        .map(|session| format!("{}\t{}\t{} s", session["start"], session["end"], session["duration_seconds"]))
        .collect();
    lines.join("\n")
}

fn records(answer: &Value) -> String {
    let records = answer["records"].as_array().into_iter().flatten();
    let lines: Vec<_> = records
        .map(|record| {
            let (groups, countries) = (counts(&record["by_group"]), counts(&record["by_country"]));
            format!("{}\t{}\t{groups}\t{countries}", record["timestamp"], record["viewer_count"])
        })
        .collect();
    lines.join("\n")
}

fn counts(counts: &Value) -> String {
    let counts: Vec<_> =
        counts.as_object().into_iter().flatten().map(|(name, count)| format!("{name} {count}")).collect();
    counts.join(", ")
}
