//! Reads and writes through `io_uring`, where the kernel permits it.

use std::fs::{File, OpenOptions};

use etui_lab_io::Error;
use etui_lab_io::uring::{AlignedBuffer, CompletionMode, UringQueue};

#[test]
fn reads_and_writes_the_requested_ranges() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let bytes: Vec<u8> = (0..64 * 4096_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    std::fs::write(&path, &bytes).unwrap();
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    for mode in [CompletionMode::Interrupts, CompletionMode::Spinning] {
        let mut ring = match UringQueue::new(4, mode) {
            Ok(ring) => ring,
            Err(Error::Unsupported { reason, .. }) => {
                eprintln!("skipped: {reason}");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let parts: Vec<(u64, usize)> = (0..64).rev().map(|n| (n * 4096, 4096)).collect();
        let mut buffer = AlignedBuffer::new(64 * 4096).unwrap();
        assert_eq!(
            ring.read(&file, &parts, &mut buffer).unwrap(),
            bytes.len() as u64
        );
        for (n, part) in buffer.bytes().chunks(4096).enumerate() {
            assert!(part == &bytes[(63 - n) * 4096..][..4096]);
        }
        // A read beyond the end returns 0 bytes; ranges larger than the buffer are refused.
        assert_eq!(
            ring.read(&file, &[(1 << 30, 4096)], &mut buffer).unwrap(),
            0
        );
        assert!(ring.read(&file, &[(0, 65 * 4096)], &mut buffer).is_err());
        buffer.bytes_mut().fill(9);
        assert_eq!(
            ring.write(&file, &[(8192, 4096), (0, 100)], &buffer, true)
                .unwrap(),
            4196
        );
        ring.sync_data(&file).unwrap();
        let now = std::fs::read(&path).unwrap();
        assert!(now[..100].iter().chain(&now[8192..12_288]).all(|b| *b == 9));
        assert!(now[100..8192] == bytes[100..8192] && now[12_288..] == bytes[12_288..]);
        std::fs::write(&path, &bytes).unwrap();
        let closed_for_writing = File::open(&path).unwrap();
        let refused = ring.write(&closed_for_writing, &[(0, 10)], &buffer, false);
        assert!(matches!(refused, Err(Error::Io { .. })));
    }
}
