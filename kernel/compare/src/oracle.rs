// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's functions in a process of their own, asked line by line (`oracle.c`).

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use wifair_queue::PoliceAction;
use wifair_wlan::{Format, Mode};

/// The kernel's queues in a process.
pub struct Kernel {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// What an operation did: connections of dropped packets, and the packets that left: whether marked, to which station, and the
/// airtime in µs that is pending from then on; what becomes of a packet from a station.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Effect {
    pub dropped: Vec<u32>,
    pub left: Vec<(u32, bool, u16, u32)>,
    pub policed: Option<PoliceAction>,
}

impl Kernel {
    /// `limits`: queues, packets, bytes of memory. `switches`: airtime queue limits, air-share.
    pub fn start(oracle: &str, limits: [u32; 3], switches: [bool; 2]) -> Kernel {
        let ([queues, packets, bytes], [aql, air_share]) = (limits, switches.map(u32::from));
        Kernel::start_with(
            oracle,
            &[queues, packets, bytes, aql, air_share].map(|argument| argument.to_string()),
        )
    }

    /// Another of the kernel's programs.
    pub fn start_with(oracle: &str, arguments: &[String]) -> Kernel {
        let mut child = Command::new(oracle)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{oracle}: {error}"));
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Kernel { child, input, output }
    }

    pub fn ask(&mut self, line: &str) -> String {
        writeln!(self.input, "{line}").expect("the oracle takes the operation");
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        assert!(answer.ends_with('\n'), "the oracle has ended at: {line}");
        answer
    }

    pub fn effect(&mut self, line: &str) -> Effect {
        let answer = self.ask(line);
        let mut words = answer.split_whitespace();
        let mut effect = Effect::default();
        while let Some(kind) = words.next() {
            let mut number = || words.next().unwrap().parse::<u32>().unwrap();
            match kind {
                "x" => effect.dropped.push(number()),
                "f" => effect.policed = Some(PoliceAction::Forward),
                "m" => effect.policed = Some(PoliceAction::Mark),
                "d" => effect.policed = Some(PoliceAction::Drop),
                "o" => effect.left.push((number(), number() & 3 == 3, number() as u16, number())),
                _ => panic!("unknown answer {answer}"),
            }
        }
        effect
    }

    /// Tells the kernel's side a station's mode.
    pub fn set_mode(&mut self, station: usize, mode: &Mode) {
        let Mode { format, mcs, streams, width_mhz, guard_interval_ns, .. } = *mode;
        let format = format as u8 - Format::Ht as u8;
        self.effect(&format!("m 0 {station} {format} {mcs} {streams} {width_mhz} {guard_interval_ns}"));
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
