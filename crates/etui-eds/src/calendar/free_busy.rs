//! `GetFreeBusy`: a `VFREEBUSY` for addresses of the person's mail accounts.

use etui::calendar::time::{TimeZone, Timestamp};
use etui_contentline::edit::fold_line;

use super::errors::store_error;
use super::opened::OpenedCalendar;
use crate::error::{EdsError, EdsResult, INVALID_RANGE};
use crate::sources::Source;

/// The longest range in seconds: 100 years.
const MAX_RANGE: i64 = 100 * 366 * 86_400;

/// An address of the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MailAddress {
    name: String,
    address: String,
}

/// Returns the addresses of the enabled mail accounts.
pub(super) fn mail_addresses(sources: &[Source]) -> Vec<MailAddress> {
    let identities = sources.iter().filter_map(|account| {
        let is_enabled = account.value("Data Source", "Enabled") != Some("false");
        let identity = account.value("Mail Account", "IdentityUid")?;
        let identity = sources.iter().find(|source| source.uid == identity)?;
        is_enabled.then_some(identity)
    });
    let mut addresses: Vec<MailAddress> = Vec::new();
    for identity in identities {
        let Some(address) = identity.value("Mail Identity", "Address") else {
            continue;
        };
        if !addresses.iter().any(|known| known.address == address) {
            let name = identity.value("Mail Identity", "Name");
            addresses.push(MailAddress {
                name: name.unwrap_or_default().to_owned(),
                address: address.to_owned(),
            });
        }
    }
    addresses
}

/// Returns a `VFREEBUSY` for each user that is one of the addresses; without users for the first
/// address.
pub(super) fn free_busy(
    opened: &OpenedCalendar,
    from: i64,
    to: i64,
    users: &[String],
    addresses: &[MailAddress],
) -> EdsResult<Vec<String>> {
    if to.saturating_sub(from) > MAX_RANGE {
        return Err(EdsError::new(INVALID_RANGE, "the range is too long"));
    }
    if from > to {
        return Err(EdsError::new(
            INVALID_RANGE,
            "the range ends before it begins",
        ));
    }
    let asked: Vec<&MailAddress> = match users {
        [] => addresses.iter().take(1).collect(),
        users => users
            .iter()
            .filter_map(|user| find_address(addresses, user))
            .collect(),
    };
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let range = Timestamp::from_seconds(from)..Timestamp::from_seconds(to);
    let busy = opened.calendar()?.free_busy(range.clone(), &TimeZone::UTC);
    let busy = busy.map_err(store_error)?;
    let mut periods = format!("DTSTART:{}\r\nDTEND:{}\r\n", range.start, range.end);
    for period in busy {
        let kind = if period.tentative {
            "BUSY-TENTATIVE"
        } else {
            "BUSY"
        };
        let (start, end) = (period.during.start, period.during.end);
        periods += &format!("FREEBUSY;FBTYPE={kind}:{start}/{end}\r\n");
    }
    let text = |user: &&MailAddress| {
        let name: String = user
            .name
            .chars()
            .filter(|c| !c.is_control() && *c != '"')
            .collect();
        let name = match name.is_empty() {
            true => name,
            false => format!(";CN=\"{name}\""),
        };
        let organizer = fold_line(&format!("ORGANIZER{name}:mailto:{}", user.address), b"\r\n");
        let organizer = String::from_utf8_lossy(&organizer);
        format!("BEGIN:VFREEBUSY\r\n{organizer}{periods}END:VFREEBUSY\r\n")
    };
    Ok(asked.iter().map(text).collect())
}

fn find_address<'a>(addresses: &'a [MailAddress], user: &str) -> Option<&'a MailAddress> {
    let user = match user.get(..7) {
        Some(scheme) if scheme.eq_ignore_ascii_case("mailto:") => &user[7..],
        _ => user,
    };
    addresses
        .iter()
        .find(|known| known.address.eq_ignore_ascii_case(user))
}
