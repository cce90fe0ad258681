//! Models of devices: [`DeviceModel`].

use std::time::Duration;

/// Costs of a device's requests. Requests are served one after the other; one takes its latency
/// and the transfer of its bytes.
///
/// Vendors publish random requests of 4 KiB a second and sequential bandwidth. A latency here is
/// the time of one such request less the transfer of 4 KiB. Where a vendor does not say how
/// many requests were in flight, this is a lower bound. Vendors do not publish the time of a
/// flush: these are assumptions, and [`source`](Self::source) says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceModel {
    /// The name, e.g. `emmc`.
    pub name: &'static str,
    /// Time of a read, without its transfer.
    pub read_latency: Duration,
    /// Time of a write into the device's cache, without its transfer.
    pub write_latency: Duration,
    /// Time of a flush of the device's cache. A write with forced unit access takes it, too.
    pub flush_latency: Duration,
    /// Bytes read a second; 0 is without limit.
    pub read_bandwidth: u64,
    /// Bytes written a second; 0 is without limit.
    pub write_bandwidth: u64,
    /// Sources of the figures, and which of them are assumptions.
    pub source: &'static str,
}

/// Counts of requests, for [`DeviceModel::time_of`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RequestCounts {
    pub reads: f64,
    pub read_bytes: f64,
    /// Writes with data.
    pub writes: f64,
    pub write_bytes: f64,
    pub flushes: f64,
}

const MB: u64 = 1_000_000;

impl DeviceModel {
    /// An eMMC 5.1 device of a telephone.
    pub const EMMC: Self = Self {
        name: "emmc",
        read_latency: Duration::from_micros(75),
        write_latency: Duration::from_micros(44),
        flush_latency: Duration::from_micros(3_000),
        read_bandwidth: 250 * MB,
        write_bandwidth: 125 * MB,
        source: "Samsung, announcement of 64 GB eMMC 5.1, February 2015: 250 MB/s read, 125 MB/s \
            written, 11,000 and 13,000 IOPS. The flush is an assumption: 39 inserts a second on \
            the telephone of Jeong et al. (USENIX ATC 2013), at some six flushes each, leave \
            some 4 ms for a flush and its writes",
    };

    /// A micro SD card of application performance class A1, at the minimum of its class.
    pub const SD_CARD: Self = Self {
        name: "sd-card",
        read_latency: Duration::from_micros(626),
        write_latency: Duration::from_micros(1_590),
        flush_latency: Duration::ZERO,
        read_bandwidth: 100 * MB,
        write_bandwidth: 10 * MB,
        source: "SD Association, SD specification 5.1, application performance class A1: at least \
            1,500 IOPS read, 500 IOPS and 10 MB/s written. Bandwidth of reads: Samsung, \
            announcement of 512 GB eUFS 3.0, February 2019, calls 2,100 MB/s twenty times a \
            typical microSD card's. That a flush costs nothing is an assumption: caches came with \
            class A2",
    };

    /// A UFS 3.0 device of a telephone.
    pub const UFS: Self = Self {
        name: "ufs",
        read_latency: Duration::from_micros(14),
        write_latency: Duration::from_micros(5),
        flush_latency: Duration::from_micros(1_000),
        read_bandwidth: 2_100 * MB,
        write_bandwidth: 410 * MB,
        source: "Samsung, announcement of 512 GB eUFS 3.0, February 2019: 2,100 MB/s read, 410 MB/s \
            written, 63,000 and 68,000 IOPS, probably with many requests in flight. The flush is \
            an assumption",
    };

    /// An NVMe drive of a personal computer, without power-loss protection.
    pub const NVME: Self = Self {
        name: "nvme",
        read_latency: Duration::from_micros(66),
        write_latency: Duration::from_micros(17),
        flush_latency: Duration::from_micros(1_000),
        read_bandwidth: 3_400 * MB,
        write_bandwidth: 1_500 * MB,
        source: "Samsung, data sheet of the SSD 970 EVO, 250 GB, 2018: 3,400 MB/s read, 1,500 MB/s \
            written, 15,000 and 50,000 IOPS with one request in flight. The flush is an \
            assumption: M. Callaghan (SSDs, power loss protection and fsync latency, 2026) \
            measured milliseconds on drives of this kind",
    };

    /// No delays: for counting and recording.
    pub const NONE: Self = Self {
        name: "none",
        read_latency: Duration::ZERO,
        write_latency: Duration::ZERO,
        flush_latency: Duration::ZERO,
        read_bandwidth: 0,
        write_bandwidth: 0,
        source: "no delays",
    };

    pub const ALL: [Self; 5] = [Self::EMMC, Self::SD_CARD, Self::UFS, Self::NVME, Self::NONE];

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|model| model.name == name)
    }

    /// Returns the nanoseconds that counted requests take, one after the other. Counts may be means.
    pub fn time_of(&self, counts: &RequestCounts) -> f64 {
        let nanoseconds = |time: Duration| time.as_nanos() as f64;
        let transfer = |bytes: f64, bandwidth: u64| match bandwidth {
            0 => 0.0,
            bandwidth => bytes * 1e9 / bandwidth as f64,
        };
        counts.reads * nanoseconds(self.read_latency)
            + transfer(counts.read_bytes, self.read_bandwidth)
            + counts.writes * nanoseconds(self.write_latency)
            + transfer(counts.write_bytes, self.write_bandwidth)
            + counts.flushes * nanoseconds(self.flush_latency)
    }

    pub fn read_time(&self, bytes: u64) -> Duration {
        self.read_latency
            .saturating_add(transfer_time(bytes, self.read_bandwidth))
    }

    pub fn write_time(&self, bytes: u64, force_unit_access: bool) -> Duration {
        let flush = if force_unit_access {
            self.flush_latency
        } else {
            Duration::ZERO
        };
        self.write_latency
            .saturating_add(transfer_time(bytes, self.write_bandwidth))
            .saturating_add(flush)
    }
}

fn transfer_time(bytes: u64, bandwidth: u64) -> Duration {
    let nanoseconds = u128::from(bytes)
        .saturating_mul(1_000_000_000)
        .checked_div(u128::from(bandwidth))
        .unwrap_or(0);
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_take_the_sum_of_their_times() {
        let counts = RequestCounts {
            reads: 2.0,
            read_bytes: 8_192.0,
            writes: 3.0,
            write_bytes: 12_288.0,
            flushes: 4.0,
        };
        for model in DeviceModel::ALL {
            let each = model.read_time(4_096) * 2
                + model.write_time(4_096, false) * 3
                + model.flush_latency * 4;
            let difference = model.time_of(&counts) - each.as_nanos() as f64;
            assert!(difference.abs() < 5.0, "{}: {difference}", model.name);
        }
    }

    /// A request of 4 KiB takes as long as the published number of requests a second says.
    #[test]
    fn latencies_agree_with_the_published_requests_a_second() {
        for (model, read, write) in [
            (DeviceModel::EMMC, 11_000.0, 13_000.0),
            (DeviceModel::SD_CARD, 1_500.0, 500.0),
            (DeviceModel::UFS, 63_000.0, 68_000.0),
            (DeviceModel::NVME, 15_000.0, 50_000.0),
        ] {
            let reads = 1.0 / model.read_time(4096).as_secs_f64();
            let writes = 1.0 / model.write_time(4096, false).as_secs_f64();
            assert!((reads / read - 1.0).abs() < 0.03, "{}: {reads}", model.name);
            assert!(
                (writes / write - 1.0).abs() < 0.03,
                "{}: {writes}",
                model.name
            );
            assert_eq!(DeviceModel::by_name(model.name), Some(model));
        }
        assert_eq!(DeviceModel::NONE.write_time(u64::MAX, true), Duration::ZERO);
    }
}
