//! Exchanges from 802.11n on and stations of different generations in one BSS (`docs/medium.md`, sections 2.1 and 2.2): frames
//! by hand, in nanoseconds; what is refused, and what the error says.

use crate::support;

use support::{packet, packet_down, saturate};
use wifair_core::{StationId, Time};
use wifair_wlan::{
    BandKeys, Bss, BssSpec, Coding, ErpProtection, FrameKind, HeLtf, LinkKeys, PhySpec, ProtectionKeys,
    RateErrors, StationChange, StationSpec, eht, erp, he, ht, vht,
};

use FrameKind::{Ack, Cts, Data, Rts};

/// Kind, begin and end in ns, and rate in kbit/s.
type Frame = (FrameKind, u64, u64, u32);

/// The frames of the first exchange, of a packet of 1500 bytes that comes at time zero from a station, or to it.
fn first_exchange(spec: &BssSpec, station: u16, up: bool) -> Vec<Frame> {
    let mut bss = Bss::new(spec, 1).unwrap_or_else(|error| panic!("{error}"));
    if up {
        bss.send_up(StationId(station), &packet(station, 0, 1_500), Time::ZERO);
    } else {
        bss.send_down(StationId(station), &packet_down(station, 0, 1_500), Time::ZERO);
    }
    let mut frames = vec![];
    let mut log = |bss: &Bss| {
        bss.frames(|f| frames.push((f.kind, f.begins.as_ns(), f.ends.as_ns(), f.mode.rate.as_kbps())));
    };
    bss.advance_watched(Time::from_s(1), &mut log);
    frames
}

fn link(width_mhz: u16, streams: u8) -> LinkKeys {
    LinkKeys { width_mhz: Some(width_mhz), streams: Some(streams), ..LinkKeys::default() }
}

fn at(ghz: f64) -> BandKeys {
    BandKeys { band_ghz: Some(ghz), ..BandKeys::default() }
}

fn bss(phy: PhySpec, stations: Vec<StationSpec>) -> BssSpec {
    BssSpec { phy, ..BssSpec::new(stations) }
}

#[test]
fn an_exchange_of_802_11ax() {
    let spec = bss(
        PhySpec::He(he::Spec::default()),
        vec![StationSpec::with_mcs("near", 11), StationSpec::with_mcs("far", 0)],
    );
    // 1538 bytes at MCS 11: 43.2 µs of preamble, two symbols of 13.6; MAC ACK at 24 Mbps, 28 µs.
    let data = 43_200 + 27_200;
    let expected = [(Data, 0, data, 600_490), (Ack, data + 16_000, data + 44_000, 24_000)];
    assert_eq!(first_exchange(&spec, 0, true), expected);
    assert_eq!(first_exchange(&spec, 0, false), expected);
    // At MCS 0, LDPC: 12320 bits in 26 symbols of 490; MAC ACK at 6 Mbps, 44 µs.
    let data = 43_200 + 26 * 13_600;
    let expected = [(Data, 0, data, 36_029), (Ack, data + 16_000, data + 60_000, 6_000)];
    assert_eq!(first_exchange(&spec, 1, true), expected);
}

/// RTS and CTS go at the rate of the MAC ACK.
#[test]
fn rts_at_the_response_rate() {
    let mut spec = bss(PhySpec::Vht(vht::Spec::default()), vec![StationSpec::with_mcs("sta", 1)]);
    spec.mac.rts_threshold_bytes = Some(1_000);
    // At 12 Mbps: RTS 36 µs, CTS 32. VHT80 MCS 1: 12326 bits in 53 symbols of 234; preamble 40.
    let (rts, cts, data) = (36_000, 36_000 + 16_000 + 32_000, 36_000 + 16_000 + 32_000 + 16_000);
    let end = data + 40_000 + 212_000;
    let expected = [
        (Rts, 0, rts, 12_000),
        (Cts, rts + 16_000, cts, 12_000),
        (Data, data, end, 58_500),
        (Ack, end + 16_000, end + 48_000, 12_000),
    ];
    assert_eq!(first_exchange(&spec, 0, true), expected);
}

/// 802.11ax at 2.4 GHz with stations of 802.11n, g and b.
fn mixed() -> BssSpec {
    let older =
        |label: &str, phy| StationSpec { phy: Some(phy), rate_mbps: None, ..StationSpec::new(label, 0.0) };
    let stations = vec![
        StationSpec::with_mcs("ax", 7),
        StationSpec { mcs: Some(7), ..older("n", PhySpec::Ht(ht::Spec::default())) },
        older("g", PhySpec::Erp(erp::Spec::default())),
        older("b", PhySpec::default()),
    ];
    bss(PhySpec::He(he::Spec { band: at(2.4), ..he::Spec::default() }), stations)
}

#[test]
fn four_generations() {
    let spec = mixed();
    // A CTS-to-self at 1 Mbps, 304 µs, and a SIFS of 10 go before each frame but 802.11b's. PPDUs of OFDM end with 6 µs.
    let protected = |data: u64, kbps| {
        let end = 314_000 + data;
        vec![(Cts, 0, 304_000, 1_000), (Data, 314_000, end, kbps), (Ack, end + 10_000, end + 44_000, 24_000)]
    };
    // HE20 MCS 7, BCC: 12326 bits in 11 symbols of 1170.
    assert_eq!(first_exchange(&spec, 0, true), protected(43_200 + 11 * 13_600 + 6_000, 86_029));
    // HT20 MCS 7: 48 symbols of 260.
    assert_eq!(first_exchange(&spec, 1, false), protected(36_000 + 192_000 + 6_000, 65_000));
    // 54 Mbps: 12326 bits in 58 symbols of 216.
    assert_eq!(first_exchange(&spec, 2, true), protected(20_000 + 58 * 4_000 + 6_000, 54_000));
    // 11 Mbps: 192 µs and 12304 bits in 1119 µs; the MAC ACK at 1 Mbps.
    let alone = [(Data, 0, 1_311_000, 11_000), (Ack, 1_321_000, 1_625_000, 1_000)];
    assert_eq!(first_exchange(&spec, 3, true), alone);
    assert_eq!(first_exchange(&spec, 3, false), alone);

    let mut rts = mixed();
    let protection = ProtectionKeys { erp_protection: Some(ErpProtection::RtsCts), ..Default::default() };
    rts.phy = PhySpec::He(he::Spec { band: at(2.4), protection, ..he::Spec::default() });
    let kinds: Vec<FrameKind> = first_exchange(&rts, 0, true).into_iter().map(|(kind, ..)| kind).collect();
    assert_eq!(kinds, [Rts, Cts, Data, Ack]);
    assert_eq!(first_exchange(&rts, 3, true), alone);
}

/// What a saturated station alone gets: its payload in a DIFS, the mean backoff of 7.5 slots, frame, SIFS and MAC ACK.
#[test]
fn one_saturated_station_of_each_phy() {
    let phys = [
        (PhySpec::Ht(ht::Spec { link: link(40, 2), ..Default::default() }), 15, 16.0),
        (PhySpec::Ht(ht::Spec { band: at(2.4), ..Default::default() }), 0, 10.0),
        (PhySpec::Vht(vht::Spec::default()), 9, 16.0),
        (PhySpec::He(he::Spec { link: link(160, 2), ..Default::default() }), 11, 16.0),
        (PhySpec::Eht(eht::Spec { link: link(320, 2), band: at(6.0), ..Default::default() }), 13, 16.0),
    ];
    for (phy, mcs, sifs_us) in phys {
        let spec = bss(phy, vec![StationSpec::with_mcs("sta", mcs)]);
        let frames = first_exchange(&spec, 0, true);
        let exchange_us = (frames[1].2 - frames[0].1) as f64 / 1e3;
        let expected = 12_000.0 / (sifs_us + (2.0 + 7.5) * 9.0 + exchange_us);
        let got = saturate(&spec, 1, 200_000, 1_500).mbps();
        // The standard error of the mean of so many backoffs is less than 0.1 % of a turn.
        assert!((got / expected - 1.0).abs() < 0.004, "{}: {got} Mbps, {expected} expected", spec.phy.name());
    }
}

/// Key and text of the error.
fn refused(spec: BssSpec) -> (String, String) {
    let error = Bss::new(&spec, 1).err().expect("it is refused");
    let text = error.to_string();
    (error.key, text)
}

#[test]
fn what_is_impossible_is_refused_with_what_is_possible() {
    let one = || vec![StationSpec::with_mcs("sta", 0)];
    let ht = |link, band| bss(PhySpec::Ht(ht::Spec { link, band, ..Default::default() }), one());
    let vht = |link: LinkKeys, mcs| {
        bss(PhySpec::Vht(vht::Spec { link, ..Default::default() }), vec![StationSpec::with_mcs("sta", mcs)])
    };
    let he = |spec: he::Spec, mcs| bss(PhySpec::He(spec), vec![StationSpec::with_mcs("sta", mcs)]);
    let of_station = |change: &dyn Fn(&mut StationSpec)| {
        let mut spec = mixed();
        change(&mut spec.stations[1]);
        spec
    };
    let coding = |coding| LinkKeys { coding: Some(coding), ..link(80, 1) };
    let guard = |guard| LinkKeys { guard_interval_ns: Some(guard), ..LinkKeys::default() };
    let cases: Vec<(BssSpec, &str, &str)> = vec![
        (ht(link(80, 1), at(5.0)), "phy.width_mhz", "20 or 40 MHz with 802.11n at 5 GHz"),
        (ht(link(20, 5), at(5.0)), "phy.streams", "1 to 4 with 802.11n"),
        (ht(link(20, 1), at(6.0)), "phy.band_ghz", "2.4 or 5 with 802.11n"),
        (ht(guard(1_600), at(5.0)), "phy.guard_interval_ns", "400 or 800 ns"),
        (vht(link(20, 1), 9), "stations[0].mcs", "0, 1, 2, 3, 4, 5, 6, 7, 8 at 20 MHz with 1 stream"),
        (vht(link(80, 3), 6), "stations[0].mcs", "5, 7, 8, 9 at 80 MHz with 3 streams"),
        (vht(link(320, 1), 0), "phy.width_mhz", "20, 40, 80 or 160 MHz"),
        (
            he(he::Spec { link: link(80, 1), band: at(2.4), ..Default::default() }, 0),
            "phy.width_mhz",
            "20 or 40 MHz",
        ),
        (
            he(he::Spec { link: coding(Coding::Bcc), ..Default::default() }, 0),
            "phy.coding",
            "ldpc above 20 MHz",
        ),
        (
            he(he::Spec { he_ltf: Some(HeLtf::Whole), link: guard(1_600), ..Default::default() }, 0),
            "phy.he_ltf",
            "2x",
        ),
        (
            he(he::Spec { packet_extension_us: 20, ..Default::default() }, 0),
            "phy.packet_extension_us",
            "0, 8 or 16",
        ),
        (he(he::Spec::default(), 12), "stations[0].mcs", "11 at 80 MHz"),
        (of_station(&|s| s.streams = Some(2)), "stations[1].streams", "at most 1, the BSS's (phy.streams)"),
        (of_station(&|s| s.mcs = Some(8)), "stations[1].mcs", "at most 1 stream, the BSS's (phy.streams)"),
        (of_station(&|s| s.mcs_down = Some(8)), "stations[1].mcs_down", "7 at 20 MHz with 1 stream"),
        (of_station(&|s| s.rate_mbps = Some(54.0)), "stations[1].rate_mbps", "mcs chooses the mode"),
        (
            of_station(&|s| s.phy = Some(PhySpec::Vht(Default::default()))),
            "stations[1].phy",
            "802.11b, 802.11g, 802.11n or 802.11ax",
        ),
        (
            of_station(&|s| s.phy = Some(PhySpec::Eht(Default::default()))),
            "stations[1].phy",
            "in a BSS with 802.11ax at 2.4 GHz",
        ),
        (
            of_station(&|s| s.phy = Some(PhySpec::Erp(Default::default()))),
            "stations[1].mcs",
            "rate_mbps chooses",
        ),
        (
            of_station(&|s| {
                s.phy = Some(PhySpec::Ht(ht::Spec { band: at(2.4), ..Default::default() }));
            }),
            "stations[1].phy",
            "keys of a link alone",
        ),
        (
            of_station(&|s| s.frame_error_rate.by_rate.push(RateErrors::at_rate(6.0, 0.5))),
            "stations[1].frame_error_rate.by_rate[0].rate_mbps",
            "mcs chooses the mode",
        ),
    ];
    for (spec, key, allowed) in cases {
        let (at, text) = refused(spec);
        assert_eq!(at, key, "{text}");
        assert!(text.contains(allowed), "{text}");
    }
}

#[test]
fn an_mcs_may_change() {
    let mut bss = Bss::new(&mixed(), 1).unwrap();
    let change = |change: &dyn Fn(&mut StationChange)| {
        let mut new = StationChange::new("ax");
        change(&mut new);
        new
    };
    let ax = StationId(0);
    let slow = change(&|new| new.mcs = Some(0));
    bss.check_change(ax, &slow, "").unwrap();
    bss.change_station(ax, &slow, Time::ZERO);
    let rate = |bss: &Bss, direction| bss.link_rate(ax, direction).as_kbps();
    use wifair_queue::Direction::{Down, Up};
    assert_eq!([Up, Down].map(|direction| rate(&bss, direction)), [8_603, 8_603]);
    let fast_down = change(&|new| new.mcs_down = Some(11));
    bss.check_change(ax, &fast_down, "").unwrap();
    bss.change_station(ax, &fast_down, Time::ZERO);
    assert_eq!([Up, Down].map(|direction| rate(&bss, direction)), [8_603, 143_382]);
    let wrong = change(&|new| new.rate_mbps = Some(54.0));
    assert_eq!(bss.check_change(ax, &wrong, "event").unwrap_err().key, "event.rate_mbps");
}
