// One 802.11b cell in ns-3: bulk TCP flows (or saturated UDP) through an access point to a wired server.
//
// Written for ns-3.44; run.py compiles it. Usage: ns3_symmetric [--up=10] [--down=10] ... (--help tells the rest).
// Prints one JSON document: payload throughput of each flow over the measured time.
//
// Decisions that are not obvious; without them the program runs, and measures something else:
//
// - Ad-hoc MACs with static routes and a full neighbour cache: no beacons, no association, no ARP that waits behind a full
//   buffer. It also makes it possible to have 1 Mbps as the only basic rate, see SetBasicRate.
// - Without a preamble detection model a bystander of a collision knows that it heard a broken frame and waits EIFS, as
//   802.11 asks; the default model misses the preamble of two equally loud frames and lets it wait DIFS.
// - No queue discipline: the MAC queue is the only buffer (its limit counts the frame in service), it drops the newest, and
//   nothing times out in it (the default drops after 500 ms).
// - TCP gives up neither a connection attempt nor a connection; timestamps, SACK and window scaling are off, so that a full
//   segment is 1500 bytes; the receive buffer of 42 segments is the window. ns-3 has no plain Reno: its loss recovery always
//   is NewReno's.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"

#include <cmath>
#include <iostream>
#include <numbers>
#include <vector>

using namespace ns3;

constexpr uint32_t PAYLOAD_BYTES = 1460;
constexpr uint32_t UDP_PAYLOAD_BYTES = 1472; // 1500 bytes of IP as well
constexpr uint16_t PORT = 5000;
const Time FIRST_START = MilliSeconds(100); // the MACs have been set up by then

struct Options
{
    uint32_t up = 10;
    uint32_t down = 10;
    double warmup = 150;
    double measured = 600;
    uint32_t seed = 1;
    bool rts = false;
    uint32_t window = 42;
    uint32_t ackEvery = 1;
    uint32_t apQueue = 100;
    bool udp = false;
    bool preambleDetection = false;
};

Options
Parse(int argc, char* argv[])
{
    Options option;
    CommandLine line(__FILE__);
    line.AddValue("up", "uplink flows, one a station", option.up);
    line.AddValue("down", "downlink flows, one a station", option.down);
    line.AddValue("warmup", "seconds before the measured time", option.warmup);
    line.AddValue("measured", "seconds measured", option.measured);
    line.AddValue("seed", "run number of the random streams", option.seed);
    line.AddValue("rts", "RTS/CTS before every data frame", option.rts);
    line.AddValue("window", "receive window in segments", option.window);
    line.AddValue("ack-every", "segments per TCP ACK", option.ackEvery);
    line.AddValue("ap-queue", "packets in the AP's buffer, frame in service included", option.apQueue);
    line.AddValue("udp", "saturated UDP in place of TCP", option.udp);
    line.AddValue("preamble-detection", "ns-3's default: no EIFS after most collisions", option.preambleDetection);
    line.Parse(argc, argv);
    return option;
}

void
SetDefaults(const Options& option)
{
    RngSeedManager::SetRun(option.seed);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpNewReno"));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", StringValue("ns3::TcpClassicRecovery"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(PAYLOAD_BYTES));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(option.ackEvery));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(100)));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(option.window * PAYLOAD_BYTES));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 * option.window * PAYLOAD_BYTES));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(1'000'000));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1'000'000));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(false));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(1'000'000)));
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(option.rts ? 0 : 65535));
}

// The AP (node 0) and its stations on one channel, all equally loud to each other.
NetDeviceContainer
Wlan(const Options& option, const NodeContainer& nodes)
{
    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    channel.AddPropagationLoss("ns3::FixedRssLossModel", "Rss", DoubleValue(-50));
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    if (!option.preambleDetection)
    {
        phy.DisablePreambleDetectionModel();
    }
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(false));
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue("DsssRate11Mbps"),
                                 "ControlMode",
                                 StringValue("DsssRate1Mbps"));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    auto buffer = DynamicCast<WifiNetDevice>(devices.Get(0))->GetMac()->GetTxop()->GetWifiMacQueue();
    buffer->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, option.apQueue));
    return devices;
}

// Makes 1 Mbps the only basic rate, so that MAC ACKs and CTS go at 1 Mbps. An ad-hoc MAC that meets an unknown peer takes
// all mandatory rates (up to 11 Mbps) as basic ones; so each is told of its peers before they meet. To be called once the
// MACs are initialised, as that makes them forget everything.
void
SetBasicRate(const NetDeviceContainer& devices)
{
    for (uint32_t i = 0; i < devices.GetN(); i++)
    {
        auto manager = DynamicCast<WifiNetDevice>(devices.Get(i))->GetRemoteStationManager();
        manager->AddBasicMode(WifiMode("DsssRate1Mbps"));
        for (uint32_t j = 0; j < devices.GetN(); j++)
        {
            auto peer = Mac48Address::ConvertFrom(devices.Get(j)->GetAddress());
            manager->AddSupportedMode(peer, WifiMode("DsssRate1Mbps"));
            manager->AddSupportedMode(peer, WifiMode("DsssRate11Mbps"));
            manager->RecordDisassociated(peer);
        }
    }
}

// The AP in the middle, the stations on a circle of 5 m.
void
Place(const NodeContainer& nodes)
{
    auto positions = CreateObject<ListPositionAllocator>();
    positions->Add(Vector(0, 0, 0));
    const uint32_t stations = nodes.GetN() - 1;
    for (uint32_t i = 0; i < stations; i++)
    {
        const double angle = 2 * std::numbers::pi * i / stations;
        positions->Add(Vector(5 * std::cos(angle), 5 * std::sin(angle), 0));
    }
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.SetPositionAllocator(positions);
    mobility.Install(nodes);
}

NetDeviceContainer
Wire(Ptr<Node> ap, Ptr<Node> server)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
    link.SetChannelAttribute("Delay", StringValue("5ms"));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("100000p"));
    return link.Install(ap, server);
}

void
SetGateway(Ptr<Node> node, Ipv4Address gateway)
{
    Ipv4StaticRoutingHelper().GetStaticRouting(node->GetObject<Ipv4>())->SetDefaultRoute(gateway, 1);
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
        helper.SetConstantRate(DataRate("12Mbps"), UDP_PAYLOAD_BYTES); // more than the channel carries: queues stay full
        sender = helper.Install(source);
    }
    else
    {
        BulkSendHelper helper(protocol, target);
        helper.SetAttribute("MaxBytes", UintegerValue(0)); // no end
        helper.SetAttribute("SendSize", UintegerValue(PAYLOAD_BYTES));
        sender = helper.Install(source);
    }
    static auto start = CreateObject<UniformRandomVariable>();
    sender.Start(FIRST_START + Seconds(start->GetValue(0, 1)));
    return receiver.Get(0)->GetObject<PacketSink>();
}

std::vector<uint64_t>
Received(const std::vector<Ptr<PacketSink>>& sinks)
{
    std::vector<uint64_t> bytes;
    for (const auto& sink : sinks)
    {
        bytes.push_back(sink->GetTotalRx());
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
PrintList(const char* name, const std::vector<double>& values, size_t first, size_t last)
{
    std::cout << '"' << name << "\": [";
    for (size_t i = first; i < last; i++)
    {
        std::cout << (i > first ? ", " : "") << values[i];
    }
    std::cout << ']';
}

int
main(int argc, char* argv[])
{
    const Options option = Parse(argc, argv);
    SetDefaults(option);

    NodeContainer cell(1 + option.up + option.down);
    NodeContainer servers(1);
    Ptr<Node> ap = cell.Get(0);
    Ptr<Node> server = servers.Get(0);
    NetDeviceContainer radio = Wlan(option, cell);
    NetDeviceContainer wire = Wire(ap, server);
    Place(cell);

    InternetStackHelper stack;
    stack.Install(cell);
    stack.Install(servers);
    Ipv4InterfaceContainer wireless = Ipv4AddressHelper("10.1.0.0", "255.255.0.0").Assign(radio);
    Ipv4InterfaceContainer wired = Ipv4AddressHelper("10.2.0.0", "255.255.255.0").Assign(wire);
    TrafficControlHelper queueing;
    queueing.Uninstall(radio);
    queueing.Uninstall(wire);
    SetGateway(server, wired.GetAddress(0));
    for (uint32_t i = 1; i < cell.GetN(); i++)
    {
        SetGateway(cell.Get(i), wireless.GetAddress(0));
    }
    NeighborCacheHelper().PopulateNeighborCache();

    // Flow i belongs to station i; the first `up` stations send, the others receive.
    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t i = 0; i < option.up + option.down; i++)
    {
        Ptr<Node> station = cell.Get(1 + i);
        sinks.push_back(i < option.up ? Flow(option, station, server, wired.GetAddress(1), PORT + i)
                                      : Flow(option, server, station, wireless.GetAddress(1 + i), PORT + i));
    }

    RunUntil(FIRST_START / 2);
    SetBasicRate(radio);
    RunUntil(Seconds(option.warmup));
    const std::vector<uint64_t> before = Received(sinks);
    RunUntil(Seconds(option.warmup + option.measured));
    const std::vector<uint64_t> after = Received(sinks);

    // UDP counts whole IP packets, as ns2_symmetric.tcl does.
    const double scale = option.udp ? 1500.0 / UDP_PAYLOAD_BYTES : 1.0;
    std::vector<double> kbps;
    for (size_t i = 0; i < sinks.size(); i++)
    {
        kbps.push_back((after[i] - before[i]) * scale * 8 / option.measured / 1000);
    }
    std::cout << '{';
    PrintList("up_kbps", kbps, 0, option.up);
    std::cout << ", ";
    PrintList("down_kbps", kbps, option.up, kbps.size());
    std::cout << "}\n";
    Simulator::Destroy();
    return 0;
}
