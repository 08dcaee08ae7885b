// SPM-AF for ns-2.35, written from the text of `spm-af-las`, Section 6.1: a sender and a queue, loaded into a built `ns`.
//
//   g++ -O2 -fPIC -shared -std=gnu++98 -fpermissive -w $DEFINE $INCLUDES ns2_spm_af.cc -o libspm.so
//   ns ns2_cell.tcl load ./libspm.so ap_ifq Queue/SpmAf agent Newreno/Spm ...
//
// DEFINE and INCLUDES are those of ns-2's Makefile, with -DUSE_INTERP_RESULT for Tcl 8.6. Debian's `ns` exports its symbols, so
// what is loaded may derive from its classes.
//
// The sender marks packets that it sends with a window below 4, and lets each segment that an ACK acknowledges open the window as
// an ACK does; with `by_ack_` only the ACK itself does, as in ns-2. The queue refuses where ns-2's drop-tail queue does.

#include "flags.h"
#include "ip.h"
#include "queue.h"
#include "random.h"
#include "tcp.h"

class SpmSender : public NewRenoTcpAgent {
public:
    SpmSender() : acked_segments_(1), by_ack_(0) { bind("by_ack_", &by_ack_); }

protected:
    virtual void recv(Packet* ack, Handler* handler) {
        acked_segments_ = hdr_tcp::access(ack)->seqno() - int(last_ack_);
        NewRenoTcpAgent::recv(ack, handler);
    }

    virtual void opencwnd() {
        if (by_ack_ || acked_segments_ < 1) {
            NewRenoTcpAgent::opencwnd();
        } else {
            for (int i = 0; i < acked_segments_; i++) NewRenoTcpAgent::opencwnd();
        }
    }

    virtual void output_helper(Packet* packet) { hdr_ip::access(packet)->prio() = double(cwnd_) < 4; }

private:
    int acked_segments_;
    int by_ack_;
};

class SpmAf : public Queue {
public:
    SpmAf() { pq_ = &packets_; }

protected:
    virtual void enque(Packet* arrival) {
        if (is_ack(arrival)) filter(arrival);
        if (packets_.length() + 1 >= qlim_) {
            Packet* victim = 0;
            if (!is_ack(arrival) && hdr_ip::access(arrival)->prio()) {
                victim = one_of(true);
                if (!victim) victim = one_of(false);
            }
            if (!victim) {
                drop(arrival);
                return;
            }
            packets_.remove(victim);
            drop(victim);
        }
        packets_.enque(arrival);
    }

    virtual Packet* deque() { return packets_.deque(); }

private:
    static bool is_ack(Packet* packet) { return hdr_cmn::access(packet)->ptype() == PT_ACK; }

    static bool of_one_connection(Packet* a, Packet* b) {
        hdr_ip *x = hdr_ip::access(a), *y = hdr_ip::access(b);
        return x->saddr() == y->saddr() && x->sport() == y->sport() && x->daddr() == y->daddr() && x->dport() == y->dport();
    }

    void filter(Packet* arrival) {
        Packet* next;
        for (Packet* queued = packets_.head(); queued; queued = next) {
            next = queued->next_;
            if (is_ack(queued) && of_one_connection(queued, arrival)) {
                packets_.remove(queued);
                Packet::free(queued);
            }
        }
    }

    // A random ACK, or a random data packet of low priority.
    Packet* one_of(bool acks) {
        int candidates = 0;
        Packet* found = 0;
        for (Packet* queued = packets_.head(); queued; queued = queued->next_) {
            if (acks ? !is_ack(queued) : is_ack(queued) || hdr_ip::access(queued)->prio()) continue;
            if (Random::integer(++candidates) == 0) found = queued;
        }
        return found;
    }

    PacketQueue packets_;
};

static class SpmSenderClass : public TclClass {
public:
    SpmSenderClass() : TclClass("Agent/TCP/Newreno/Spm") {}
    TclObject* create(int, const char* const*) { return new SpmSender; }
} spm_sender_class;

static class SpmAfClass : public TclClass {
public:
    SpmAfClass() : TclClass("Queue/SpmAf") {}
    TclObject* create(int, const char* const*) { return new SpmAf; }
} spm_af_class;

extern "C" int Spm_Init(Tcl_Interp*) {
    TclClass::init();
    return TCL_OK;
}
