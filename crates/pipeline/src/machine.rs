//! The machine of a run: CPU, memory, kernel and disk, as far as the system reports them.
//!
//! Linux reports them in `/proc` and `/sys`. On other systems, fields without another source stay
//! empty: a record with an unknown CPU is better than a run that fails.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::usage;
use blockmill_platform::proc;

/// The CPU features that our code, or a peer's, takes another path for.
const FEATURES: [&str; 16] = [
    "aes",
    "avx2",
    "avx512bw",
    "avx512f",
    "avx512ifma",
    "avx512vbmi",
    "avx512vl",
    "bmi2",
    "gfni",
    "sha_ni",
    "vaes",
    "asimd",
    "sha2",
    "sha3",
    "sha512",
    "sve",
];

/// The machine of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Model name of the CPU; empty when not known.
    pub cpu: String,
    /// Cores that the process may use, which can be fewer than the machine has.
    pub cores: u32,
    /// Memory of the machine; 0 when not known.
    pub memory_bytes: u64,
    /// Name and release of the kernel.
    pub kernel: String,
    /// Those features of the CPU that decide which code runs.
    pub features: Vec<String>,
    /// The disk that was written to.
    pub disk: Option<Disk>,
}

impl Machine {
    /// Asks the system. The disk is not part of it: see [`Disk::holding`].
    pub fn detect() -> Self {
        let cpuinfo = proc::text("cpuinfo");
        Self {
            cpu: cpu_model(&cpuinfo),
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
            memory_bytes: proc::bytes(&proc::text("meminfo"), "MemTotal").unwrap_or(0),
            kernel: usage::kernel(),
            features: cpu_features(&cpuinfo),
            disk: None,
        }
    }
}

/// A disk, or whatever else holds the files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Disk {
    /// Device or source of the mount, such as `/dev/nvme0n1p2`.
    pub device: String,
    /// Type of the file system, such as `ext4`.
    pub filesystem: String,
    /// Model name of the device; empty when not known.
    pub model: String,
    /// Whether it is a spinning disk; `None` if unknown.
    pub rotational: Option<bool>,
}

impl Disk {
    /// The disk that holds `path`, which must exist; `None` if the system does not report it.
    pub fn holding(path: &Path) -> Option<Self> {
        let path = fs::canonicalize(path).ok()?;
        let mounts = proc::text("self/mountinfo");
        let mount = mount_of(&path, &mounts)?;
        // A partition has its queue in the folder of the disk above it.
        let block = PathBuf::from("/sys/dev/block").join(mount.number);
        let read = |name: &str| {
            let found = fs::read_to_string(block.join(name));
            found.or_else(|_| fs::read_to_string(block.join("..").join(name))).ok()
        };
        Some(Self {
            device: mount.source.to_owned(),
            filesystem: mount.filesystem.to_owned(),
            model: read("device/model").unwrap_or_default().trim().to_owned(),
            rotational: read("queue/rotational").map(|flag| flag.trim() == "1"),
        })
    }
}

/// The parts of a line of `/proc/self/mountinfo` that we use; see proc_pid_mountinfo(5).
struct Mount<'a> {
    /// Device number, `major:minor`.
    number: &'a str,
    filesystem: &'a str,
    source: &'a str,
}

/// The mount with the longest mount point that `path` lies under; the later one of two equals,
/// because it hides the earlier.
fn mount_of<'a>(path: &Path, mounts: &'a str) -> Option<Mount<'a>> {
    let mut best = (0, None);
    for line in mounts.lines() {
        let Some((before, after)) = line.split_once(" - ") else { continue };
        let (mut before, mut after) = (before.split(' '), after.split(' '));
        let (Some(number), Some(point)) = (before.nth(2), before.nth(1)) else { continue };
        let (Some(filesystem), Some(source)) = (after.next(), after.next()) else { continue };
        let depth = Path::new(point).components().count();
        if path.starts_with(point) && depth >= best.0 {
            best = (depth, Some(Mount { number, filesystem, source }));
        }
    }
    best.1
}

/// The value of the first line of `text` that reads `key : value`.
fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then_some(value.trim())
    })
}

/// The model name; ARM kernels give none, and a few boards name it in another line.
fn cpu_model(cpuinfo: &str) -> String {
    let named = ["model name", "Model", "Hardware"];
    named.iter().find_map(|key| value_of(cpuinfo, key)).unwrap_or_default().to_owned()
}

fn cpu_features(cpuinfo: &str) -> Vec<String> {
    let flags = value_of(cpuinfo, "flags").or_else(|| value_of(cpuinfo, "Features"));
    let has = |name: &str| flags.unwrap_or_default().split(' ').any(|flag| flag == name);
    FEATURES.iter().filter(|name| has(name)).map(|name| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPUINFO: &str = "processor\t: 0\nmodel name\t: Example CPU @ 2.0GHz\n\
                           flags\t\t: fpu aes avx2 avx512f xavx512vl\n\nprocessor\t: 1\n";

    #[test]
    fn reads_model_and_known_features() {
        assert_eq!(cpu_model(CPUINFO), "Example CPU @ 2.0GHz");
        assert_eq!(cpu_features(CPUINFO), ["aes", "avx2", "avx512f"]);
        assert_eq!(cpu_model("processor : 0\nFeatures : asimd"), "");
        assert_eq!(cpu_features("processor : 0\nFeatures : fp asimd sha3"), ["asimd", "sha3"]);
    }

    #[test]
    fn finds_the_innermost_and_latest_mount() {
        let mounts = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
                      2 1 8:2 / /data rw shared:1 - xfs /dev/sdb1 rw\n\
                      3 1 0:9 / /data rw - tmpfs tmpfs rw\n\
                      broken line\n";
        let found = |path: &str| mount_of(Path::new(path), mounts).map(|mount| mount.filesystem);
        assert_eq!(found("/data/x"), Some("tmpfs"));
        assert_eq!(found("/database"), Some("ext4"));
    }

    #[test]
    fn detects_this_machine() {
        let machine = Machine::detect();
        assert!(machine.cores >= 1);
        assert!(!machine.kernel.is_empty());
    }

    #[test]
    fn knows_no_disk_of_a_missing_path() {
        assert_eq!(Disk::holding(Path::new("/no/such/folder")), None);
    }
}
