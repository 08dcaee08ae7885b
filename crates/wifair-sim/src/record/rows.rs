//! The rows of the main tables: a replication, a flow, a buffer, a station.

use crate::table::row;

row! {
    /// The replication as a whole. Shares are of the measured time.
    RunRow in "runs" {
        /// Length of the measurement in simulated seconds.
        duration_s: f64,
        /// Frame exchanges that began, collisions and beacons included.
        exchanges: u64,
        /// Exchanges in which two or more nodes transmitted at once.
        collisions: u64,
        /// Beacons that began.
        beacons: u64,
        /// Of these, beacons that collided; in a field, beacons over that at least one station of the BSS did not decode.
        beacons_collided: u64,
        /// Share of the exchanges that were collisions.
        collision_ratio: Option<f64>,
        /// Airtime share of uplink exchanges.
        airtime_up_share: f64,
        /// Airtime share of downlink exchanges.
        airtime_down_share: f64,
        /// Airtime share of collisions.
        collision_share: f64,
        /// Airtime share of beacons that did not collide.
        beacon_share: f64,
        /// Share of the time in which nothing was on the air, interframe spaces after an exchange and backoff included.
        idle_share: f64,
        /// Channel time of uplink flows (their data and the ACKs to it), in seconds: interframe spaces, backoff and every
        /// attempt included. This and the next three exist only if the AP's scheme uses channel times. They may sum to more
        /// than the measured time, since backoffs overlap.
        channel_time_up_s: Option<f64>,
        /// The same for downlink flows.
        channel_time_down_s: Option<f64>,
        /// The AP's estimate of the channel time of uplink flows: it estimates the frames that it receives.
        channel_time_up_believed_s: Option<f64>,
        /// The same for downlink flows.
        channel_time_down_believed_s: Option<f64>,
        /// Packets lost at random on the wire.
        wire_lost_packets: u64,
        /// Packets dropped by full queues before the wire, those of flows' own links included.
        wire_dropped_packets: u64,
        /// Warnings about settings that a run has shown to be without effect; empty if there are none.
        warnings: String,
    }
}

row! {
    /// One flow.
    FlowRow in "flows" {
        /// Index in the plan.
        flow: u64,
        /// Label of the plan.
        label: String,
        /// Group of the plan.
        group: String,
        /// Label of the station.
        station: String,
        /// `up` or `down`: where the data goes.
        direction: String,
        /// The application's name.
        application: String,
        /// Transport: `tcp`, `udp` or `icmp`. For the last two see also the table of datagrams.
        transport: String,
        /// IP bytes of data segments, or of datagrams in the flow's direction, that reached their receiver, duplicates
        /// included, in Mbit/s.
        throughput_ip_mbps: f64,
        /// Payload delivered in order, each byte once, in Mbit/s.
        goodput_mbps: f64,
        /// Data segments sent, retransmissions included.
        segments_sent: u64,
        /// Data segments sent again.
        retransmissions: u64,
        /// Expiries of the retransmission timer (RTOs).
        timeouts: u64,
        /// Entries into fast retransmit.
        fast_retransmits: u64,
        /// Reductions of the window by ECN (ECE received).
        ecn_reductions: u64,
        /// Data segments that arrived with a congestion mark (CE).
        ce_segments: u64,
        /// Mean of the RTT samples, of TCP's or of answered echoes, in milliseconds.
        rtt_mean_ms: Option<f64>,
        /// Median of the RTT samples, in milliseconds.
        rtt_p50_ms: Option<f64>,
        /// 95 % quantile of the RTT samples, in milliseconds.
        rtt_p95_ms: Option<f64>,
        /// 99 % quantile of the RTT samples, in milliseconds.
        rtt_p99_ms: Option<f64>,
        /// Smoothed RTT of TCP (RFC 6298, SRTT) in milliseconds: the mean of its values after each RTT sample.
        srtt_mean_ms: Option<f64>,
        /// The greatest smoothed RTT after a sample, in milliseconds.
        srtt_max_ms: Option<f64>,
        /// Packets of this flow, data or ACKs, that arrived at the AP's buffer.
        ap_offered_packets: u64,
        /// Of these, lost there: refused, evicted, or given up at the retry limit.
        ap_lost_packets: u64,
        /// Of the lost, arrivals refused because the buffer was full.
        ap_tail_drop_packets: u64,
        /// Of the lost, queued packets evicted for an arrival, or above a limit that was lowered.
        ap_evicted_packets: u64,
        /// Of the lost, those that active queue management refused or evicted.
        ap_aqm_drop_packets: u64,
        /// Of the lost, those that the MAC gave up at the retry limit.
        ap_retry_lost_packets: u64,
        /// Of the arrivals, redundant ACKs removed.
        ap_filtered_packets: u64,
        /// Of the arrivals, those marked there: data with CE or ACKs with ECE.
        ap_marked_packets: u64,
        /// Packets from the station that the AP's scheme policed: it forwarded, marked or dropped them.
        ap_policed_packets: u64,
        /// Of the policed, those forwarded with a CE that was set there.
        ap_police_marked_packets: u64,
        /// Of the policed, those dropped.
        ap_police_dropped_packets: u64,
    }
}

row! {
    /// A buffer, by packet class: the AP's, and those of all stations together. Under EDCA the AP has one per access category;
    /// `ap` is their sum, and medians and quantiles exist only per category.
    QueueRow in "queues" {
        /// `ap` or `stations`; under EDCA also `ap/voice`, `ap/video`, `ap/best-effort`, `ap/background`, those in use.
        node: String,
        /// `data`, `ack`, `other` or `all`.
        class: String,
        /// Packets that arrived.
        offered_packets: u64,
        /// Packets that were admitted.
        accepted_packets: u64,
        /// Arrivals refused because the buffer was full.
        tail_drop_packets: u64,
        /// Redundant ACKs removed: not a loss, since a newer ACK carries the same information.
        filtered_packets: u64,
        /// Queued packets evicted for an arrival, or above a limit that was lowered.
        evicted_packets: u64,
        /// Arrivals refused and queued packets evicted by active queue management, as congestion signals.
        aqm_drop_packets: u64,
        /// Packets on which CE was set here.
        ce_marked_packets: u64,
        /// ACKs on which ECE was set here.
        ece_marked_packets: u64,
        /// Packets from stations that the scheme policed: it forwarded, marked or dropped them. They do not pass the buffer.
        policed_packets: u64,
        /// Of the policed, those forwarded with a CE that was set here.
        police_marked_packets: u64,
        /// Of the policed, those dropped.
        police_dropped_packets: u64,
        /// Packets that the MAC gave up at the retry limit.
        retry_lost_packets: u64,
        /// Packets handed to the MAC.
        dequeued_packets: u64,
        /// Packets delivered over the air.
        delivered_packets: u64,
        /// Bytes that arrived (IP).
        offered_bytes: u64,
        /// Bytes that were admitted.
        accepted_bytes: u64,
        /// Bytes refused because the buffer was full.
        tail_drop_bytes: u64,
        /// Bytes of redundant ACKs removed.
        filtered_bytes: u64,
        /// Bytes evicted.
        evicted_bytes: u64,
        /// Bytes dropped by active queue management.
        aqm_drop_bytes: u64,
        /// Bytes given up at the retry limit.
        retry_lost_bytes: u64,
        /// Bytes handed to the MAC.
        dequeued_bytes: u64,
        /// Bytes delivered over the air.
        delivered_bytes: u64,
        /// Bytes of the packets policed.
        policed_bytes: u64,
        /// Bytes of those marked.
        police_marked_bytes: u64,
        /// Bytes of those dropped.
        police_dropped_bytes: u64,
        /// Share of the offered packets lost before they were handed to the MAC; filtered ACKs do not count.
        loss_ratio: Option<f64>,
        /// Time-weighted mean length in packets; only in the AP's `all` row.
        length_mean_packets: Option<f64>,
        /// Time-weighted median length in packets.
        length_p50_packets: Option<f64>,
        /// Time-weighted 95 % quantile of the length in packets.
        length_p95_packets: Option<f64>,
        /// Mean time from enqueue to dequeue, in milliseconds; only in the `all` rows.
        sojourn_mean_ms: Option<f64>,
        /// Median of that time, in milliseconds.
        sojourn_p50_ms: Option<f64>,
        /// 95 % quantile of that time, in milliseconds.
        sojourn_p95_ms: Option<f64>,
        /// 99 % quantile of that time, in milliseconds.
        sojourn_p99_ms: Option<f64>,
        /// Mean time from dequeue to the first transmission, in milliseconds, on links that aggregate.
        below_mean_ms: Option<f64>,
        /// 95 % quantile of that time, in milliseconds.
        below_p95_ms: Option<f64>,
        /// 99 % quantile of that time, in milliseconds.
        below_p99_ms: Option<f64>,
    }
}

row! {
    /// The queue before the wire that all servers share, in one direction.
    WireRow in "wire" {
        /// `down` (from the servers to the AP) or `up`.
        direction: String,
        /// Packets that it has admitted.
        packets: u64,
        /// Packets dropped because it was full.
        dropped_packets: u64,
        /// Mean time that the admitted waited, in milliseconds.
        wait_mean_ms: Option<f64>,
        /// Time-weighted mean length in packets.
        length_mean_packets: f64,
    }
}

row! {
    /// A station's airtime, by direction of its data frames.
    StationRow in "stations" {
        /// Label of the plan.
        station: String,
        /// `up` (from the station) or `down` (to it).
        direction: String,
        /// Time in which exchanges of this station and direction occupied the medium, in seconds.
        airtime_s: f64,
        /// The same as a share of the measured time.
        airtime_share: f64,
        /// Link rate in Mbit/s: time average of the rate of the next data frame.
        link_rate_mbps: f64,
        /// The same of the last instant.
        link_rate_end_mbps: f64,
        /// Data frames delivered.
        frames_delivered: u64,
        /// IP bytes of these.
        bytes_delivered: u64,
        /// Transmission attempts.
        attempts: u64,
        /// Attempts after the first.
        retries: u64,
        /// Frames given up at the retry limit.
        retry_lost: u64,
        /// Of the attempts, PPDUs under a Block Ack agreement.
        ppdus: u64,
        /// MPDUs in these PPDUs, retransmissions included.
        mpdus: u64,
        /// Of the attempts, Block Ack Requests.
        block_ack_requests: u64,
        /// Packets that arrived at the station's buffer; 0 in the row `down`.
        buffer_offered_packets: u64,
        /// Of these, lost before they were handed to the MAC; 0 in the row `down`.
        buffer_lost_packets: u64,
    }
}

row! {
    /// One of several BSSs. Shares are of the measured time, and each BSS counts its exchanges by itself.
    BssRow in "bsss" {
        /// Name of the BSS; `ap` for the first if it has none.
        bss: String,
        /// Its access point, as other tables name it.
        ap: String,
        /// Payload of its uplink flows, delivered in order, in Mbit/s.
        goodput_up_mbps: f64,
        /// The same of its downlink flows.
        goodput_down_mbps: f64,
        /// Exchanges that began, those of one instant as one.
        exchanges: u64,
        /// Of these, exchanges that overlapped another of the BSS.
        collisions: u64,
        /// Share of the exchanges that were collisions.
        collision_ratio: Option<f64>,
        /// Airtime share of its uplink exchanges.
        airtime_up_share: f64,
        /// Airtime share of its downlink exchanges.
        airtime_down_share: f64,
        /// Airtime share of its collisions.
        collision_share: f64,
        /// Beacons that its access point began.
        beacons: u64,
        /// Of these, beacons over that at least one of its stations did not decode.
        beacons_collided: u64,
        /// Sum over its beacons of the number of its stations that did not decode them.
        beacons_missed: u64,
        /// Airtime share of its beacons while no other exchange of the BSS was on the air.
        beacon_share: f64,
        /// Share of the time in which a frame of the BSS was on the air.
        busy_own_share: f64,
        /// Share of the time in which none was, and the medium was physically busy at the access point: by frames of others.
        busy_others_share: f64,
        /// Transmission attempts.
        attempts: u64,
        /// Frames, responses included, that their addressee did not decode while another frame began at the same instant.
        lost_same_start: u64,
        /// Frames that their addressee did not decode while other frames began at other instants: hidden transmitters, or
        /// responses, which heed no CCA.
        lost_hidden: u64,
        /// Of both, frames that only frames of other BSSs disturbed.
        lost_to_others: u64,
        /// RTS that their addressee did not answer since its NAV was set or, with static width, a secondary channel was busy.
        unanswered_rts: u64,
        /// CTS of its nodes that were narrower than the RTS before, since a secondary channel was busy
        /// (`mac.width = "dynamic"`).
        narrow_cts: u64,
        /// Accesses that its nodes won for PPDUs that left out busy channels of 20 MHz (`mac.width = "punctured"`).
        punctured: u64,
        /// Accesses that its nodes won while PPDUs of other BSSs were on the air that they ignored (OBSS PD).
        spatial_reuses: u64,
        /// MPDUs in PPDUs under a Block Ack agreement.
        mpdus: u64,
        /// Of these, MPDUs that their addressee did not decode.
        mpdus_lost: u64,
        /// Mean time that packets waited before the wire on the way down, in milliseconds; in a BSS with a separate wire.
        wire_down_wait_mean_ms: Option<f64>,
        /// The same on the way up.
        wire_up_wait_mean_ms: Option<f64>,
        /// Packets that the queues before the wire dropped; in a BSS with a separate wire.
        wire_dropped_packets: Option<u64>,
    }
}
