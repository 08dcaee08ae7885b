//! What a field writes in its journal.

use super::Field;
use super::frame::FieldFrame;
use super::journal::{FieldReception, HeardFrame};
use super::subchannels::OperatingChannel;

/// Writes the start of a frame in the journal of a field, or its end with what has become of it and who has `heard` it.
#[cold]
#[inline(never)]
pub(super) fn note(
    field: &Field,
    frame: &FieldFrame,
    reception: Option<FieldReception>,
    heard: Vec<HeardFrame>,
) {
    let Some(journal) = &field.journal else { return };
    let of_bss = |channels: &Vec<OperatingChannel>| channels[field.bss_of[frame.from]].puncturing(frame.mask);
    journal.add(frame, field.channels.as_ref().map_or(0, of_bss), reception, heard);
}
