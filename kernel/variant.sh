# SPDX-License-Identifier: GPL-2.0-only
# variant.sh PROGRAM VERSION VARIANT: compiles the kernel's functions. `as-is` changes none of them. In the others each difference from
# wifair is turned off, but for those that the variant's name says.
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
gcc $flags -Ishims "-I$headers" -o "$program" oracle.c -lm
