//! [`write_photos`]: photos in a folder a year and month.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::plan::WORDS;
use super::{GpsPlace, PhotoSpec, PhotoTime, photo};
use crate::rng::SplitMix64;
use crate::text::{List, list};

/// Makers and models, `maker/model`.
static CAMERAS: LazyLock<List> = LazyLock::new(|| list(WORDS, "cameras"));

const SIDES: [(u16, u16); 4] = [(640, 480), (800, 600), (960, 540), (480, 640)];

/// A photo on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhotoFile {
    /// Path relative to the folder of all photos.
    pub path: PathBuf,
    /// Picture and EXIF fields.
    pub spec: PhotoSpec,
}

/// Writes `count` photos into `dir`, which is created if it is missing.
///
/// ```text
/// 2021/07/IMG_0001.jpg
/// undated/IMG_0002.jpg
/// ```
///
/// Nine in ten have a date, 60 % a place, most an orientation, half a thumbnail.
pub fn write_photos(dir: &Path, count: u32, seed: u64) -> io::Result<Vec<PhotoFile>> {
    fs::create_dir_all(dir)?;
    let mut files = Vec::new();
    for number in 0..count {
        let spec = plan(&mut SplitMix64::stream(seed, number.into()));
        let folder = match spec.taken {
            Some(taken) => format!("{:04}/{:02}", taken.year, taken.month),
            None => "undated".to_owned(),
        };
        fs::create_dir_all(dir.join(&folder))?;
        let path = Path::new(&folder).join(format!("IMG_{:04}.jpg", number + 1));
        fs::write(dir.join(&path), photo(&spec))?;
        files.push(PhotoFile { path, spec });
    }
    Ok(files)
}

fn plan(rng: &mut SplitMix64) -> PhotoSpec {
    let sides = SIDES[rng.below(SIDES.len() as u32) as usize];
    let camera = rng.pick(&CAMERAS);
    let (make, model) = camera.split_once('/').unwrap_or((camera, ""));
    PhotoSpec {
        seed: rng.next_u64(),
        width: sides.0,
        height: sides.1,
        taken: rng.chance(900).then(|| PhotoTime {
            year: 2005 + rng.below(20) as u16,
            month: 1 + rng.below(12) as u8,
            day: 1 + rng.below(28) as u8,
            hour: rng.below(24) as u8,
            minute: rng.below(60) as u8,
            second: rng.below(60) as u8,
            utc_offset: rng.chance(500).then(|| rng.below(49) as i16 * 30 - 720),
        }),
        orientation: rng.chance(900).then(|| 1 + rng.below(8) as u8),
        make: make.to_owned(),
        model: model.to_owned(),
        place: rng.chance(600).then(|| GpsPlace {
            latitude: rng.below(160_000_001) as i32 - 80_000_000,
            longitude: rng.below(360_000_000) as i32 - 180_000_000,
        }),
        thumbnail: rng.chance(500),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_photos() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let photos = write_photos(one.path(), 20, 4).unwrap();
        assert_eq!(photos, write_photos(two.path(), 20, 4).unwrap());
        assert!(photos.iter().any(|photo| photo.spec.place.is_some()));
        assert!(photos.iter().any(|photo| photo.spec.thumbnail));
        for file in &photos {
            let bytes = [&one, &two].map(|dir| fs::read(dir.path().join(&file.path)).unwrap());
            assert!(bytes[0] == bytes[1], "{}", file.path.display());
            assert!(nom_exif::read_exif(one.path().join(&file.path)).is_ok());
        }
    }
}
