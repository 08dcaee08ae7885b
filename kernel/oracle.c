/* SPDX-License-Identifier: GPL-2.0-only */
/* The queues of mac80211 in a process: the kernel's own functions, driven by a script on standard input.
 *
 * One operation per line, one line of answer each. The clock is in ns, lengths in bytes, airtimes in us.
 *
 *   e NS STA HASH LEN TRUESIZE DSFIELD ID   a packet arrives for a station, whose queue is scheduled
 *   t NS STA                                the driver takes a packet of the station
 *   g NS                                    the driver starts a round and takes one packet of the station whose turn it is
 *   i NS                                    the driver takes packets, in turns, until there are none
 *   d NS EXTENT                             a driver with airtime queue limits takes packets: one turn (0), one round (1), or rounds
 *                                           until one brings nothing (2)
 *   f NS STA PACKETS                        the firmware fetches at most so many packets of a station
 *   r NS STA TX RX                          airtime used by a station is registered; without airtime queue limits its queue is
 *                                           scheduled after a transmission
 *   p NS STA US                             airtime is no longer pending
 *   m NS STA FORMAT MCS STREAMS MHZ GI      the station's rate: format 0 to 3 for HT to EHT, guard interval in ns
 *   a NS STA LEN VOICE                      the estimate for a packet to a station
 *   h NS STA IPV6 SOURCE DEST SPORT DPORT PROTOCOL ACK FLAGS PAYLOAD OPTIONS BLOCKS (START END)...
 *                                           the headers of the packet of the next operation `e` or `u`; OPTIONS: 1 if there are time stamps
 *   u NS STA US DSFIELD                     a packet arrives from a station, with this airtime; with air-share only
 *
 * Answer: `x ID` per dropped packet and `o ID DSFIELD STA US` for a packet that leaves, with the airtime that is pending from then on; for `a` the
 * airtime; for `u` `f`, `m` or `d` if the packet is forwarded, marked or dropped. Arguments: number of queues, limit in packets, limit of memory
 * in bytes, 1 if the driver has airtime queue limits, 1 if the access point shares out the air. */
#include "kernel.h"
#ifdef AIR_SHARE
#include "packets.h"
#endif

u64 script_ns;

#include <net/fq.h>
#include <net/fq_impl.h>
#include <net/codel.h>
#ifdef EXACT_LAW
/* The control law with a full square root, see the README. */
#include <math.h>
#define codel_control_law(from, interval, rec_inv_sqrt) ((from) + (u64)((double)(interval) / sqrt((double)vars->count)))
#endif
#include <net/codel_impl.h>

#define STATIONS 64
#define IEEE80211_NUM_ACS 4
#define IEEE80211_NUM_TIDS 16
#define IEEE80211_TXQ_STOP 0
#define NL80211_EXT_FEATURE_AIRTIME_FAIRNESS 0
#define NL80211_EXT_FEATURE_AQL 1
#define BE 2
#define NL80211_IFTYPE_AP 3
#define NL80211_IFTYPE_AP_VLAN 4
#define IEEE80211_TX_CTRL_AMSDU 1
#define IEEE80211_TX_INTCFL_NEED_TXPROCESSING 2

struct ieee80211_sta {
	int unused;
};

#include "taken-types.h"

enum nl80211_band { NL80211_BAND_2GHZ, NL80211_BAND_60GHZ, NL80211_BAND_S1GHZ, NUM_NL80211_BANDS };
enum { IEEE80211_RATE_MANDATORY_B = 1 };

struct ieee80211_rate {
	u32 flags;
	u16 bitrate;
};

struct ieee80211_supported_band {
	struct ieee80211_rate *bitrates;
	int n_bitrates;
};

struct ieee80211_chanctx_conf {
	struct {
		struct {
			u8 band;
		} *chan;
	} def;
};

struct ieee80211_vif {
	int type;
	struct {
		struct ieee80211_chanctx_conf *chanctx_conf;
		u32 basic_rates;
		bool use_short_preamble;
	} bss_conf;
};

struct ieee80211_rx_status {
	u8 enc_flags, encoding, bw, he_gi, rate_idx, nss, band;
	struct {
		u8 gi;
	} eht;
};

struct ieee80211_tx_info {
	u32 band, tx_time_est : 10;
	union {
		struct {
			struct ieee80211_tx_rate rates[4];
		} status;
		struct {
			u32 flags;
			codel_time_t enqueue_time;
		} control;
	};
};

_Static_assert(sizeof(struct ieee80211_tx_info) <= sizeof(((struct sk_buff *)0)->cb), "it is kept with the packet");

struct ieee80211_txq {
	struct ieee80211_vif *vif;
	struct ieee80211_sta *sta;
	u8 tid, ac;
};

#ifdef AIR_SHARE
#include "air_share.h"
#endif

struct txq_info {
	struct fq_tin tin;
	struct codel_vars def_cvars;
#ifdef AIR_SHARE
	struct air_share_acks def_acks;
#endif
	struct codel_stats cstats;
	u16 schedule_round;
	struct list_head schedule_order;
	struct sk_buff_head frags;
	unsigned long flags;
	struct ieee80211_txq txq;
};

struct wiphy {
	bool features[2];
	struct ieee80211_supported_band *bands[NUM_NL80211_BANDS];
};

struct ieee80211_hw {
	struct wiphy *wiphy;
};

struct ieee80211_local {
	struct ieee80211_hw hw;
	struct fq fq;
	struct codel_vars *cvars;
	struct codel_params cparams;
#ifdef AIR_SHARE
	struct codel_params air_share_cparams;
	struct air_share_acks *acks;
	u32 acks_filtered;
	struct air_share air_share[IEEE80211_NUM_ACS];
#endif
	struct list_head active_txqs[IEEE80211_NUM_ACS];
	spinlock_t active_txq_lock[IEEE80211_NUM_ACS];
	u16 schedule_round[IEEE80211_NUM_ACS];
	u16 airtime_flags;
	u32 aql_txq_limit_low[IEEE80211_NUM_ACS], aql_txq_limit_high[IEEE80211_NUM_ACS];
	u32 aql_threshold;
	atomic_t aql_total_pending_airtime, aql_ac_pending_airtime[IEEE80211_NUM_ACS];
};

struct ieee80211_sub_if_data {
	struct ieee80211_local *local;
	struct ieee80211_vif vif;
};

struct sta_info {
	struct ieee80211_local *local;
	struct ieee80211_sub_if_data *sdata;
	struct airtime_info airtime[IEEE80211_NUM_ACS];
	u16 airtime_weight;
#ifdef AIR_SHARE
	struct air_share_debt air_share[IEEE80211_NUM_ACS];
#endif
	struct codel_params cparams; /* of Linux 6.1 */
	struct ieee80211_sta sta;
	struct {
		struct {
			struct ieee80211_tx_rate last_rate;
			struct rate_info last_rate_info;
		} tx_stats;
	} deflink;
};

#define hw_to_local(of) container_of(of, struct ieee80211_local, hw)
#define to_txq_info(of) container_of(of, struct txq_info, txq)
#define wiphy_ext_feature_isset(wiphy, feature) ((wiphy)->features[feature])
#define wiphy_name(wiphy) "script"
#define static_branch_unlikely(key) 0
#define ieee80211_ac_from_tid(tid) BE
#define vif_to_sdata(of) container_of(of, struct ieee80211_sub_if_data, vif)
#define IEEE80211_SKB_CB(skb) ((struct ieee80211_tx_info *)(skb)->cb)

static void ieee80211_free_txskb(struct ieee80211_hw *hw, struct sk_buff *skb)
{
	printf("x %lu ", skb->id);
	free(skb);
}

static bool txq_has_queue(struct ieee80211_txq *txq)
{
	return to_txq_info(txq)->tin.backlog_packets > 0;
}

#include "taken-rates.h"
#ifdef AIR_SHARE
#include "taken-bitrate.h"
#include "air_share.c"
#endif
#include "taken.h"
#include "airtime.c"

/* An Ethernet header, which a driver that encapsulates packets itself has in front of them. */
#define HEADER_BYTES 14

static struct ieee80211_rate slowest = { .bitrate = 60 };
static struct ieee80211_supported_band band = { .bitrates = &slowest, .n_bitrates = 1 };
static struct wiphy wiphy = { .bands = { &band } };
static struct ieee80211_local local;
static struct ieee80211_sub_if_data sdata;
static struct sta_info stations[STATIONS];
static struct txq_info txqs[STATIONS];

/* As ieee80211_tx_dequeue. */
static bool take(struct txq_info *txqi)
{
	struct sta_info *sta = container_of(txqi->txq.sta, struct sta_info, sta);
	struct ieee80211_tx_info info = {};
	struct sk_buff *skb;
	u32 airtime = 0;

	if (!ieee80211_txq_airtime_check(&local.hw, &txqi->txq))
		return false;
	skb = fq_tin_dequeue(&local.fq, &txqi->tin, fq_tin_dequeue_func);
	if (!skb)
		return false;
	if (wiphy.features[NL80211_EXT_FEATURE_AQL])
		airtime = ieee80211_calc_expected_tx_airtime(&local.hw, &sdata.vif, txqi->txq.sta, skb->len + HEADER_BYTES, true);
	if (airtime) {
		airtime = ieee80211_info_set_tx_time_est(&info, airtime);
		ieee80211_sta_update_pending_airtime(&local, sta, BE, airtime, false);
	}
	printf("o %lu %u %d %u ", skb->id, skb->dsfield, (int)(txqi - txqs), airtime);
	free(skb);
	return true;
}

/* A round of turns, one packet of each station until one has left. */
static bool round_of_turns(void)
{
	struct ieee80211_txq *txq;

	ieee80211_txq_schedule_start(&local.hw, BE);
	while ((txq = ieee80211_next_txq(&local.hw, BE))) {
		bool taken = take(to_txq_info(txq));

		__ieee80211_schedule_txq(&local.hw, txq, false);
		if (taken)
			return true;
	}
	return false;
}

/* As ath10k_mac_op_wake_tx_queue, ath10k_mac_tx_push_pending and mt76_txq_schedule. */
static void drive(u32 extent)
{
	struct ieee80211_txq *txq;
	int frames;

	do {
		frames = 0;
		ieee80211_txq_schedule_start(&local.hw, BE);
		while ((txq = ieee80211_next_txq(&local.hw, BE))) {
			while (take(to_txq_info(txq)))
				frames++;
			__ieee80211_schedule_txq(&local.hw, txq, false);
			if (extent == 0)
				break;
		}
	} while (extent == 2 && frames);
}

/* As ath10k_htt_rx_tx_fetch_ind. */
static void fetch(u32 sta, u32 packets)
{
	struct ieee80211_txq *txq = &txqs[sta].txq;

	ieee80211_txq_schedule_start(&local.hw, BE);
	if (ieee80211_txq_may_transmit(&local.hw, txq))
		while (packets-- && take(&txqs[sta]))
			;
	__ieee80211_schedule_txq(&local.hw, txq, false);
}

static void set_rate(u32 sta, u32 format, u32 mcs, u32 streams, u32 mhz, u32 guard_ns)
{
	struct rate_info *info = &stations[sta].deflink.tx_stats.last_rate_info;
	const u16 flags[] = { RATE_INFO_FLAGS_MCS, RATE_INFO_FLAGS_VHT_MCS, RATE_INFO_FLAGS_HE_MCS, RATE_INFO_FLAGS_EHT_MCS };

	*info = (struct rate_info){
		.flags = flags[format] | (guard_ns == 400 ? RATE_INFO_FLAGS_SHORT_GI : 0),
		.mcs = mcs,
		.nss = streams,
		.bw = mhz == 20 ? RATE_INFO_BW_20 : mhz == 40 ? RATE_INFO_BW_40 : mhz == 80 ? RATE_INFO_BW_80 :
		      mhz == 160 ? RATE_INFO_BW_160 : RATE_INFO_BW_320,
		.he_gi = guard_ns / 800 / 2,
		.eht_gi = guard_ns / 800 / 2,
	};
}

#ifdef AIR_SHARE
/* The headers of the next packet. */
static struct headers next;

/* A packet from a station, with an Ethernet header: forwarded, marked or dropped. */
static char police(u32 sta, u32 airtime, u8 dsfield)
{
	struct sk_buff skb = {};
	char answer = 'd';

	ieee80211_sta_register_airtime(&stations[sta].sta, 0, 0, airtime);
	put_headers(&skb, &next, dsfield, ETH_HLEN);
	if (ieee80211_air_share_police(&stations[sta], &skb))
		answer = dsfield_of(&skb, ETH_HLEN) == dsfield ? 'f' : 'm';
	return answer;
}
#endif

static void start(int queues, int packets, u32 bytes, bool aql, bool shares)
{
	fq_init(&local.fq, queues);
	local.fq.limit = packets;
	local.fq.memory_limit = bytes;
	local.cvars = calloc(queues, sizeof(*local.cvars));
	codel_params_init(&local.cparams);
	local.cparams.interval = MS2TIME(100);
	local.cparams.target = MS2TIME(20);
	local.cparams.ecn = true;
#ifdef AIR_SHARE
	ieee80211_air_share_init(&local);
	local.acks = calloc(queues, sizeof(*local.acks));
	air_share = shares;
#endif
	sdata.vif.type = NL80211_IFTYPE_AP;
	local.hw.wiphy = &wiphy;
	wiphy.features[NL80211_EXT_FEATURE_AIRTIME_FAIRNESS] = true;
	wiphy.features[NL80211_EXT_FEATURE_AQL] = aql;
	local.airtime_flags = AIRTIME_USE_TX | AIRTIME_USE_RX;
	local.aql_threshold = IEEE80211_AQL_THRESHOLD;
	for (int ac = 0; ac < IEEE80211_NUM_ACS; ac++) {
		INIT_LIST_HEAD(&local.active_txqs[ac]);
		local.aql_txq_limit_low[ac] = IEEE80211_DEFAULT_AQL_TXQ_LIMIT_L;
		local.aql_txq_limit_high[ac] = IEEE80211_DEFAULT_AQL_TXQ_LIMIT_H;
	}
	sdata.local = &local;
	for (int i = 0; i < STATIONS; i++) {
		struct sta_info *sta = &stations[i];

		sta->local = &local;
		sta->sdata = &sdata;
		sta->airtime_weight = IEEE80211_DEFAULT_AIRTIME_WEIGHT;
		for (int ac = 0; ac < IEEE80211_NUM_ACS; ac++) {
			sta->airtime[ac].deficit = sta->airtime_weight;
			sta->airtime[ac].aql_limit_low = local.aql_txq_limit_low[ac];
			sta->airtime[ac].aql_limit_high = local.aql_txq_limit_high[ac];
		}
		fq_tin_init(&txqs[i].tin);
		codel_vars_init(&txqs[i].def_cvars);
		codel_stats_init(&txqs[i].cstats);
		INIT_LIST_HEAD(&txqs[i].schedule_order);
		txqs[i].txq.sta = &sta->sta;
		txqs[i].txq.vif = &sdata.vif;
		sta->cparams = local.cparams;
		txqs[i].txq.ac = BE;
	}
}

int main(int count, char **words)
{
	char operation;
	u32 sta;

	if (count != 6)
		return 2;
	start(atoi(words[1]), atoi(words[2]), atoi(words[3]), atoi(words[4]), atoi(words[5]));
	while (scanf(" %c %lu", &operation, &script_ns) == 2) {
		sta = 0;
		if (operation != 'g' && operation != 'i' && operation != 'd' && (scanf("%u", &sta) != 1 || sta >= STATIONS))
			return 2;
		if (operation == 'e') {
			struct sk_buff *skb = calloc(1, sizeof(*skb));
			u32 dsfield;

			if (scanf("%u %u %u %u %lu", &skb->hash, &skb->len, &skb->truesize, &dsfield, &skb->id) != 5)
				return 2;
			skb->dsfield = dsfield;
#ifdef AIR_SHARE
			put_headers(skb, &next, dsfield, 0);
#endif
#ifdef FORGET_REFUSED
			struct fq_flow *flow = fq_flow_classify(&local.fq, &txqs[sta].tin, fq_flow_idx(&local.fq, skb), skb);
			bool is_new = list_empty(&flow->flowchain);
#endif
			ieee80211_txq_enqueue(&local, &txqs[sta], skb);
#ifdef FORGET_REFUSED
			/* The arrival itself was dropped, and its queue was in no list before. */
			if (is_new && !flow->backlog) {
				list_del_init(&flow->flowchain);
				flow->tin = NULL;
			}
#endif
			__ieee80211_schedule_txq(&local.hw, &txqs[sta].txq, false);
		} else if (operation == 't') {
			take(&txqs[sta]);
		} else if (operation == 'g') {
			round_of_turns();
		} else if (operation == 'i') {
			while (round_of_turns())
				;
		} else if (operation == 'd') {
			u32 extent;

			if (scanf("%u", &extent) != 1)
				return 2;
			drive(extent);
		} else if (operation == 'f') {
			u32 packets;

			if (scanf("%u", &packets) != 1)
				return 2;
			fetch(sta, packets);
		} else if (operation == 'm') {
			u32 rate[5];

			if (scanf("%u %u %u %u %u", rate, rate + 1, rate + 2, rate + 3, rate + 4) != 5)
				return 2;
			set_rate(sta, rate[0], rate[1], rate[2], rate[3], rate[4]);
		} else if (operation == 'a') {
			u32 length, voice, airtime;
			struct ieee80211_tx_info info = {};

			if (scanf("%u %u", &length, &voice) != 2)
				return 2;
			airtime = ieee80211_calc_expected_tx_airtime(&local.hw, &sdata.vif, txqs[sta].txq.sta, length, !voice);
			printf("%u", airtime ? ieee80211_info_set_tx_time_est(&info, airtime) : 0);
		} else if (operation == 'r') {
			u32 tx, rx;

			if (scanf("%u %u", &tx, &rx) != 2)
				return 2;
			ieee80211_sta_register_airtime(&stations[sta].sta, 0, tx, rx);
			if (tx && !wiphy.features[NL80211_EXT_FEATURE_AQL])
				__ieee80211_schedule_txq(&local.hw, &txqs[sta].txq, false);
		} else if (operation == 'p') {
			u32 us;

			if (scanf("%u", &us) != 1)
				return 2;
			ieee80211_sta_update_pending_airtime(&local, &stations[sta], BE, us, true);
#ifdef AIR_SHARE
		} else if (operation == 'h') {
			if (!read_headers(&next))
				return 2;
		} else if (operation == 'u') {
			u32 airtime, dsfield;

			if (scanf("%u %u", &airtime, &dsfield) != 2)
				return 2;
			putchar(police(sta, airtime, dsfield));
#endif
		} else {
			return 2;
		}
		putchar('\n');
		fflush(stdout);
	}
	return 0;
}
