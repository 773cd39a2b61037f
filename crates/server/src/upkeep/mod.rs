//! What a server does for calculations when nobody is waiting: results are brought up to date, declarations worked in.

mod deliverer;
mod handing;
mod refresher;
mod turns;
mod webhook;
mod worker;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use tickmark_engine::calculations::{Calculations, Change};
use tickmark_store::{Account, Store};
use tokio::sync::{Notify, watch};

use crate::flag::raised;
use crate::settings::WebhookReach;
pub(crate) use handing::Handing;
use refresher::Refresher;
pub(crate) use turns::Turns;
pub(crate) use webhook::{AlertView, Target};

/// The calculations of a store, and what is to be done for them.
#[derive(Debug)]
pub(crate) struct Upkeep {
    calculations: Arc<Calculations>,
    turns: Turns,
    refresher: Refresher,
    /// Rung when there may be work.
    work: Notify,
    /// Accounts that are known to have projects.
    accounts: Mutex<HashSet<Account>>,
}

impl Upkeep {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            calculations: Arc::new(Calculations::new(store)),
            turns: Turns::new(),
            refresher: Refresher::default(),
            work: Notify::new(),
            accounts: Mutex::default(),
        }
    }

    pub(crate) fn calculations(&self) -> &Arc<Calculations> {
        &self.calculations
    }

    pub(crate) fn turns(&self) -> &Turns {
        &self.turns
    }

    /// To be called before an account's first write, so that after a crash its unfinished work is found.
    pub(crate) async fn know(&self, account: Account) -> tickmark_engine::Result<()> {
        if !self.lock_accounts().contains(&account) {
            self.calculations.note_account(account).await?;
            self.lock_accounts().insert(account);
        }
        Ok(())
    }

    /// Says what was just written.
    pub(crate) fn note(&self, account: Account, changes: Vec<Change>) {
        self.refresher.note(account, changes);
    }

    /// Says that there may be something to build.
    pub(crate) fn ring(&self) {
        self.work.notify_one();
    }

    /// Works until the server stops.
    pub(crate) async fn run(self: Arc<Self>, reach: WebhookReach, mut stopped: watch::Receiver<bool>) {
        let ends = raised(&mut stopped);
        tokio::select! {
            () = ends => {}
            () = self.refresher.run(&self) => {}
            () = worker::run(&self) => {}
            () = deliverer::run(&self, reach) => {}
        }
    }

    async fn known_accounts(&self) -> Vec<Account> {
        if let Ok(accounts) = self.calculations.noted_accounts().await {
            self.lock_accounts().extend(accounts);
        }
        self.accounts()
    }

    fn accounts(&self) -> Vec<Account> {
        self.lock_accounts().iter().copied().collect()
    }

    fn lock_accounts(&self) -> std::sync::MutexGuard<'_, HashSet<Account>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
