//! A capture file: pcapng, one interface, timestamps in simulated nanoseconds.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use wifair_core::Time;

use super::error::TraceError;

const BUFFER_BYTES: usize = 1 << 18;
/// Timestamps count nanoseconds.
const RESOLUTION: u8 = 9;

/// Link type of an interface.
#[derive(Clone, Copy)]
pub(super) enum LinkType {
    Ethernet,
    Radio,
}

pub(super) struct Capture {
    path: PathBuf,
    writer: PcapNgWriter<BufWriter<File>>,
}

impl Capture {
    /// Creates the file `name`.pcapng in `folder`, for the interface of that name.
    pub fn create(folder: &Path, name: &str, link: LinkType, seed: u64) -> Result<Capture, TraceError> {
        let path = folder.join(format!("{name}.pcapng"));
        let failed = |error| TraceError::at(&path, error);
        let file = File::create(&path).map_err(failed)?;
        let section = SectionHeaderBlock {
            endianness: Endianness::Little, // the same bytes on every machine
            options: vec![
                SectionHeaderOption::UserApplication(Cow::Borrowed(concat!(
                    "wifair ",
                    env!("CARGO_PKG_VERSION")
                ))),
                SectionHeaderOption::Comment(Cow::Owned(format!(
                    "seed {seed}; time 0 is the start of the run"
                ))),
            ],
            ..SectionHeaderBlock::default()
        };
        let interface = InterfaceDescriptionBlock {
            linktype: match link {
                LinkType::Ethernet => DataLink::ETHERNET,
                LinkType::Radio => DataLink::IEEE802_11_RADIOTAP,
            },
            snaplen: 0,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
                InterfaceDescriptionOption::IfTsResol(RESOLUTION),
            ],
        };
        let buffered = BufWriter::with_capacity(BUFFER_BYTES, file);
        let started = PcapNgWriter::with_section_header(buffered, section).and_then(|mut writer| {
            writer.write_pcapng_block(interface)?;
            Ok(writer)
        });
        match started {
            Ok(writer) => Ok(Capture { path, writer }),
            Err(error) => Err(TraceError::at(&path, io_error(error))),
        }
    }

    /// Adds a packet captured at `at`: `bytes`, of `length` bytes in total.
    pub fn add(&mut self, at: Time, bytes: &[u8], length: usize) -> Result<(), TraceError> {
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(at.as_ns()),
            original_len: length as u32,
            data: Cow::Borrowed(bytes),
            options: vec![],
        };
        match self.writer.write_pcapng_block(block) {
            Ok(_) => Ok(()),
            Err(error) => Err(TraceError::at(&self.path, io_error(error))),
        }
    }

    /// Flushes everything to disk.
    pub fn finish(&mut self) -> Result<(), TraceError> {
        self.writer.get_mut().flush().map_err(|error| TraceError::at(&self.path, error))
    }
}

fn io_error(error: PcapError) -> std::io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => std::io::Error::other(other),
    }
}
