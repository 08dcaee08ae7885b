/* SPDX-License-Identifier: GPL-2.0-only */
/* What rc80211_minstrel_ht.c needs of the rest of the kernel, in addition to kernel.h. Only the fields that it uses are declared. */
#ifndef MINSTREL_SHIM_H
#define MINSTREL_SHIM_H

#include "kernel.h"

#define GENMASK(high, low) ((~0UL << (low)) & (~0UL >> (63 - (high))))
#define FIELD_PREP(mask, value) (((unsigned long)(value) << __builtin_ctzl(mask)) & (mask))
#define FIELD_GET(mask, field) (((unsigned long)(field) & (mask)) >> __builtin_ctzl(mask))
#define min(a, b) ({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ < b_ ? a_ : b_; })
#define max(a, b) ({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ > b_ ? a_ : b_; })
#define BUILD_BUG_ON(condition) _Static_assert(!(condition), #condition)
#define WARN_ON(condition) WARN_ON_ONCE(condition)
#define __read_mostly
#define __init
#define module_param(name, type, mode)
#define MODULE_PARM_DESC(name, text)
#define GFP_ATOMIC 0
#define kzalloc(size, flags) calloc(1, size)
#define kfree(memory) free(memory)
#define time_after(a, b) ((s64)((b) - (a)) < 0)
#define time_is_after_jiffies(a) time_after(a, jiffies)
#define cpu_to_le16(value) ((u16)(value))
#define le16_to_cpu(value) (value)

typedef int16_t s16;
typedef u16 __le16;
typedef int gfp_t;

/* The script's random bytes. */
void get_random_bytes(void *bytes, size_t count);

enum nl80211_band { NL80211_BAND_2GHZ, NL80211_BAND_5GHZ, NUM_NL80211_BANDS };
enum { IEEE80211_STA_RX_BW_20, IEEE80211_STA_RX_BW_40, IEEE80211_STA_RX_BW_80 };
enum { IEEE80211_SMPS_OFF, IEEE80211_SMPS_STATIC, IEEE80211_SMPS_DYNAMIC };
enum { IEEE80211_VHT_MCS_SUPPORT_0_7, IEEE80211_VHT_MCS_SUPPORT_0_8, IEEE80211_VHT_MCS_SUPPORT_0_9, IEEE80211_VHT_MCS_NOT_SUPPORTED };
enum { TX_STATUS_NO_AMPDU_LEN, SUPPORTS_HT_CCK_RATES };
#define ieee80211_hw_check(hw, flag) ((void)(hw), (void)(flag), false)

#define IEEE80211_HT_CAP_LDPC_CODING 0x0001
#define IEEE80211_HT_CAP_SGI_20 0x0020
#define IEEE80211_HT_CAP_SGI_40 0x0040
#define IEEE80211_HT_CAP_RX_STBC 0x0300
#define IEEE80211_HT_CAP_RX_STBC_SHIFT 8
#define IEEE80211_VHT_CAP_RXLDPC 0x00000010
#define IEEE80211_VHT_CAP_SHORT_GI_80 0x00000020
#define IEEE80211_VHT_CAP_RXSTBC_MASK 0x00000700
#define IEEE80211_VHT_CAP_RXSTBC_SHIFT 8
#define IEEE80211_MAX_MPDU_LEN_HT_BA 4095
#define IEEE80211_TX_MAX_RATES 4
#define IEEE80211_TX_RATE_TABLE_SIZE 4
#define RATE_CTRL_CAPA_AMPDU_TRIGGER BIT(1)

enum {
	IEEE80211_TX_CTL_NO_ACK = BIT(2),
	IEEE80211_TX_CTL_AMPDU = BIT(6),
	IEEE80211_TX_STAT_ACK = BIT(9),
	IEEE80211_TX_STAT_AMPDU = BIT(10),
	IEEE80211_TX_CTL_RATE_CTRL_PROBE = BIT(12),
	IEEE80211_TX_CTL_LDPC = BIT(22),
};
#define IEEE80211_TX_CTL_STBC_SHIFT 23
enum { IEEE80211_TX_CTRL_PORT_CTRL_PROTO = BIT(0) };
enum { IEEE80211_RATE_SHORT_PREAMBLE = BIT(0), IEEE80211_RATE_ERP_G = BIT(4) };
enum { WLAN_STA_SHORT_PREAMBLE };

#include "taken-types.h"

struct dentry;

struct cfg80211_chan_def {
	int unused;
};

struct ieee80211_rate {
	u32 flags;
	u16 bitrate;
};

struct ieee80211_supported_band {
	struct ieee80211_rate *bitrates;
	enum nl80211_band band;
	int n_bitrates;
};

struct wiphy {
	struct ieee80211_supported_band *bands[NUM_NL80211_BANDS];
};

struct ieee80211_hw {
	struct wiphy *wiphy;
	struct {
		struct cfg80211_chan_def chandef;
	} conf;
	u8 max_rates;
	u8 max_rate_tries;
};

struct ieee80211_mcs_info {
	u8 rx_mask[10];
};

struct ieee80211_sta_vht_cap {
	bool vht_supported;
	u32 cap;
	struct {
		__le16 tx_mcs_map;
	} vht_mcs;
};

struct ieee80211_sta {
	struct {
		struct {
			bool ht_supported;
			u16 cap;
			struct ieee80211_mcs_info mcs;
		} ht_cap;
		struct ieee80211_sta_vht_cap vht_cap;
		int bandwidth;
		int smps_mode;
		struct {
			u16 max_rc_amsdu_len;
		} agg;
	} deflink;
};

struct sta_info {
	struct {
		struct {
			struct {
				bool use_short_preamble;
			} bss_conf;
		} vif;
	} *sdata;
	struct ieee80211_sta sta;
};

struct ieee80211_tx_info {
	u32 flags;
	u8 band;
	struct {
		u32 flags;
	} control;
	struct {
		struct ieee80211_tx_rate rates[IEEE80211_TX_MAX_RATES];
		u8 ampdu_ack_len;
		u8 ampdu_len;
	} status;
};

/* kernel.h has the packets of the queues. */
#define sk_buff frame
struct sk_buff {
	struct ieee80211_tx_info info;
};

#define IEEE80211_SKB_CB(skb) (&(skb)->info)

struct ieee80211_rate_status {
	struct rate_info rate_idx;
	u8 try_count;
};

struct ieee80211_tx_status {
	struct ieee80211_tx_info *info;
	struct ieee80211_rate_status *rates;
	u8 n_rates;
};

struct ieee80211_sta_rates {
	struct {
		s8 idx;
		u8 count;
		u8 count_cts;
		u8 count_rts;
		u16 flags;
	} rate[IEEE80211_TX_RATE_TABLE_SIZE];
};

struct ieee80211_tx_rate_control {
	struct sk_buff *skb;
	bool short_preamble;
};

struct rate_control_ops {
	unsigned long capa;
	const char *name;
	void *(*alloc)(struct ieee80211_hw *hw);
	void (*free)(void *priv);
	void *(*alloc_sta)(void *priv, struct ieee80211_sta *sta, gfp_t gfp);
	void (*rate_init)(void *priv, struct ieee80211_supported_band *sband, struct cfg80211_chan_def *chandef, struct ieee80211_sta *sta,
			  void *priv_sta);
	void (*rate_update)(void *priv, struct ieee80211_supported_band *sband, struct cfg80211_chan_def *chandef, struct ieee80211_sta *sta,
			    void *priv_sta, u32 changed);
	void (*free_sta)(void *priv, struct ieee80211_sta *sta, void *priv_sta);
	void (*tx_status_ext)(void *priv, struct ieee80211_supported_band *sband, void *priv_sta, struct ieee80211_tx_status *st);
	void (*get_rate)(void *priv, struct ieee80211_sta *sta, void *priv_sta, struct ieee80211_tx_rate_control *txrc);
	u32 (*get_expected_throughput)(void *priv_sta);
};

static inline bool rate_supported(struct ieee80211_sta *sta, enum nl80211_band band, int index)
{
	return true;
}

static inline int rate_lowest_index(struct ieee80211_supported_band *sband, struct ieee80211_sta *sta)
{
	return 0;
}

static inline u32 ieee80211_chandef_rate_flags(struct cfg80211_chan_def *chandef)
{
	return 0;
}

static inline bool test_sta_flag(struct sta_info *sta, int flag)
{
	return false;
}

static inline void ieee80211_sta_recalc_aggregates(struct ieee80211_sta *sta)
{
}

/* The table that the next transmissions take. */
void rate_control_set_rates(struct ieee80211_hw *hw, struct ieee80211_sta *sta, struct ieee80211_sta_rates *rates);
int ieee80211_rate_control_register(const struct rate_control_ops *ops);
void ieee80211_rate_control_unregister(const struct rate_control_ops *ops);

#include "taken-minstrel.h"

#endif
