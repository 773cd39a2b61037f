//! A flag that is raised once, for many who wait.

use tokio::sync::watch;

/// Returns once the flag is up, or whoever could raise it is gone.
pub(crate) async fn raised(flag: &mut watch::Receiver<bool>) {
    // The guard it returns must not live across an await, so it ends here.
    let _ = flag.wait_for(|up| *up).await;
}
