/* SPDX-License-Identifier: GPL-2.0-only */
/* What the queues of mac80211 need of the rest of the kernel, for a process with one thread: types, lists, packets, clocks.
 * Locks do nothing. Only the fields that the compiled functions use are declared. */
#ifndef KERNEL_SHIM_H
#define KERNEL_SHIM_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int32_t s32;
typedef int64_t s64;
typedef s64 ktime_t;
typedef int spinlock_t;

#define U16_MAX UINT16_MAX
#define U32_MAX UINT32_MAX
#define BIT(number) (1UL << (number))
#define GFP_KERNEL 0
#define NSEC_PER_USEC 1000ULL
#define NSEC_PER_MSEC 1000000ULL
#define EXPORT_SYMBOL(name)
#define EXPORT_SYMBOL_GPL(name)
#define __packed __attribute__((packed))
#define DIV_ROUND_UP(a, by) (((a) + (by) - 1) / (by))
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define rcu_dereference(pointer) (pointer)
/* Of channels of 5 and 10 MHz: Linux 6.1. */
#define ieee80211_chandef_get_shift(chandef) 0
#define likely(condition) (condition)
#define unlikely(condition) (condition)
#define __maybe_unused __attribute__((unused))
#define typecheck(type, value) 1
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, value) ((x) = (value))
#define WARN_ON_ONCE(condition) ({ bool warned = (condition); if (warned) fprintf(stderr, "warning: %s\n", #condition); warned; })
#define WARN_ONCE(condition, ...) ({ bool warned = (condition); if (warned) fprintf(stderr, "warning: %s\n", #condition); warned; })
#define spin_lock_init(lock) ((void)(lock))
#define spin_lock_bh(lock) ((void)(lock))
#define spin_unlock_bh(lock) ((void)(lock))
#define lockdep_assert_held(lock) ((void)(lock))
#define container_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))
#define min_t(type, a, b) ({ type x_ = (a), y_ = (b); x_ < y_ ? x_ : y_; })
#define max_t(type, a, b) ({ type x_ = (a), y_ = (b); x_ > y_ ? x_ : y_; })
#define kvcalloc(count, size, flags) calloc(count, size)
#define kvfree(memory) free(memory)
#define do_div(value, by) ({ u32 rest_ = (value) % (by); (value) /= (by); rest_; })

static inline u32 reciprocal_scale(u32 value, u32 end)
{
	return (u64)value * end >> 32;
}

/* The script sets the clock. */
extern u64 script_ns;
/* A tick of 1 ns unless the compiler's command says otherwise. */
#ifndef HZ
#define HZ 1000000000ULL
#endif
#define jiffies (script_ns / (1000000000ULL / HZ))
#define time_before_eq(a, b) ((s64)((b) - (a)) >= 0)

static inline u64 ktime_get_ns(void)
{
	return script_ns;
}

/* Bitmaps. */
#define WORD_BITS (8 * sizeof(unsigned long))

static inline unsigned long *bitmap_zalloc(u32 bits, int flags)
{
	return calloc((bits + WORD_BITS - 1) / WORD_BITS, sizeof(unsigned long));
}

#define bitmap_free(map) free(map)

static inline void __set_bit(int bit, unsigned long *map)
{
	map[bit / WORD_BITS] |= 1UL << bit % WORD_BITS;
}

static inline void __clear_bit(int bit, unsigned long *map)
{
	map[bit / WORD_BITS] &= ~(1UL << bit % WORD_BITS);
}

static inline bool test_bit(int bit, const unsigned long *map)
{
	return map[bit / WORD_BITS] >> bit % WORD_BITS & 1;
}

#define for_each_set_bit(bit, map, count) \
	for ((bit) = 0; (bit) < (int)(count); (bit)++) \
		if (test_bit(bit, map))

/* Lists. */
struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list->prev = list;
}

static inline bool list_empty(const struct list_head *list)
{
	return list->next == list;
}

static inline void list_link(struct list_head *entry, struct list_head *before, struct list_head *after)
{
	entry->prev = before;
	entry->next = after;
	before->next = after->prev = entry;
}

static inline void list_add(struct list_head *entry, struct list_head *list)
{
	list_link(entry, list, list->next);
}

static inline void list_add_tail(struct list_head *entry, struct list_head *list)
{
	list_link(entry, list->prev, list);
}

static inline void list_del_init(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	INIT_LIST_HEAD(entry);
}

static inline void list_move_tail(struct list_head *entry, struct list_head *list)
{
	list_del_init(entry);
	list_add_tail(entry, list);
}

#define list_entry(pointer, type, member) container_of(pointer, type, member)
#define list_first_entry(list, type, member) list_entry((list)->next, type, member)
#define list_first_entry_or_null(list, type, member) \
	(list_empty(list) ? NULL : list_first_entry(list, type, member))
#define list_for_each_entry(at, list, member) \
	for (at = list_first_entry(list, __typeof__(*at), member); &at->member != (list); \
	     at = list_entry(at->member.next, __typeof__(*at), member))
#define list_for_each_entry_safe(at, then, list, member) \
	for (at = list_first_entry(list, __typeof__(*at), member), \
	     then = list_entry(at->member.next, __typeof__(*at), member); \
	     &at->member != (list); \
	     at = then, then = list_entry(then->member.next, __typeof__(*at), member))

/* Packets. Of their bytes the headers are there, if the script says what they are. */
#define HEADERS_BYTES 160

struct sk_buff {
	struct list_head place;
	struct sk_buff *next; /* of a segmented packet: never set */
	u32 len, truesize, hash, priority;
	u8 dsfield;
	char cb[64] __attribute__((aligned(8)));
	u64 id;
	u16 protocol;
	u32 headers;
	u8 *data, bytes[HEADERS_BYTES];
};

struct sk_buff_head {
	struct list_head list;
	u32 qlen;
};

static inline void __skb_queue_head_init(struct sk_buff_head *queue)
{
	INIT_LIST_HEAD(&queue->list);
	queue->qlen = 0;
}

static inline u32 skb_queue_len(const struct sk_buff_head *queue)
{
	return queue->qlen;
}

static inline void __skb_queue_tail(struct sk_buff_head *queue, struct sk_buff *skb)
{
	list_add_tail(&skb->place, &queue->list);
	queue->qlen++;
}

static inline void __skb_unlink(struct sk_buff *skb, struct sk_buff_head *queue)
{
	list_del_init(&skb->place);
	queue->qlen--;
}

static inline struct sk_buff *__skb_dequeue(struct sk_buff_head *queue)
{
	struct sk_buff *skb = list_first_entry_or_null(&queue->list, struct sk_buff, place);

	if (skb)
		__skb_unlink(skb, queue);
	return skb;
}

#define skb_queue_walk_safe(queue, skb, then) list_for_each_entry_safe(skb, then, &(queue)->list, place)
#define skb_list_walk_safe(first, skb, then) \
	for ((skb) = (first), (then) = (skb)->next; (skb); (skb) = (then), (then) = (skb) ? (skb)->next : NULL)
#define skb_mark_not_on_list(skb) ((skb)->next = NULL)
#define skb_get_hash(skb) ((skb)->hash)
#define skb_get_dsfield(skb) ((skb)->dsfield)

/* RFC 3168: a packet that is not ECN-capable cannot be marked. */
static inline int INET_ECN_set_ce(struct sk_buff *skb)
{
	if (!(skb->dsfield & 3))
		return 0;
	skb->dsfield |= 3;
	return 1;
}

/* Counters. */
typedef struct {
	int value;
} atomic_t;

#define atomic_set(a, to) ((void)((a)->value = (to)))
#define atomic_read(a) ((a)->value)
#define atomic_inc(a) ((void)((a)->value++))
#define atomic_add(by, a) ((void)((a)->value += (by)))
#define atomic_sub(by, a) ((void)((a)->value -= (by)))
#define atomic_sub_return(by, a) ((a)->value -= (by))
#define atomic_cmpxchg(a, from, to) ({ int was_ = (a)->value; if (was_ == (int)(from)) (a)->value = (to); was_; })

#endif
