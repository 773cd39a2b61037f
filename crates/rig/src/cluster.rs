//! A Redis Cluster: three masters, each with a replica.

use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::server::{Redis, missing};
use crate::settings::Settings;
use crate::wait_until;

const NODES: usize = 6;
const MASTERS: usize = 3;
/// A master is taken for dead after this long: short, so that a failover can be waited for in a test.
const NODE_TIMEOUT_MS: u32 = 2_000;
const PATIENCE: Duration = Duration::from_mins(1);

/// Six servers that agree on who has which slots.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Redis>,
}

impl Cluster {
    pub fn start() -> io::Result<Self> {
        Self::start_with(&Settings::default())
    }

    pub fn start_with(settings: &Settings) -> io::Result<Self> {
        let mut settings = settings.clone();
        settings.databases = 1;
        settings.more.extend([
            "cluster-enabled yes".to_owned(),
            format!("cluster-node-timeout {NODE_TIMEOUT_MS}"),
            // Replicas attach at once instead of waiting for more of them.
            "repl-diskless-sync-delay 0".to_owned(),
            "cluster-allow-replica-migration no".to_owned(),
        ]);
        if let Some(password) = &settings.password {
            settings.more.push(format!("masterauth \"{password}\""));
        }
        let nodes = (0..NODES).map(|_| Redis::start_with(&settings)).collect::<io::Result<Vec<_>>>()?;
        let cluster = Self { nodes };
        cluster.join(settings.password.as_deref())?;
        cluster.wait_until_ready()?;
        Ok(cluster)
    }

    /// Every node, running or not.
    pub fn nodes(&self) -> &[Redis] {
        &self.nodes
    }

    /// One node, to kill or restart.
    pub fn node_mut(&mut self, index: usize) -> &mut Redis {
        &mut self.nodes[index]
    }

    pub fn url(&self) -> String {
        let hosts: Vec<_> = self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
        format!("redis+cluster://{}", hosts.join(","))
    }

    /// Which node serves a key now.
    pub fn master_of(&self, key: &str) -> io::Result<usize> {
        for (index, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.pid().is_some()) {
            let role = node.command(&["INFO", "replication"])?;
            if !role.text().contains("role:master") {
                continue;
            }
            match node.command(&["EXISTS", key]) {
                Ok(_) => return Ok(index),
                Err(error) if error.to_string().starts_with("MOVED") => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other(format!("no node serves the key {key:?}")))
    }

    /// Waits until every running node knows a master for every slot, and every replica is attached.
    pub fn wait_until_ready(&self) -> io::Result<()> {
        for node in self.nodes.iter().filter(|node| node.pid().is_some()) {
            wait_until("the Cluster to be whole", PATIENCE, || {
                let info = node.command(&["CLUSTER", "INFO"])?;
                let role = node.command(&["INFO", "replication"])?;
                Ok(info.text().contains("cluster_state:ok")
                    && (role.text().contains("master_link_status:up") || role.text().contains("role:master")))
            })?;
        }
        wait_until("replicas to attach", PATIENCE, || {
            let mut replicas = 0;
            for node in self.nodes.iter().filter(|node| node.pid().is_some()) {
                let role = node.command(&["INFO", "replication"])?;
                replicas += role.text().matches("state=online").count();
            }
            let running = self.nodes.iter().filter(|node| node.pid().is_some()).count();
            Ok(replicas + MASTERS >= running)
        })
    }

    /// Waits until every replica has what its master has: a master that dies earlier takes the rest with it.
    pub fn wait_until_replicated(&self) -> io::Result<()> {
        for node in self.nodes.iter().filter(|node| node.pid().is_some()) {
            wait_until("replicas to catch up", PATIENCE, || {
                let role = node.command(&["INFO", "replication"])?;
                let role = role.text();
                let written = role.lines().find_map(|line| line.strip_prefix("master_repl_offset:"));
                let caught_up = written.is_some_and(|written| role.contains(&format!("offset={},", written.trim())));
                Ok(caught_up || !role.contains("role:master"))
            })?;
        }
        Ok(())
    }

    fn join(&self, password: Option<&str>) -> io::Result<()> {
        let mut cli = Command::new("redis-cli");
        cli.arg("--cluster").arg("create");
        cli.args(self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port())));
        cli.args(["--cluster-replicas", "1", "--cluster-yes"]);
        if let Some(password) = password {
            cli.env("REDISCLI_AUTH", password);
        }
        let output = cli.stdin(Stdio::null()).output().map_err(|error| missing("redis-cli", &error))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        Err(io::Error::other(format!("redis-cli could not join the Cluster: {said}")))
    }
}
