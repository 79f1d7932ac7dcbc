// One run of a dumbbell on ns-3 3.37, for the rows in tests/todays/test_peers.py: what today's schemes get there.
//
//   dumbbell MBITS MILLIS PACKETS SECONDS WARM QUEUE FLOW...
//   for example: dumbbell 10 20 267 120 80 droptail newreno ledbat@20
//
//   MILLIS   one way, in all; 1 ms of it on each access link
//   PACKETS  that may wait at the bottleneck
//   WARM     seconds that do not count
//   QUEUE    droptail, or step:K, which marks from K packets on
//   FLOW     bbr cubic dctcp ledbat newreno, with @SECONDS where it begins
//   SEED     in the environment: the run
//
// Packets of 1500 bytes, of which 1446 are data; one acknowledgement each. Prints one line.
// With Debian's libns3-dev: g++ -std=c++17 -O1 dumbbell.cc -lns3-core -lns3-network -lns3-internet -lns3-point-to-point
// -lns3-applications -lns3-traffic-control

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

using namespace ns3;

namespace {

struct Waiting {
    Ptr<QueueDisc> queue;
    double warm = 0, step = 1e-3, sum = 0, least = 1e9, most = 0;
    long count = 0;

    void Sample() {
        if (Simulator::Now().GetSeconds() >= warm) {
            double packets = queue->GetNPackets();
            sum += packets;
            ++count;
            least = std::min(least, packets);
            most = std::max(most, packets);
        }
        Simulator::Schedule(Seconds(step), &Waiting::Sample, this);
    }
};

const std::map<std::string, std::string> kTypes = {{"bbr", "ns3::TcpBbr"},
                                                   {"cubic", "ns3::TcpCubic"},
                                                   {"dctcp", "ns3::TcpDctcp"},
                                                   {"ledbat", "ns3::TcpLedbat"},
                                                   {"newreno", "ns3::TcpLinuxReno"}};

std::vector<Ptr<PacketSink>> sinks;
std::vector<uint64_t> before;

void EndWarmUp() {
    for (auto& sink : sinks) before.push_back(sink->GetTotalRx());
}

void Defaults(bool marks) {
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1446));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(40000000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(40000000));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(marks ? "On" : "Off"));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 8) {
        std::cerr << "dumbbell MBITS MILLIS PACKETS SECONDS WARM QUEUE FLOW...\n";
        return 2;
    }
    double rate = 1e6 * std::atof(argv[1]), millis = std::atof(argv[2]);
    std::string packets = std::string(argv[3]) + "p", queue = argv[6];
    double seconds = std::atof(argv[4]), warm = std::atof(argv[5]);
    bool marks = queue.rfind("step:", 0) == 0;
    const char* seed = std::getenv("SEED");
    RngSeedManager::SetRun(seed ? std::atoi(seed) : 1);
    Defaults(marks);

    int flows = argc - 7;
    NodeContainer routers(2), senders(flows), receivers(flows);
    InternetStackHelper().InstallAll();
    PointToPointHelper middle, access;
    middle.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate))));
    middle.SetChannelAttribute("Delay", TimeValue(Seconds((millis - 2) * 1e-3)));
    middle.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    double fast = std::max(1e9, 10 * rate);
    access.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(fast))));
    access.SetChannelAttribute("Delay", TimeValue(MilliSeconds(1)));
    access.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("100000p"));

    TrafficControlHelper small, large;
    if (marks) {
        double threshold = std::atof(queue.c_str() + 5);
        small.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", StringValue(packets), "MinTh", DoubleValue(threshold),
                               "MaxTh", DoubleValue(threshold), "QW", DoubleValue(1), "UseEcn", BooleanValue(true),
                               "UseHardDrop", BooleanValue(false), "Gentle", BooleanValue(false), "MeanPktSize",
                               UintegerValue(1500));
    } else {
        small.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(packets));
    }
    large.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("1000000p"));

    auto between = middle.Install(routers);
    Waiting waiting;
    waiting.queue = small.Install(between.Get(0)).Get(0);
    large.Install(between.Get(1));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    addresses.Assign(between);
    std::vector<Ipv4Address> targets;
    auto join = [&](int net, int flow, NetDeviceContainer devices) {
        large.Install(devices);
        std::string base = "10." + std::to_string(net) + "." + std::to_string(flow) + ".0";
        addresses.SetBase(base.c_str(), "255.255.255.0");
        return addresses.Assign(devices);
    };
    for (int i = 0; i < flows; ++i) {
        join(1, i, access.Install(senders.Get(i), routers.Get(0)));
        targets.push_back(join(2, i, access.Install(routers.Get(1), receivers.Get(i))).GetAddress(1));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    for (int i = 0; i < flows; ++i) {
        std::string flow = argv[7 + i], name = flow.substr(0, flow.find('@'));
        double start = name == flow ? 0.01 * i : std::atof(flow.c_str() + name.size() + 1);
        TypeIdValue type(TypeId::LookupByName(kTypes.at(name)));
        senders.Get(i)->GetObject<TcpL4Protocol>()->SetAttribute("SocketType", type);
        // DCTCP's receiver echoes in its own way.
        receivers.Get(i)->GetObject<TcpL4Protocol>()->SetAttribute("SocketType", type);
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000));
        auto there = sink.Install(receivers.Get(i));
        there.Start(Seconds(0));
        sinks.push_back(DynamicCast<PacketSink>(there.Get(0)));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(targets[i], 5000));
        bulk.SetAttribute("SendSize", UintegerValue(1446));
        bulk.Install(senders.Get(i)).Start(Seconds(start));
    }

    waiting.warm = warm;
    waiting.step = rate >= 1e8 ? 2e-4 : 1e-3;
    Simulator::Schedule(Seconds(0), &Waiting::Sample, &waiting);
    Simulator::Schedule(Seconds(warm), &EndWarmUp);
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();

    std::cout << "goodput";
    for (int i = 0; i < flows; ++i) {
        std::cout << ' ' << (sinks[i]->GetTotalRx() - before[i]) * 8 / (seconds - warm) / 1e6;
    }
    auto stats = waiting.queue->GetStats();
    std::cout << " queue " << waiting.sum / waiting.count << " least " << waiting.least << " most " << waiting.most
              << " dropped " << stats.nTotalDroppedPackets << " marked " << stats.nTotalMarkedPackets << "\n";
    return 0;
}
