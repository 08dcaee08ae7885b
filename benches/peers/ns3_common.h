// What the programs for ns-3.44 share: the options that both have, the substitutes for functions of ns-3 that have no attribute,
// nodes, flows and counts. Included by one source per program.

#pragma once

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/wifi-module.h"

#include <dlfcn.h>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace ns3;

constexpr uint32_t UDP_PAYLOAD_BYTES = 1472; // 1500 bytes of IP
constexpr uint16_t PORT = 5000;

struct CommonOptions
{
    uint32_t up;
    uint32_t down;
    double warmup;
    double measured;
    uint32_t seed = 1;
    uint32_t window;
    uint32_t apQueue;
    bool udp = false;
    double offered;
    uint32_t width = 20;
    uint32_t mcs = 7;
    double delay = 5;
    double hostDelay = 0;
    bool deliverAtEnd = false;
    double eifsLead = -1;
    bool preambleDetection;
    double sense = 4;
    uint32_t barAttempts = 0;

    void AddTo(CommandLine& line)
    {
        line.AddValue("warmup_s", "seconds before the measured time", warmup);
        line.AddValue("measured_s", "seconds measured", measured);
        line.AddValue("seed", "run number of the random streams", seed);
        line.AddValue("window", "receive window in segments", window);
        line.AddValue("ap_queue", "packets in an AP's buffer, those in service included", apQueue);
        line.AddValue("udp", "saturated UDP in place of TCP", udp);
        line.AddValue("delay_ms", "one-way delay of the wire", delay);
        line.AddValue("host_delay_us", "from a MAC that has received a packet up to its IP", hostDelay);
        line.AddValue("deliver_at_end", "packets go up when a PPDU ends; ns-3: when their MPDUs do", deliverAtEnd);
        line.AddValue("eifs_lead_us", "EIFS less DIFS: SIFS and a MAC ACK; negative: ns-3's own", eifsLead);
        line.AddValue("preamble_detection", "ns-3's default model: no EIFS after most collisions", preambleDetection);
        line.AddValue("sense_us", "from the start of a preamble until it is detected, ns-3: 4", sense);
        line.AddValue("bar_attempts", "after which a Block Ack Request is given up, ns-3: never (0)", barAttempts);
    }
};

// What stands in for functions of ns-3 that have no attribute: its own code calls those defined here, since the dynamic
// linker looks in the program first. `Original` finds what would have been called.
struct Substitutes
{
    Time sense = MicroSeconds(4);
    uint32_t barAttempts = 0;
};

Substitutes g_substitutes;

template <typename Function>
Function
Original(const char* symbol)
{
    void* found = dlsym(RTLD_NEXT, symbol);
    NS_ABORT_MSG_UNLESS(found, "this ns-3 has no " << symbol);
    return reinterpret_cast<Function>(found);
}

// A constant in ns-3.
Time
WifiPhy::GetPreambleDetectionDuration()
{
    return g_substitutes.sense;
}

// ns-3 repeats a Block Ack Request without limit.
void
HtFrameExchangeManager::MissedBlockAck(Ptr<WifiPsdu> psdu, const WifiTxVector& txVector)
{
    if (g_substitutes.barAttempts && psdu->GetHeader(0).IsBlockAckReq())
    {
        static std::map<std::pair<HtFrameExchangeManager*, Mac48Address>, std::pair<uint16_t, uint32_t>> attempts;
        CtrlBAckRequestHeader request;
        psdu->GetPayload(0)->PeekHeader(request);
        auto& [sequence, missed] = attempts[{this, psdu->GetAddr1()}];
        missed = sequence == request.GetStartingSequence() ? missed + 1 : 1;
        sequence = request.GetStartingSequence();
        if (missed >= g_substitutes.barAttempts)
        {
            missed = 0;
            DequeuePsdu(psdu);
            return;
        }
    }
    using Function = void (*)(HtFrameExchangeManager*, Ptr<WifiPsdu>, const WifiTxVector&);
    static const auto original = Original<Function>(
        "_ZN3ns322HtFrameExchangeManager14MissedBlockAckENS_3PtrINS_8WifiPsduEEERKNS_12WifiTxVectorE");
    original(this, psdu, txVector);
}

// Without options of a program's own. No connection is given up, and a full segment is 1500 bytes.
void
SetCommonDefaults(const CommonOptions& option, uint32_t segmentBytes, Time minRto)
{
    RngSeedManager::SetRun(option.seed);
    g_substitutes = {Seconds(option.sense / 1e6), option.barAttempts};
    const uint32_t window = option.window * segmentBytes;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpNewReno"));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", StringValue("ns3::TcpClassicRecovery"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segmentBytes));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 * window));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(1'000'000));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1'000'000));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(minRto));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(1'000'000)));
}

// MPDUs are given up as frames are (by default never, but by lifetime). A missing Block Ack is not asked for unless `bar`.
void
SetAggregation(uint32_t ampduBytes, uint32_t window, bool bar)
{
    Config::SetDefault("ns3::WifiRemoteStationManager::IncrementRetryCountUnderBa", BooleanValue(true));
    Config::SetDefault("ns3::QosTxop::UseExplicitBarAfterMissedBlockAck", BooleanValue(bar));
    Config::SetDefault("ns3::WifiMac::BE_MaxAmpduSize", UintegerValue(ampduBytes));
    Config::SetDefault("ns3::WifiMac::MpduBufferSize", UintegerValue(window));
}

// Channel access with a given EIFS. ns-3 derives its own from the standard alone.
class AccessWithEifs : public ChannelAccessManager
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id =
            TypeId("AccessWithEifs")
                .SetParent<ChannelAccessManager>()
                .AddConstructor<AccessWithEifs>()
                .AddAttribute("EifsLead",
                              "EIFS less DIFS",
                              TimeValue(Time(0)),
                              MakeTimeAccessor(&AccessWithEifs::m_lead),
                              MakeTimeChecker());
        return id;
    }

  private:
    Time GetEifsNoDifs() const override
    {
        return m_lead;
    }

    Time m_lead;
};

NS_OBJECT_ENSURE_REGISTERED(AccessWithEifs);

// Ad-hoc MACs, each with the EIFS of `eifs_lead_us`, if there is one.
class MacHelper : public WifiMacHelper
{
  public:
    MacHelper(const CommonOptions& option, bool qos)
    {
        if (option.eifsLead >= 0)
        {
            m_channelAccessManager.SetTypeId("AccessWithEifs");
            m_channelAccessManager.Set("EifsLead", TimeValue(Seconds(option.eifsLead / 1e6)));
        }
        SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(qos));
    }
};

Ptr<WifiMac>
MacOf(const NetDeviceContainer& devices, uint32_t i)
{
    return DynamicCast<WifiNetDevice>(devices.Get(i))->GetMac();
}

void
SetCategory(Ptr<WifiMac> mac, AcIndex category, uint32_t cwMin, uint32_t cwMax, uint8_t aifsn, uint32_t packets)
{
    auto txop = mac->GetQosTxop(category);
    txop->SetMinCw(cwMin);
    txop->SetMaxCw(cwMax);
    txop->SetAifsn(aifsn);
    txop->SetTxopLimit(Time(0));
    txop->GetWifiMacQueue()->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, packets));
}

// 802.11's default set for best effort, at APs as at stations.
void
SetBestEffort(Ptr<WifiMac> mac, uint32_t packets)
{
    SetCategory(mac, AC_BE, 15, 1023, 3, packets);
}

// Peers with A-MPDUs know only the lowest rate as basic: they are told of 12 and 24 Mbps, so that responses go at 24. To be called
// once the MACs are initialised, as that makes them forget everything.
void
SetBasicRates(const NetDeviceContainer& devices)
{
    for (uint32_t i = 0; i < devices.GetN(); i++)
    {
        auto manager = DynamicCast<WifiNetDevice>(devices.Get(i))->GetRemoteStationManager();
        manager->AddBasicMode(WifiMode("OfdmRate12Mbps"));
        manager->AddBasicMode(WifiMode("OfdmRate24Mbps"));
    }
}

// Data frames, MPDUs in them, Block Ack Requests and MAC ACKs that began to be sent, by anybody.
struct Sent
{
    uint64_t data = 0;
    uint64_t mpdus = 0;
    uint64_t requests = 0;
    uint64_t acks = 0;
};

Sent g_sent;

void
CountSent(WifiConstPsduMap psdus, WifiTxVector, double)
{
    const auto& psdu = psdus.begin()->second;
    const WifiMacHeader& header = psdu->GetHeader(0);
    g_sent.data += header.IsData();
    g_sent.mpdus += header.IsData() ? psdu->GetNMpdus() : 0;
    g_sent.requests += header.IsBlockAckReq();
    g_sent.acks += header.IsAck() || header.IsBlockAck();
}

void
CountFrames(const NetDeviceContainer& devices)
{
    for (uint32_t i = 0; i < devices.GetN(); i++)
    {
        auto phy = DynamicCast<WifiNetDevice>(devices.Get(i))->GetPhy();
        phy->TraceConnectWithoutContext("PhyTxPsduBegin", MakeCallback(&CountSent));
    }
}

NetDeviceContainer
Wire(const CommonOptions& option, const std::string& rate, Ptr<Node> ap, Ptr<Node> server)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(option.delay / 1000)));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("100000p"));
    return link.Install(ap, server);
}

// Lets a host take its time, and a MAC hold what a PPDU brings until it ends, if one of them is asked for. In ns-3 a host answers at
// the very end of the data frame, before its MAC has sent the MAC ACK, and the MAC then holds the medium for idle.
void
DelayHosts(const CommonOptions& option, const NetDeviceContainer& devices)
{
    if (option.hostDelay <= 0 && !option.deliverAtEnd)
    {
        return;
    }
    const Time host = Seconds(option.hostDelay / 1e6);
    const bool atEnd = option.deliverAtEnd;
    for (uint32_t i = 0; i < devices.GetN(); i++)
    {
        auto device = DynamicCast<WifiNetDevice>(devices.Get(i));
        auto internet = device->GetNode()->GetObject<Ipv4L3Protocol>();
        auto state = device->GetPhy()->GetState();
        device->SetReceiveCallback(
            [=](Ptr<NetDevice> from, Ptr<const Packet> packet, uint16_t protocol, const Address& address) {
                const bool receives = atEnd && state->GetState() == WifiPhyState::RX;
                const Time rest = receives ? state->GetDelayUntilIdle() : Time(0);
                Simulator::Schedule(rest + host, [=] {
                    internet->Receive(from, packet, protocol, address, from->GetAddress(), NetDevice::PACKET_HOST);
                });
                return true;
            });
    }
}

void
SetGateway(Ptr<Node> node, Ipv4Address gateway)
{
    Ipv4StaticRoutingHelper().GetStaticRouting(node->GetObject<Ipv4>())->SetDefaultRoute(gateway, 1);
}

// One flow between two nodes, of UDP packets at `udpRate` or of TCP segments, that starts within a second of `start`; the returned
// application at `sink` counts what has arrived.
Ptr<PacketSink>
Flow(const CommonOptions& option,
     Ptr<Node> source,
     Ptr<Node> sink,
     const InetSocketAddress& target,
     DataRate udpRate,
     uint32_t segmentBytes,
     Time start)
{
    const std::string protocol = option.udp ? "ns3::UdpSocketFactory" : "ns3::TcpSocketFactory";
    auto receiver = PacketSinkHelper(protocol, target).Install(sink);
    receiver.Start(Seconds(0));
    ApplicationContainer sender;
    if (option.udp)
    {
        OnOffHelper helper(protocol, target);
        helper.SetConstantRate(udpRate, UDP_PAYLOAD_BYTES);
        sender = helper.Install(source);
    }
    else
    {
        BulkSendHelper helper(protocol, target);
        helper.SetAttribute("MaxBytes", UintegerValue(0)); // no end
        helper.SetAttribute("SendSize", UintegerValue(segmentBytes));
        sender = helper.Install(source);
    }
    static auto spread = CreateObject<UniformRandomVariable>();
    sender.Start(start + Seconds(spread->GetValue(0, 1)));
    return receiver.Get(0)->GetObject<PacketSink>();
}

void
RunUntil(Time end)
{
    Simulator::Stop(end - Simulator::Now());
    Simulator::Run();
}

void
PrintList(const char* name, const std::vector<double>& values)
{
    std::cout << '"' << name << "\": [";
    for (size_t i = 0; i < values.size(); i++)
    {
        std::cout << (i > 0 ? ", " : "") << values[i];
    }
    std::cout << "], ";
}
