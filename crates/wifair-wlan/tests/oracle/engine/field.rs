//! The table `[field]` as the engine reads it.

use crate::oracle::field::powers::Keys;
use crate::oracle::frame::NodeId;
use crate::oracle::scenario::Scenario;
use wifair_wlan::{ApSpec, BssSpec, ChannelSpec, EifsAfter, FieldSpec, PairGain, StationSpec};

pub fn in_field(spec: BssSpec, keys: &Keys) -> BssSpec {
    let names = |&a: &NodeId, &b: &NodeId| [Scenario::label(a), Scenario::label(b)];
    let field = FieldSpec {
        gain_db: keys.gain_db,
        gains: keys
            .gains
            .iter()
            .map(|(a, b, gain_db)| PairGain { between: names(a, b), gain_db: *gain_db })
            .collect(),
        hidden: keys.hidden.iter().map(|(a, b)| names(a, b)).collect(),
        floor_dbm: keys.floor_dbm,
        preamble_detection_dbm: keys.preamble_detection_dbm,
        energy_detection_dbm: keys.energy_detection_dbm,
        eifs_after: if keys.eifs_after_energy { EifsAfter::Energy } else { EifsAfter::Error },
    };
    let station = |(index, station): (usize, StationSpec)| StationSpec {
        tx_power_dbm: keys.own_tx_power_dbm[index + 1],
        position_m: keys.positions_m[index + 1],
        ..station
    };
    BssSpec {
        field: Some(field),
        channel: ChannelSpec {
            tx_power_dbm: keys.tx_power_dbm,
            path_loss_exponent: keys.path_loss_exponent,
            reference_loss_db: keys.reference_loss_db,
            noise_dbm: keys.noise_dbm,
            ..spec.channel
        },
        ap: ApSpec {
            tx_power_dbm: keys.own_tx_power_dbm[0],
            position_m: keys.positions_m[0].expect("the access point has a place"),
            ..spec.ap
        },
        stations: spec.stations.into_iter().enumerate().map(station).collect(),
        ..spec
    }
}
