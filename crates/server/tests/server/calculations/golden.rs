//! The golden numbers of the contract, on every store, and the keys of the schema they are kept under.

use std::fmt::Write;

use serde_json::json;
use tickmark_store::Key;

use super::{hash, key, on_disk, set, until};
use crate::running::{Running, open};
use crate::series::stores::on_each;

const SUMS: [i64; 6] = [38, 91, 93, 94, 85, 81];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_golden_six_weeks() {
    on_each(six_weeks).await;
    let folder = tempfile::tempdir().unwrap();
    six_weeks(&Running::start(open(), on_disk(&folder)).await).await;
}

/// Values of the schema's example, and others that make each week's sum.
fn lines() -> String {
    let mut lines = String::new();
    for (week, sum) in (0..).zip(SUMS) {
        // From Monday, 13 October 2014, in New York: noon of each week's Friday, and a second later.
        let friday = 1_413_561_600 + 604_800 * week;
        for (at, value) in [(friday, 8), (friday + 1, sum - 8)] {
            let _ =
                writeln!(lines, "{{\"dimension\":\"job-skills\",\"key\":\"python\",\"at\":{at},\"value\":{value}}}");
        }
    }
    lines
}

async fn six_weeks(server: &Running) {
    let (client, store) = (server.client(), &server.store);
    assert_eq!(client.put("/v1/projects/2", "{\"time_zone\":\"America/New_York\"}").await.status, 201);
    client.declare("job-skills", "count=months,linear_regression=weeks,average=months+weeks").await;
    client.declare("job-skills/keys/python", "sum=weeks,standard_deviation=weeks").await;
    client.keep("2", &lines()).await;

    let line = client.result("job-skills", "python/linear_regression/weeks").await;
    for (field, expected, tolerance) in [
        ("intercept", 60.533_333_333_333_33, 1e-12),
        ("slope", 5.657_142_857_142_857_5, 1e-12),
        ("ci_99", 22.790_941_884, 1e-9),
        ("ci_95", 13.743_808_675, 1e-9),
        ("ci_90", 10.552_952_875, 1e-9),
    ] {
        let found = line[field].as_f64().unwrap();
        assert!((found - expected).abs() < tolerance, "{field} is {found}");
    }
    assert_eq!(line["n"], 6);
    let counts = client.result("job-skills", "python/count/months").await;
    assert_eq!(counts, json!({ "values": { "2014-10": 6, "2014-11": 6 } }));
    let sums = json!({ "values": {
        "2014-W42": 38, "2014-W43": 91, "2014-W44": 93, "2014-W45": 94, "2014-W46": 85, "2014-W47": 81,
    } });
    assert_eq!(client.result("job-skills", "python/sum/weeks").await, sums);
    assert_eq!(client.result("job-skills", "python/average/months").await, json!({ "average": 241.0 }));
    let deviation = client.result("job-skills", "python/standard_deviation/weeks").await["standard_deviation"].as_f64();
    // (40996 − 482²/6) / 5
    assert!((deviation.unwrap() - 455.066_666_666_666_7_f64.sqrt()).abs() < 1e-12);
    let refused = client.get("/v1/projects/2/dimensions/job-skills/keys/python/calculations/sum/days").await;
    assert_eq!((refused.status.as_u16(), refused.problem().as_str()), (404, "not_declared"));

    assert_eq!(set(store, Key::from("set:projects")).await, ["2"]);
    assert_eq!(set(store, key(store, "set", "2", "dimensions")).await, ["job-skills"]);
    assert_eq!(set(store, key(store, "set", "2:job-skills", "keys")).await, ["python"]);
    let calculations = set(store, key(store, "set", "2:job-skills:python", "calculations")).await;
    assert_eq!(calculations, ["average", "count", "linear_regression", "standard_deviation", "sum"]);
    let intervals = set(store, key(store, "set", "2:job-skills:python", "average:intervals")).await;
    assert_eq!(intervals, ["months", "weeks"]);
    let values = hash(store, key(store, "hash", "2:job-skills:python", "values")).await;
    assert_eq!(values[..2], ["2014-10-17 12:00:00 -0400=8", "2014-10-17 12:00:01 -0400=30"]);
    assert_eq!(values[11], "2014-11-21 11:00:01 -0500=73");
    until(async || {
        let found = hash(store, key(store, "hash", "2:job-skills:python", "count:months")).await;
        if found == ["2014-10=6", "2014-11=6"] { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
    let average = hash(store, key(store, "hash", "2:job-skills:python", "average:months")).await;
    assert_eq!(average, ["average=241.0"]);
    let line = hash(store, key(store, "hash", "2:job-skills:python", "linear_regression:weeks")).await;
    let (fields, numbers): (Vec<_>, Vec<_>) = line.iter().map(|field| field.split_once('=').unwrap()).unzip();
    assert_eq!(fields, ["ci_90", "ci_95", "ci_99", "intercept", "slope"]);
    // The digits of the schema's own example.
    let expected = [10.552_952_873_877_196, 13.743_808_674_832_158, 22.790_941_884_005_75, 60.533_333_333_333_33];
    for (number, expected) in numbers.iter().zip(expected) {
        assert!((number.parse::<f64>().unwrap() - expected).abs() < 2e-9, "{number}");
    }
    assert_eq!(numbers[4], "5.6571428571428575");
    let deviation = hash(store, key(store, "hash", "2:job-skills:python", "standard_deviation:weeks")).await;
    assert_eq!(deviation.len(), 1);
}
