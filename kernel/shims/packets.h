/* SPDX-License-Identifier: GPL-2.0-only */
/* What air_share.c needs of the rest of the kernel beyond kernel.h: IP and TCP headers, and packets that have them. */
#ifndef PACKETS_SHIM_H
#define PACKETS_SHIM_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>

#include "kernel.h"

typedef u16 __be16;
typedef u32 __be32;

#define ETH_HLEN 14
#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd
#define MAX_TCP_OPTION_SPACE 40
#define TCPOPT_TIMESTAMP_BYTES 10
#define TCPOLEN_SACK_BASE 2
#define TCPOLEN_SACK_PERBLOCK 8
#define cpu_to_be32(value) htonl(value)
#define TCP_FLAG_CWR cpu_to_be32(0x00800000)
#define TCP_FLAG_ECE cpu_to_be32(0x00400000)
#define TCP_FLAG_URG cpu_to_be32(0x00200000)
#define TCP_FLAG_ACK cpu_to_be32(0x00100000)
#define TCP_FLAG_RST cpu_to_be32(0x00040000)
#define TCP_FLAG_SYN cpu_to_be32(0x00020000)
#define TCP_FLAG_FIN cpu_to_be32(0x00010000)
#define tcp_flag_word(header) (((const __be32 *)(header))[3])
#define ip_is_fragment(header) (((header)->frag_off & htons(0x3fff)) != 0)
#define module_param(name, type, mode)
#define MODULE_PARM_DESC(name, text)
#define min(a, b) ({ __typeof__(a) x_ = (a), y_ = (b); x_ < y_ ? x_ : y_; })
#define before(a, b) ((s32)((u32)(a) - (u32)(b)) < 0)
#define after(a, b) before(b, a)
#define sta_set_rate_info_tx(sta, rate, info) ((void)0)
#define cfg80211_calculate_bitrate_dmg(rate) 0
#define cfg80211_calculate_bitrate_extended_sc_dmg(rate) 0
#define cfg80211_calculate_bitrate_edmg(rate) 0
#define cfg80211_calculate_bitrate_he(rate) 0
#define cfg80211_calculate_bitrate_eht(rate) 0
#define cfg80211_calculate_bitrate_s1g(rate) 0
#undef NSEC_PER_MSEC
#define NSEC_PER_MSEC 1000000L
#undef NSEC_PER_USEC
#define NSEC_PER_USEC 1000L

struct ethhdr {
	u8 h_dest[6], h_source[6];
	__be16 h_proto;
} __attribute__((packed));

struct ipv6hdr {
	u8 priority : 4, version : 4, flow_lbl[3];
	__be16 payload_len;
	u8 nexthdr, hop_limit;
	struct in6_addr saddr, daddr;
};

static inline u64 div_u64(u64 value, u32 by)
{
	return value / by;
}

static inline u32 int_sqrt64(u64 value)
{
	u64 root = 0;

	for (u64 bit = 1ULL << 31; bit; bit >>= 1)
		if ((root + bit) * (root + bit) <= value)
			root += bit;
	return root;
}

static inline u32 get_unaligned_be32(const void *at)
{
	u32 value;

	memcpy(&value, at, sizeof(value));
	return ntohl(value);
}

static inline const void *skb_header_pointer(const struct sk_buff *skb, int at, int length, void *buffer)
{
	if (at < 0 || at + length > (int)skb->headers)
		return NULL;
	/* where headers are not in one piece, they are copied */
	return length % 8 ? skb->data + at : memcpy(buffer, skb->data + at, length);
}

#define skb_network_offset(skb) 0
#define skb_ensure_writable(skb, length) ((length) > (int)(skb)->headers)

static inline int IP_ECN_set_ce(struct iphdr *header)
{
	if (!(header->tos & 3))
		return 0;
	header->tos |= 3;
	return 1;
}

static inline int IP6_ECN_set_ce(struct sk_buff *skb, struct ipv6hdr *header)
{
	if (!(header->flow_lbl[0] & 0x30))
		return 0;
	header->flow_lbl[0] |= 0x30;
	return 1;
}

/* What the script says of a packet. */
struct headers {
	u32 ipv6, source, dest, source_port, dest_port, protocol, ack, flags, payload, options, blocks;
	u32 sack[4][2];
};

static inline bool read_headers(struct headers *of)
{
	*of = (struct headers){};
	if (scanf("%u %u %u %u %u %u %u %u %u %u %u", &of->ipv6, &of->source, &of->dest, &of->source_port, &of->dest_port, &of->protocol,
		  &of->ack, &of->flags, &of->payload, &of->options, &of->blocks) != 11 || of->blocks > 4)
		return false;
	for (u32 i = 0; i < of->blocks; i++)
		if (scanf("%u %u", &of->sack[i][0], &of->sack[i][1]) != 2)
			return false;
	return true;
}

static inline u8 *put32(u8 *to, u32 value)
{
	value = htonl(value);
	memcpy(to, &value, sizeof(value));
	return to + sizeof(value);
}

static inline u8 *put_options(u8 *to, const struct headers *of)
{
	if (of->options) {
		*to++ = 1;
		*to++ = 1;
		*to++ = TCPOPT_TIMESTAMP;
		*to++ = TCPOPT_TIMESTAMP_BYTES;
		to = put32(put32(to, 1), 2);
	}
	if (of->blocks) {
		*to++ = 1;
		*to++ = 1;
		*to++ = TCPOPT_SACK;
		*to++ = TCPOLEN_SACK_BASE + TCPOLEN_SACK_PERBLOCK * of->blocks;
		for (u32 i = 0; i < of->blocks; i++)
			to = put32(put32(to, of->sack[i][0]), of->sack[i][1]);
	}
	return to;
}

/* Puts the headers into a packet, the IP header at that offset. */
static inline void put_headers(struct sk_buff *skb, const struct headers *of, u8 dsfield, int at)
{
	u8 *segment = skb->bytes + at + (of->ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
	struct tcphdr tcp = { .source = htons(of->source_port), .dest = htons(of->dest_port), .ack_seq = htonl(of->ack) };
	u8 *end = put_options(segment + sizeof(tcp), of);
	u32 length = end - segment + of->payload;

	tcp.doff = (end - segment) / 4;
	memcpy(segment, &tcp, sizeof(tcp));
	segment[13] = of->flags;
	skb->protocol = htons(of->ipv6 ? ETH_P_IPV6 : ETH_P_IP);
	if (of->ipv6) {
		struct ipv6hdr ip = { .version = 6, .priority = dsfield >> 4, .flow_lbl = { dsfield << 4 }, .payload_len = htons(length),
				      .nexthdr = of->protocol };

		memcpy(&ip.saddr, &of->source, sizeof(of->source));
		memcpy(&ip.daddr, &of->dest, sizeof(of->dest));
		memcpy(skb->bytes + at, &ip, sizeof(ip));
	} else {
		struct iphdr ip = { .version = 4, .ihl = 5, .tos = dsfield, .tot_len = htons(sizeof(ip) + length), .protocol = of->protocol,
				    .saddr = of->source, .daddr = of->dest };

		memcpy(skb->bytes + at, &ip, sizeof(ip));
	}
	if (at == ETH_HLEN)
		memcpy(skb->bytes + 12, &skb->protocol, sizeof(skb->protocol));
	skb->data = skb->bytes;
	skb->headers = end - skb->bytes;
}

/* The DS field of a packet whose IP header is at that offset. */
static inline u8 dsfield_of(const struct sk_buff *skb, int at)
{
	const u8 *ip = skb->data + at;

	return ip[0] >> 4 == 4 ? ip[1] : ip[0] << 4 | ip[1] >> 4;
}

#endif
