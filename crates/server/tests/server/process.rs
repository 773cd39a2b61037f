//! What the system says of this process.

/// Memory in use; 0 where the system does not say.
pub(crate) fn resident_kib() -> usize {
    number("/proc/self/status", "VmRSS:", 0).unwrap_or(0)
}

/// How many files and sockets may be open.
pub(crate) fn open_files_max() -> usize {
    number("/proc/self/limits", "Max open files", 0).unwrap_or(1_024)
}

fn number(path: &str, line: &str, word: usize) -> Option<usize> {
    let text = std::fs::read_to_string(path).ok()?;
    let rest = text.lines().find_map(|candidate| candidate.strip_prefix(line))?;
    rest.split_whitespace().nth(word)?.parse().ok()
}
