//! Which country an address is in, from a MaxMind file.

use std::net::IpAddr;
use std::path::Path;

use maxminddb::Reader;
use serde::Deserialize;

/// A file that knows countries, read into memory.
#[derive(Debug)]
pub struct Countries {
    reader: Reader<Vec<u8>>,
}

/// What is of interest in an entry. Files of countries and of cities have it in the same place.
#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow)]
    country: Option<Country<'a>>,
}

#[derive(Deserialize)]
struct Country<'a> {
    iso_code: Option<&'a str>,
}

impl Countries {
    pub fn open(path: &Path) -> Result<Self, String> {
        let reader = Reader::open_readfile(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { reader })
    }

    /// The two letters of the country; none where the file does not know.
    pub(crate) fn of(&self, ip: IpAddr) -> Option<String> {
        let entry = self.reader.lookup(ip).ok()?.decode::<Entry<'_>>().ok()??;
        let code = entry.country?.iso_code?;
        (code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_alphabetic())).then(|| code.to_owned())
    }
}
