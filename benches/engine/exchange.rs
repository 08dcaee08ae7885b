//! Time per frame exchange, whole simulator, all scalars recorded, and the fixed reference loop that it is stated
//! against: machines differ and have moods, the ratio of two loops timed in one run does so much less.

#[path = "../../crates/wifair-sim/tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use wifair_sim::{Plan, Progress, run};

fn exchanges(plan: &Plan) -> u64 {
    let progress = Progress { cancelled: &AtomicBool::new(false), simulated_ms: &AtomicU64::new(0) };
    run(plan, 1, &progress).expect("a valid plan").expect("nobody cancels").run.exchanges
}

/// A thousand dependent steps of a generator, each with a table look-up in 64 KiB: arithmetic and the first two levels
/// of cache, as in an event loop.
fn reference_loop(table: &mut [u32]) -> u64 {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut sum = 0;
    for _ in 0..1000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let bss = &mut table[(state >> 50) as usize];
        *bss = bss.wrapping_add(state as u32);
        sum += u64::from(*bss);
    }
    sum
}

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("exchange");
    group.sample_size(10);
    group.throughput(Throughput::Elements(1000));
    let mut table = vec![0; 1 << 14];
    group.bench_function("reference-loop-step", |bencher| {
        bencher.iter(|| reference_loop(black_box(&mut table)));
    });
    for scheme in ["droptail", "ack-filtering", "spm-af", "ack-pushout", "adaptive-pushout"] {
        let plan = common::plan(&common::symmetric(10, 10, scheme, 0.0, 100.0));
        group.throughput(Throughput::Elements(exchanges(&plan)));
        group.bench_function(BenchmarkId::new(scheme, "10+10"), |bencher| {
            bencher.iter(|| exchanges(black_box(&plan)));
        });
    }
    for flows in [2, 100, 500] {
        let plan = common::plan(&common::symmetric(flows, flows, "droptail", 0.0, 100.0));
        group.throughput(Throughput::Elements(exchanges(&plan)));
        group.bench_function(BenchmarkId::new("droptail", format!("{flows}+{flows}")), |bencher| {
            bencher.iter(|| exchanges(black_box(&plan)));
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
