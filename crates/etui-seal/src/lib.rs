#![doc = include_str!("../README.md")]

mod key;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, MAX_TAG_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::{SecureRandom, SystemRandom};

pub use key::{KeyError, SealKey};

/// The first bytes of a file, with the version.
const MAGIC: &[u8; 9] = b"ETUISEAL\x01";

/// Bytes of the salt.
const SALT: usize = 32;

/// Bytes before the text.
const HEAD: usize = MAGIC.len() + SALT;

/// Why a text is not sealed, or a file not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// It does not begin as a sealed file, or of a version that is not known.
    #[error("it is not a sealed file of this version")]
    Other,
    /// It is cut off or changed, is another file than it should be, or has another key.
    #[error("it is cut off or damaged, or has another key")]
    Damaged,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    Random,
}

/// Seals a text. `context` says which file it is, such as its place and number; it is not in the file.
///
/// # Errors
/// [`SealError::Random`].
pub fn seal(key: &SealKey, context: &[u8], text: &[u8]) -> Result<Vec<u8>, SealError> {
    let mut file = Vec::with_capacity(HEAD + text.len() + MAX_TAG_LEN);
    file.extend_from_slice(MAGIC);
    file.resize(HEAD, 0);
    SystemRandom::new()
        .fill(&mut file[MAGIC.len()..])
        .map_err(|_| SealError::Random)?;
    let (own, aad) = prepare(key, &file, context).ok_or(SealError::Random)?;
    let mut body = text.to_vec();
    own.seal_in_place_append_tag(only_nonce(), aad, &mut body)
        .map_err(|_| SealError::Random)?;
    file.extend_from_slice(&body);
    Ok(file)
}

/// Opens a sealed file; returns its text.
///
/// # Errors
/// [`SealError::Other`], [`SealError::Damaged`].
pub fn open(key: &SealKey, context: &[u8], file: &[u8]) -> Result<Vec<u8>, SealError> {
    if !file.starts_with(MAGIC) {
        return Err(SealError::Other);
    }
    let (head, body) = file.split_at_checked(HEAD).ok_or(SealError::Damaged)?;
    let (own, aad) = prepare(key, head, context).ok_or(SealError::Damaged)?;
    let mut body = body.to_vec();
    let text = own
        .open_in_place(only_nonce(), aad, &mut body)
        .map_err(|_| SealError::Damaged)?;
    let length = text.len();
    body.truncate(length);
    Ok(body)
}

/// The key of a file is used once, so that one nonce is enough.
fn only_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

/// Returns the key of a file, and the bytes that are authenticated beside its text.
fn prepare(key: &SealKey, head: &[u8], context: &[u8]) -> Option<(LessSafeKey, Aad<Vec<u8>>)> {
    let salt = Salt::new(HKDF_SHA256, &head[MAGIC.len()..HEAD]);
    let derived = salt.extract(key.bytes());
    let material = derived
        .expand(&[b"etui-seal file key"], &AES_256_GCM)
        .ok()?;
    let own = LessSafeKey::new(UnboundKey::from(material));
    let aad = [&head[..HEAD], context].concat();
    Some((own, Aad::from(aad)))
}
