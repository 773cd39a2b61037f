//! The binary: arguments become a configuration, and a configuration runs.

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::net::TcpListener;
use tokio::signal;

/// Live statistics over time.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Answer HTTP requests.
    Serve {
        /// The address to listen on.
        #[arg(long, default_value = "127.0.0.1:7700", value_name = "ADDRESS")]
        listen: SocketAddr,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let Command::Serve { listen } = Arguments::parse().command;
    match serve(listen).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("tickmark: {why}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(listen: SocketAddr) -> Result<(), String> {
    let listener = TcpListener::bind(listen).await.map_err(|error| format!("could not listen on {listen}: {error}"))?;
    let address = listener.local_addr().map_err(|error| format!("listening on {listen}: {error}"))?;
    println!("listening on http://{address}");
    let shutdown = async {
        // Without a handler for the signal there is still the default one, which ends the process.
        let _ = signal::ctrl_c().await;
    };
    tickmark_server::run(listener, shutdown).await.map_err(|error| format!("serving on {address}: {error}"))
}
