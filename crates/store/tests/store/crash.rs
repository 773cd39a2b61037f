//! A process commits under load and is killed at random moments, again and again, on one directory.
//!
//! The child prints a line for each batch after it was acknowledged. Whatever it printed must be there when the store is
//! opened again, and a batch that it did not print may be there, but only whole.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tickmark_store::embedded::{EmbeddedStore, MEMORY_BYTES_MIN, Options};
use tickmark_store::{Account, Atom, Batch, Key, Number, Op, Query, Store};

const ROUNDS: u32 = 20;
const TASKS: u64 = 8;
const DIRECTORY_VARIABLE: &str = "TICKMARK_CRASH_DIRECTORY";

fn options() -> Options {
    Options { memory_bytes: MEMORY_BYTES_MIN, ..Options::default() }
}

fn marks(task: u64) -> Key {
    Key::from(format!("{{t{task}}}:marks"))
}

fn totals(task: u64) -> Key {
    Key::from(format!("{{t{task}}}:totals"))
}

fn members(task: u64) -> Key {
    Key::from(format!("{{t{task}}}:members"))
}

/// Batch `number` of a task: a mark, a total in one of many hashes, and a member of a set that grows large. Whole means
/// that the three agree.
fn batch(task: u64, number: i64) -> Batch {
    Batch::new()
        .op(Op::HashIncrement { key: totals(task), fields: vec![(Atom::from("batches"), Number::Int(1))] })
        .op(Op::HashIncrement {
            key: Key::from(format!("{{t{task}}}:buckets:{}", number / 300)),
            fields: vec![(Atom::Int(number), Number::Int(1))],
        })
        .op(Op::SortedAdd {
            key: members(task),
            when: tickmark_store::AddWhen::Always,
            members: vec![(Atom::from(format!("member {number}")), number as f64)],
        })
        .op(Op::Set { key: marks(task), value: Atom::Int(number) })
}

/// What the killed process runs. Does nothing unless it is that process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let Ok(directory) = std::env::var(DIRECTORY_VARIABLE) else { return };
    let store = Arc::new(EmbeddedStore::open(Path::new(&directory), &options()).unwrap());
    // The test harness has begun a line of its own.
    println!("\nopen");
    let mut tasks = Vec::new();
    for task in 0..TASKS {
        let store = Arc::clone(&store);
        tasks.push(tokio::spawn(async move {
            let start = store.read(Account(0), vec![Query::Get { key: marks(task) }]).await.unwrap().remove(0);
            let start = start.value().unwrap().map_or(0, |mark| mark.as_int().unwrap() + 1);
            for number in start.. {
                store.commit(Account(0), batch(task, number)).await.unwrap();
                println!("acknowledged {task} {number}");
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

fn spawn_child(directory: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--nocapture", "--test-threads=1"])
        .env(DIRECTORY_VARIABLE, directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// Lets the child work for a random while, kills it, and answers the last batch that each task saw acknowledged.
fn run_and_kill(directory: &Path, rng: &mut fastrand::Rng, last: &mut [Option<i64>]) {
    let mut child = spawn_child(directory);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let pid = child.id();
    let work = Duration::from_millis(rng.u64(5..250));
    let mut killing = None;
    for line in lines {
        let Ok(line) = line else { break };
        let mut words = line.split(' ');
        match words.next() {
            // The clock starts when the store is open, so that every round gets to write.
            Some("open") => {
                killing = Some(std::thread::spawn(move || {
                    std::thread::sleep(work);
                    kill(pid);
                }));
            }
            Some("acknowledged") => {
                if let (Some(task), Some(number)) = (words.next(), words.next())
                    && let (Ok(task), Ok(number)) = (task.parse::<usize>(), number.parse())
                {
                    last[task] = Some(number);
                }
            }
            _ => {}
        }
    }
    killing.expect("the store did not open").join().unwrap();
    child.wait().unwrap();
}

fn kill(pid: u32) {
    let status = Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
    assert!(status.success());
}

async fn check(directory: &Path, last: &[Option<i64>]) {
    let store = EmbeddedStore::open(directory, &options()).unwrap();
    for (task, acknowledged) in (0..TASKS).zip(last) {
        let queries = vec![
            Query::Get { key: marks(task) },
            Query::HashGet { key: totals(task), field: Atom::from("batches") },
            Query::SortedLen { key: members(task) },
            Query::SortedCount { key: members(task), range: tickmark_store::ScoreRange::ALL },
        ];
        let [mark, total, members, counted] = store.read(Account(0), queries).await.unwrap().try_into().unwrap();
        let mark = mark.value().unwrap().map(|mark| mark.as_int().unwrap());
        assert!(mark >= *acknowledged, "task {task}: acknowledged {acknowledged:?}, found {mark:?}");
        let batches = mark.map_or(0, |mark| mark + 1);
        let total = total.value().unwrap().map_or(0, |total| total.as_int().unwrap());
        assert_eq!(total, batches, "task {task}: a batch is there in part");
        assert_eq!(members.count().unwrap(), batches.cast_unsigned(), "task {task}: a batch is there in part");
        assert_eq!(counted.count().unwrap(), batches.cast_unsigned(), "task {task}: the count of scores is off");
        for bucket in 0..=batches / 300 {
            let key = Key::from(format!("{{t{task}}}:buckets:{bucket}"));
            let fields =
                store.read(Account(0), vec![Query::HashAll { key }]).await.unwrap().remove(0).fields().unwrap();
            let expected = (batches - bucket * 300).min(300);
            assert_eq!(i64::try_from(fields.len()).unwrap(), expected, "task {task}, bucket {bucket}");
            assert!(fields.iter().all(|(_, count)| *count == Atom::Int(1)), "task {task}: a batch was applied twice");
        }
    }
    // Half of the rounds leave through the front door, so that both kinds of log are recovered from.
    if fastrand::bool() {
        store.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_batches_survive_sigkill_and_are_whole() {
    let seed = crate::seed();
    let mut rng = fastrand::Rng::with_seed(seed);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut last = vec![None; usize::try_from(TASKS).unwrap()];
    for _ in 0..ROUNDS {
        run_and_kill(&path, &mut rng, &mut last);
        check(&path, &last).await;
    }
    assert!(last.iter().all(Option::is_some), "no round got to write");
}
