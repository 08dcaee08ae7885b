//! wifair's medium and a scenario's traffic, inside user-mode Linux in virtual time.
//!
//! `wifair-guest air PLAN SEED` carries the frames of `mac80211_hwsim` over a [`wifair_wlan::Bss`]; with `shown` after it, the
//! result has what `iw` shows of the access point when the measurement begins and ends. `wifair-guest traffic PLAN
//! SEED WARMUP_S DURATION_S` opens the scenario's flows between network namespaces, and ends the measurement. Each prints one
//! line that begins with `RESULT`, and JSON.

mod air;
mod clock;
mod flows;
mod hwsim;
mod many;
mod netlink;
mod rates;
mod traffic;

use std::env;
use std::error::Error;
use std::process::ExitCode;

/// An error that ends the program.
type Fault = Box<dyn Error>;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["air", plan, seed] => air(plan, seed, false),
        ["air", plan, seed, "shown"] => air(plan, seed, true),
        ["traffic", plan, seed, warmup_s, duration_s] => traffic(plan, seed, warmup_s, duration_s),
        _ => Err(
            "usage: wifair-guest air PLAN SEED [shown] | wifair-guest traffic PLAN SEED WARMUP_S DURATION_S"
                .into(),
        ),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("wifair-guest: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn air(plan: &str, seed: &str, shows: bool) -> Result<(), Fault> {
    air::Air::new(&read(plan)?, seed.parse()?, shows)?.run()
}

fn traffic(plan: &str, seed: &str, warmup_s: &str, duration_s: &str) -> Result<(), Fault> {
    let flows = flows::read(&read(plan)?)?;
    traffic::Traffic::open(&flows, seed.parse()?)?.run(warmup_s.parse()?, duration_s.parse()?)
}

fn read(plan: &str) -> Result<serde_json::Value, Fault> {
    Ok(serde_json::from_str(&std::fs::read_to_string(plan).map_err(|error| format!("{plan}: {error}"))?)?)
}
