//! Rules of section 16 that the model can break on purpose, one at a time.

crate::oracle::flaw::flaws! {
    // Powers.
    /// The noise is that of 22 MHz.
    NoiseOf22Mhz,
    /// A node reaches those below the floor, too.
    NoFloor,
    /// Two nodes reach each other with the power of the first.
    OnePower,
    /// Walls lose nothing.
    NoWalls,
    /// Each floor loses as much as the first.
    FloorsAdd,
    /// Floors are no distance.
    FlatHouse,
    /// The path loss exponent is one at all distances.
    NoBreakpoint,
    /// There is no shadowing.
    NoShadows,
    /// Links of the access point have it, too.
    ShadowedLinks,
    /// It differs by direction.
    ShadowsOfDirections,
    // Lock.
    /// A preamble of any power is detected.
    DetectsAll,
    /// A preamble is detected whatever its SINR.
    DetectsNoise,
    /// A preamble is not disturbed by those that start with it.
    PreamblesDoNotCollide,
    /// A stronger frame that starts later takes the lock.
    TakesTheStronger,
    /// A node that has sent a response while it was locked is still locked.
    KeepsLock,
    // Reception.
    /// What starts later does not disturb.
    JudgedAtStart,
    /// Only the strongest interferer counts.
    OneInterferer,
    /// All rates have the threshold of the lowest.
    OneThreshold,
    // CCA.
    /// The medium is not busy by energy.
    NoEnergyDetection,
    /// It is not busy by a locked frame whose energy is too low.
    NoPreambleDetection,
    // NAV.
    NoNav,
    /// A later frame shortens it.
    NavShrinks,
    /// A CTS is sent although the NAV is set.
    CtsDespiteNav,
    /// A NAV that ends with the RTS does not keep the CTS back.
    NavEndsBefore,
    // When counting resumes.
    /// `error` reads as `energy`, and the other way round.
    SwappedEifs,
    /// Who has sent in the busy period waits an EIFS, too.
    EifsOfSenders,
    /// A locked frame that ended earlier in the busy period counts.
    EifsOfEarlier,
    /// The timeout ends the wait, although the response is being received.
    TimeoutInResponse,
    /// A response that is not decoded is awaited until the timeout.
    WaitsOn,
    // EDCA.
    /// All categories wait a DIFS.
    DifsForAll,
    /// The boundary at which the medium becomes busy does not count.
    BoundaryUncounted,
    /// The timeout holds back only the category that has sent.
    TimeoutOfOne,
    /// The next frame of a TXOP waits until the medium is physically idle at its sender.
    TxopWaits,
    /// An exchange that follows in a TXOP is on the air from its data frame on.
    TxopFollowsLate,
    /// It is part of the exchange before it.
    TxopIsOneExchange,
    /// A CTS takes the place of the next frame of a TXOP.
    CtsInsteadOfData,
    // A-MPDUs.
    /// A lost PHY header loses nothing.
    NoPhyHeader,
    /// One MPDU that is spoilt spoils all.
    OneSpoilsAll,
    /// Symbols that an MPDU shares with the one before it are not of it.
    NoSharedSymbols,
    /// A node that is not addressed decodes a PPDU only if it decodes all of its MPDUs.
    NavNeedsAll,
    /// Every MCS has the threshold of the lowest.
    OneMcsThreshold,
    /// The noise is that of 20 MHz whatever the width.
    NoiseOf20Mhz,
    // Airtime.
    /// An exchange has its time to itself again once the other is over.
    AloneAgain,
    /// Exchanges that begin together count each.
    CountsEach,
    /// An exchange is over at the timeout of its sender.
    OverAtTimeout,
    // Several BSSs.
    /// Exchanges of another BSS overlap those of a BSS.
    OverlapsWithOthers,
    /// A frame of another BSS sets no NAV.
    NavOfOwnBss,
    /// A frame of another BSS that is not decoded causes no EIFS.
    EifsOfOwnBss,
    /// Only frames of its BSS lock a node.
    LocksToOwnBss,
    /// BSSs with different channels receive each other.
    HearsAllChannels,
    // Beacons.
    /// Those of all BSSs are due together.
    BeaconsTogether,
    /// All neighbours have the offset that the first BSS would draw.
    OneOffset,
    /// The first is due an offset after the first interval.
    OffsetAfterTarget,
    /// One that is not decoded causes no EIFS.
    NoEifsAfterBeacons,
    /// They set a NAV, as if an ACK followed.
    BeaconsReserve,
    /// One counts as collided if no station has decoded it.
    BeaconLostIfAllMissIt,
    /// One counts as collided if another exchange of the BSS was on the air with it.
    BeaconLostIfOverlapped,
    /// They are duplicates in the whole channel.
    WideBeacons,
    /// They have full power in an opportunity.
    BeaconsAtFullPower,
    // OBSS PD.
    /// A colour is ignored even if it is that of the BSS of the node.
    IgnoresItsColour,
    /// Colours are read 36 µs after the start.
    ReadsLate,
    /// Colours are read whatever the SINR.
    ReadsNoise,
    /// PPDUs of every width have one level.
    OneLevel,
    /// A PPDU at the level is ignored.
    IgnoresTheLevel,
    /// A PPDU that is ignored is no energy.
    IgnoredIsSilent,
    /// It is decoded, and sets the NAV.
    IgnoredSetsNav,
    /// An EIFS follows the reading of the colour.
    EifsAfterIgnored,
    /// An opportunity ends with the first of its PPDUs.
    EndsWithTheFirst,
    /// Frames in an opportunity have full power.
    ReusesAtFullPower,
    /// Those of a TXOP have it once the opportunity is over.
    TxopAtFullPower,
    /// Responses have it.
    AnswersAtFullPower,
    /// The allowed power does not depend on the width.
    AllowsForNoWidth,
    /// An access point is allowed no more than a station.
    OneReference,
    // Subchannels.
    /// The primary channel is the lowest.
    PrimaryIsLowest,
    /// A frame has its whole power in each subchannel.
    PowerIsNotShared,
    /// The noise is that of the width of a frame.
    NoiseOfTheWidth,
    /// A data frame is received if its primary channel is.
    JudgedInPrimary,
    /// A duplicate is received in all of its subchannels.
    DuplicatesInAll,
    /// A node decodes data frames of every width.
    DecodesAllWidths,
    /// CCA's energy is that of the whole channel of a node.
    EnergyOfAll,
    /// Secondary channels are not looked at.
    NoSecondaryCca,
    /// They need not have been idle for a PIFS.
    NoPifs,
    /// They are busy by energy alone.
    SecondaryEnergyAlone,
    /// They are not busy by energy.
    NoSecondaryEnergy,
    /// The energy is the same for all widths.
    OneSecondaryEnergy,
    /// Frames that occupy the primary channel make them busy by their power, too.
    PrimaryFramesDetected,
    /// The new backoff has twice the CW.
    WidensWindow,
    /// It counts from this boundary on.
    BacksOffAtOnce,
    /// A CTS is sent whatever the secondary channels are.
    CtsDespiteSecondaries,
    /// They are those at the end of the RTS.
    SecondariesAtEndOfRts,
    /// The CTS of 802.11n needs them, too.
    HtTellsWidth,
    /// An exchange that follows in a TXOP is as wide as its link.
    WidensInTxop,
    /// With dynamic width there is no CTS narrower than its RTS, and with static width there is.
    CtsOfOneWidth,
    /// What follows a narrower CTS is as wide as the RTS.
    WiderThanCts,
    /// A PPDU keeps all of its MPDUs, however long it gets.
    KeepsAllMpdus,
    /// The MPDUs that it does not keep have failed.
    LeftOutFails,
    // Punctured PPDUs.
    /// There are none.
    NothingIsPunctured,
    /// Links of every generation have them.
    AllPuncture,
    /// Of 80 and 160 MHz any two channels of 20 MHz may be left out.
    AnyPattern,
    /// Of two patterns that occupy as much, the highest 80 MHz are left out.
    LeavesOutTheHighest,
    /// A node decodes them whatever they leave out.
    DecodesAllPatterns,
    /// Channels of 20 MHz need not have been idle for a PIFS.
    NoPifsOfSubchannels,
    /// They are busy by energy alone.
    SubchannelEnergyAlone,
    /// They are not busy by energy.
    NoSubchannelEnergy,
    /// A frame makes them busy from one power on, whatever else it occupies.
    OneThresholdOfSubchannels,
    /// What follows in a TXOP leaves out nothing.
    FollowsUnpunctured,
    /// After a punctured RTS the CTS needs the secondary channels, too.
    CtsNeedsSecondaries,
    /// A CTS leaves out what its sender finds busy.
    CtsPunctures,
    // Channels of 20 MHz that a BSS never uses.
    /// It uses them.
    NeverIsUsed,
    /// Its nodes sense what others send there.
    SensesTheUnused,
    /// Its nodes decode data frames that occupy them.
    DecodesTheUnused,
    /// It leaves them out in addition to any pattern.
    PatternsAddUp,
}

impl Flaw {
    /// Whether it shows only with A-MPDUs.
    pub fn is_of_ppdus(self) -> bool {
        use Flaw::*;
        let of_mpdus = matches!(self, NoPhyHeader | OneSpoilsAll | NoSharedSymbols | NavNeedsAll);
        of_mpdus || matches!(self, OneMcsThreshold | NoiseOf20Mhz)
    }

    /// Whether it shows only with several BSSs.
    pub fn is_of_neighbours(self) -> bool {
        use Flaw::*;
        let of_frames = matches!(self, OverlapsWithOthers | NavOfOwnBss | EifsOfOwnBss | LocksToOwnBss);
        of_frames || self == HearsAllChannels
    }

    /// Whether it shows only with beacons.
    pub fn is_of_beacons(self) -> bool {
        (Flaw::BeaconsTogether as usize..=Flaw::BeaconsAtFullPower as usize).contains(&(self as usize))
    }

    /// Whether it shows only with shadowing.
    pub fn is_of_shadowing(self) -> bool {
        matches!(self, Flaw::NoShadows | Flaw::ShadowedLinks | Flaw::ShadowsOfDirections)
    }

    /// Whether it shows only with OBSS PD.
    pub fn is_of_reuse(self) -> bool {
        self as usize >= Flaw::IgnoresItsColour as usize && !self.is_of_subchannels()
    }

    /// Whether it shows only with subchannels.
    pub fn is_of_subchannels(self) -> bool {
        self as usize >= Flaw::PrimaryIsLowest as usize
    }

    /// Whether it shows only with EDCA.
    pub fn is_of_edca(self) -> bool {
        use Flaw::*;
        let of_access = matches!(self, DifsForAll | BoundaryUncounted | TimeoutOfOne);
        of_access || matches!(self, TxopWaits | TxopFollowsLate | TxopIsOneExchange)
    }
}
