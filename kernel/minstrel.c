/* SPDX-License-Identifier: GPL-2.0-only */
/* The rate control minstrel_ht of mac80211 in a process: the kernel's whole file, driven by a script on standard input.
 *
 * Arguments: `ht`, `vht`, `ofdm` or `cck`; width in MHz, number of streams, 1 if the short guard interval is supported; rates per transmission and
 * tries per rate of the driver; 100 numbers for the random orders of rates. The clock is in ns, a tick 1 ms. One operation per line, one line of answer each.
 *
 *   f NS NEW                  the rates of the next transmission; NEW is 1 if it may sample a rate
 *   t NS USED TRIES LEN ACKS  its outcome: so many rates were used, all but the last as often as they may, the last so many times; MPDUs of
 *                             the A-MPDU and how many of them were acknowledged
 *
 * Answer to `f`: 1 if a rate is sampled, then for each rate MCS (or number of the rate), streams, width in MHz, 1 for the short guard
 * interval, tries and 1 for RTS and CTS. */
#include "rc80211_minstrel_ht.c"

u64 script_ns;

static const char *random_numbers[SAMPLE_COLUMNS * MCS_GROUP_RATES];
static unsigned int used_numbers;
static const struct rate_control_ops *minstrel;
static struct ieee80211_sta_rates table;

void get_random_bytes(void *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		((u8 *)bytes)[i] = atoi(random_numbers[used_numbers++]);
}

void rate_control_set_rates(struct ieee80211_hw *hw, struct ieee80211_sta *sta, struct ieee80211_sta_rates *rates)
{
	table = *rates;
	kfree(rates);
}

int ieee80211_rate_control_register(const struct rate_control_ops *ops)
{
	minstrel = ops;
	return 0;
}

void ieee80211_rate_control_unregister(const struct rate_control_ops *ops)
{
}

static struct ieee80211_rate cck[] = { { 0, 10 }, { 0, 20 }, { 0, 55 }, { 0, 110 } };
static struct ieee80211_rate ofdm[] = { { 0, 60 }, { 0, 90 }, { 0, 120 }, { 0, 180 }, { 0, 240 }, { 0, 360 }, { 0, 480 }, { 0, 540 } };
static struct ieee80211_supported_band bands[] = {
	{ cck, NL80211_BAND_2GHZ, ARRAY_SIZE(cck) },
	{ ofdm, NL80211_BAND_5GHZ, ARRAY_SIZE(ofdm) },
};
static struct wiphy wiphy = { { &bands[0], &bands[1] } };
static struct ieee80211_hw hw = { .wiphy = &wiphy };
static struct sta_info station;

static void set_capabilities(const char *phy, int width, int streams, bool short_guard_interval)
{
	struct ieee80211_sta *sta = &station.sta;
	bool vht = !strcmp(phy, "vht");

	if (!vht && strcmp(phy, "ht"))
		return;
	sta->deflink.ht_cap.ht_supported = true;
	sta->deflink.bandwidth = width == 80 ? IEEE80211_STA_RX_BW_80 : width == 40 ? IEEE80211_STA_RX_BW_40 : IEEE80211_STA_RX_BW_20;
	if (short_guard_interval)
		sta->deflink.ht_cap.cap |= IEEE80211_HT_CAP_SGI_20 | IEEE80211_HT_CAP_SGI_40;
	for (int i = 0; i < streams; i++)
		sta->deflink.ht_cap.mcs.rx_mask[i] = 0xff;
	if (!vht)
		return;
	sta->deflink.vht_cap.vht_supported = true;
	if (short_guard_interval)
		sta->deflink.vht_cap.cap |= IEEE80211_VHT_CAP_SHORT_GI_80;
	for (int i = 0; i < 8; i++)
		sta->deflink.vht_cap.vht_mcs.tx_mcs_map |=
			(i < streams ? IEEE80211_VHT_MCS_SUPPORT_0_9 : IEEE80211_VHT_MCS_NOT_SUPPORTED) << (2 * i);
}

static void show(struct ieee80211_tx_rate *rate, bool rts)
{
	int mcs = rate->idx, streams = 1, width = 20;

	if (rate->flags & IEEE80211_TX_RC_VHT_MCS) {
		mcs = ieee80211_rate_get_vht_mcs(rate);
		streams = ieee80211_rate_get_vht_nss(rate);
	} else if (rate->flags & IEEE80211_TX_RC_MCS) {
		streams = rate->idx / 8 + 1;
	}
	if (rate->flags & IEEE80211_TX_RC_40_MHZ_WIDTH)
		width = 40;
	if (rate->flags & IEEE80211_TX_RC_80_MHZ_WIDTH)
		width = 80;
	printf(" %d %d %d %d %d %d", mcs, streams, width, !!(rate->flags & IEEE80211_TX_RC_SHORT_GI), rate->count, rts);
}

int main(int count, char **words)
{
	struct ieee80211_supported_band *sband;
	struct ieee80211_tx_rate rates[IEEE80211_TX_MAX_RATES];
	struct ieee80211_sta *sta = &station.sta;
	static struct sk_buff skb;
	void *priv, *priv_sta;
	char operation;

	if (count != 7 + (int)ARRAY_SIZE(random_numbers))
		return 2;
	for (size_t i = 0; i < ARRAY_SIZE(random_numbers); i++)
		random_numbers[i] = words[7 + i];
	station.sdata = calloc(1, sizeof(*station.sdata));
	set_capabilities(words[1], atoi(words[2]), atoi(words[3]), atoi(words[4]));
	hw.max_rates = atoi(words[5]);
	hw.max_rate_tries = atoi(words[6]);
	sband = &bands[strcmp(words[1], "cck") != 0];
	rc80211_minstrel_init();
	priv = minstrel->alloc(&hw);
	priv_sta = minstrel->alloc_sta(priv, sta, GFP_KERNEL);
	minstrel->rate_init(priv, sband, &hw.conf.chandef, sta, priv_sta);
	while (scanf(" %c %lu", &operation, &script_ns) == 2) {
		if (operation == 'f') {
			struct ieee80211_tx_rate_control control = { .skb = &skb };
			u32 is_new;

			if (scanf("%u", &is_new) != 1)
				return 2;
			memset(&skb, 0, sizeof(skb));
			for (int i = 0; i < IEEE80211_TX_MAX_RATES; i++)
				skb.info.status.rates[i].idx = -1;
			if (is_new)
				minstrel->get_rate(priv, sta, priv_sta, &control);
			printf("%d", !!(skb.info.flags & IEEE80211_TX_CTL_RATE_CTRL_PROBE));
			memcpy(rates, skb.info.status.rates, sizeof(rates));
			for (int i = 0; i < hw.max_rates; i++) {
				/* A sampled rate is in the first place; the station's table has the others. */
				if (rates[i].idx < 0) {
					rates[i].idx = table.rate[i].idx;
					rates[i].flags = table.rate[i].flags;
					rates[i].count = table.rate[i].count;
				}
				show(&rates[i], rates[i].flags & IEEE80211_TX_RC_USE_RTS_CTS);
			}
		} else if (operation == 't') {
			struct ieee80211_tx_status status = { .info = &skb.info };
			u32 used, tries, len, acks;

			if (scanf("%u %u %u %u", &used, &tries, &len, &acks) != 4 || !used || used > hw.max_rates)
				return 2;
			memcpy(skb.info.status.rates, rates, sizeof(rates));
			skb.info.status.rates[used - 1].count = tries;
			for (u32 i = used; i < IEEE80211_TX_MAX_RATES; i++) {
				skb.info.status.rates[i].idx = -1;
				skb.info.status.rates[i].count = 0;
			}
			skb.info.flags |= IEEE80211_TX_CTL_AMPDU | IEEE80211_TX_STAT_AMPDU;
			skb.info.status.ampdu_len = len;
			skb.info.status.ampdu_ack_len = acks;
			minstrel->tx_status_ext(priv, sband, priv_sta, &status);
		} else {
			return 2;
		}
		putchar('\n');
		fflush(stdout);
	}
	return 0;
}
