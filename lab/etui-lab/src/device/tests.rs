//! The server with real clients (`qemu-io`, `qemu-img`), and with hostile ones.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use etui_testkit::wait::{LIMIT, wait_until};

use super::*;

const SIZE: u64 = 16 << 20;

struct Served {
    server: NbdServer,
    dir: tempfile::TempDir,
}

impl Served {
    fn start(model: &DeviceModel) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let disk = FileDisk::create(&dir.path().join("disk"), SIZE).unwrap();
        let socket = dir.path().join("socket");
        let server = NbdServer::start(&socket, Arc::new(disk), model, true).unwrap();
        Self { server, dir }
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.socket()).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream
    }

    fn url(&self) -> String {
        format!("nbd+unix:///?socket={}", self.socket().display())
    }

    /// Returns true if a client that keeps to the protocol is served.
    fn serves(&self) -> bool {
        let mut client = self.connect();
        greet(&mut client);
        go(&mut client);
        client.write_all(&request(0, 0, 512, 512)).unwrap();
        let mut reply = [0; 16 + 512];
        client.read_exact(&mut reply).unwrap();
        reply[4..8] == [0; 4]
    }
}

/// Runs a tool of QEMU; none, and a line on the standard error, if it is not installed.
fn run_tool(program: &str, args: &[&str]) -> Option<String> {
    match Command::new(program).args(args).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: {program} is not installed (package qemu-utils)");
            None
        }
        output => {
            let output = output.unwrap();
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{program} {args:?}: {errors}");
            Some(String::from_utf8_lossy(&output.stdout).into_owned() + &errors)
        }
    }
}

fn greet(client: &mut UnixStream) {
    let mut hello = [0; 18];
    client.read_exact(&mut hello).unwrap();
    assert_eq!(&hello[..16], b"NBDMAGICIHAVEOPT");
    client.write_all(&3_u32.to_be_bytes()).unwrap();
}

fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let mut option = b"IHAVEOPT".to_vec();
    option.extend(number.to_be_bytes());
    option.extend((data.len() as u32).to_be_bytes());
    option.extend(data);
    option
}

fn reply_kind(client: &mut UnixStream) -> u32 {
    let mut header = [0; 20];
    client.read_exact(&mut header).unwrap();
    let number = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().unwrap());
    let mut data = vec![0; number(16) as usize];
    client.read_exact(&mut data).unwrap();
    number(12)
}

fn go(client: &mut UnixStream) {
    client.write_all(&option(7, &[0; 6])).unwrap();
    while reply_kind(client) != 1 {}
}

fn request(flags: u16, command: u16, offset: u64, length: u32) -> Vec<u8> {
    let mut request = 0x2560_9513_u32.to_be_bytes().to_vec();
    request.extend(flags.to_be_bytes());
    request.extend(command.to_be_bytes());
    request.extend(*b"a cookie");
    request.extend(offset.to_be_bytes());
    request.extend(length.to_be_bytes());
    request
}

/// Sends a request and returns the error of its reply.
fn ask(client: &mut UnixStream, bytes: &[u8]) -> u32 {
    client.write_all(bytes).unwrap();
    let mut reply = [0; 16];
    client.read_exact(&mut reply).unwrap();
    assert_eq!(&reply[8..], b"a cookie");
    u32::from_be_bytes(reply[4..8].try_into().unwrap())
}

fn is_closed(client: &mut UnixStream) -> bool {
    let mut rest = Vec::new();
    // The server may close before it has read all that was sent.
    client.read_to_end(&mut rest).map_or_else(
        |e| e.kind() == std::io::ErrorKind::ConnectionReset,
        |_| true,
    )
}

#[test]
fn qemu_io_reads_writes_flushes_trims_and_zeros() {
    let served = Served::start(&DeviceModel::NONE);
    let commands = [
        "write -P 0x11 0 64k",
        "write -P 0x22 -f 4096 4096",
        "flush",
        "write -z 8192 4096",
        "discard 16k 16k",
        "flush",
        "read -P 0x11 0 4096",
        "read -P 0x22 4096 4096",
        "read -P 0 8192 4096",
        "read -P 0x11 12288 4096",
        "read -P 0 16k 16k",
        "read -P 0x11 32k 32k",
    ];
    let url = served.url();
    let mut args = vec!["-f", "raw", "-t", "none", "-d", "unmap"];
    for command in commands {
        args.extend(["-c", command]);
    }
    args.push(&url);
    let Some(output) = run_tool("qemu-io", &args) else {
        return;
    };
    assert!(!output.contains("failed"), "{output}");
    served.server.mark(b"done");
    let log = served.server.take_log();
    let DeviceEvent::Write {
        offset: 0, data, ..
    } = &log[0]
    else {
        panic!("{:?}", log[0]);
    };
    assert_eq!(&data[..], &vec![0x11; 64 << 10]);
    let DeviceEvent::Write {
        offset: 4096,
        force_unit_access: true,
        ..
    } = &log[1]
    else {
        panic!("{:?}", log[1]);
    };
    assert_eq!(log[2], DeviceEvent::Flush);
    let zeros = log.iter().filter_map(|event| match event {
        DeviceEvent::Zero { offset, length, .. } => Some((*offset, *length)),
        _ => None,
    });
    assert!(zeros.eq([(8192, 4096), (16 << 10, 16 << 10)]), "{log:?}");
    let is = |wanted: fn(&&DeviceEvent) -> bool| log.iter().filter(wanted).count();
    assert_eq!(is(|event| matches!(event, DeviceEvent::Write { .. })), 2);
    assert!(is(|event| **event == DeviceEvent::Flush) >= 2);
    assert_eq!(log.last(), Some(&DeviceEvent::Mark((*b"done").into())));
    assert_eq!(served.server.take_log(), []);
}

/// An image copied onto the device and back is equal, and so is one behind an overlay.
#[test]
fn qemu_img_copies_an_image_there_and_back() {
    let served = Served::start(&DeviceModel::NONE);
    let path = |name: &str| served.dir.path().join(name);
    let text = |path: PathBuf| path.display().to_string();
    let mut image = vec![0; SIZE as usize];
    for (number, byte) in image.iter_mut().enumerate().take(5 << 20) {
        *byte = (number / 777 % 251) as u8;
    }
    std::fs::write(path("image"), &image).unwrap();
    let url = served.url();
    let there = [
        "convert",
        "-n",
        "-f",
        "raw",
        "-O",
        "raw",
        &text(path("image")),
        &url,
    ];
    if run_tool("qemu-img", &there).is_none() {
        return;
    }
    let back = [
        "convert",
        "-f",
        "raw",
        "-O",
        "raw",
        &url,
        &text(path("back")),
    ];
    run_tool("qemu-img", &back).unwrap();
    assert!(std::fs::read(path("back")).unwrap() == image);

    let base: Arc<dyn BlockDisk> = Arc::new(FileDisk::open(&path("disk")).unwrap());
    let overlay = Arc::new(OverlayDisk::new(base));
    served.server.replace_disk(overlay).unwrap();
    let args = ["-f", "raw", "-c", "write -P 0x33 1M 3k", &url];
    run_tool("qemu-io", &args).unwrap();
    run_tool("qemu-img", &back).unwrap();
    assert!(std::fs::read(path("disk")).unwrap() == image);
    image[1 << 20..(1 << 20) + 3072].fill(0x33);
    assert!(std::fs::read(path("back")).unwrap() == image);

    let small = FileDisk::create(&path("small"), 512).unwrap();
    assert!(served.server.replace_disk(Arc::new(small)).is_err());
}

/// The time of a request is that of its model.
#[test]
fn requests_take_the_time_of_the_model() {
    let model = DeviceModel {
        write_latency: Duration::from_millis(3),
        flush_latency: Duration::from_millis(5),
        ..DeviceModel::NONE
    };
    let served = Served::start(&model);
    let mut client = served.connect();
    greet(&mut client);
    go(&mut client);
    let begun = Instant::now();
    for _ in 0..4 {
        let mut write = request(0, 1, 0, 512);
        write.extend([1; 512]);
        assert_eq!(ask(&mut client, &write), 0);
        assert_eq!(ask(&mut client, &request(0, 3, 0, 0)), 0);
    }
    assert!(begun.elapsed() >= Duration::from_millis(4 * 8));
}

#[test]
fn bad_requests_are_refused_and_the_next_is_served() {
    let served = Served::start(&DeviceModel::NONE);
    let mut client = served.connect();
    greet(&mut client);
    // Structured replies, another export, a malformed name, a list.
    client.write_all(&option(8, &[])).unwrap();
    assert_eq!(reply_kind(&mut client), 0x8000_0001);
    client.write_all(&option(7, b"\0\0\0\x01x\0\0")).unwrap();
    assert_eq!(reply_kind(&mut client), 0x8000_0006);
    for malformed in [&b""[..], b"\xff\xff\xff\xff\0\0", b"\0\0\0\0\0\x05\0"] {
        client.write_all(&option(6, malformed)).unwrap();
        assert_eq!(reply_kind(&mut client), 0x8000_0003);
    }
    client.write_all(&option(3, &[])).unwrap();
    assert_eq!(reply_kind(&mut client), 2);
    assert_eq!(reply_kind(&mut client), 1);
    go(&mut client);
    let (invalid, no_space) = (22, 28);
    for (bad, error) in [
        (request(0, 0, SIZE, 512), invalid),
        (request(0, 0, u64::MAX - 511, 512), invalid),
        (request(0, 0, 0, u32::MAX), invalid),
        (request(0, 0, 0, 64 << 20), invalid),
        (request(0, 0, 0, 0), invalid),
        (request(0, 0, 1, 512), invalid),
        (request(0, 4, 0, u32::MAX), invalid),
        (request(0, 4, SIZE - 512, 1024), no_space),
        (request(0, 6, u64::MAX - 511, 512), no_space),
        (request(0x80, 6, 0, 512), invalid),
        (request(0, 99, 0, 512), invalid),
    ] {
        assert_eq!(ask(&mut client, &bad), error, "{bad:?}");
    }
    let mut beyond = request(0, 1, SIZE, 512);
    beyond.extend([1; 512]);
    assert_eq!(ask(&mut client, &beyond), no_space);
    assert_eq!(served.server.take_log(), []);
    assert_eq!(ask(&mut client, &request(0, 3, 0, 0)), 0);
    assert_eq!(served.server.take_log(), [DeviceEvent::Flush]);
}

/// The old form of the handshake, with its padding.
#[test]
fn the_old_export_name_is_served() {
    let served = Served::start(&DeviceModel::NONE);
    let mut client = served.connect();
    let mut hello = [0; 18];
    client.read_exact(&mut hello).unwrap();
    client.write_all(&1_u32.to_be_bytes()).unwrap();
    client.write_all(&option(1, b"")).unwrap();
    let mut export = [0; 8 + 2 + 124];
    client.read_exact(&mut export).unwrap();
    assert_eq!(export[..8], SIZE.to_be_bytes());
    assert_eq!(ask(&mut client, &request(0, 3, 0, 0)), 0);
}

#[test]
fn clients_that_break_the_protocol_lose_their_connection_only() {
    let served = Served::start(&DeviceModel::NONE);
    let garbage: Vec<u8> = (0..100_000_u32)
        .map(|n| (n.wrapping_mul(n) >> 7) as u8)
        .collect();
    let mut huge = 3_u32.to_be_bytes().to_vec();
    huge.extend(b"IHAVEOPT");
    huge.extend([0, 0, 0, 7, 0xff, 0xff, 0xff, 0xff]);
    let mut no_magic = 3_u32.to_be_bytes().to_vec();
    no_magic.extend([0; 16]);
    for bytes in [&garbage[..], &huge, &no_magic, &0xffff_u32.to_be_bytes()] {
        let mut client = served.connect();
        // The server may close before it has read all.
        let _ = client.write_all(bytes);
        assert!(is_closed(&mut client));
        assert!(served.serves());
    }
    for bytes in [request(0, 1, 0, u32::MAX), garbage] {
        let mut client = served.connect();
        greet(&mut client);
        go(&mut client);
        let _ = client.write_all(&bytes);
        assert!(is_closed(&mut client));
        assert!(served.serves());
    }
}

/// Clients that vanish at any point of a session; and that a server which is dropped ends clients
/// that wait.
#[test]
fn clients_that_vanish_leave_the_server_as_it_was() {
    let served = Served::start(&DeviceModel::NONE);
    let mut session = 3_u32.to_be_bytes().to_vec();
    session.extend(option(7, &[0; 6]));
    session.extend(request(0, 1, 0, 4096));
    session.extend([7; 4096]);
    for length in (0..80).chain([100, 4000, session.len()]) {
        let mut client = served.connect();
        let _ = client.write_all(&session[..length.min(session.len())]);
    }
    // While too many of them are not noticed yet, further ones are refused.
    wait_until("there is room for a client", || {
        served.connect().read_exact(&mut [0; 18]).is_ok()
    });
    // One that asks for much and does not read it.
    let mut client = served.connect();
    greet(&mut client);
    go(&mut client);
    client.write_all(&request(0, 0, 0, SIZE as u32)).unwrap();
    drop(client);
    assert!(served.serves());
    let mut waits = served.connect();
    greet(&mut waits);
    go(&mut waits);
    let socket = served.socket();
    drop(served.server);
    assert!(is_closed(&mut waits));
    assert!(!socket.exists());
}
