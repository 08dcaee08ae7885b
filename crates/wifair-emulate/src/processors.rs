//! One processor for the engine, the others for the hosts' network stacks.
//!
//! A packet written to a TUN device is otherwise processed by the receiving TCP before the write returns, so that an A-MPDU of
//! a hundred packets reaches its host milliseconds late. Receive packet steering (Documentation/networking/scaling.rst of the
//! kernel) moves that work to other processors.

use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use nix::unistd::Pid;

/// See the module documentation.
pub struct Processors {
    engine: usize,
    hosts: Vec<usize>,
}

impl Processors {
    /// Divides the processors that this thread may use; `None` if there is one only. The engine keeps the one that it runs on,
    /// so that several emulations have different ones.
    pub fn divide() -> Option<Processors> {
        let allowed = sched_getaffinity(Pid::from_raw(0)).ok()?;
        let engine = sched_getcpu().ok()?;
        let hosts: Vec<usize> = (0..CpuSet::count())
            .filter(|cpu| *cpu != engine && allowed.is_set(*cpu).unwrap_or(false))
            .collect();
        (!hosts.is_empty()).then_some(Processors { engine, hosts })
    }

    /// The hosts' processors as the sysctl `net.core.rps_default_mask` has them: hexadecimal, 32 to a group.
    pub fn mask(&self) -> String {
        let mut groups = vec![0u32; self.hosts.iter().max().map_or(1, |last| last / 32 + 1)];
        for cpu in &self.hosts {
            groups[cpu / 32] |= 1 << (cpu % 32);
        }
        groups.iter().rev().map(|group| format!("{group:08x}")).collect::<Vec<_>>().join(",")
    }

    /// Keeps the calling thread on the engine's processor.
    pub fn keep(&self) -> nix::Result<()> {
        let mut set = CpuSet::new();
        set.set(self.engine)?;
        sched_setaffinity(Pid::from_raw(0), &set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_groups_of_32_the_highest_first() {
        let mask = |hosts: &[usize]| Processors { engine: 99, hosts: hosts.to_vec() }.mask();
        assert_eq!(mask(&[0]), "00000001");
        assert_eq!(mask(&[0, 1, 5]), "00000023");
        assert_eq!(mask(&[31, 33]), "00000002,80000000");
    }
}
