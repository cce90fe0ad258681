//! How each file system is made. Sizes and options are fixed: values that the tools choose by
//! themselves depend on their version and on the size, and change the counts.

/// The stack whose journal is on a second device.
pub const EXTERNAL_JOURNAL: &str = "ext4-journal";

/// The size of an empty file system in bytes; its image is sparse.
pub const SIZE: u64 = 1 << 30;

/// A file system on a loop device.
#[derive(Debug, Clone, Copy)]
pub struct StackRecipe {
    /// The kernel's name.
    pub file_system: &'static str,
    /// The command that makes it.
    pub tool: &'static str,
    /// The tool's options, apart by blanks.
    pub options: &'static str,
    pub filling: Filling,
}

/// How a file system is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filling {
    /// Made empty, and mounted with these options besides `noatime`.
    Empty(&'static str),
    /// Packed from a directory with this compression, and read-only.
    Packed(&'static str),
}

/// Stack, command and filling.
///
/// ext4: tables and journal are written at once; the kernel would do it later, amid the counting.
/// btrfs: metadata once, as on flash; twice (dup) doubles its writes. Nowhere are blocks
/// discarded, neither when made nor when freed.
const RECIPES: [(&str, &str, Filling); 11] = [
    (
        "ext4",
        "mkfs.ext4 -q -F -b 4096 -I 256 \
         -E lazy_itable_init=0,lazy_journal_init=0,nodiscard -J size=32",
        Filling::Empty("data=ordered,nodiscard"),
    ),
    (
        EXTERNAL_JOURNAL,
        "mkfs.ext4 -q -F -b 4096 -I 256 -E lazy_itable_init=0,nodiscard",
        Filling::Empty("data=ordered,nodiscard"),
    ),
    (
        "xfs",
        "mkfs.xfs -q -f -K -b size=4096 -s size=512 -l size=64m",
        Filling::Empty("nodiscard"),
    ),
    (
        "btrfs",
        "mkfs.btrfs -q -f -K -s 4096 -n 16384 -d single -m single",
        Filling::Empty("nodiscard"),
    ),
    ("f2fs", "mkfs.f2fs -q -f -t 0", Filling::Empty("nodiscard")),
    (
        "nilfs2",
        "mkfs.nilfs2 -q -f -K -b 4096",
        Filling::Empty("nodiscard"),
    ),
    ("vfat", "mkfs.vfat -F 32 -S 512 -s 8", Filling::Empty("")),
    ("exfat", "mkfs.exfat -c 4K", Filling::Empty("")),
    (
        "squashfs",
        "mksquashfs -noappend -quiet -no-progress -comp gzip -b 131072",
        Filling::Packed("gzip, blocks of 131,072 bytes"),
    ),
    (
        "squashfs-uncompressed",
        "mksquashfs -noappend -quiet -no-progress -b 131072 -noI -noD -noF -noX",
        Filling::Packed("none, blocks of 131,072 bytes"),
    ),
    ("erofs", "mkfs.erofs -d0", Filling::Packed("none")),
];

/// Returns the recipe of a stack on a loop device.
pub fn find_recipe(stack: &str) -> Option<StackRecipe> {
    let (name, command, filling) = RECIPES.iter().find(|(name, ..)| *name == stack)?;
    let (tool, options) = command.split_once(' ')?;
    Some(StackRecipe {
        file_system: name.split('-').next()?,
        tool,
        options,
        filling: *filling,
    })
}
