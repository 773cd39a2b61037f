//! The part of `cargo deny` that needs no database: licences and sources of every dependency.
//!
//! Reads the lists in `deny.toml`, so that both tools say the same. A licence expression is a list of alternatives:
//! one allowed alternative is enough, and of an alternative joined by `AND` every part must be allowed.

use std::collections::BTreeMap;

use crate::shell::{self, Outcome};

pub(crate) fn check() -> Outcome {
    let rules = std::fs::read_to_string(shell::root().join("deny.toml"))
        .map_err(|error| format!("could not read deny.toml: {error}"))?;
    let allowed_licences = list(&rules, "allow")?;
    let allowed_sources = list(&rules, "allow-registry")?;

    let packages = packages()?;
    let mut refused: Vec<String> = packages
        .iter()
        .filter(|(_, licence)| !is_allowed(licence, &allowed_licences))
        .map(|(name, licence)| format!("{name}: licence {licence:?} is not in deny.toml"))
        .collect();
    refused.extend(foreign_sources(&allowed_sources)?);
    if !refused.is_empty() {
        return Err(format!(
            "these dependencies are refused:\n  {}\n  choose another, or allow it in deny.toml with a reason",
            refused.join("\n  ")
        ));
    }
    eprintln!("\nlicences and sources of {} packages are allowed by deny.toml", packages.len());
    Ok(())
}

/// Every package of the workspace, on any platform, with its licence.
fn packages() -> Outcome<BTreeMap<String, String>> {
    let tree = shell::output(&mut shell::cargo(&[
        "tree",
        "--workspace",
        "--all-features",
        "--target=all",
        "--prefix=none",
        "--no-dedupe",
        "--format={p}\t{l}",
    ]))?;
    let mut packages = BTreeMap::new();
    for line in tree.lines() {
        if let Some((package, licence)) = line.split_once('\t') {
            let name: Vec<&str> = package.split(' ').take(2).collect();
            packages.insert(name.join(" "), licence.trim_end_matches(" (*)").to_owned());
        }
    }
    Ok(packages)
}

fn foreign_sources(allowed: &[String]) -> Outcome<Vec<String>> {
    let lock = std::fs::read_to_string(shell::root().join("Cargo.lock"))
        .map_err(|error| format!("could not read Cargo.lock: {error}"))?;
    let mut name = "";
    let mut foreign = Vec::new();
    for line in lock.lines() {
        if let Some(rest) = line.strip_prefix("name = ") {
            name = rest.trim_matches('"');
        } else if let Some(source) = line.strip_prefix("source = ") {
            let source = source.trim_matches('"');
            let registry = source.strip_prefix("registry+").unwrap_or(source);
            if !allowed.iter().any(|allowed| allowed == registry) {
                foreign.push(format!("{name}: comes from {source}, which is not in deny.toml"));
            }
        }
    }
    Ok(foreign)
}

/// The strings of `key = ["…", …]`, which in `deny.toml` stand one a line or all on one.
fn list(rules: &str, key: &str) -> Outcome<Vec<String>> {
    let start = format!("{key} = [");
    let after = rules
        .lines()
        .position(|line| line.starts_with(&start))
        .map(|index| rules.lines().skip(index).collect::<Vec<_>>().join("\n").trim_start_matches(&start).to_owned());
    let body = after.as_deref().and_then(|after| after.split_once(']')).map(|(body, _)| body);
    let body = body.ok_or_else(|| format!("deny.toml has no list `{key} = [ … ]`"))?;
    Ok(body
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(|line| line.split(',').map(|word| word.trim().trim_matches('"').to_owned()).collect::<Vec<_>>())
        .filter(|word| !word.is_empty())
        .collect())
}

/// Old crates write `MIT/Apache-2.0`, which means `OR`.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let expression = expression.replace('/', " OR ");
    // `(A OR B) AND C` is the only nesting seen in practice: every group of parentheses must have its way.
    let groups = split_outside(&expression, " AND ");
    groups.iter().all(|group| {
        let group = group.trim().trim_start_matches('(').trim_end_matches(')');
        group.split(" OR ").any(|alternative| {
            alternative.split(" AND ").all(|licence| allowed.iter().any(|allowed| allowed == licence.trim()))
        })
    })
}

/// Splits where the separator is outside parentheses and the whole is not a list of alternatives.
fn split_outside<'a>(text: &'a str, separator: &str) -> Vec<&'a str> {
    let depth_at = |index: usize| text[..index].matches('(').count() - text[..index].matches(')').count();
    if text.match_indices(" OR ").any(|(index, _)| depth_at(index) == 0) {
        return vec![text];
    }
    let mut parts = Vec::new();
    let mut start = 0;
    for (index, _) in text.match_indices(separator) {
        if depth_at(index) == 0 {
            parts.push(&text[start..index]);
            start = index + separator.len();
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        let allowed = ["MIT", "Apache-2.0", "Unicode-3.0"].map(str::to_owned);
        for (expression, expected) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("GPL-3.0 OR MIT", true),
            ("MIT/Apache-2.0", true),
            ("MIT AND GPL-3.0", false),
            ("(MIT OR GPL-3.0) AND Unicode-3.0", true),
            ("(MIT OR Apache-2.0) AND GPL-3.0", false),
            ("GPL-3.0 AND MIT OR Apache-2.0", true),
            ("", false),
        ] {
            assert_eq!(is_allowed(expression, &allowed), expected, "{expression:?}");
        }
    }

    #[test]
    fn lists_of_deny_toml() {
        let rules = "[licenses]\nallow = [\n    # why\n    \"MIT\",\n    \"ISC\",\n]\nallow-registry = [\"a\"]\n";
        assert_eq!(list(rules, "allow").as_deref(), Ok(["MIT".to_owned(), "ISC".to_owned()].as_slice()));
        assert_eq!(list(rules, "allow-registry").as_deref(), Ok(["a".to_owned()].as_slice()));
        assert!(list(rules, "deny").is_err());
    }
}
