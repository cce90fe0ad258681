//! Stand-in.

use std::collections::HashSet;
use std::io::{self, Write};

use etui::Store;
use http::{Method, Request, Response, StatusCode};

pub trait Respond {
    fn start(&mut self, head: Response<()>) -> io::Result<&mut dyn Write>;
}

#[derive(Debug, Clone)]
pub struct DavOptions {
    pub max_resource: u64,
    pub max_xml: u64,
}

pub struct Session<'a> {
    pub device: &'a str,
    pub may_write: bool,
    pub sees: Option<&'a HashSet<i64>>,
    pub user: &'a str,
    pub root: &'a str,
}

pub struct Outcome {
    pub status: StatusCode,
    pub kind: &'static str,
}

pub fn answer(
    store: &Store,
    session: &Session<'_>,
    _options: &DavOptions,
    request: &Request<Vec<u8>>,
    out: &mut dyn Respond,
) -> io::Result<Outcome> {
    let io_error = |e: etui::Error| io::Error::other(e);
    let path = request.uri().path();
    let name = path.strip_prefix(session.root).unwrap_or_default();
    let status = match request.method() {
        &Method::PUT | &Method::DELETE if !session.may_write => StatusCode::FORBIDDEN,
        &Method::DELETE => {
            let uid = name.rsplit('/').next().unwrap_or_default();
            let uid = uid.trim_end_matches(".vcf");
            let found = store.contacts().and_then(|book| book.remove(uid));
            found.map(|_| StatusCode::NO_CONTENT).unwrap_or(StatusCode::NOT_FOUND)
        }
        &Method::PUT => {
            let card = etui::contacts::Card::parse(request.body().clone());
            let saved = card.map_err(io::Error::other)?;
            store
                .contacts()
                .and_then(|book| book.save(&saved))
                .map_err(io_error)?;
            StatusCode::CREATED
        }
        method if method.as_str() == "REPORT" => {
            let mut head = Response::new(());
            *head.status_mut() = StatusCode::MULTI_STATUS;
            let out = out.start(head)?;
            for n in 0..2_000_000 {
                writeln!(out, "{n:07}")?;
            }
            return Ok(Outcome {
                status: StatusCode::MULTI_STATUS,
                kind: "large",
            });
        }
        &Method::GET | &Method::HEAD => {
            let uid = name.rsplit('/').next().unwrap_or_default();
            let uid = uid.trim_end_matches(".vcf");
            let found = store.contacts().and_then(|book| book.get(uid));
            match found.map_err(io_error)? {
                Some(contact) => {
                    let length = contact.text.len();
                    let head = Response::builder().header("content-length", length);
                    let out = out.start(head.body(()).map_err(io::Error::other)?)?;
                    if request.method() == Method::GET {
                        out.write_all(&contact.text)?;
                    }
                    return Ok(Outcome {
                        status: StatusCode::OK,
                        kind: "contact",
                    });
                }
                None => StatusCode::NOT_FOUND,
            }
        }
        method if method.as_str() == "PROPFIND" => StatusCode::MULTI_STATUS,
        _ => StatusCode::METHOD_NOT_ALLOWED,
    };
    let mut head = Response::new(());
    *head.status_mut() = status;
    let out = out.start(head)?;
    if status == StatusCode::MULTI_STATUS {
        write!(out, "{} {}", session.user, session.root)?;
    }
    Ok(Outcome { status, kind: "?" })
}
