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

#include "ns3_common.h"

#include "ns3/mobility-module.h"
#include "ns3/spectrum-module.h"
#include "ns3/traffic-control-module.h"

#include <cmath>
#include <limits>

constexpr uint32_t SEGMENT_BYTES = 1460;
constexpr uint16_t DISCARD_PORT = 9;
constexpr double TX_POWER_DBM = 20;
const Time FIRST_AGREEMENT = MilliSeconds(50); // the MACs have been set up by then
const Time FIRST_START = MilliSeconds(500);    // all links have their agreements by then

struct Options : CommonOptions
{
    uint32_t bss = 3;
    uint32_t reach = 1;
    bool hidden = false;
    double linkDbm = -50;
    double othersDbm = -50;
    uint32_t rts = 4692480;
    bool spectrum = false;

    Options()
    {
        up = 1;
        down = 1;
        warmup = 2;
        measured = 5;
        window = 400;
        apQueue = 1000;
        offered = 90;
        preambleDetection = true;
    }
};

Options
Parse(int argc, char* argv[])
{
    Options option;
    CommandLine line(__FILE__);
    option.AddTo(line);
    line.AddValue("bss", "BSSs in a row", option.bss);
    line.AddValue("reach", "BSSs hear each other that are at most so far apart in the row", option.reach);
    line.AddValue("up", "uplink flows of each BSS, one a station", option.up);
    line.AddValue("down", "downlink flows of each BSS, one a station", option.down);
    line.AddValue("hidden", "stations of one BSS do not hear each other", option.hidden);
    line.AddValue("link_dbm", "power received within a BSS", option.linkDbm);
    line.AddValue("others_dbm", "power received from other BSSs", option.othersDbm);
    line.AddValue("rts_bytes", "RTS/CTS before longer PSDUs", option.rts);
    line.AddValue("offered_mbps", "each UDP flow, IP bytes: more than the channel carries", option.offered);
    line.AddValue("width_mhz", "of the channel", option.width);
    line.AddValue("mcs", "of all links, one stream", option.mcs);
    line.AddValue("spectrum", "SpectrumWifiPhy in place of YansWifiPhy", option.spectrum);
    line.Parse(argc, argv);
    return option;
}

void
SetDefaults(const Options& option)
{
    SetCommonDefaults(option, SEGMENT_BYTES, MilliSeconds(1000));
    SetAggregation(6'500'631, 256, false);
    Config::SetDefault("ns3::WifiMac::FrameRetryLimit", UintegerValue(7));
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(option.rts));
    Config::SetDefault("ns3::HeConfiguration::GuardInterval", TimeValue(NanoSeconds(800)));
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
    const MacHelper mac(option, true);
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

// Attempts that their sender saw fail.
struct Failures
{
    uint64_t unanswered = 0; // RTS
    uint64_t all = 0;        // those included
};

Failures g_failures;

void
CountTimeout(uint8_t reason)
{
    g_failures.unanswered += reason == WifiTxTimer::WAIT_CTS;
    g_failures.all++;
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
CountFailures(const NetDeviceContainer& devices)
{
    for (uint32_t i = 0; i < devices.GetN(); i++)
    {
        auto mac = MacOf(devices, i);
        mac->TraceConnectWithoutContext("MpduResponseTimeout", MakeCallback(&CountMpduTimeout));
        mac->TraceConnectWithoutContext("PsduResponseTimeout", MakeCallback(&CountPsduTimeout));
    }
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
    const NetDeviceContainer wire = Wire(option, "1Gbps", ap, server);
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
    const DataRate rate(option.offered * 1e6 * UDP_PAYLOAD_BYTES / 1500);
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
            const InetSocketAddress target(serverAddress, PORT + i);
            sinks.up.push_back(Flow(option, station, server, target, rate, SEGMENT_BYTES, FIRST_START));
        }
        else
        {
            const InetSocketAddress target(stationAddress, PORT + i);
            sinks.down.push_back(Flow(option, server, station, target, rate, SEGMENT_BYTES, FIRST_START));
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

int
main(int argc, char* argv[])
{
    const Options option = Parse(argc, argv);
    SetDefaults(option);
    Parse(argc, argv); // attributes given as --ns3::Type::Attribute=value have the last word

    const Nodes nodes(option);
    Place(nodes);
    const NetDeviceContainer radio = Install(option, nodes);
    for (uint32_t i = 0; i < radio.GetN(); i++)
    {
        SetBestEffort(MacOf(radio, i), nodes.IsAp(i) ? option.apQueue : 1000);
    }
    InternetStackHelper().Install(nodes.all);
    std::vector<Sinks> sinks;
    for (uint32_t b = 0; b < option.bss; b++)
    {
        sinks.push_back(Serve(option, nodes, radio, b));
    }
    DelayHosts(option, radio);
    NeighborCacheHelper().PopulateNeighborCache();

    RunUntil(FIRST_AGREEMENT / 2);
    SetBasicRates(radio);
    CountFrames(radio);
    CountFailures(radio);
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
    const Sent sent = g_sent;
    const Failures failures = g_failures;
    RunUntil(Seconds(option.warmup + option.measured));
    for (uint32_t b = 0; b < option.bss; b++)
    {
        up[b] += kbps * Received(sinks[b].up);
        down[b] += kbps * Received(sinks[b].down);
    }
    const uint64_t data = g_sent.data - sent.data;
    const uint64_t attempts = data + g_sent.requests - sent.requests + g_failures.unanswered - failures.unanswered;
    std::cout << '{';
    PrintList("bss_up_kbps", up);
    PrintList("bss_down_kbps", down);
    std::cout << "\"data_frames\": " << data << ", \"mpdus\": " << g_sent.mpdus - sent.mpdus << ", \"attempts\": " << attempts
              << ", \"failed\": " << g_failures.all - failures.all << "}\n";
    Simulator::Destroy();
    return 0;
}
