//! A certificate for 127.0.0.1, made when it is needed and gone with the server.

use std::path::Path;
use std::{fs, io};

/// Writes `cert.pem` and `key.pem`, and returns the certificate that a client must trust.
pub(crate) fn write_certificate(directory: &Path) -> io::Result<String> {
    let names = ["127.0.0.1".to_owned(), "localhost".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
    let certificate = made.cert.pem();
    fs::write(directory.join("cert.pem"), &certificate)?;
    fs::write(directory.join("key.pem"), made.signing_key.serialize_pem())?;
    Ok(certificate)
}
