//! A client's connection: handshake, then requests.

use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;

use super::protocol::{self, Request};
use super::server::Device;

/// Serves a client until it disconnects. An error is a client that broke the protocol, or vanished.
pub fn serve(stream: &UnixStream, device: &Device) -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, stream);
    let mut output = stream;
    if negotiate(&mut input, &mut output, device)? {
        transmit(&mut input, &mut output, device)?;
    }
    Ok(())
}

/// Agrees on the export. Returns false if the client ends the session.
fn negotiate(input: &mut impl Read, output: &mut impl Write, device: &Device) -> io::Result<bool> {
    let mut hello = protocol::INIT_MAGIC.to_be_bytes().to_vec();
    hello.extend(protocol::OPTION_MAGIC.to_be_bytes());
    hello.extend((protocol::FIXED_NEWSTYLE | protocol::NO_ZEROES).to_be_bytes());
    output.write_all(&hello)?;
    let flags = protocol::read_u32(input)?;
    let known = u32::from(protocol::FIXED_NEWSTYLE | protocol::NO_ZEROES);
    if flags & !known != 0 {
        return Err(protocol::invalid("unknown flags of a client"));
    }
    let zeroes = flags & u32::from(protocol::NO_ZEROES) == 0;
    loop {
        if protocol::read_u64(input)? != protocol::OPTION_MAGIC {
            return Err(protocol::invalid("an option without its magic number"));
        }
        let option = protocol::read_u32(input)?;
        let length = protocol::read_u32(input)?;
        if length > protocol::MAX_OPTION {
            return Err(protocol::invalid("an option of too many bytes"));
        }
        let mut data = vec![0; length as usize];
        input.read_exact(&mut data)?;
        let mut reply = |kind: u32, data: &[u8]| {
            let mut reply = protocol::OPTION_REPLY_MAGIC.to_be_bytes().to_vec();
            for number in [option, kind, data.len() as u32] {
                reply.extend(number.to_be_bytes());
            }
            reply.extend(data);
            output.write_all(&reply)
        };
        match option {
            protocol::OPTION_EXPORT_NAME => {
                let mut export = export_bytes(device);
                export.extend(vec![0; if zeroes { 124 } else { 0 }]);
                output.write_all(&export)?;
                return Ok(true);
            }
            protocol::OPTION_ABORT => {
                // A client need not wait for the answer.
                let _ = reply(protocol::REPLY_ACK, &[]);
                return Ok(false);
            }
            protocol::OPTION_LIST if data.is_empty() => {
                reply(protocol::REPLY_SERVER, &0_u32.to_be_bytes())?;
                reply(protocol::REPLY_ACK, &[])?;
            }
            protocol::OPTION_INFO | protocol::OPTION_GO => match export_name(&data) {
                None => reply(protocol::ERROR_INVALID, b"the request is malformed")?,
                Some(name) if !name.is_empty() => {
                    reply(protocol::ERROR_UNKNOWN, b"the only export has no name")?;
                }
                Some(_) => {
                    let mut info = protocol::INFO_EXPORT.to_be_bytes().to_vec();
                    info.extend(export_bytes(device));
                    reply(protocol::REPLY_INFO, &info)?;
                    let mut sizes = protocol::INFO_BLOCK_SIZE.to_be_bytes().to_vec();
                    for size in [super::SECTOR_BYTES as u32, 4096, protocol::MAX_PAYLOAD] {
                        sizes.extend(size.to_be_bytes());
                    }
                    reply(protocol::REPLY_INFO, &sizes)?;
                    reply(protocol::REPLY_ACK, &[])?;
                    if option == protocol::OPTION_GO {
                        return Ok(true);
                    }
                }
            },
            protocol::OPTION_LIST => reply(protocol::ERROR_INVALID, b"the request is malformed")?,
            _ => reply(protocol::ERROR_UNSUPPORTED, b"")?,
        }
    }
}

/// Size and flags of the export.
fn export_bytes(device: &Device) -> Vec<u8> {
    let mut export = device.size().to_be_bytes().to_vec();
    export.extend(protocol::EXPORT_FLAGS.to_be_bytes());
    export
}

/// Returns the name in an option: its length, the name, a count, and as many wishes of two bytes.
fn export_name(data: &[u8]) -> Option<&[u8]> {
    let (length, rest) = data.split_first_chunk::<4>()?;
    let length = u32::from_be_bytes(*length) as usize;
    let (name, rest) = rest.split_at_checked(length)?;
    let (count, wishes) = rest.split_first_chunk::<2>()?;
    (wishes.len() == 2 * usize::from(u16::from_be_bytes(*count))).then_some(name)
}

/// Serves requests until the client disconnects.
fn transmit(input: &mut impl Read, output: &mut impl Write, device: &Device) -> io::Result<()> {
    let mut data = Vec::new();
    let mut reply = Vec::new();
    while let Some(request) = Request::read(input)? {
        reply.clear();
        reply.extend(protocol::REPLY_MAGIC.to_be_bytes());
        reply.extend(0_u32.to_be_bytes());
        reply.extend(request.cookie);
        let header = reply.len();
        data.clear();
        if request.command == protocol::COMMAND_WRITE {
            if request.length > protocol::MAX_PAYLOAD {
                // The data that follow are not distinguishable from requests without reading them all.
                return Err(protocol::invalid("a write of too many bytes"));
            }
            data.resize(request.length as usize, 0);
            input.read_exact(&mut data)?;
        }
        let done = match request.command {
            protocol::COMMAND_DISCONNECT => return Ok(()),
            _ => check(&request, device),
        };
        let done = done.and_then(|()| {
            let force = request.flags & protocol::FORCE_UNIT_ACCESS != 0;
            let (offset, length) = (request.offset, u64::from(request.length));
            match request.command {
                protocol::COMMAND_READ => {
                    reply.resize(header + request.length as usize, 0);
                    device.read(offset, &mut reply[header..])
                }
                protocol::COMMAND_WRITE => device.write(offset, &data, force),
                protocol::COMMAND_FLUSH => device.flush(),
                _ => device.zero(offset, length, force),
            }
            .map_err(|_| protocol::EIO)
        });
        if let Err(error) = done {
            reply.truncate(header);
            reply[4..8].copy_from_slice(&error.to_be_bytes());
        }
        output.write_all(&reply)?;
    }
    Ok(())
}

/// Checks a request's command, flags and range.
fn check(request: &Request, device: &Device) -> Result<(), u32> {
    let allowed = match request.command {
        protocol::COMMAND_READ | protocol::COMMAND_FLUSH => protocol::FORCE_UNIT_ACCESS,
        protocol::COMMAND_WRITE | protocol::COMMAND_TRIM => protocol::FORCE_UNIT_ACCESS,
        protocol::COMMAND_WRITE_ZEROES => protocol::FORCE_UNIT_ACCESS | protocol::NO_HOLE,
        _ => return Err(protocol::EINVAL),
    };
    if request.flags & !allowed != 0 {
        return Err(protocol::EINVAL);
    }
    if request.command == protocol::COMMAND_FLUSH {
        return Ok(());
    }
    let length = u64::from(request.length);
    let reads = request.command == protocol::COMMAND_READ;
    let sectors = (request.offset | length).is_multiple_of(super::SECTOR_BYTES);
    if length == 0 || !sectors || (reads && request.length > protocol::MAX_PAYLOAD) {
        return Err(protocol::EINVAL);
    }
    match request.offset.checked_add(length) {
        Some(end) if end <= device.size() => Ok(()),
        _ if reads => Err(protocol::EINVAL),
        _ => Err(protocol::ENOSPC),
    }
}
