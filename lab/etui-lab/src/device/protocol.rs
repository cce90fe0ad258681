//! Numbers of the NBD protocol (`doc/proto.md` of the NBD project). All are sent big-endian.

use std::io::{self, Read};

/// First words of the server: `NBDMAGIC`.
pub const INIT_MAGIC: u64 = 0x4e42_444d_4147_4943;
/// Before each option of the client, and second words of the server: `IHAVEOPT`.
pub const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
/// Before each reply to an option.
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// Before each request.
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
/// Before each simple reply.
pub const REPLY_MAGIC: u32 = 0x6744_6698;

/// Handshake flag of both: options are answered.
pub const FIXED_NEWSTYLE: u16 = 1;
/// Handshake flag of both: no padding after the old form of the export.
pub const NO_ZEROES: u16 = 2;

pub const OPTION_EXPORT_NAME: u32 = 1;
pub const OPTION_ABORT: u32 = 2;
pub const OPTION_LIST: u32 = 3;
pub const OPTION_INFO: u32 = 6;
pub const OPTION_GO: u32 = 7;

pub const REPLY_ACK: u32 = 1;
pub const REPLY_SERVER: u32 = 2;
pub const REPLY_INFO: u32 = 3;
pub const ERROR_UNSUPPORTED: u32 = 0x8000_0001;
pub const ERROR_INVALID: u32 = 0x8000_0003;
pub const ERROR_UNKNOWN: u32 = 0x8000_0006;

pub const INFO_EXPORT: u16 = 0;
pub const INFO_BLOCK_SIZE: u16 = 3;

/// Transmission flags of the export: flags present, flush, forced unit access, trim, zeros.
pub const EXPORT_FLAGS: u16 = 1 | 4 | 8 | 32 | 64;

pub const COMMAND_READ: u16 = 0;
pub const COMMAND_WRITE: u16 = 1;
pub const COMMAND_DISCONNECT: u16 = 2;
pub const COMMAND_FLUSH: u16 = 3;
pub const COMMAND_TRIM: u16 = 4;
pub const COMMAND_WRITE_ZEROES: u16 = 6;

/// Flag of a command: durable before the reply.
pub const FORCE_UNIT_ACCESS: u16 = 1;
/// Flag of a write of zeros: no hole, which makes no difference here.
pub const NO_HOLE: u16 = 2;

pub const EIO: u32 = 5;
pub const EINVAL: u32 = 22;
pub const ENOSPC: u32 = 28;

/// Largest data of a request, as servers are expected to take.
pub const MAX_PAYLOAD: u32 = 32 << 20;
/// Largest data of an option: a name of 4096 bytes, and room.
pub const MAX_OPTION: u32 = 16 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub flags: u16,
    pub command: u16,
    pub cookie: [u8; 8],
    pub offset: u64,
    pub length: u32,
}

impl Request {
    /// Reads the next; none at the end of the stream.
    pub fn read(stream: &mut impl Read) -> io::Result<Option<Self>> {
        let mut magic = [0; 4];
        if stream.read(&mut magic[..1])? == 0 {
            return Ok(None);
        }
        stream.read_exact(&mut magic[1..])?;
        if u32::from_be_bytes(magic) != REQUEST_MAGIC {
            return Err(invalid("a request without its magic number"));
        }
        let [flags, command] = [read_u16(stream)?, read_u16(stream)?];
        let mut cookie = [0; 8];
        stream.read_exact(&mut cookie)?;
        Ok(Some(Self {
            flags,
            command,
            cookie,
            offset: read_u64(stream)?,
            length: read_u32(stream)?,
        }))
    }
}

pub fn read_u16(stream: &mut impl Read) -> io::Result<u16> {
    let mut bytes = [0; 2];
    stream.read_exact(&mut bytes)?;
    Ok(u16::from_be_bytes(bytes))
}

pub fn read_u32(stream: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes)?;
    Ok(u32::from_be_bytes(bytes))
}

pub fn read_u64(stream: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    stream.read_exact(&mut bytes)?;
    Ok(u64::from_be_bytes(bytes))
}

pub fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}
