// One cell in ns-3: bulk TCP flows (or saturated UDP) through an access point to a wired server; 802.11b, 802.11g with
// EDCA as in `alt`, or 802.11n, ac and ax with A-MPDUs (`--today`).
//
// Written for ns-3.44; run.py compiles it. Usage: ns3_cell [--up=10] [--down=10] ... (--help tells the rest).
// Prints one JSON document over the measured time: throughput of each flow, and what was sent in the cell: data frames (an A-MPDU
// is one), the MPDUs in them, and MAC ACKs (a Block Ack is one).
//
// Decisions that are not obvious; without them the program runs, and measures something else:
//
// - Ad-hoc MACs with static routes and a full neighbour cache: no beacons, no association, no ARP that waits behind a full
//   buffer. It also makes it possible to have 1 Mbps as the only basic rate, see SetRatesAndSlot.
// - Without a preamble detection model a bystander of a collision knows that it heard a broken frame and waits EIFS, as
//   802.11 asks; the default model misses the preamble of two equally loud frames and lets it wait DIFS. But the receiver of two
//   A-MPDUs can then decode the MPDUs of one that the other, if shorter, does not overlap.
// - No queue discipline: the MAC queue is the only buffer (its limit counts the frame in service), it drops the newest, and
//   nothing times out in it (the default drops after 500 ms).
// - `alt`: who receives sends its ACKs with DSCP CS6, whose upper bits ns-3 takes as user priority 6, category voice.
// - TCP gives up neither a connection attempt nor a connection; timestamps, SACK and window scaling are off, so that a full
//   segment is 1500 bytes; the receive buffer of 42 segments is the window. ns-3 has no plain Reno: its loss recovery always
//   is NewReno's.
// - `--today`: 5 GHz, best effort alone, with one EDCA parameter set at AP and stations. A-MPDUs are as long as the standard allows
//   (by default ns-3 ends them at 65,535 bytes in all), MPDUs are given up as frames are (by default never, but by lifetime), and a
//   missing Block Ack is not asked for. VHT-SIG-B and the HE-LTFs are ns-3's own: see docs/peers.md.

#include "ns3_common.h"

#include "ns3/mobility-module.h"
#include "ns3/traffic-control-module.h"

#include <cmath>

const Time FIRST_START = MilliSeconds(100); // the MACs have been set up by then

struct Options : CommonOptions
{
    bool rts = false;
    uint32_t ackEvery = 1;
    bool alt = false;
    std::string standard = "g";
    std::string today; // "n", "ac", "ax" or nothing
    int32_t slowMcs = -1;
    bool bar = false;

    Options()
    {
        up = 10;
        down = 10;
        warmup = 150;
        measured = 600;
        window = 42;
        apQueue = 100;
        offered = 12;
        preambleDetection = false;
    }

    // Payload of a TCP segment: "1000 bytes" in `alt`.
    uint32_t Segment() const
    {
        return alt ? 1000 : 1460;
    }
};

Options
Parse(int argc, char* argv[])
{
    Options option;
    CommandLine line(__FILE__);
    option.AddTo(line);
    line.AddValue("up", "uplink flows, one a station", option.up);
    line.AddValue("down", "downlink flows, one a station", option.down);
    line.AddValue("rts", "RTS/CTS before every data frame", option.rts);
    line.AddValue("ack_every", "segments per TCP ACK", option.ackEvery);
    line.AddValue("offered_mbps", "all UDP flows together: more than the channel carries", option.offered);
    line.AddValue("alt", "802.11g with EDCA, and TCP with SACK, as in `alt`", option.alt);
    line.AddValue("standard", "g or a, with `alt`: in 802.11a an EIFS allows for a MAC ACK at 6 Mbps", option.standard);
    line.AddValue("today", "802.11n, ac or ax with A-MPDUs: n, ac, ax", option.today);
    line.AddValue("width_mhz", "of the channel, today", option.width);
    line.AddValue("mcs", "of all links, one stream, today", option.mcs);
    line.AddValue("slow_mcs", "of the links of the last station, today; -1: as all", option.slowMcs);
    line.AddValue("bar", "ns-3's default, today: a Block Ack Request after each missing Block Ack", option.bar);
    line.Parse(argc, argv);
    return option;
}

// 802.11n, ac and ax: the standard, the prefix of its modes' names, the longest A-MPDU, the Block Ack window.
struct Generation
{
    WifiStandard standard;
    std::string modes;
    uint32_t ampduBytes;
    uint32_t window;
};

Generation
GenerationOf(const Options& option)
{
    if (option.today == "n")
    {
        return {WIFI_STANDARD_80211n, "HtMcs", 65'535, 64};
    }
    if (option.today == "ac")
    {
        return {WIFI_STANDARD_80211ac, "VhtMcs", 1'048'575, 64};
    }
    NS_ABORT_MSG_UNLESS(option.today == "ax", "--today is n, ac or ax, not " << option.today);
    return {WIFI_STANDARD_80211ax, "HeMcs", 6'500'631, 256};
}

void
SetDefaults(const Options& option)
{
    const uint32_t segment = option.Segment();
    const bool today = !option.today.empty();
    SetCommonDefaults(option, segment, MilliSeconds(option.alt || today ? 1000 : 200));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(option.ackEvery));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(100)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(option.alt || today));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(option.alt || today));
    if (option.alt)
    {
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(option.window * segment));
        Config::SetDefault("ns3::TcpSocket::InitialSlowStartThreshold", UintegerValue(64 * segment));
    }
    Config::SetDefault("ns3::WifiMac::FrameRetryLimit", UintegerValue(7));
    if (today)
    {
        const Generation generation = GenerationOf(option);
        SetAggregation(generation.ampduBytes, generation.window, option.bar);
    }
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(option.rts ? 0 : 4692480));
}

// The rates in use: see SetRatesAndSlot.
struct Modes
{
    WifiStandard standard;
    std::string basic;
    std::string data;
    Time slot;
};

Modes
ModesOf(const Options& option)
{
    if (!option.alt)
    {
        return {WIFI_STANDARD_80211b, "DsssRate1Mbps", "DsssRate11Mbps", MicroSeconds(20)};
    }
    if (option.standard == "a")
    {
        return {WIFI_STANDARD_80211a, "OfdmRate6Mbps", "OfdmRate54Mbps", MicroSeconds(9)};
    }
    NS_ABORT_MSG_UNLESS(option.standard == "g", "--standard is g or a, not " << option.standard);
    return {WIFI_STANDARD_80211g, "ErpOfdmRate6Mbps", "ErpOfdmRate54Mbps", MicroSeconds(9)};
}

// Fixed modes, one stream, that may differ by peer; ns-3's own manager of constant rates has one for all peers.
class ModeByPeer : public WifiRemoteStationManager
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("ModeByPeer").SetParent<WifiRemoteStationManager>().AddConstructor<ModeByPeer>();
        return id;
    }

    void SetMode(const std::string& mode)
    {
        m_mode = WifiMode(mode);
    }

    void SetMode(Mac48Address peer, const std::string& mode)
    {
        m_ofPeer[peer] = WifiMode(mode);
    }

  private:
    WifiRemoteStation* DoCreateStation() const override
    {
        return new WifiRemoteStation();
    }

    WifiTxVector DoGetDataTxVector(WifiRemoteStation* station, MHz_u width) override
    {
        const auto found = m_ofPeer.find(station->m_state->m_address);
        const WifiMode mode = found == m_ofPeer.end() ? m_mode : found->second;
        const auto preamble = GetPreambleForTransmission(mode.GetModulationClass(), false);
        return {mode, GetDefaultTxPowerLevel(), preamble, NanoSeconds(800), 1, 1, 0, width, GetAggregation(station)};
    }

    WifiTxVector DoGetRtsTxVector(WifiRemoteStation*) override
    {
        const WifiMode mode("OfdmRate24Mbps");
        const auto preamble = GetPreambleForTransmission(mode.GetModulationClass(), false);
        return {mode, GetDefaultTxPowerLevel(), preamble, NanoSeconds(800), 1, 1, 0, MHz_u{20}, false};
    }

    void DoReportRxOk(WifiRemoteStation*, double, WifiMode) override
    {
    }

    void DoReportRtsFailed(WifiRemoteStation*) override
    {
    }

    void DoReportDataFailed(WifiRemoteStation*) override
    {
    }

    void DoReportRtsOk(WifiRemoteStation*, double, WifiMode, double) override
    {
    }

    void DoReportDataOk(WifiRemoteStation*, double, WifiMode, double, MHz_u, uint8_t) override
    {
    }

    void DoReportFinalRtsFailed(WifiRemoteStation*) override
    {
    }

    void DoReportFinalDataFailed(WifiRemoteStation*) override
    {
    }

    WifiMode m_mode;
    std::map<Mac48Address, WifiMode> m_ofPeer;
};

NS_OBJECT_ENSURE_REGISTERED(ModeByPeer);

// All links at `mcs`, those of the last station at `slow_mcs` if it is given.
void
SetModes(const Options& option, const NetDeviceContainer& devices)
{
    const std::string modes = GenerationOf(option).modes;
    const std::string fast = modes + std::to_string(option.mcs);
    const std::string slow = option.slowMcs < 0 ? fast : modes + std::to_string(option.slowMcs);
    auto manager = [&](uint32_t i) {
        auto device = DynamicCast<WifiNetDevice>(devices.Get(i));
        return DynamicCast<ModeByPeer>(device->GetRemoteStationManager());
    };
    const uint32_t last = devices.GetN() - 1;
    for (uint32_t i = 0; i <= last; i++)
    {
        manager(i)->SetMode(i == last ? slow : fast);
    }
    manager(0)->SetMode(Mac48Address::ConvertFrom(devices.Get(last)->GetAddress()), slow);
}

// Section III and Table I of `alt`: TCP ACKs are voice, data is best effort, one frame at a time.
void
SetCategories(Ptr<WifiMac> mac, uint32_t dataQueue)
{
    SetCategory(mac, AC_VO, 3, 7, 2, 400);
    SetCategory(mac, AC_BE, 31, 1023, 6, dataQueue);
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
    const bool today = !option.today.empty();
    const MacHelper mac(option, option.alt || today);
    WifiHelper wifi;
    if (today)
    {
        wifi.SetStandard(GenerationOf(option).standard);
        wifi.SetRemoteStationManager("ModeByPeer");
        phy.Set("ChannelSettings", StringValue("{0, " + std::to_string(option.width) + ", BAND_5GHZ, 0}"));
    }
    else
    {
        const Modes modes = ModesOf(option);
        wifi.SetStandard(modes.standard);
        wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                     "DataMode",
                                     StringValue(modes.data),
                                     "ControlMode",
                                     StringValue(modes.basic));
    }
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    if (today)
    {
        SetModes(option, devices);
    }
    for (uint32_t i = 0; i < devices.GetN(); i++)
    {
        auto access = MacOf(devices, i);
        if (option.alt)
        {
            SetCategories(access, i == 0 ? option.apQueue : 400);
        }
        else if (today)
        {
            SetBestEffort(access, i == 0 ? option.apQueue : 1000);
        }
        else if (i == 0)
        {
            access->GetTxop()->GetWifiMacQueue()->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, option.apQueue));
        }
    }
    return devices;
}

// Sets the 9 us slot of 802.11g, which ns-3 has only where an AP beacons, and
// makes the lowest rate the only basic one, so that MAC ACKs and CTS go at it. An ad-hoc MAC that meets an unknown peer takes
// all mandatory rates (up to 11 or 24 Mbps) as basic ones; so each is told of its peers before they meet. To be called once the
// MACs are initialised, as that makes them forget everything.
void
SetRatesAndSlot(const Options& option, const NetDeviceContainer& devices)
{
    const Modes modes = ModesOf(option);
    for (uint32_t i = 0; i < devices.GetN(); i++)
    {
        auto device = DynamicCast<WifiNetDevice>(devices.Get(i));
        auto manager = device->GetRemoteStationManager();
        device->GetPhy()->SetSlot(modes.slot);
        manager->AddBasicMode(WifiMode(modes.basic));
        for (uint32_t j = 0; j < devices.GetN(); j++)
        {
            auto peer = Mac48Address::ConvertFrom(devices.Get(j)->GetAddress());
            manager->AddSupportedMode(peer, WifiMode(modes.basic));
            manager->AddSupportedMode(peer, WifiMode(modes.data));
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
        const double angle = 2 * std::acos(-1.0) * i / stations;
        positions->Add(Vector(5 * std::cos(angle), 5 * std::sin(angle), 0));
    }
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.SetPositionAllocator(positions);
    mobility.Install(nodes);
}

// As Flow; in `alt` the receiver's ACKs have the voice category.
Ptr<PacketSink>
FlowOf(const Options& option, Ptr<Node> source, Ptr<Node> sink, const InetSocketAddress& target)
{
    const DataRate rate(option.offered * 1e6 / (option.up + option.down));
    auto receiver = Flow(option, source, sink, target, rate, option.Segment(), FIRST_START);
    if (option.alt)
    {
        Simulator::Schedule(FIRST_START / 2, [receiver] { receiver->GetListeningSocket()->SetIpTos(0xc0); });
    }
    return receiver;
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

int
main(int argc, char* argv[])
{
    const Options option = Parse(argc, argv);
    SetDefaults(option);
    Parse(argc, argv); // attributes given as --ns3::Type::Attribute=value have the last word

    NodeContainer cell(1 + option.up + option.down);
    NodeContainer servers(1);
    Ptr<Node> ap = cell.Get(0);
    Ptr<Node> server = servers.Get(0);
    NetDeviceContainer radio = Wlan(option, cell);
    NetDeviceContainer wire = Wire(option, option.today.empty() ? "100Mbps" : "1Gbps", ap, server);
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
    DelayHosts(option, radio);
    NeighborCacheHelper().PopulateNeighborCache();

    // Flow i belongs to station i; the first `up` stations send, the others receive.
    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t i = 0; i < option.up + option.down; i++)
    {
        Ptr<Node> station = cell.Get(1 + i);
        const InetSocketAddress atServer(wired.GetAddress(1), PORT + i);
        const InetSocketAddress atStation(wireless.GetAddress(1 + i), PORT + i);
        sinks.push_back(i < option.up ? FlowOf(option, station, server, atServer)
                                      : FlowOf(option, server, station, atStation));
    }

    RunUntil(FIRST_START / 2);
    if (option.today.empty())
    {
        SetRatesAndSlot(option, radio);
    }
    else
    {
        SetBasicRates(radio);
    }
    CountFrames(radio);
    RunUntil(Seconds(option.warmup));
    const std::vector<uint64_t> before = Received(sinks);
    const Sent sentBefore = g_sent;
    RunUntil(Seconds(option.warmup + option.measured));
    const std::vector<uint64_t> after = Received(sinks);

    // UDP counts whole IP packets, as ns2_cell.tcl does.
    const double scale = option.udp ? 1500.0 / UDP_PAYLOAD_BYTES : 1.0;
    std::vector<double> up;
    std::vector<double> down;
    for (size_t i = 0; i < sinks.size(); i++)
    {
        (i < option.up ? up : down).push_back((after[i] - before[i]) * scale * 8 / option.measured / 1000);
    }
    std::cout << '{';
    PrintList("up_kbps", up);
    PrintList("down_kbps", down);
    std::cout << "\"data_frames\": " << g_sent.data - sentBefore.data << ", \"mpdus\": " << g_sent.mpdus - sentBefore.mpdus
              << ", \"block_ack_requests\": " << g_sent.requests - sentBefore.requests
              << ", \"mac_acks\": " << g_sent.acks - sentBefore.acks << "}\n";
    Simulator::Destroy();
    return 0;
}
