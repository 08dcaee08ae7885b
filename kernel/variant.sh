# SPDX-License-Identifier: GPL-2.0-only
# variant.sh PROGRAM VERSION VARIANT: compiles the kernel's functions. `as-is` changes none of them. In the others each difference from
# wifair is turned off, but for those that the variant's name says. Each of the mistakes at the end is made in such a variant.
set -eu
program=$1 version=$2 variant=$3
headers=build/changed-$version-$variant
flags="-O2 -Wall -Wno-unused-function"
rm -rf "$headers"
cp -r "build/include-$version" "$headers"

# change FILE FROM TO: the text must be there.
change() {
	grep -qF -- "$2" "$headers/$1" || { echo "$1 of Linux $version has no \"$2\"" >&2; exit 1; }
	python3 -c 'import sys; path, old, new = sys.argv[1:]; text = open(path).read().replace(old, new); open(path, "w").write(text)' \
		"$headers/$1" "$2" "$3"
}

is_off() { [ "$variant" != as-is ] && [ "$variant" != "$1" ]; }

if is_off tick; then # CoDel's clock in ns instead of 1,024 ns
	change net/codel.h 'typedef u32 codel_time_t' 'typedef u64 codel_time_t'
	change net/codel.h 'CODEL_SHIFT 10' 'CODEL_SHIFT 0'
	change net/codel.h '(s32)((a) - (b))' '(s64)((a) - (b))'
	change net/codel.h 'CODEL_DISABLED_THRESHOLD INT_MAX' 'CODEL_DISABLED_THRESHOLD INT64_MAX'
fi
if is_off root; then # the square root of CoDel's control law in floating point
	change net/codel_impl.h 'static codel_time_t codel_control_law(' 'static codel_time_t (codel_control_law)('
	flags="$flags -DEXACT_LAW"
fi
if is_off strict; then # the first drop when the interval is over, not a tick later
	change net/codel_impl.h 'first_above_time = now + params->interval' 'first_above_time = now + params->interval - 1'
fi
# How long a station stays active, in µs or in ticks of 4 ms, as Debian's kernels have it.
if is_off jiffies; then flags="$flags -DHZ=1000000ULL"; else flags="$flags -DHZ=250ULL"; fi
if is_off refused; then # a queue whose first packet is dropped at its arrival does not stay in the list
	flags="$flags -DFORGET_REFUSED"
fi
if is_off ties; then # of stations' own queues that are equally long, the first station's is shortened
	change net/fq_impl.h 'cur_len = tin->default_flow.backlog;

		if (cur_len <= len)' 'cur_len = tin->default_flow.backlog;

		if (cur_len < len || (cur_len == len && !(flow && flow == &flow->tin->default_flow && &tin->default_flow < flow)))'
fi
if [ -e "$headers/air_share.c" ]; then flags="$flags -DAIR_SHARE"; fi
case $variant in
	mistake-mean-of-one) change air_share.c 'div_u64(airtime, others + 1)' 'airtime' ;;
	mistake-mean-of-all) change air_share.c 'if (debt->listed)
		share->mean_use' 'if (1)
		share->mean_use' ;;
	mistake-no-fading) change air_share.c 'owed * (AIR_SHARE_MEMORY - age)' 'owed * AIR_SHARE_MEMORY' ;;
	mistake-no-forgiving) change air_share.c 'debt->owed = others ?' 'debt->owed = 1 ?' ;;
	mistake-own-frame) change air_share.c 'debt->owed > debt->received ? debt->owed - debt->received : 0' 'debt->owed' ;;
	mistake-first-at-once) change air_share.c 'debt->due = now + AIR_SHARE_INTERVAL;' 'debt->due = now;' ;;
	mistake-steady) change air_share.c 'div_u64(square, debt->signals)' 'square' ;;
	mistake-never-over) change air_share.c 'debt->signals = 0;' '' ;;
	mistake-no-mark) change air_share.c 'if (air_share_mark(skb, protocol, ETH_HLEN))' 'if (0)' ;;
	mistake-polices-acks) change air_share.c '|| !tcp.payload)' ')' ;;
	mistake-target) change air_share.c 'MS2TIME(12)' 'MS2TIME(20)' ;;
	mistake-turn-waits) change taken.h 'ieee80211_air_share_list(local, &txqi->txq, false);
	txqi->schedule_round' 'txqi->schedule_round' ;;
	mistake-sent-only) change taken.h 'ieee80211_air_share_charge(sta, ac, tx_airtime, rx_airtime)' 'ieee80211_air_share_charge(sta, ac, tx_airtime, 0)' ;;
	mistake-aggressive) change air_share.c 'if (!acks->redundant)
			acks->redundant = newest;' 'drop = drop ?: air_share_is_slow(&txqi->txq) ? newest : NULL;' ;;
	mistake-every-rate) change air_share.c 'acks->redundant && air_share_is_slow(&txqi->txq)' 'acks->redundant' ;;
	mistake-duplicates) change air_share.c 'newest && !acks->duplicate &&' 'newest &&' ;;
	mistake-echo) change air_share.c '((older->flags ^ newer->flags) & AIR_SHARE_TCP_ECHO)' '0' ;;
	mistake-blocks) change air_share.c 'return air_share_covers(newer, older);' 'return true;' ;;
	mistake-dsack) change air_share.c 'if (air_share_has_dsack(older))' 'if (0)' ;;
	mistake-push) change air_share.c '(older->flags & ~AIR_SHARE_TCP_ECHO) != TCP_FLAG_ACK' '!(older->flags & TCP_FLAG_ACK)' ;;
esac
gcc $flags -Ishims "-I$headers" -o "$program" oracle.c -lm
