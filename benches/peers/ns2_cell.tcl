# One 802.11b cell in ns-2: bulk TCP flows, file transfers or saturated UDP through an access point to a wired server.
#
# Usage: ns ns2_cell.tcl [key value]...      (keys and defaults: see `option` below)
# Prints one JSON document over the measured time: throughput of each flow, the counters of the AP's queue; with `count 1`
# also the data frames and MAC ACKs sent in the cell, which awk counts in the MAC's trace (three times the work). With `short` or
# `long`, instead: the seconds of every transfer that ended in the measured time, from its first packet to its last ACK at the sender.
#
# Decisions that are not obvious:
# - No ARP and no routing protocol: a link layer object without ARP table sends to its fixed macDA_. A station has one
#   towards the AP; the AP has one per station, all of them into the same interface queue.
# - ns-2 has no association and no AP: the MAC is its plain DCF, which is what an AP without beacons is.
# - Stations stand on a circle of 5 m round the AP, so no station captures the AP's receiver from another; or, with
#   `spiral 1`, station i is 2 * 1.4^i m away.
# - With `short` and `long` every flow transfers files of that many packets, one after the other: the first half of the stations
#   short ones. Each transfer has agents of its own, as its window and timer must start afresh and no straggler may meet the next.
#   A sender without data would time out for ever (`slow_start_restart_`), so it is reset when its last ACK has come.
# - `load` is a shared library of further agents and queues (ns2_spm_af.cc), `ap_ifq` the AP's queue;
#   `by_ack` is explained there.
# - `ip_bytes` is the size of an IP packet of UDP, `odd_ip_bytes` that of every second station.

array set option {
    up 10            down 10          warmup_s 150      measured_s 600    seed 1
    rts 0            delayed_ack 0    window 42         ap_queue 100      station_queue 100
    payload 1460     udp 0            offered_mbps 12 scheduler Splay    count 0
    retry_limit 7    capture_db 10    spiral 0          ip_bytes 1500     odd_ip_bytes 0
    agent Reno       short 0          long 0            syn 1             rtxcur_init 3
    late_syn 0       minrto 0.2       tick 0.01
    load {}          by_ack 0         ap_ifq Queue/DropTail
}
foreach {key value} $argv {
    if {![info exists option($key)]} {
        puts stderr "unknown key \"$key\"; one of: [lsort [array names option]]"
        exit 2
    }
    set option($key) $value
}

set pi [expr {acos(-1)}]
set stations [expr {$option(up) + $option(down)}]
set end [expr {$option(warmup_s) + $option(measured_s)}]

# 802.11b: 11 Mbps data, 1 Mbps basic, long preamble (ns-2's default: 144 + 48 bits at 1 Mbps), CW 31 to 1023, slot 20 us.
Mac/802_11 set dataRate_ 11Mb
Mac/802_11 set basicRate_ 1Mb
Mac/802_11 set RTSThreshold_ [expr {$option(rts) ? 0 : 3000}]
Mac/802_11 set ShortRetryLimit_ $option(retry_limit)
# How much stronger a frame must be to survive a collision, where it is heard: two neighbours are closer than the AP.
Phy/WirelessPhy set CPThresh_ [expr {pow(10, $option(capture_db) / 10.0)}]

if {$option(load) ne ""} {
    load $option(load)
    Agent/TCP/Newreno/Spm set by_ack_ $option(by_ack)
}
Agent/TCP set packetSize_ $option(payload)
Agent/TCP set window_ $option(window)
Agent/TCP set syn_ $option(syn)
Agent/TCP set rtxcur_init_ $option(rtxcur_init)
Agent/TCP set minrto_ $option(minrto)
Agent/TCP set tcpTick_ $option(tick)
Agent/TCPSink set SYN_immediate_ack_ [expr {!$option(late_syn)}]

# Every copy of a frame, one a listener, carries all headers that ns-2 knows, about 4 kB, unless they are struck off first.
remove-all-packet-headers
add-packet-header Common IP TCP Flags RTP LL Mac ARP

set ns [new Simulator]
# A mobile node refuses to exist without a trace file; the wired link, made later, shall write nothing.
set counter {$1 == "s" && $4 == "MAC" && $2 >= begin { if ($7 == "ACK") acks++; else if ($7 != "RTS" && $7 != "CTS") data++ }
    END { printf "\"data_frames\": %d, \"mac_acks\": %d", data, acks }}
set trace [open [expr {$option(count) ? "|awk -v begin=$option(warmup_s) [list $counter]" : "/dev/null"}] w]
$ns trace-all $trace
$ns use-scheduler $option(scheduler)
ns-random $option(seed)
set random [new RNG]
$random seed $option(seed)

set area [new Topography]
$area load_flatgrid 400 400
create-god [expr {$stations + 2}]

set server [$ns node]
$ns node-config -adhocRouting DumbAgent -llType LL -macType Mac/802_11 -ifqType Queue/DropTail \
    -ifqLen $option(station_queue) -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround \
    -phyType Phy/WirelessPhy -channel [new Channel/WirelessChannel] -topoInstance $area \
    -agentTrace OFF -routerTrace OFF -macTrace [expr {$option(count) ? "ON" : "OFF"}] -movementTrace OFF

proc place {node x y} {
    $node random-motion 0
    $node set X_ $x
    $node set Y_ $y
    $node set Z_ 0
}

# The way from `node` to the radio of `peer`, into `entry` (a queue, or what stands before it).
proc radio_link {node peer entry} {
    set link [new LL]
    $link mac [$node set mac_(0)]
    $link up-target [$node entry]
    $link down-target $entry
    $link set macDA_ [[$peer set mac_(0)] id]
    return $link
}

$ns node-config -ifqType $option(ap_ifq)
set ap [$ns node]
$ns node-config -ifqType Queue/DropTail
place $ap 200 200
for {set i 0} {$i < $stations} {incr i} {
    set station($i) [$ns node]
    set distance [expr {$option(spiral) ? 2.0 * pow(1.4, $i) : 5}]
    set angle [expr {2 * $pi * $i / $stations}]
    place $station($i) [expr {200 + $distance * cos($angle)}] [expr {200 + $distance * sin($angle)}]
}

$ns set traceAllFile_ ""
$ns duplex-link $server $ap 100Mb 5ms DropTail
$ns queue-limit $server $ap 100000
$ns queue-limit $ap $server 100000

# A monitor counts what arrives at the AP's queue and what the queue refuses.
set queue [$ap set ifq_(0)]
$queue set limit_ $option(ap_queue)
set monitor [new QueueMonitor]
set arrivals [new SnoopQueue/In]
set refusals [new SnoopQueue/Drop]
$arrivals set-monitor $monitor
$refusals set-monitor $monitor
$arrivals target $queue
$queue drop-target $refusals
$refusals target [$ns set nullAgent_]

set wire [[$ns link $server $ap] head]
$ap add-route [$server node-addr] [[$ns link $ap $server] head]
for {set i 0} {$i < $stations} {incr i} {
    $station($i) add-route [$server node-addr] [radio_link $station($i) $ap [$station($i) set ifq_(0)]]
    $ap add-route [$station($i) node-addr] [radio_link $ap $station($i) $arrivals]
    $server add-route [$station($i) node-addr] $wire
}

proc ip_bytes {i} {
    global option
    return [expr {$option(odd_ip_bytes) && $i % 2 ? $option(odd_ip_bytes) : $option(ip_bytes)}]
}

# A transfer of station i begins.
proc transfer {i from to} {
    global ns option stations
    set kind [expr {$i < $stations / 2 ? "short" : "long"}]
    set tcp [new Agent/TCP/$option(agent)]
    set sink [new Agent/[expr {$option(delayed_ack) ? "TCPSink/DelAck" : "TCPSink"}]]
    $ns attach-agent $from $tcp
    $ns attach-agent $to $sink
    $ns connect $tcp $sink
    $tcp proc done {} "[list $ns] after 0 {transferred $i $from $to $tcp $kind [$ns now]}"
    $tcp send [expr {$option($kind) * $option(payload)}]
}

# The last ACK has come; the next transfer begins.
proc transferred {i from to tcp kind started} {
    global ns times
    lappend times($kind) [$ns now] [expr {[$ns now] - $started}]
    $tcp proc done {} {} ;# a straggling ACK would end it again
    $tcp reset
    transfer $i $from $to
}

# Flow i belongs to station i; the first `up` stations send, the others receive.
for {set i 0} {$i < $stations} {incr i} {
    if {$i < $option(up)} {
        set from $station($i)
        set to $server
    } else {
        set from $server
        set to $station($i)
    }
    if {$option(short) || $option(long)} {
        $ns at [$random uniform 0 1] [list transfer $i $from $to]
        continue
    }
    if {$option(udp)} {
        # More than the channel carries, so every queue stays full; and a sender's timer is not in step with the medium.
        set sender($i) [new Agent/UDP]
        $sender($i) set packetSize_ [ip_bytes $i]
        set source($i) [new Application/Traffic/CBR]
        $source($i) set packetSize_ [ip_bytes $i]
        $source($i) set rate_ [expr {$option(offered_mbps) * 1e6 / $stations}]
        $source($i) set random_ 1
        set receiver($i) [new Agent/LossMonitor]
    } else {
        set sender($i) [new Agent/TCP/$option(agent)]
        set source($i) [new Application/FTP]
        set receiver($i) [expr {$option(delayed_ack) ? [new Agent/TCPSink/DelAck] : [new Agent/TCPSink]}]
    }
    $ns attach-agent $from $sender($i)
    $ns attach-agent $to $receiver($i)
    $ns connect $sender($i) $receiver($i)
    $source($i) attach-agent $sender($i)
    $ns at [$random uniform 0 1] "$source($i) start"
}

# Packets delivered so far: acknowledged in order for TCP, received for UDP.
proc delivered {i} {
    global option sender receiver
    return [expr {$option(udp) ? [$receiver($i) set npkts_] : [$sender($i) set ack_]}]
}

proc begin {} {
    global stations before monitor offered_before dropped_before
    for {set i 0} {$i < $stations} {incr i} { set before($i) [delivered $i] }
    set offered_before [$monitor set parrivals_]
    set dropped_before [$monitor set pdrops_]
}

proc report_transfers {} {
    global option times
    foreach kind {short long} {
        set measured {}
        foreach {end_s seconds} $times($kind) {
            if {$end_s >= $option(warmup_s)} { lappend measured [format %.6f $seconds] }
        }
        lappend lists "\"${kind}_s\": \[[join $measured {, }]\]"
    }
    puts "{[join $lists {, }]}"
    exit 0
}

proc report {} {
    global option trace stations before monitor offered_before dropped_before
    set flows {}
    for {set i 0} {$i < $stations} {incr i} {
        set bytes [expr {$option(udp) ? [ip_bytes $i] : $option(payload)}]
        lappend flows [format %.3f [expr {([delivered $i] - $before($i)) * $bytes * 8.0 / $option(measured_s) / 1000}]]
    }
    set offered [expr {[$monitor set parrivals_] - $offered_before}]
    set dropped [expr {[$monitor set pdrops_] - $dropped_before}]
    puts -nonewline "{\"up_kbps\": \[[join [lrange $flows 0 [expr {$option(up) - 1}]] {, }]\],\
        \"down_kbps\": \[[join [lrange $flows $option(up) end] {, }]\],\
        \"ap_offered_packets\": $offered, \"ap_refused_packets\": $dropped"
    if {$option(count)} {
        puts -nonewline ", "
        flush stdout
        close $trace ;# awk prints its counts and ends
    }
    puts "}"
    exit 0
}

array set times {short {} long {}}
if {$option(short) || $option(long)} {
    $ns at $end report_transfers
} else {
    $ns at $option(warmup_s) begin
    $ns at $end report
}
$ns run
