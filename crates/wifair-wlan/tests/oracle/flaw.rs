//! Rules of sections 12 to 15, and of sections 2.1 and 2.2 (docs/medium.md) that the model can break on purpose, one at a
//! time, so that a test can say that the comparison with the engine notices each.

macro_rules! flaws {
    ($($(#[$about:meta])* $name:ident,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Flaw {
            $($(#[$about])* $name,)*
        }

        impl Flaw {
            pub const ALL: &[Flaw] = &[$(Flaw::$name,)*];
        }
    };
}
pub(crate) use flaws;

flaws! {
    // What a PPDU is made of.
    /// One MPDU beyond the window.
    WiderWindow,
    /// The window of the newer end.
    WindowOfTheNewer,
    /// `max_mpdus` and one more.
    MoreMpdus,
    /// 64 bytes more than `max_ampdu_bytes`, or than the PHY allows.
    LongerPsdu,
    /// 4 µs more than `max_ppdu_us`.
    LongerPpdu,
    /// The TXOP limit is for the PPDU without its response.
    TxopWithoutResponse,
    /// `gather` reads as `head-run`, and the other way round.
    SwappedFill,
    /// What does not fit is passed over for what is behind it in the transmit queue.
    LooksBehind,
    NoSpacing,
    NoPadding,
    /// The last subframe is padded as the others are.
    LastPadded,
    /// Single MPDUs have them in HT, and not in later PHYs.
    Delimiters,
    // A-MSDUs.
    /// The limit of the newer end.
    AmsduOfTheNewer,
    /// 4 bytes more than their limit.
    LongerAmsdu,
    /// Their subframes are not padded.
    UnpaddedAmsdu,
    /// The first subframe has no header.
    FirstWithoutHeader,
    /// Packets join MPDUs that were sent before.
    JoinsTheSent,
    /// An MPDU that fills the window, or is the last of `max_mpdus`, takes no more packets.
    ClosedByCount,
    /// An MPDU that is alone in its PPDU counts as answered by an ACK.
    AmsduWithAck,
    /// Their packets are passed on from the last to the first.
    AmsduBackwards,
    // Frames and their lengths.
    BlockAckForOne,
    /// 32 bytes whatever the window.
    ShortBitmaps,
    LowestResponseRate,
    NoSignalExtension,
    NoPacketExtension,
    /// Every LTF of HE and EHT is of size 2.
    OneLtfSize,
    /// BCC wherever there is one.
    NoLdpc,
    ProtectedDsss,
    ShortEifs,
    /// The Duration field of a PPDU ends before its response.
    NavWithoutResponse,
    // Outcomes.
    /// One draw for all MPDUs of a PPDU.
    OneDraw,
    /// CW doubles after a Block Ack that does not acknowledge all.
    CwAfterPartial,
    /// CW stays as it is where no response comes.
    CwAfterMissing,
    /// CW stays as it is after `retry_limit_short` failures in a row.
    CwAfterRow,
    /// The row of failures outlives a success.
    RowOutlivesSuccess,
    OneMoreAttempt,
    // Tries of a PPDU.
    OneMoreTry,
    /// A PPDU is formed again for each.
    FormedForEachTry,
    /// They have the mode that the link has then.
    TriesInNewModes,
    /// All of them are one failure of an MPDU.
    TriesFailOnce,
    /// An MPDU is given up by its failures, those of the last PPDU included.
    TriesCountForLimit,
    /// The first try whose RTS is not answered is none.
    RtsIsNoTry,
    /// With `missed`, a request follows each try that gets no Block Ack: with it the PPDU ends.
    RequestAfterEachTry,
    /// An RTS without a CTS is no failure of the MPDUs.
    RtsFailsNothing,
    /// An internal collision is a failure of the first MPDU.
    InternalFailure,
    /// Half of the MPDUs acknowledged is a failure for ARF and AARF.
    MoreThanHalf,
    /// A Block Ack says nothing of what was decoded before.
    ForgetfulBitmap,
    NoRequest,
    /// With `missed`, a request follows a missed ACK, too.
    RequestAfterMissedAck,
    /// With `missed`, a request follows a missed CTS, too.
    RequestAfterMissedCts,
    /// A request starts one sequence number early.
    EarlyRequest,
    /// A request is sent until it is answered.
    EndlessRequest,
    /// The Block Ack that answers a request acknowledges nothing.
    SilentRequest,
    // The recipient.
    NoDuplicateFilter,
    LateReorderTimeout,
    /// A timeout passes on all that is held.
    TimeoutOfAll,
    /// An MPDU beyond the window moves it one further.
    WindowMovesTooFar,
    /// Nothing is held.
    OutOfOrder,
    /// Who decodes some MPDUs, but not all, waits an EIFS.
    EifsAfterPartial,
    /// Each MPDU is received at the end of the PPDU, or at its own, and not as the rules say.
    SwappedDelivery,
    /// The end of an MPDU is that of its padding.
    MpduEndsWithPadding,
    // What is served.
    /// The link last in service may come first among those that wait.
    LastLinkFirst,
    /// The transmit queue comes before links that wait.
    TxQueueFirst,
    /// A failed exchange releases its link.
    ReleasedByFailure,
    /// The limit does not count link queues.
    UncountedLinkQueue,
    // What the AP does with packets from stations.
    /// Packets without an ECT code point get CE, too.
    MarksAll,
    /// The transmit queue of voice decides, whatever the category.
    PolicedByVoice,
    // What stations say of their queues.
    /// The MSDUs of the frame itself count up to 802.11ac, too.
    OwnMsduCounts,
    /// They do not from 802.11ax on.
    OwnMsduMissing,
    // Beacons.
    BeaconsAfterDifs,
    /// They are the AP's lowest category.
    BeaconsLast,
    /// Their Duration field covers a response.
    BeaconsSetNav,
    /// Their sender waits for a response.
    BeaconsAreAwaited,
    /// One that waits is not replaced.
    BeaconsQueue,
    /// Their rate is the default, whatever the scenario says.
    BeaconsHaveNoRate,
    // The controller of CWmin.
    /// A CW below a new CWmin stays.
    WindowStaysSmall,
    /// Who waits for a response draws with it, too.
    AdoptedWhileWaiting,
    /// It holds at once.
    AdoptedAtOnce,
    /// What the MAC of the AP has taken counts as held.
    TakenIsHeld,
    /// Airtime is compared since the start.
    AirtimeOfAll,
    /// It halves as soon as `up` is smaller than `down`.
    HalvesEarly,
    /// CWmin may fall to 0.
    HalvesBelowTheStart,
    /// All categories of the stations get the new CWmin.
    AllCategories,
}

impl Flaw {
    /// Whether it shows only where CWmin is controlled.
    pub fn is_of_controller(self) -> bool {
        use Flaw::*;
        let of_decision = matches!(self, TakenIsHeld | AirtimeOfAll | HalvesEarly | HalvesBelowTheStart);
        of_decision || matches!(self, WindowStaysSmall | AllCategories | AdoptedWhileWaiting | AdoptedAtOnce)
    }

    /// Whether it shows only where there are beacons.
    pub fn is_of_beacons(self) -> bool {
        use Flaw::*;
        let of_access = matches!(self, BeaconsAfterDifs | BeaconsLast | BeaconsQueue);
        of_access || matches!(self, BeaconsSetNav | BeaconsAreAwaited | BeaconsHaveNoRate)
    }
}
