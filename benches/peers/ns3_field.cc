// Several BSSs on one channel in ns-3, in which not all nodes hear each other: saturated UDP or bulk TCP with A-MPDUs over
// 802.11ax.
//
// Written for ns-3.44; run.py compiles it. Usage: ns3_field [--bss=3] [--reach=1] ... (--help tells the rest). Prints one
// JSON document over the measured time: throughput of each BSS up and down, and, over all of them, data frames (an A-MPDU is
// one), the MPDUs in them, attempts (also an RTS without a CTS and a Block Ack Request), and those that failed.
//
// ns3_cell.cc says which of its decisions are not obvious; they hold here too. Besides:
//
// - A matrix says how much each node receives of each other; nodes that do not hear each other receive nothing. Positions
//   give every pair another delay, of less than 0.3 us: equal ones make ns-3 lose both of two frames that start together,
//   however strong one is.
// - Every link has its Block Ack agreements before the load starts. A hidden or starved station would otherwise wait for one
//   for the whole run, and send single MPDUs.
// - Preambles are detected by ns-3's default model, which wifair's field has too: -82 dBm, and 4 dB over interference.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/spectrum-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"

#include <cmath>
#include <dlfcn.h>
#include <iostream>
#include <map>
#include <limits>
#include <vector>

using namespace ns3;

constexpr uint32_t UDP_PAYLOAD_BYTES = 1472; // 1500 bytes of IP
constexpr uint32_t SEGMENT_BYTES = 1460;
constexpr uint16_t PORT = 5000;
constexpr uint16_t DISCARD_PORT = 9;
constexpr double TX_POWER_DBM = 20;
const Time FIRST_AGREEMENT = MilliSeconds(50); // the MACs have been set up by then
const Time FIRST_START = MilliSeconds(500);    // all links have their agreements by then

struct Options
{
    uint32_t bss = 3;
    uint32_t reach = 1;
    uint32_t up = 1;
    uint32_t down = 1;
    bool hidden = false;
    double linkDbm = -50;
    double othersDbm = -50;
    double warmup = 2;
    double measured = 5;
    uint32_t seed = 1;
    uint32_t rts = 4692480;
    uint32_t window = 400;
    bool udp = false;
    double offered = 90;
    uint32_t width = 20;
    uint32_t mcs = 7;
    uint32_t apQueue = 1000;
    double delay = 5;
    double hostDelay = 0;
    bool deliverAtEnd = false;
    double eifsLead = -1;
    bool spectrum = false;
    bool preambleDetection = true;
    double sense = 4;
    uint32_t barAttempts = 0;
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

Options
Parse(int argc, char* argv[])
{
    Options option;
    CommandLine line(__FILE__);
    line.AddValue("bss", "BSSs in a row", option.bss);
    line.AddValue("reach", "BSSs hear each other that are at most so far apart in the row", option.reach);
    line.AddValue("up", "uplink flows of each BSS, one a station", option.up);
    line.AddValue("down", "downlink flows of each BSS, one a station", option.down);
    line.AddValue("hidden", "stations of one BSS do not hear each other", option.hidden);
    line.AddValue("link_dbm", "power received within a BSS", option.linkDbm);
    line.AddValue("others_dbm", "power received from other BSSs", option.othersDbm);
    line.AddValue("warmup_s", "seconds before the measured time", option.warmup);
    line.AddValue("measured_s", "seconds measured", option.measured);
    line.AddValue("seed", "run number of the random streams", option.seed);
    line.AddValue("rts_bytes", "RTS/CTS before longer PSDUs", option.rts);
    line.AddValue("window", "receive window in segments", option.window);
    line.AddValue("udp", "saturated UDP in place of TCP", option.udp);
    line.AddValue("offered_mbps", "each UDP flow, IP bytes: more than the channel carries", option.offered);
    line.AddValue("width_mhz", "of the channel", option.width);
    line.AddValue("mcs", "of all links, one stream", option.mcs);
    line.AddValue("ap_queue", "packets in an AP's buffer, those in service included", option.apQueue);
    line.AddValue("delay_ms", "one-way delay of each wire", option.delay);
    line.AddValue("host_delay_us", "from a MAC that has received a packet up to its IP", option.hostDelay);
    line.AddValue("deliver_at_end", "packets go up when a PPDU ends; ns-3: when their MPDUs do", option.deliverAtEnd);
    line.AddValue("eifs_lead_us", "EIFS less DIFS: SIFS and a MAC ACK; negative: ns-3's own", option.eifsLead);
    line.AddValue("spectrum", "SpectrumWifiPhy in place of YansWifiPhy", option.spectrum);
    line.AddValue("preamble_detection", "ns-3's default model", option.preambleDetection);
    line.AddValue("sense_us", "from the start of a preamble until it is detected, ns-3: 4", option.sense);
    line.AddValue("bar_attempts", "after which a Block Ack Request is given up, ns-3: never (0)", option.barAttempts);
    line.Parse(argc, argv);
    return option;
}

void
SetDefaults(const Options& option)
{
    RngSeedManager::SetRun(option.seed);
    g_substitutes = {Seconds(option.sense / 1e6), option.barAttempts};
    const uint32_t window = option.window * SEGMENT_BYTES;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpNewReno"));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", StringValue("ns3::TcpClassicRecovery"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT_BYTES));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 * window));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(1'000'000));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1'000'000));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(1000)));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::WifiMac::FrameRetryLimit", UintegerValue(7));
    Config::SetDefault("ns3::WifiRemoteStationManager::IncrementRetryCountUnderBa", BooleanValue(true));
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(option.rts));
    Config::SetDefault("ns3::QosTxop::UseExplicitBarAfterMissedBlockAck", BooleanValue(false));
    Config::SetDefault("ns3::WifiMac::BE_MaxAmpduSize", UintegerValue(6'500'631));
    Config::SetDefault("ns3::WifiMac::MpduBufferSize", UintegerValue(256));
    Config::SetDefault("ns3::HeConfiguration::GuardInterval", TimeValue(NanoSeconds(800)));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(1'000'000)));
}

// The nodes of a field: `first` is the AP of each BSS, its stations follow.
struct Nodes
{
    NodeContainer all;
    std::vector<uint32_t> bss; // of each node
    std::vector<uint32_t> first;

    explicit Nodes(const Options& option)
    {
        for (uint32_t b = 0; b < option.bss; b++)
        {
            first.push_back(bss.size());
            bss.insert(bss.end(), 1 + option.up + option.down, b);
        }
        all.Create(bss.size());
    }

    bool IsAp(uint32_t i) const
    {
        return first[bss[i]] == i;
    }

    Ptr<Node> Ap(uint32_t b) const
    {
        return all.Get(first[b]);
    }

    Ptr<Node> Station(uint32_t b, uint32_t number) const
    {
        return all.Get(first[b] + 1 + number);
    }
};

// Received power between two nodes, in dBm.
double
ReceivedDbm(const Options& option, const Nodes& nodes, uint32_t i, uint32_t j)
{
    const uint32_t from = nodes.bss[i];
    const uint32_t to = nodes.bss[j];
    if (from == to)
    {
        const bool unheard = option.hidden && !nodes.IsAp(i) && !nodes.IsAp(j);
        return unheard ? -std::numeric_limits<double>::infinity() : option.linkDbm;
    }
    const uint32_t apart = from < to ? to - from : from - to;
    return apart > option.reach ? -std::numeric_limits<double>::infinity() : option.othersDbm;
}

// The nodes lie on a line, each gap longer than the one before: no two pairs of a few nodes are equally far apart.
void
Place(const Nodes& nodes)
{
    auto positions = CreateObject<ListPositionAllocator>();
    for (uint32_t i = 0; i < nodes.all.GetN(); i++)
    {
        positions->Add(Vector(0.3 * i + 0.02 * i * i, 0, 0));
    }
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.SetPositionAllocator(positions);
    mobility.Install(nodes.all);
}

Ptr<PropagationLossModel>
Losses(const Options& option, const Nodes& nodes)
{
    auto losses = CreateObject<MatrixPropagationLossModel>();
    losses->SetDefaultLoss(1000);
    for (uint32_t i = 0; i < nodes.all.GetN(); i++)
    {
        for (uint32_t j = 0; j < i; j++)
        {
            const double dbm = ReceivedDbm(option, nodes, i, j);
            if (std::isfinite(dbm))
            {
                auto a = nodes.all.Get(i)->GetObject<MobilityModel>();
                auto b = nodes.all.Get(j)->GetObject<MobilityModel>();
                losses->SetLoss(a, b, TX_POWER_DBM - dbm);
            }
        }
    }
    return losses;
}

// Channel access with a given EIFS, and which may keep the longest of the busy times that the PHY has told.
class FieldAccess : public ChannelAccessManager
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("FieldAccess")
                               .SetParent<ChannelAccessManager>()
                               .AddConstructor<FieldAccess>()
                               .AddAttribute("EifsLead",
                                             "EIFS less DIFS",
                                             TimeValue(Time(0)),
                                             MakeTimeAccessor(&FieldAccess::m_lead),
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

NS_OBJECT_ENSURE_REGISTERED(FieldAccess);

class MacHelper : public WifiMacHelper
{
  public:
    explicit MacHelper(const Options& option)
    {
        if (option.eifsLead >= 0)
        {
            m_channelAccessManager.SetTypeId("FieldAccess");
            m_channelAccessManager.Set("EifsLead", TimeValue(Seconds(option.eifsLead / 1e6)));
        }
        SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(true));
    }
};

void
SetPhy(const Options& option, WifiPhyHelper& phy)
{
    phy.Set("ChannelSettings", StringValue("{0, " + std::to_string(option.width) + ", BAND_5GHZ, 0}"));
    phy.Set("TxPowerStart", DoubleValue(TX_POWER_DBM));
    phy.Set("TxPowerEnd", DoubleValue(TX_POWER_DBM));
    if (!option.preambleDetection)
    {
        phy.DisablePreambleDetectionModel();
    }
}

NetDeviceContainer
Install(const Options& option, const Nodes& nodes)
{
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211ax);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue("HeMcs" + std::to_string(option.mcs)),
                                 "ControlMode",
                                 StringValue("OfdmRate24Mbps"));
    const MacHelper mac(option);
    const auto losses = Losses(option, nodes);
    const auto delays = CreateObject<ConstantSpeedPropagationDelayModel>();
    if (option.spectrum)
    {
        auto channel = CreateObject<MultiModelSpectrumChannel>();
        channel->AddPropagationLossModel(losses);
        channel->SetPropagationDelayModel(delays);
        SpectrumWifiPhyHelper phy;
        phy.SetChannel(channel);
        SetPhy(option, phy);
        return wifi.Install(phy, mac, nodes.all);
    }
    auto channel = CreateObject<YansWifiChannel>();
    channel->SetPropagationLossModel(losses);
    channel->SetPropagationDelayModel(delays);
    YansWifiPhyHelper phy;
    phy.SetChannel(channel);
    SetPhy(option, phy);
    return wifi.Install(phy, mac, nodes.all);
}

Ptr<WifiMac>
MacOf(const NetDeviceContainer& devices, uint32_t i)
{
    return DynamicCast<WifiNetDevice>(devices.Get(i))->GetMac();
}

// 802.11's default set for best effort, at APs and stations.
void
SetBestEffort(const Options& option, const Nodes& nodes, const NetDeviceContainer& devices)
{
    for (uint32_t i = 0; i < devices.GetN(); i++)
    {
        auto txop = MacOf(devices, i)->GetQosTxop(AC_BE);
        txop->SetMinCw(15);
        txop->SetMaxCw(1023);
        txop->SetAifsn(3);
        txop->SetTxopLimit(Time(0));
        const uint32_t packets = nodes.IsAp(i) ? option.apQueue : 1000;
        txop->GetWifiMacQueue()->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, packets));
    }
}

// Peers know only the lowest rate as basic: they are told of 12 and 24 Mbps, so that responses go at 24. To be called once
// the MACs are initialised, as that makes them forget everything.
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

// Data frames, MPDUs in them and Block Ack Requests that began to be sent, and attempts that their sender saw fail.
struct Counts
{
    uint64_t data = 0;
    uint64_t mpdus = 0;
    uint64_t requests = 0;
    uint64_t unanswered = 0; // RTS
    uint64_t failed = 0;     // those included
};

Counts g_counts;

void
CountSent(WifiConstPsduMap psdus, WifiTxVector, double)
{
    const auto& psdu = psdus.begin()->second;
    const WifiMacHeader& header = psdu->GetHeader(0);
    g_counts.data += header.IsData();
    g_counts.mpdus += header.IsData() ? psdu->GetNMpdus() : 0;
    g_counts.requests += header.IsBlockAckReq();
}

void
CountTimeout(uint8_t reason)
{
    g_counts.unanswered += reason == WifiTxTimer::WAIT_CTS;
    g_counts.failed++;
}

void
CountMpduTimeout(uint8_t reason, Ptr<const WifiMpdu>, const WifiTxVector&)
{
    CountTimeout(reason);
}

void
CountPsduTimeout(uint8_t reason, Ptr<const WifiPsdu>, const WifiTxVector&)
{
    CountTimeout(reason);
}

void
CountFrames(const NetDeviceContainer& devices)
{
    for (uint32_t i = 0; i < devices.GetN(); i++)
    {
        auto device = DynamicCast<WifiNetDevice>(devices.Get(i));
        device->GetPhy()->TraceConnectWithoutContext("PhyTxPsduBegin", MakeCallback(&CountSent));
        device->GetMac()->TraceConnectWithoutContext("MpduResponseTimeout", MakeCallback(&CountMpduTimeout));
        device->GetMac()->TraceConnectWithoutContext("PsduResponseTimeout", MakeCallback(&CountPsduTimeout));
    }
}

NetDeviceContainer
Wire(const Options& option, Ptr<Node> ap, Ptr<Node> server)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(option.delay / 1000)));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("100000p"));
    return link.Install(ap, server);
}

// Lets a host take its time, and a MAC hold what a PPDU brings until it ends. In ns-3 a host answers at the very end of the
// data frame, before its MAC has sent the MAC ACK, and the MAC then holds the medium for idle.
void
DelayHosts(const Options& option, const NetDeviceContainer& devices)
{
    for (uint32_t i = 0; i < devices.GetN(); i++)
    {
        auto device = DynamicCast<WifiNetDevice>(devices.Get(i));
        auto internet = device->GetNode()->GetObject<Ipv4L3Protocol>();
        auto state = device->GetPhy()->GetState();
        const Time host = Seconds(option.hostDelay / 1e6);
        const bool atEnd = option.deliverAtEnd;
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

// One packet that nobody waits for, so that the link it takes gets its Block Ack agreement.
void
SendOne(Ptr<Node> source, Ipv4Address address)
{
    auto socket = Socket::CreateSocket(source, TypeId::LookupByName("ns3::UdpSocketFactory"));
    socket->Connect(InetSocketAddress(address, DISCARD_PORT));
    socket->Send(Create<Packet>(100));
    socket->Close();
}

// One flow between two nodes; the returned application at `sink` counts what has arrived.
Ptr<PacketSink>
Flow(const Options& option, Ptr<Node> source, Ptr<Node> sink, Ipv4Address address, uint16_t port)
{
    const std::string protocol = option.udp ? "ns3::UdpSocketFactory" : "ns3::TcpSocketFactory";
    const InetSocketAddress target(address, port);
    auto receiver = PacketSinkHelper(protocol, target).Install(sink);
    receiver.Start(Seconds(0));
    ApplicationContainer sender;
    if (option.udp)
    {
        OnOffHelper helper(protocol, target);
        helper.SetConstantRate(DataRate(option.offered * 1e6 * UDP_PAYLOAD_BYTES / 1500), UDP_PAYLOAD_BYTES);
        sender = helper.Install(source);
    }
    else
    {
        BulkSendHelper helper(protocol, target);
        helper.SetAttribute("MaxBytes", UintegerValue(0)); // no end
        helper.SetAttribute("SendSize", UintegerValue(SEGMENT_BYTES));
        sender = helper.Install(source);
    }
    static auto start = CreateObject<UniformRandomVariable>();
    sender.Start(FIRST_START + Seconds(start->GetValue(0, 1)));
    return receiver.Get(0)->GetObject<PacketSink>();
}

// The flows of one BSS: its first `up` stations send, the others receive.
struct Sinks
{
    std::vector<Ptr<PacketSink>> up;
    std::vector<Ptr<PacketSink>> down;
};

Sinks
Serve(const Options& option, const Nodes& nodes, const NetDeviceContainer& radio, uint32_t b)
{
    static Time agreement = FIRST_AGREEMENT;
    Ptr<Node> ap = nodes.Ap(b);
    NodeContainer servers(1);
    Ptr<Node> server = servers.Get(0);
    InternetStackHelper().Install(server);
    const NetDeviceContainer wire = Wire(option, ap, server);
    const std::string number = std::to_string(b);
    NetDeviceContainer cell;
    for (uint32_t i = 0; i <= option.up + option.down; i++)
    {
        cell.Add(radio.Get(nodes.first[b] + i));
    }
    auto wireless = Ipv4AddressHelper(("10.1." + number + ".0").c_str(), "255.255.255.0").Assign(cell);
    auto wired = Ipv4AddressHelper(("10.2." + number + ".0").c_str(), "255.255.255.0").Assign(wire);
    TrafficControlHelper queueing;
    queueing.Uninstall(cell);
    queueing.Uninstall(wire);
    SetGateway(server, wired.GetAddress(0));
    Sinks sinks;
    for (uint32_t i = 0; i < option.up + option.down; i++)
    {
        Ptr<Node> station = nodes.Station(b, i);
        const Ipv4Address stationAddress = wireless.GetAddress(1 + i);
        const Ipv4Address serverAddress = wired.GetAddress(1);
        SetGateway(station, wireless.GetAddress(0));
        Simulator::Schedule(agreement, &SendOne, station, serverAddress);
        Simulator::Schedule(agreement + MilliSeconds(3), &SendOne, server, stationAddress);
        agreement += MilliSeconds(7);
        if (i < option.up)
        {
            sinks.up.push_back(Flow(option, station, server, serverAddress, PORT + i));
        }
        else
        {
            sinks.down.push_back(Flow(option, server, station, stationAddress, PORT + i));
        }
    }
    NS_ABORT_MSG_UNLESS(agreement < FIRST_START, "more links than get their agreements before the load starts");
    return sinks;
}

uint64_t
Received(const std::vector<Ptr<PacketSink>>& sinks)
{
    uint64_t bytes = 0;
    for (const auto& sink : sinks)
    {
        bytes += sink->GetTotalRx();
    }
    return bytes;
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

int
main(int argc, char* argv[])
{
    const Options option = Parse(argc, argv);
    SetDefaults(option);
    Parse(argc, argv); // attributes given as --ns3::Type::Attribute=value have the last word

    const Nodes nodes(option);
    Place(nodes);
    const NetDeviceContainer radio = Install(option, nodes);
    SetBestEffort(option, nodes, radio);
    InternetStackHelper().Install(nodes.all);
    std::vector<Sinks> sinks;
    for (uint32_t b = 0; b < option.bss; b++)
    {
        sinks.push_back(Serve(option, nodes, radio, b));
    }
    if (option.hostDelay > 0 || option.deliverAtEnd)
    {
        DelayHosts(option, radio);
    }
    NeighborCacheHelper().PopulateNeighborCache();

    RunUntil(FIRST_AGREEMENT / 2);
    SetBasicRates(radio);
    CountFrames(radio);
    RunUntil(Seconds(option.warmup));
    // UDP counts whole IP packets, as wifair does.
    const double kbps = (option.udp ? 1500.0 / UDP_PAYLOAD_BYTES : 1.0) * 8 / option.measured / 1000;
    std::vector<double> up;
    std::vector<double> down;
    for (const auto& of : sinks)
    {
        up.push_back(-kbps * Received(of.up));
        down.push_back(-kbps * Received(of.down));
    }
    const Counts before = g_counts;
    RunUntil(Seconds(option.warmup + option.measured));
    for (uint32_t b = 0; b < option.bss; b++)
    {
        up[b] += kbps * Received(sinks[b].up);
        down[b] += kbps * Received(sinks[b].down);
    }
    const uint64_t data = g_counts.data - before.data;
    const uint64_t attempts = data + g_counts.requests - before.requests + g_counts.unanswered - before.unanswered;
    std::cout << '{';
    PrintList("bss_up_kbps", up);
    PrintList("bss_down_kbps", down);
    std::cout << "\"data_frames\": " << data << ", \"mpdus\": " << g_counts.mpdus - before.mpdus
              << ", \"attempts\": " << attempts << ", \"failed\": " << g_counts.failed - before.failed << "}\n";
    Simulator::Destroy();
    return 0;
}
