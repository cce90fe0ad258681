use super::*;
use crate::make_thumbnails;

const MTIME: i64 = 1_700_000_000;

/// A JPEG of 128 pixels.
fn jpeg() -> Vec<u8> {
    let mut jpeg = Vec::new();
    let pixels = [200, 30, 30].repeat(400 * 300);
    let encoder = jpeg_encoder::Encoder::new(&mut jpeg, 90);
    encoder
        .encode(&pixels, 400, 300, jpeg_encoder::ColorType::Rgb)
        .unwrap();
    make_thumbnails(&jpeg).unwrap().small
}

fn desktop() -> (tempfile::TempDir, DesktopThumbnails) {
    let dir = tempfile::tempdir().unwrap();
    let desktop = DesktopThumbnails::new(dir.path().join("thumbnails"));
    (dir, desktop)
}

#[test]
fn a_written_thumbnail_is_valid_until_the_file_changes() {
    let (dir, desktop) = desktop();
    let file = Path::new("/photos/a b.jpg");
    assert_eq!(desktop.find(file, MTIME, DesktopSize::Normal), None);
    desktop
        .write(file, MTIME, DesktopSize::Normal, &jpeg())
        .unwrap();
    let found = desktop.find(file, MTIME, DesktopSize::Normal).unwrap();
    assert_eq!(found.size, DesktopSize::Normal);
    let made = found.to_thumbnails((4000, 3000)).unwrap();
    assert_eq!((made.width, made.height), (4000, 3000));
    assert_eq!(crate::jpeg_size(&made.large), Some((128, 96)));
    // Another time, size or file.
    assert_eq!(desktop.find(file, MTIME + 1, DesktopSize::Normal), None);
    assert_eq!(desktop.find(file, MTIME, DesktopSize::Large), None);
    let other = Path::new("/photos/b.jpg");
    std::fs::rename(
        desktop.path(file, DesktopSize::Normal),
        desktop.path(other, DesktopSize::Normal),
    )
    .unwrap();
    assert_eq!(desktop.find(other, MTIME, DesktopSize::Normal), None);
    // Only its owner reads them, and nothing else is left.
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = dir.path().join("thumbnails/normal");
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&desktop.path(other, DesktopSize::Normal)), 0o600);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn a_damaged_thumbnail_is_none() {
    let (_dir, desktop) = desktop();
    let file = Path::new("/photos/a.jpg");
    desktop
        .write(file, MTIME, DesktopSize::Large, &jpeg())
        .unwrap();
    let path = desktop.path(file, DesktopSize::Large);
    let whole = std::fs::read(&path).unwrap();
    for bad in [
        Vec::new(),
        b"no picture".to_vec(),
        whole[..40].to_vec(),
        vec![0xff; 5 << 20],
    ] {
        std::fs::write(&path, bad).unwrap();
        assert_eq!(desktop.read(file, MTIME, DesktopSize::Large), None);
    }
    // The header is whole, the pixels are not.
    std::fs::write(&path, &whole[..whole.len() - 30]).unwrap();
    if let Some(found) = desktop.read(file, MTIME, DesktopSize::Large) {
        assert!(found.to_thumbnails((400, 300)).is_err());
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert_eq!(desktop.read(file, MTIME, DesktopSize::Large), None);
    let written = desktop.write(file, MTIME, DesktopSize::Large, &jpeg());
    assert!(matches!(written, Err(Unreadable::Io(_))), "{written:?}");
}

#[test]
fn a_file_that_cannot_be_read_is_marked_until_it_changes() {
    let (_dir, desktop) = desktop();
    let file = Path::new("/photos/bad.jpg");
    assert!(!desktop.has_failed(file, MTIME));
    desktop.write_failure(file, MTIME).unwrap();
    assert!(desktop.has_failed(file, MTIME));
    assert!(!desktop.has_failed(file, MTIME + 1));
    assert_eq!(desktop.find(file, MTIME, DesktopSize::Normal), None);
}

#[test]
fn a_thumbnail_that_is_too_large_or_of_a_thumbnail_is_refused() {
    let (dir, desktop) = desktop();
    let mut large = Vec::new();
    let pixels = [9, 9, 9].repeat(200 * 10);
    let encoder = jpeg_encoder::Encoder::new(&mut large, 90);
    encoder
        .encode(&pixels, 200, 10, jpeg_encoder::ColorType::Rgb)
        .unwrap();
    let file = Path::new("/a.jpg");
    let written = desktop.write(file, MTIME, DesktopSize::Normal, &large);
    assert!(matches!(written, Err(Unreadable::TooManyPixels { .. })));
    desktop
        .write(file, MTIME, DesktopSize::Large, &large)
        .unwrap();
    let inside = dir.path().join("thumbnails/large/x.png");
    let written = desktop.write(&inside, MTIME, DesktopSize::Large, &large);
    assert!(matches!(written, Err(Unreadable::Io(_))));
}
