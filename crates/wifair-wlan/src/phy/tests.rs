use wifair_core::Time;

use super::timing::{BssTiming, ControlFrames};
use super::*;

fn timing(spec: &PhySpec) -> BssTiming {
    BssTiming::new(spec, "phy").unwrap()
}

fn modes(spec: &PhySpec) -> Modes {
    spec.modes(&StationPhy::default(), "phy").unwrap()
}

/// MAC ACK, RTS and CTS of the first set of control frames, and aRxPHYStartDelay of the MAC ACK.
fn control(spec: &PhySpec) -> [Time; 4] {
    let ControlFrames { ack, rts, cts, .. } = timing(spec).control_frames[0];
    [ack.duration, rts.duration, cts.duration, ack.start_delay]
}

fn b(preamble: Preamble, bss: BssKeys) -> PhySpec {
    PhySpec::Dsss(dsss::Spec { preamble, bss, ..Default::default() })
}

fn a() -> PhySpec {
    PhySpec::Ofdm(Default::default())
}

fn g(spec: erp::Spec) -> PhySpec {
    PhySpec::Erp(spec)
}

/// Microseconds of a data frame with 1500 bytes of IP.
fn data(spec: &PhySpec, mbps: f64) -> u64 {
    let timing = timing(spec);
    let modes = modes(spec).map(|on_air| timing.in_bss(on_air, u32::MAX));
    modes.on_air(modes.rate_index(mbps, "rate").unwrap()).duration(timing.psdu_bytes(1_500)).as_ns() / 1_000
}

#[test]
fn dsss_by_hand() {
    let spec = PhySpec::default();
    let long = timing(&spec);
    assert!(modes(&spec).iter().all(|on_air| on_air.mode.guard_interval_ns == 0));
    // 1536 bytes: 12288, 6144, 2234.2 and 1117.1 µs after 192 µs.
    assert_eq!([1.0, 2.0, 5.5, 11.0].map(|mbps| data(&spec, mbps)), [12_480, 6_336, 2_427, 1_310]);
    let us = Time::from_us;
    assert_eq!((long.slot, long.sifs, long.difs), (us(20), us(10), us(50)));
    assert_eq!(control(&spec), [304, 352, 304, 192].map(us));
    assert_eq!((long.slowest_ack, long.cw_min, long.cw_max), (us(304), 31, 1_023));

    let spec = b(Preamble::Short, BssKeys::default());
    assert_eq!((data(&spec, 11.0), control(&spec)), (1_214, [208, 256, 208, 96].map(us)));

    let table_one = b(Preamble::Long, BssKeys { mac_header_bytes: Some(30), ..Default::default() });
    assert_eq!(data(&table_one, 11.0), 192 + 1_122); // 12336 bits: 1121.45 µs
    let ccmp = b(Preamble::Long, BssKeys { ccmp: true, ..Default::default() });
    assert_eq!(data(&ccmp, 11.0), 192 + 1_129); // 12416 bits: 1128.7 µs

    let spec = b(Preamble::Long, BssKeys { control_rate_mbps: Some(2.0), ..Default::default() });
    assert_eq!((control(&spec)[0], timing(&spec).slowest_ack), (us(248), us(304)));
}

#[test]
fn ofdm_by_hand() {
    let us = Time::from_us;
    // 1536 bytes are 12310 bits with SERVICE and tail: 57 symbols at 54 Mbps, 513 at 6 Mbps.
    assert_eq!((data(&a(), 54.0), data(&a(), 6.0)), (20 + 228, 20 + 2_052));
    let at_5_ghz = timing(&a());
    assert_eq!((at_5_ghz.slot, at_5_ghz.sifs, at_5_ghz.difs, at_5_ghz.cw_min), (us(9), us(16), us(34), 15));
    assert_eq!(control(&a()), [20 + 24, 20 + 32, 20 + 24, 20].map(us));
    assert!(modes(&a()).iter().all(|on_air| on_air.mode.guard_interval_ns == 800));

    let bss = BssKeys { control_rate_mbps: Some(24.0), ..Default::default() };
    let spec = g(erp::Spec { bss, ..Default::default() });
    let erp = timing(&spec);
    assert_eq!((data(&spec, 54.0), control(&spec)[0], erp.slowest_ack), (254, us(34), us(50)));
    assert_eq!((erp.slot, erp.sifs, erp.difs), (us(9), us(10), us(28)));

    let long_slot = timing(&g(erp::Spec { short_slot: false, ..Default::default() }));
    assert_eq!((long_slot.slot, long_slot.difs), (us(20), us(50)));
    let bare = g(erp::Spec { signal_extension_us: Some(0.0), ..Default::default() });
    assert_eq!(data(&bare, 54.0), 248);
}

#[test]
fn protection_by_hand() {
    let us = Time::from_us;
    let protected = |how, preamble, rate| {
        let protection = ProtectionKeys { erp_protection: Some(how), preamble, protection_rate_mbps: rate };
        g(erp::Spec { protection, ..Default::default() })
    };
    // CTS of 112 bits at 1 Mbps after 192 µs, SIFS, and the 254 µs of an unprotected frame.
    let spec = protected(ErpProtection::CtsToSelf, None, None);
    assert_eq!((data(&spec, 54.0), timing(&spec).slowest_ack), (304 + 10 + 254, us(304)));
    assert_eq!(control(&spec), [50, 352, 304, 20].map(us));
    let announced = timing(&spec).in_bss(modes(&spec).on_air(RateIndex(7)), u32::MAX);
    assert_eq!((announced.announcement(), announced.ppdu_duration(1_536)), (us(314), us(254)));
    let spec = protected(ErpProtection::CtsToSelf, Some(Preamble::Short), Some(11.0));
    assert_eq!((data(&spec, 54.0), control(&spec)[2]), (107 + 10 + 254, us(107)));
    let spec = protected(ErpProtection::RtsCts, None, Some(2.0));
    assert_eq!((data(&spec, 54.0), control(&spec)), (254, [50, 192 + 80, 192 + 56, 20].map(us)));
    assert_eq!(timing(&spec).control_frames[0].cts.start_delay, us(192));

    let error = |spec: PhySpec| BssTiming::new(&spec, "phy").unwrap_err().key;
    assert_eq!(error(protected(ErpProtection::RtsCts, None, Some(6.0))), "phy.protection_rate_mbps");
    let idle = |protection| g(erp::Spec { protection, ..Default::default() });
    let rate = ProtectionKeys { protection_rate_mbps: Some(2.0), ..Default::default() };
    assert_eq!(error(idle(rate)), "phy.protection_rate_mbps");
    let preamble = ProtectionKeys { preamble: Some(Preamble::Long), ..Default::default() };
    assert_eq!(error(idle(preamble)), "phy.preamble");
}

#[test]
fn the_multiplication_divides_exactly() {
    // Half bits in a symbol, for the sake of 5.5 Mbps; half bits in addition to the PSDU; microseconds of a symbol and of the
    // preamble.
    for (spec, per_mbps, extra, symbol_us, plcp_us) in
        [(a(), 8.0, 44u32, 4, 20), (PhySpec::default(), 2.0, 0, 1, 192)]
    {
        let modes = modes(&spec);
        for (index, rate) in modes.rates().enumerate() {
            let carried = (per_mbps * rate.as_mbps()) as u32;
            let on_air = modes.on_air(RateIndex(index as u16));
            for bytes in 0..=140_000 {
                let symbols = u64::from((extra + 16 * bytes).div_ceil(carried));
                assert_eq!(on_air.duration(bytes), Time::from_us(plcp_us + symbols * symbol_us));
            }
        }
    }
}

#[test]
fn errors_name_the_key_and_what_is_allowed() {
    let modes = modes(&PhySpec::default());
    let e = modes.rate_index(54.0, "stations[0].rate_mbps").unwrap_err();
    assert_eq!(e.to_string(), "stations[0].rate_mbps: 54 is not allowed; expected one of 1, 2, 5.5, 11 Mbps");
    let of_bss = |bss| b(Preamble::Long, bss);
    for spec in [
        of_bss(BssKeys { slot_us: Some(0.0), ..Default::default() }),
        of_bss(BssKeys { sifs_us: Some(-1.0), ..Default::default() }),
        PhySpec::Dsss(dsss::Spec { plcp_us: Some(f64::NAN), ..Default::default() }),
        of_bss(BssKeys { cw_min: Some(30), ..Default::default() }),
        of_bss(BssKeys { cw_max: Some(2_047), ..Default::default() }),
        of_bss(BssKeys { cw_min: Some(63), cw_max: Some(31), ..Default::default() }),
        of_bss(BssKeys { control_rate_mbps: Some(6.0), ..Default::default() }),
        of_bss(BssKeys { llc_bytes: Some(5_000), ..Default::default() }),
    ] {
        assert!(BssTiming::new(&spec, "phy").unwrap_err().key.starts_with("phy."));
    }
}

/// A key of another PHY, or one that nobody has, is refused although the keys of the BSS are flattened into the table.
#[test]
fn unknown_keys_are_refused() {
    let read = |json: &str| serde_json::from_str::<PhySpec>(json).map_err(|error| error.to_string());
    assert_eq!(read(r#"{"name": "802.11g", "slot_us": 9, "short_slot": true}"#).unwrap().name(), "802.11g");
    assert!(read(r#"{"name": "802.11g", "slots_us": 9}"#).unwrap_err().contains("slots_us"));
    assert!(read(r#"{"name": "802.11a", "short_slot": true}"#).unwrap_err().contains("short_slot"));
}

/// 702, 1448 and 1682 data subcarriers, of which MCS 0 has half a bit in each 13.6 µs.
#[test]
fn punctured_ppdus_have_the_subcarriers_of_their_rus() {
    let of_width = |width_mhz| {
        let link = LinkKeys { width_mhz: Some(width_mhz), ..Default::default() };
        modes(&PhySpec::Eht(eht::Spec { link, ..Default::default() }))
    };
    let (wide, narrow) = (of_width(160), of_width(40));
    let slowest = wide.on_air(RateIndex(0)).mode;
    let rates = [60, 120, 140].map(|width_mhz| wide.narrowed(&slowest, width_mhz).rate().as_kbps());
    assert_eq!(rates, [25_809, 53_235, 61_838]);
    assert!(wide.have_punctured() && !narrow.have_punctured());
    let is_punctured = |index: RateIndex| wide.on_air(index).mode.is_punctured();
    assert!(!wide.groups().concat().into_iter().any(is_punctured), "no rate adaptation chooses one");
}
