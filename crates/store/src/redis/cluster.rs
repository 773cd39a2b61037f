//! Finding out who serves what in a Cluster.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use redis::Pipeline;
use tokio::time::Instant;

use super::layout::Layout;
use super::link::{Backoff, Failure};
use super::url::Node;
use super::wire::Wire;
use crate::{Error, Result};

/// Many requests notice a change at once; the Cluster is asked about it at most this often.
const REFRESH_PAUSE: Duration = Duration::from_millis(100);
/// A server that does not tell the layout by then is passed over for the next.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(1);

impl Wire {
    pub(super) fn layout(&self) -> Arc<Layout> {
        Arc::clone(&self.layout.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks for the layout the first time, so that a wrong address or password is told at once.
    pub(super) async fn first_layout(&self) -> Result<()> {
        let mut backoff = Backoff::new(self.options.patience);
        loop {
            let mut last = "the URL names no server".to_owned();
            for node in &self.address.nodes {
                match self.ask(node, backoff.deadline).await {
                    Ok(layout) => {
                        self.adopt(layout);
                        return Ok(());
                    }
                    Err(Failure::Refused(error)) => return Err(error),
                    Err(Failure::Unsent(why) | Failure::Lost(why)) => last = format!("{node}: {why}"),
                }
            }
            if !backoff.pause().await {
                return Err(Error::Unavailable(last));
            }
        }
    }

    /// Asks servers of the Cluster, known and named in the URL, until one tells the layout.
    pub(super) async fn refresh(&self, deadline: Instant) {
        let mut refreshed = self.refreshed.lock().await;
        if refreshed.is_some_and(|at| at.elapsed() < REFRESH_PAUSE) {
            return;
        }
        let layout = self.layout();
        let known = layout.members.iter().map(|member| &member.node);
        for node in known.chain(&self.address.nodes) {
            if Instant::now() >= deadline {
                break;
            }
            let until = deadline.min(Instant::now() + REFRESH_TIMEOUT);
            if let Ok(Ok(layout)) = tokio::time::timeout_at(until, self.ask(node, until)).await
                && layout.covers_everything()
            {
                self.adopt(layout);
                break;
            }
        }
        *refreshed = Some(Instant::now());
    }

    async fn ask(&self, node: &Node, deadline: Instant) -> Result<Layout, Failure> {
        let mut commands = Pipeline::new();
        commands.cmd("CLUSTER").arg("SLOTS");
        let link = self.link(node, 0).map_err(Failure::Refused)?;
        let values = link.send(&commands, deadline).await?;
        match values.as_slice() {
            [redis::Value::ServerError(error)] => {
                let why = format!("{node} does not tell the layout of its Cluster: {}", super::problem::text(error));
                Err(Failure::Refused(Error::Unavailable(why)))
            }
            [answer] => Layout::parse(answer, node)
                .ok_or_else(|| Failure::Unsent(format!("{node} tells a layout that makes no sense"))),
            _ => Err(Failure::Unsent(format!("{node} does not answer"))),
        }
    }

    pub(super) fn adopt(&self, layout: Layout) {
        let seeds = &self.address.nodes;
        self.keep_links(|node| seeds.contains(node) || layout.members.iter().any(|member| member.node == *node));
        *self.layout.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(layout);
    }
}
