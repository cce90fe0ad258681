//! How each file system is made. Sizes and options are fixed: values that the tools choose by
//! themselves depends on their version and on the size, and changes the counts.

/// A file system that is made empty on a loop device.
#[derive(Debug, Clone)]
pub struct MountRecipe {
    /// The kernel's name.
    pub file_system: &'static str,
    /// The `mkfs` command.
    pub tool: &'static str,
    /// The tool's options, apart by blanks.
    pub make: &'static str,
    /// The options it is mounted with, besides `noatime`.
    pub mount: &'static str,
    /// The image's size in bytes; the file is sparse.
    pub size: u64,
    /// Whether the journal is on a second device.
    pub external_journal: bool,
}

/// A read-only file system.
#[derive(Debug, Clone)]
pub struct PackedImage {
    /// The kernel's name.
    pub file_system: &'static str,
    /// The packing command.
    pub tool: &'static str,
    /// The tool's options, apart by blanks, after image and directory.
    pub options: &'static str,
    /// Whether the tool wants the image before the directory.
    pub image_first: bool,
    /// How the contents are compressed.
    pub compression: &'static str,
}

const SIZE: u64 = 1 << 30;

/// The recipe of a stack, if it is one that is made empty.
pub fn find_recipe(stack: &str) -> Option<MountRecipe> {
    let recipe = |file_system, tool, make, mount| MountRecipe {
        file_system,
        tool,
        make,
        mount,
        size: SIZE,
        external_journal: false,
    };
    // ext4: tables and journal are written at once; the kernel would do it later, amid the
    // counting. btrfs: metadata once, as on flash; twice (dup) doubles its writes. Nowhere are
    // blocks discarded, neither when made nor when freed.
    Some(match stack {
        "ext4" => recipe(
            "ext4",
            "mkfs.ext4",
            "-q -F -b 4096 -I 256 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard -J size=32",
            "data=ordered,nodiscard",
        ),
        "ext4-journal" => MountRecipe {
            external_journal: true,
            ..recipe(
                "ext4",
                "mkfs.ext4",
                "-q -F -b 4096 -I 256 -E lazy_itable_init=0,nodiscard",
                "data=ordered,nodiscard",
            )
        },
        "xfs" => recipe(
            "xfs",
            "mkfs.xfs",
            "-q -f -K -b size=4096 -s size=512 -l size=64m",
            "nodiscard",
        ),
        "btrfs" => recipe(
            "btrfs",
            "mkfs.btrfs",
            "-q -f -K -s 4096 -n 16384 -d single -m single",
            "nodiscard",
        ),
        "vfat" => recipe("vfat", "mkfs.vfat", "-F 32 -S 512 -s 8", ""),
        "exfat" => recipe("exfat", "mkfs.exfat", "-c 4K", ""),
        _ => return None,
    })
}

/// The recipe of a stack, if it is one that is packed.
pub fn find_packing(stack: &str) -> Option<PackedImage> {
    let squashfs = |options, compression| PackedImage {
        file_system: "squashfs",
        tool: "mksquashfs",
        options,
        image_first: false,
        compression,
    };
    Some(match stack {
        "squashfs" => squashfs(
            "-noappend -quiet -no-progress -comp gzip -b 131072",
            "gzip, blocks of 128 KiB",
        ),
        "squashfs-uncompressed" => squashfs(
            "-noappend -quiet -no-progress -b 131072 -noI -noD -noF -noX",
            "none, blocks of 128 KiB",
        ),
        "erofs" => PackedImage {
            file_system: "erofs",
            tool: "mkfs.erofs",
            options: "-d0",
            image_first: true,
            compression: "none",
        },
        _ => return None,
    })
}
