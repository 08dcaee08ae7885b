/* SPDX-License-Identifier: GPL-2.0-only */
/* The queues of mac80211 in a process: the kernel's own functions, driven by a script on standard input.
 *
 * One operation per line, one line of answer each. The clock is in ns, lengths in bytes, airtimes in us.
 *
 *   e NS STA HASH LEN TRUESIZE DSFIELD ID   a packet arrives for a station, whose queue is scheduled
 *   t NS STA                                the driver takes a packet of the station
 *   g NS US                                 the driver starts a round and takes one packet of the station whose turn it is; US is
 *                                           its estimated airtime, pending from then on
 *   i NS                                    the driver takes packets, in turns, until there are none
 *   r NS STA TX RX                          airtime used by a station is registered; after a transmission its queue is scheduled
 *   p NS STA US                             airtime is no longer pending
 *
 * Answer: `x ID` per dropped packet, then `o ID DSFIELD STA` for the packet that leaves. Arguments: number of
 * queues, limit in packets, limit of memory in bytes, 1 if the driver has airtime queue limits. */
#include "kernel.h"

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

struct ieee80211_sta {
	int unused;
};

struct ieee80211_vif {
	int unused;
};

struct ieee80211_txq {
	struct ieee80211_vif *vif;
	struct ieee80211_sta *sta;
	u8 tid, ac;
};

struct txq_info {
	struct fq_tin tin;
	struct codel_vars def_cvars;
	struct codel_stats cstats;
	u16 schedule_round;
	struct list_head schedule_order;
	unsigned long flags;
	struct ieee80211_txq txq;
};

struct wiphy {
	bool features[2];
};

struct ieee80211_hw {
	struct wiphy *wiphy;
};

#include "taken-types.h"

struct ieee80211_local {
	struct ieee80211_hw hw;
	struct fq fq;
	struct codel_vars *cvars;
	struct codel_params cparams;
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
};

struct sta_info {
	struct ieee80211_local *local;
	struct ieee80211_sub_if_data *sdata;
	struct airtime_info airtime[IEEE80211_NUM_ACS];
	u16 airtime_weight;
	struct ieee80211_sta sta;
};

#define hw_to_local(of) container_of(of, struct ieee80211_local, hw)
#define to_txq_info(of) container_of(of, struct txq_info, txq)
#define wiphy_ext_feature_isset(wiphy, feature) ((wiphy)->features[feature])
#define wiphy_name(wiphy) "script"
#define static_branch_unlikely(key) 0
#define ieee80211_ac_from_tid(tid) BE

static bool txq_has_queue(struct ieee80211_txq *txq)
{
	return to_txq_info(txq)->tin.backlog_packets > 0;
}

#include "taken.h"

static struct wiphy wiphy;
static struct ieee80211_local local;
static struct ieee80211_sub_if_data sdata;
static struct sta_info stations[STATIONS];
static struct txq_info txqs[STATIONS];

/* What ieee80211_tx_dequeue passes to the queues. */
static void drop(struct sk_buff *skb, void *txqi)
{
	printf("x %lu ", skb->id);
	free(skb);
}

static void drop_overflow(struct fq *fq, struct fq_tin *tin, struct fq_flow *flow, struct sk_buff *skb)
{
	drop(skb, NULL);
}

static u32 length(const struct sk_buff *skb)
{
	return skb->len;
}

static codel_time_t arrived(const struct sk_buff *skb)
{
	return skb->enqueue_time;
}

static struct sk_buff *next_of_flow(struct codel_vars *vars, void *context)
{
	struct txq_info *txqi = context;
	bool own = vars == &txqi->def_cvars;

	return fq_flow_dequeue(&local.fq, own ? &txqi->tin.default_flow : &local.fq.flows[vars - local.cvars]);
}

static struct sk_buff *by_codel(struct fq *fq, struct fq_tin *tin, struct fq_flow *flow)
{
	struct txq_info *txqi = container_of(tin, struct txq_info, tin);
	bool own = flow == &tin->default_flow;

	return codel_dequeue(txqi, &flow->backlog, &local.cparams, own ? &txqi->def_cvars : &local.cvars[flow - fq->flows],
			     &txqi->cstats, length, arrived, drop, next_of_flow);
}

static bool take(struct txq_info *txqi)
{
	struct sk_buff *skb = fq_tin_dequeue(&local.fq, &txqi->tin, by_codel);

	if (!skb)
		return false;
	printf("o %lu %u %d ", skb->id, skb->dsfield, (int)(txqi - txqs));
	free(skb);
	return true;
}

/* As drivers do: a round of turns, one packet of each station until one has left. */
static bool round_of_turns(u32 airtime_us)
{
	struct ieee80211_txq *txq;

	ieee80211_txq_schedule_start(&local.hw, BE);
	while ((txq = ieee80211_next_txq(&local.hw, BE))) {
		struct sta_info *sta = container_of(txq->sta, struct sta_info, sta);
		bool taken = take(to_txq_info(txq));

		if (taken)
			ieee80211_sta_update_pending_airtime(&local, sta, BE, airtime_us, false);
		__ieee80211_schedule_txq(&local.hw, txq, false);
		if (taken)
			return true;
	}
	return false;
}

static void start(int queues, int packets, u32 bytes, bool aql)
{
	fq_init(&local.fq, queues);
	local.fq.limit = packets;
	local.fq.memory_limit = bytes;
	local.cvars = calloc(queues, sizeof(*local.cvars));
	codel_params_init(&local.cparams);
	local.cparams.interval = MS2TIME(100);
	local.cparams.target = MS2TIME(20);
	local.cparams.ecn = true;
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
		txqs[i].txq.ac = BE;
	}
}

int main(int count, char **words)
{
	char operation;
	u32 sta;

	if (count != 5)
		return 2;
	start(atoi(words[1]), atoi(words[2]), atoi(words[3]), atoi(words[4]));
	while (scanf(" %c %lu", &operation, &script_ns) == 2) {
		sta = 0;
		if (operation != 'g' && operation != 'i' && (scanf("%u", &sta) != 1 || sta >= STATIONS))
			return 2;
		if (operation == 'e') {
			struct sk_buff *skb = calloc(1, sizeof(*skb));
			u32 dsfield;

			if (scanf("%u %u %u %u %lu", &skb->hash, &skb->len, &skb->truesize, &dsfield, &skb->id) != 5)
				return 2;
			skb->dsfield = dsfield;
			skb->enqueue_time = codel_get_time();
#ifdef FORGET_REFUSED
			struct fq_flow *flow = fq_flow_classify(&local.fq, &txqs[sta].tin, fq_flow_idx(&local.fq, skb), skb);
			bool is_new = list_empty(&flow->flowchain);
#endif
			fq_tin_enqueue(&local.fq, &txqs[sta].tin, fq_flow_idx(&local.fq, skb), skb, drop_overflow);
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
			u32 us;

			if (scanf("%u", &us) != 1)
				return 2;
			round_of_turns(us);
		} else if (operation == 'i') {
			while (round_of_turns(0))
				;
		} else if (operation == 'r') {
			u32 tx, rx;

			if (scanf("%u %u", &tx, &rx) != 2)
				return 2;
			ieee80211_sta_register_airtime(&stations[sta].sta, 0, tx, rx);
			if (tx)
				__ieee80211_schedule_txq(&local.hw, &txqs[sta].txq, false);
		} else if (operation == 'p') {
			u32 us;

			if (scanf("%u", &us) != 1)
				return 2;
			ieee80211_sta_update_pending_airtime(&local, &stations[sta], BE, us, true);
		} else {
			return 2;
		}
		putchar('\n');
		fflush(stdout);
	}
	return 0;
}
