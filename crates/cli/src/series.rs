//! `tickmark series …`: the routes of series, from a terminal.

use reqwest::Method;
use serde_json::{Map, Value};

use crate::Outcome;
use crate::arguments::{RemoteOptions, SeriesCommand};
use crate::remote::{JSON, Remote, show};

pub(crate) async fn run(command: SeriesCommand) -> Outcome {
    match command {
        SeriesCommand::Add { name, at, n, member, remote } => {
            let mut event = Map::new();
            event.extend(at.map(|at| ("at".to_owned(), Value::from(at))));
            event.extend(n.map(|n| ("n".to_owned(), Value::Number(n))));
            event.extend(member.map(|member| ("member".to_owned(), Value::from(member))));
            let path = ["v1", "series", &name, "events"];
            let body = Value::Object(event).to_string();
            show(
                &remote,
                |to| to.request(Method::POST, &path, &[]).header(JSON.0, JSON.1).body(body),
                |_| format!("counted in {name}"),
            )
            .await
        }
        SeriesCommand::Declare { name, declaration, remote } => {
            let path = ["v1", "series", &name];
            let request = |to: &Remote| to.request(Method::PUT, &path, &[]).header(JSON.0, JSON.1).body(declaration);
            show(&remote, request, declared).await
        }
        SeriesCommand::Points { name, granularity, range, remote } => {
            let query =
                [("granularity", Some(&*granularity)), ("from", range.from.as_deref()), ("to", range.to.as_deref())];
            show(&remote, |to| to.request(Method::GET, &["v1", "series", &name, "points"], &query), points).await
        }
        SeriesCommand::Total { name, granularity, range, remote } => {
            let query =
                [("granularity", granularity.as_deref()), ("from", range.from.as_deref()), ("to", range.to.as_deref())];
            let total = |answer: &Value| answer["total"].to_string();
            show(&remote, |to| to.request(Method::GET, &["v1", "series", &name, "total"], &query), total).await
        }
        SeriesCommand::List { prefix, remote } => list(&prefix, &remote).await,
        SeriesCommand::Show { name, remote } => {
            show(&remote, |to| to.request(Method::GET, &["v1", "series", &name], &[]), declared).await
        }
        SeriesCommand::Delete { name, remote } => {
            let request = |to: &Remote| to.request(Method::DELETE, &["v1", "series", &name], &[]);
            show(&remote, request, |_| format!("deleted {name}")).await
        }
    }
}

/// Page after page, so that a list of any length is printed as it comes.
async fn list(prefix: &str, options: &RemoteOptions) -> Outcome {
    let remote = Remote::new(options)?;
    let mut after: Option<String> = None;
    loop {
        let query = [("prefix", Some(prefix)), ("after", after.as_deref()), ("limit", Some("1000"))];
        let page = remote.ask(remote.request(Method::GET, &["v1", "series"], &query)).await?;
        for series in page["series"].as_array().into_iter().flatten() {
            if options.json {
                say!("{series}");
            } else {
                say!("{}", declared(series));
            }
        }
        match page["next"].as_str() {
            Some(next) => after = Some(next.to_owned()),
            None => return Ok(()),
        }
    }
}

fn declared(series: &Value) -> String {
    let granularities = series["granularities"].as_array().into_iter().flatten();
    let names: Vec<_> = granularities.filter_map(|granularity| granularity["name"].as_str()).collect();
    let [name, kind] = ["series", "kind"].map(|field| series[field].as_str().unwrap_or_default());
    format!("{name}  {kind}  {}", names.join(" "))
}

fn points(answer: &Value) -> String {
    let points = answer["points"].as_array().into_iter().flatten();
    let lines: Vec<_> = points.map(|point| format!("{}\t{}", point["timestamp"], point["value"])).collect();
    lines.join("\n")
}
