//! [`discover`]: the collections of an account.

use etui_dav::client::{
    Address, AnswerLimits, Discovery, DiscoveryError, DiscoveryStep, RemoteCollection,
    read_multistatus,
};
use http::header;

use crate::error::SyncError;
use crate::http::HttpClient;

/// Asks a server for the collections at and behind an address.
///
/// # Errors
/// [`SyncError::Discovery`], with the reason; [`SyncError::Send`].
pub fn discover(client: &HttpClient, given: &Address) -> Result<Vec<RemoteCollection>, SyncError> {
    let mut discovery = Discovery::new(given.clone());
    loop {
        let request = match discovery.step() {
            Ok(DiscoveryStep::Done(found)) => return Ok(found),
            Ok(DiscoveryStep::Send(request)) => request,
            Err(DiscoveryError::Refused(at)) => return Err(SyncError::Login(at)),
            Err(error) => return Err(error.into()),
        };
        let answer = client.send_patiently(&request)?;
        match answer.status {
            207 => {
                let mut responses = Vec::new();
                let limits = AnswerLimits::default();
                let on_response = &mut |response| responses.push(response);
                match read_multistatus(answer.body, &limits, on_response) {
                    Ok(_) => discovery.answered(&responses),
                    // A page at an address that was guessed is no answer.
                    Err(_) => discovery.refused(404),
                }
            }
            300..=399 => match answer.header(header::LOCATION) {
                Some(location) => discovery.redirected(location),
                None => discovery.refused(404),
            },
            status => discovery.refused(status),
        }
    }
}
