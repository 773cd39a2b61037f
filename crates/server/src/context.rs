//! What every handler can reach.

use std::sync::Arc;

use tickmark_engine::audience::Audience;
use tickmark_engine::series::Catalog;
use tickmark_store::Store;
use tokio::sync::Semaphore;

use crate::access::Access;
use crate::countries::Countries;
use crate::intake::Budget;
use crate::live::Live;
use crate::settings::{Bounds, Settings};
use crate::upkeep::Upkeep;

/// One server's state. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Context {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    store: Arc<dyn Store>,
    settings: Settings,
    access: Arc<Access>,
    bodies: Budget,
    live: Live,
    series: Arc<Catalog>,
    audience: Arc<Audience>,
    upkeep: Arc<Upkeep>,
    requests: Arc<Semaphore>,
}

impl Context {
    pub(crate) fn new(settings: Settings, store: Arc<dyn Store>) -> Self {
        let access = Arc::new(Access::new(&settings.access, Arc::clone(&store)));
        let shared = Shared {
            bodies: Budget::new(settings.bounds.bodies_bytes_max),
            live: Live::new(Arc::clone(&store), Arc::clone(&access), settings.bounds.listeners_max),
            series: Arc::new(Catalog::new(Arc::clone(&store))),
            audience: Arc::new(Audience::new(Arc::clone(&store))),
            upkeep: Arc::new(Upkeep::new(Arc::clone(&store))),
            access,
            requests: Arc::new(Semaphore::new(settings.bounds.requests_max.min(Semaphore::MAX_PERMITS))),
            store,
            settings,
        };
        Self { shared: Arc::new(shared) }
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    pub fn bounds(&self) -> &Bounds {
        &self.shared.settings.bounds
    }

    pub(crate) fn access(&self) -> &Access {
        &self.shared.access
    }

    pub(crate) fn bodies(&self) -> &Budget {
        &self.shared.bodies
    }

    pub fn live(&self) -> &Live {
        &self.shared.live
    }

    pub(crate) fn series(&self) -> &Arc<Catalog> {
        &self.shared.series
    }

    pub(crate) fn audience(&self) -> &Arc<Audience> {
        &self.shared.audience
    }

    pub(crate) fn countries(&self) -> Option<&Countries> {
        self.shared.settings.countries.as_deref()
    }

    /// Calculations, and what is done for them when nobody waits.
    pub(crate) fn upkeep(&self) -> &Arc<Upkeep> {
        &self.shared.upkeep
    }

    /// One permit a request under way.
    pub(crate) fn requests(&self) -> &Arc<Semaphore> {
        &self.shared.requests
    }
}
