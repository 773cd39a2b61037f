//! The server as a client meets it: started on a free port, spoken to over TCP.

mod access;
mod audience;
mod bodies;
mod calculations;
mod client;
mod hostile;
mod jwt;
mod live;
mod once;
mod process;
mod routes;
mod running;
mod series;
