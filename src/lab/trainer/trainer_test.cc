#include "lab/trainer/trainer.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/free_port.h"
#include "base/temporary_folder.h"
#include "lab/trainer/checkpoint.h"
#include "lab/trainer/chunk.h"
#include "lab/trainer/connections.h"
#include "lab/trainer/trainer_plan.h"

namespace fairlead::lab {
namespace {

constexpr uint32_t kQueuePairs = 3;
constexpr int kPatienceS = 60;

// A ring of two workers with three queue pairs in each direction, then an exchange without order.
std::vector<TrainerPlan> TwoWorkers(uint64_t iterations, bool pools = false) {
  const uint16_t port = FindFreePort();
  std::vector<TrainerPlan> plans(2);
  for (uint32_t w = 0; w < 2; ++w) {
    TrainerPlan& plan = plans[w];
    plan.job = "job";
    plan.worker = w;
    plan.num_workers = 2;
    plan.compute_s = 0.001;
    plan.iterations = iterations;
    plan.listen_port = port;
    const std::string address[2] = {"127.0.0.2", "127.0.0.3"};
    plan.listen_addresses = {address[w]};
    StreamPlan ring{.parts = 16, .lead = 8, .pools = pools, .sends = {}, .receives = {}};
    StreamPlan exchange{.pools = pools, .sends = {}, .receives = {}};
    for (uint32_t q = 0; q < 2 * kQueuePairs; ++q) {
      const uint32_t sender = q / kQueuePairs;
      plan.connections.push_back({.id = q,
                                  .peer = 1 - w,
                                  .is_outgoing = sender == w,
                                  .from = address[sender],
                                  .to = address[1 - sender],
                                  .port = port});
      (sender == w ? ring.sends : ring.receives).push_back({q, 40'001});
      (sender == w ? exchange.sends : exchange.receives).push_back({q, 7});
    }
    plan.phases.resize(2);
    plan.phases[0].name = "ring";
    plan.phases[0].start_fraction = 0;
    plan.phases[0].streams = {ring};
    plan.phases[1].name = "exchange";
    plan.phases[1].blocks_compute = true;
    plan.phases[1].streams = {exchange};
  }
  return plans;
}

struct WorkerRun {
  Status status;
  std::vector<std::string> records;
};

// Both workers to their ends, each in a thread, with its own flag. Args: options [worker]; empty: none.
std::vector<WorkerRun> RunAll(const std::vector<TrainerPlan>& plans, std::vector<std::atomic<bool>>& stops,
                              std::vector<TrainOptions> options = {}) {
  options.resize(plans.size());
  std::vector<WorkerRun> runs(plans.size());
  std::vector<std::thread> threads;
  for (size_t w = 0; w < plans.size(); ++w) {
    threads.emplace_back([&, w] {
      const bool is_observed = options[w].observer != nullptr;
      auto connections = Connect(plans[w], kPatienceS, stops[w], is_observed ? Protocol::kMessages : Protocol::kData);
      if (!connections.ok()) {
        runs[w].status = connections.status();
        return;
      }
      runs[w].status = Train(
          plans[w], std::move(*connections), stops[w],
          [&, w](const std::string& line) { runs[w].records.push_back(line); }, options[w]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return runs;
}

// The plans with operations: an all-reduce, then a send and a receive.
std::vector<TrainerPlan> WithOperations(std::vector<TrainerPlan> plans) {
  for (TrainerPlan& plan : plans) {
    plan.communicators = {{.id = 7, .name = "both", .workers = {0, 1}}};
    const uint32_t peer = 1 - plan.worker;
    ChannelPlan out{.peer = peer, .is_send = true, .connections = {}};
    ChannelPlan in{.peer = peer, .is_send = false, .connections = {}};
    for (const ConnectionPlan& c : plan.connections) (c.is_outgoing ? out : in).connections.push_back(c.id);
    plan.phases[0].operations = {{.function = "AllReduce", .bytes = 120'003, .channels = {out, in}}};
    const auto rank = static_cast<int32_t>(peer);
    plan.phases[1].operations = {{.function = "Send", .bytes = 21, .peer = rank, .channels = {out}},
                                 {.function = "Recv", .bytes = 21, .peer = rank, .channels = {in}}};
  }
  return plans;
}

// Counts its input.
class CountingObserver : public CollectiveObserver {
 public:
  void OnCalled(uint64_t, size_t) override { ++called; }
  void OnBegan(uint64_t, size_t) override {
    ++begun;
    EXPECT_LE(begun, called);
  }
  void OnEnded(uint64_t, size_t, size_t) override { ++ended; }
  void OnChannelBegan(const ChannelUse&, uint32_t) override { ++channels_begun; }
  void OnChannelEnded(const ChannelUse&) override { ++channels_ended; }
  void OnMessage(const ChannelUse&, uint32_t, MessageState state, uint64_t bytes) override {
    if (state == MessageState::kSendDone) bytes_sent += bytes;
    if (state == MessageState::kReceiveTaken) bytes_received += bytes;
    if (state == MessageState::kSendDone || state == MessageState::kReceiveTaken) ++messages;
  }

  uint64_t called = 0, begun = 0, ended = 0, channels_begun = 0, channels_ended = 0;
  uint64_t messages = 0, bytes_sent = 0, bytes_received = 0;
};

class TrainerWithShares : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(FixedAndShared, TrainerWithShares, testing::Bool());

TEST_P(TrainerWithShares, DoesItsIterationsAndSendsEveryByte) {
  std::vector<std::atomic<bool>> stops(2);
  const auto runs = RunAll(TwoWorkers(5, GetParam()), stops);
  for (const WorkerRun& run : runs) {
    EXPECT_TRUE(run.status.ok()) << run.status.message();
    ASSERT_EQ(run.records.size(), 6u);
    // 5 x 3 x (40001 + 7).
    EXPECT_EQ(run.records.back(),
              R"({"end": "done", "iterations": 5, "sent_bytes": 600120, "received_bytes": 600120})");
  }
}

TEST_P(TrainerWithShares, ObserversReceiveEveryOperationMessageAndByte) {
  std::vector<std::atomic<bool>> stops(2);
  CountingObserver observers[2];
  const auto runs = RunAll(WithOperations(TwoWorkers(5, GetParam())), stops,
                           {{.observer = &observers[0]}, {.observer = &observers[1]}});
  for (const WorkerRun& run : runs) {
    EXPECT_TRUE(run.status.ok()) << run.status.message();
    EXPECT_EQ(run.records.back(),
              R"({"end": "done", "iterations": 5, "sent_bytes": 600120, "received_bytes": 600120})");
  }
  for (const CountingObserver& seen : observers) {
    EXPECT_EQ(seen.called, 10u);  // two phases in each of five iterations
    EXPECT_EQ(seen.begun, 10u);
    EXPECT_EQ(seen.ended, 15u);           // with one and two operations
    EXPECT_EQ(seen.channels_begun, 20u);  // two channels each
    EXPECT_EQ(seen.channels_ended, 20u) << "also those whose last bytes were under way at the end";
    EXPECT_EQ(seen.bytes_sent, 600'120u);
    EXPECT_EQ(seen.bytes_received, 600'120u);
    // The ring's 120003 bytes are 16 parts, of which four fit into 48 KiB: 4 messages. 21 bytes are one. Both ways, five
    // times.
    EXPECT_EQ(seen.messages, 5u * 2 * (4 + 1));
  }
}

// Remembers which phases are called, and ends the job at the second one.
class CallObserver : public CountingObserver {
 public:
  explicit CallObserver(std::vector<std::atomic<bool>>* stops) : stops_(stops) {}
  void OnCalled(uint64_t iteration, size_t phase) override {
    CountingObserver::OnCalled(iteration, phase);
    phases.push_back(phase);
    if (phases.size() < 2) return;
    for (std::atomic<bool>& stop : *stops_) stop = true;
  }

  std::vector<size_t> phases;

 private:
  std::vector<std::atomic<bool>>* stops_;
};

TEST(Trainer, AWorkerCallsItsPhasesInTheWrongOrderOnRequest) {
  const TemporaryFolder folder;
  const std::string path = folder.File("control");
  std::ofstream(path) << R"({"bad_order": true})";
  std::vector<std::atomic<bool>> stops(2);
  CountingObserver good;
  CallObserver bad(&stops);
  RunAll(WithOperations(TwoWorkers(0)), stops, {{.observer = &good}, {.observer = &bad, .control = path}});
  ASSERT_GE(bad.phases.size(), 2u);
  EXPECT_EQ(bad.phases[0], 1u);
  EXPECT_EQ(bad.phases[1], 0u);
}

TEST(Trainer, WorkersMustAgreeOnBeingObserved) {
  const auto plans = WithOperations(TwoWorkers(1));
  std::vector<std::atomic<bool>> stops(2);
  std::vector<Status> ends(2);
  std::vector<std::thread> threads;
  for (size_t w = 0; w < 2; ++w) {
    threads.emplace_back([&, w] {
      ends[w] = Connect(plans[w], 0.5, stops[w], w == 0 ? Protocol::kMessages : Protocol::kData).status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& end : ends) EXPECT_EQ(end.code(), StatusCode::kUnavailable);
}

TEST(Trainer, RecordsPhasesAndStallsOnRequest) {
  std::vector<std::atomic<bool>> stops(2);
  const auto plans = TwoWorkers(3);
  const auto runs = RunAll(plans, stops, {{.records_phases = true}, {}});
  ASSERT_EQ(runs[0].records.size(), 4u);
  for (size_t i = 0; i < 3; ++i) {
    const auto record = nlohmann::json::parse(runs[0].records[i]);
    ASSERT_EQ(record["phases"].size(), plans[0].phases.size());
    double last = 0;
    for (size_t p = 0; p < plans[0].phases.size(); ++p) {
      EXPECT_EQ(record["phases"][p][0], p);
      EXPECT_GE(record["phases"][p][1], last);
      EXPECT_GE(record["phases"][p][2], record["phases"][p][1]);
      last = record["phases"][p][2];
    }
    double stalled_s = 0;
    for (const auto& stall : record["stalls"]) stalled_s += stall[1].get<double>() - stall[0].get<double>();
    // The record is written a moment after the last look at the clock.
    EXPECT_NEAR(stalled_s, record["exposed_s"].get<double>(), 1e-3);
    EXPECT_FALSE(nlohmann::json::parse(runs[1].records[i]).contains("phases"));
  }
}

TEST(Trainer, RecordsTheIterationThatDidNotEndOnRequest) {
  std::vector<std::atomic<bool>> stops(2);
  CallObserver stopper(&stops);
  CountingObserver other;
  const auto runs = RunAll(WithOperations(TwoWorkers(0)), stops,
                           {{.observer = &other, .records_phases = true}, {.observer = &stopper}});
  const auto& records = runs[0].records;
  ASSERT_GE(records.size(), 2u);
  const auto unfinished = nlohmann::json::parse(records[records.size() - 2]);
  ASSERT_TRUE(unfinished.contains("unfinished")) << unfinished;
  EXPECT_TRUE(unfinished.contains("begin_s") && unfinished.contains("seconds") && unfinished.contains("stalls"));
  for (const std::string& record : runs[1].records) EXPECT_EQ(record.find("unfinished"), record.npos);
}

TEST(Trainer, GoesOnFromItsCheckpoint) {
  const TemporaryFolder folder;
  const std::string path = folder.File("checkpoint");
  EXPECT_EQ(ReadCheckpoint(path).value(), 0u);
  auto plans = TwoWorkers(7);
  for (TrainerPlan& plan : plans) {
    plan.checkpoint = path;
    plan.checkpoint_every = 3;
  }
  std::vector<std::atomic<bool>> stops(2);
  EXPECT_EQ(RunAll(plans, stops)[1].records.size(), 8u);
  ASSERT_EQ(ReadCheckpoint(path).value(), 6u) << "after three and six of seven";
  const auto runs = RunAll(plans, stops, {{.first_iteration = 6}, {.first_iteration = 6}});
  for (const WorkerRun& run : runs) {
    ASSERT_EQ(run.records.size(), 2u);
    EXPECT_TRUE(run.records[0].starts_with(R"({"iteration": 6,)")) << run.records[0];
  }
  std::ofstream(path) << "{\"iteration\": -1}";
  EXPECT_EQ(ReadCheckpoint(path).status().code(), StatusCode::kInvalidArgument);
}

TEST(Trainer, WritesACheckpointThatIsWantedAndHowFarItIs) {
  const TemporaryFolder folder;
  auto plans = TwoWorkers(3);
  for (TrainerPlan& plan : plans) {
    plan.checkpoint = folder.File("checkpoint");
    plan.progress = folder.File("progress");
  }
  std::vector<std::atomic<bool>> stops(2);
  std::array<std::atomic<bool>, 2> wanted = {true, true};
  RunAll(plans, stops, {{.checkpoint_wanted = &wanted[0]}, {.checkpoint_wanted = &wanted[1]}});
  EXPECT_EQ(ReadCheckpoint(plans[0].checkpoint).value(), 1u) << "after the iteration in which it was wanted, once";
  EXPECT_FALSE(wanted[0]);
  EXPECT_TRUE(wanted[1]) << "worker 1 writes none";
  std::ifstream progress(plans[0].progress);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(progress), {}), "3\n");
}

TEST(Trainer, ACheckpointThatCantBeWrittenEndsIt) {
  auto plans = TwoWorkers(2);
  plans[0].checkpoint = "/nowhere/checkpoint";
  plans[0].checkpoint_every = 1;
  std::vector<std::atomic<bool>> stops(2);
  const auto runs = RunAll(plans, stops);
  EXPECT_FALSE(runs[0].status.ok());
  EXPECT_NE(runs[0].status.message().find("/nowhere/checkpoint"), std::string::npos) << runs[0].status.message();
  EXPECT_NE(runs[0].records.back().find("failed"), std::string::npos);
}

TEST_P(TrainerWithShares, NamesThePeerThatIsLost) {
  // Worker 1 ends after 3 iterations, and worker 0 would go on.
  auto plans = TwoWorkers(0, GetParam());
  plans[1].iterations = 3;
  std::vector<std::atomic<bool>> stops(2);
  const auto runs = RunAll(plans, stops);
  EXPECT_TRUE(runs[1].status.ok()) << runs[1].status.message();
  ASSERT_FALSE(runs[0].status.ok());
  EXPECT_NE(runs[0].status.message().find("worker 1 (127.0.0.3) is lost"), std::string::npos)
      << runs[0].status.message();
  EXPECT_NE(runs[0].records.back().find("peer lost"), std::string::npos);
}

TEST(Trainer, APeerThatSharesWhereThisOneDoesNotIsLost) {
  // Worker 0 reads headers, worker 1 sends none.
  auto plans = TwoWorkers(0, true);
  plans[1] = TwoWorkers(0, false)[1];
  plans[1].listen_port = plans[0].listen_port;
  for (ConnectionPlan& c : plans[1].connections) c.port = plans[0].listen_port;
  std::vector<std::atomic<bool>> stops(2);
  const auto runs = RunAll(plans, stops);
  EXPECT_NE(runs[0].status.message().find("it sends no chunks of shared bytes"), std::string::npos)
      << runs[0].status.message();
}

// A peer that reads from one queue pair only when all others have brought what that one left them.
class SlowReader {
 public:
  SlowReader(uint32_t num, uint64_t bytes) : far_(num), receivers_(num), read_(num), left_(bytes) {
    for (uint32_t q = 0; q < num; ++q) {
      int ends[2];
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
      near_.emplace_back(ends[0]);
      far_[q] = Descriptor(ends[1]);
    }
  }

  Connections TakeNearEnds() { return std::move(near_); }
  const std::vector<uint64_t>& read() const { return read_; }
  uint64_t left() const { return left_; }

  // Reads from connections first, first + 1, ... until `left` bytes of the pool are left. False: nothing comes for long.
  bool ReadFrom(uint32_t first, uint64_t left) {
    std::string scratch(65'536, 'y');
    while (left_ > left) {
      std::vector<pollfd> watched;
      for (uint32_t q = first; q < far_.size(); ++q) watched.push_back({far_[q].get(), POLLIN, 0});
      if (poll(watched.data(), watched.size(), 1000 * kPatienceS) <= 0) return false;
      for (uint32_t q = first; q < far_.size() && left_ > 0; ++q) {
        if (!far_[q].is_open()) continue;
        const auto count = receivers_[q].Receive(far_[q].get(), 0, left_, &scratch);
        if (!count.ok()) return false;
        read_[q] += *count;
        left_ -= *count;
        if (receivers_[q].has_ended()) far_[q] = Descriptor();
      }
    }
    return true;
  }

 private:
  Connections near_;
  Connections far_;
  std::vector<ChunkReceiver> receivers_;
  std::vector<uint64_t> read_;
  uint64_t left_;
};

TEST(Trainer, AStuckQueuePairLeavesItsBytesToTheOthers) {
  constexpr uint64_t kBytes = 16'000'000;
  TrainerPlan plan;
  plan.iterations = 1;
  plan.phases.resize(1);
  StreamPlan stream{.pools = true, .sends = {}, .receives = {}};
  for (uint32_t q = 0; q < 4; ++q) {
    plan.connections.push_back({.id = q, .is_outgoing = true, .from = "a", .to = "b"});
    stream.sends.push_back({q, kBytes / 4});
  }
  plan.phases[0].streams = {stream};
  SlowReader reader(4, kBytes);
  const std::atomic<bool> stop = false;
  std::string end;
  std::thread worker([&, near = reader.TakeNearEnds()]() mutable {
    EXPECT_TRUE(Train(plan, std::move(near), stop, [&](const std::string& line) { end = line; }).ok());
  });
  // Chunks have 16 MB / (16 x 4) = 250 kB, and a send buffer is 500 kB, of which the kernel gives up to twice as much:
  // less than 1.5 MB can be stuck. With fixed shares it would be 4 MB, and nothing would ever come.
  EXPECT_TRUE(reader.ReadFrom(1, 1'500'000));
  EXPECT_TRUE(reader.ReadFrom(0, 0));
  worker.join();
  EXPECT_EQ(reader.left(), 0u);
  EXPECT_LT(reader.read()[0], 1'500'001u);
  for (uint32_t q = 1; q < 4; ++q) EXPECT_GT(reader.read()[q], reader.read()[0]);
  EXPECT_NE(end.find(R"("sent_bytes": 16000000)"), std::string::npos) << end;
}

TEST(Trainer, StopsOnRequest) {
  auto plans = TwoWorkers(0);
  std::vector<std::atomic<bool>> stops(2);
  // Each worker stops both after its tenth record, as a signal to all of them would.
  std::vector<std::thread> threads;
  std::vector<Status> ends(2);
  for (size_t w = 0; w < 2; ++w) {
    threads.emplace_back([&, w] {
      auto connections = Connect(plans[w], kPatienceS, stops[w]);
      int count = 0;
      ends[w] = Train(plans[w], std::move(connections).value(), stops[w], [&](const std::string&) {
        if (++count == 10) stops[0] = stops[1] = true;
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& end : ends) EXPECT_TRUE(end.ok()) << end.message();
}

// Calls worker 0 of TwoWorkers() and says this.
Descriptor CallWorker(uint16_t port, const std::string& args) {
  Descriptor caller(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
  address.sin_port = htons(port);
  while (connect(caller.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    caller = Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));  // it does not listen yet
  }
  EXPECT_EQ(send(caller.get(), args.data(), args.size(), MSG_NOSIGNAL), static_cast<ssize_t>(args.size()));
  return caller;
}

// A peer that is stopped between connecting and identifying itself. It counts itself as connected.
TEST(Trainer, APeerThatIntroducesItselfLateIsWaitedFor) {
  TrainerPlan plan;
  plan.job = "job";
  plan.num_workers = 2;
  plan.listen_port = FindFreePort();
  plan.listen_addresses = {"127.0.0.2"};
  plan.connections = {
      {.id = 0, .peer = 1, .is_outgoing = false, .from = "127.0.0.3", .to = "127.0.0.2", .port = plan.listen_port}};
  const std::atomic<bool> stop = false;
  Status status = Unavailable("did not run");
  std::thread worker([&] { status = Connect(plan, kPatienceS, stop).status(); });
  // Format, job, connection 0, worker 1.
  std::string greeting = "fltrain1job" + std::string(45 + 4, '\0') + std::string("\x01\0\0\0", 4);
  const Descriptor late = CallWorker(plan.listen_port, greeting.substr(0, 10));
  // Once a stranger that came later has been turned away, the peer was received, too.
  const Descriptor stranger = CallWorker(plan.listen_port, std::string(64, 'x'));
  char byte = 0;
  EXPECT_LE(recv(stranger.get(), &byte, 1, 0), 0);
  EXPECT_EQ(send(late.get(), greeting.data() + 10, greeting.size() - 10, MSG_NOSIGNAL), 54);
  worker.join();
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Trainer, GivesUpOnAPeerThatNeverComes) {
  const auto plans = TwoWorkers(1);
  const std::atomic<bool> stop = false;
  const auto connections = Connect(plans[0], 0.2, stop);
  ASSERT_FALSE(connections.ok());
  EXPECT_NE(connections.status().message().find("worker 1 (127.0.0.3) was not reached"), std::string::npos)
      << connections.status().message();
}

TEST_P(TrainerWithShares, PlansAreReadAsTheyWereWritten) {
  for (TrainerPlan plan : WithOperations(TwoWorkers(9, GetParam()))) {
    plan.checkpoint = "somewhere";
    plan.checkpoint_every = 4;
    const auto read = ReadTrainerPlan(WriteTrainerPlan(plan), "plan.json");
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, plan);
  }
}

TEST(TrainerPlan, MistakesAreNamed) {
  const auto refusal = [](const TrainerPlan& plan) {
    const auto read = ReadTrainerPlan(WriteTrainerPlan(plan), "plan.json");
    return read.ok() ? std::string("accepted") : read.status().message();
  };
  const TrainerPlan good = TwoWorkers(1)[0];
  TrainerPlan plan = good;
  plan.phases[0].streams[0].sends[0].connection = 3;  // which receives
  EXPECT_EQ(refusal(plan), "plan.json: a transfer goes the wrong way");
  plan = good;
  plan.phases[0].streams[0].sends[0].connection = 99;
  EXPECT_EQ(refusal(plan), "plan.json: a transfer names no connection");
  plan = good;
  plan.phases[0].streams[0].sends[1].connection = 0;
  EXPECT_EQ(refusal(plan), "plan.json: a connection has two transfers in one phase");
  plan = good;
  plan.phases[0].streams[0].lead = 0;
  EXPECT_EQ(refusal(plan), "plan.json: lead must lie in [1, parts]");
  plan = good;
  plan.phases[1].start_fraction = -0.5;
  EXPECT_EQ(refusal(plan), "plan.json: start_fraction must lie in [0, 1] and not decrease");
  plan = good;
  plan.phases[1].streams[0].pools = true;
  EXPECT_EQ(refusal(plan), "plan.json: a connection shares its bytes in one phase and not in another");
  plan = TwoWorkers(1, true)[0];
  plan.connections[1].peer = 7;  // beside 0 and 2, between the same NICs
  EXPECT_EQ(refusal(plan), "plan.json: connections that share their bytes lead to different workers");
  const TrainerPlan called = WithOperations(TwoWorkers(1, true))[0];
  EXPECT_EQ(refusal(called), "accepted");
  plan = called;
  plan.communicators[0].workers = {1, 2};
  EXPECT_EQ(refusal(plan), "plan.json: a communicator must have this worker and another one, in ascending order");
  plan = called;
  plan.phases[0].operations[0].communicator = 1;
  EXPECT_EQ(refusal(plan), "plan.json: an operation names no communicator");
  plan = called;
  plan.phases[0].operations[0].function = "Gather";
  EXPECT_NE(refusal(plan).find("'Gather' is none of AllReduce"), std::string::npos) << refusal(plan);
  plan = called;
  plan.phases[1].operations[0].peer = -1;
  EXPECT_EQ(refusal(plan), "plan.json: sends and receives must have a peer, collectives none");
  plan = called;
  plan.phases[0].operations[0].channels[0].connections.pop_back();
  EXPECT_EQ(refusal(plan), "plan.json: a channel has a part of a pool");
  plan = called;
  plan.phases[0].operations[0].channels[0].is_send = false;
  EXPECT_EQ(refusal(plan), "plan.json: a channel has a connection that carries nothing its way");
  plan = called;
  plan.phases[0].operations[0].channels[0].peer = 0;
  EXPECT_EQ(refusal(plan), "plan.json: a channel leads to another worker");
  plan = called;
  plan.phases[1].operations.push_back(plan.phases[1].operations[0]);
  EXPECT_EQ(refusal(plan), "plan.json: a connection is in two channels of a phase");
  EXPECT_FALSE(ReadTrainerPlan("{", "plan.json").ok());
  EXPECT_FALSE(ReadTrainerPlan("{\"job\": 3}", "plan.json").ok());
}

}  // namespace
}  // namespace fairlead::lab
