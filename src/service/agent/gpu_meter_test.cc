// What is made of a driver's counters. The driver is fake_nvml_example.cc; processes are real ones.
#include "service/agent/gpu_meter.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/temporary_folder.h"
#include "service/agent/fake_nvml_example.h"

namespace fairlead::service {
namespace {

using agent::GpuSums;
using nvml::FakeGpu;
using nvml::Metric;
using testing::HasSubstr;
using testing::IsEmpty;

// Sleeps until it is killed.
class Sleeper {
 public:
  explicit Sleeper(const std::string& job) {
    std::string variable = "FAIRLEAD_JOB=" + job;
    std::string other = "PATH=/usr/bin:/bin";
    std::string program = "sleep";
    std::string seconds = "1000";
    std::vector<char*> environment = {other.data(), job.empty() ? nullptr : variable.data(), nullptr};
    std::vector<char*> arguments = {program.data(), seconds.data(), nullptr};
    EXPECT_EQ(posix_spawnp(&pid_, "sleep", nullptr, nullptr, arguments.data(), environment.data()), 0);
  }
  ~Sleeper() { End(); }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  void End() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
};

class GpuMeterTest : public testing::Test {
 protected:
  GpuMeterTest() : library_(dlopen(FAIRLEAD_FAKE_NVML, RTLD_NOW)) {
    EXPECT_NE(library_, nullptr) << dlerror();
    fake_ = reinterpret_cast<nvml::GetFakeNvml>(dlsym(library_, nvml::kGetFakeNvml))();
    Change([](nvml::FakeNvml& fake) {
      fake.gpus.clear();
      fake.init = nvml::kSuccess;
    });
  }
  ~GpuMeterTest() override {
    meter_.reset();
    dlclose(library_);
  }

  void Change(const std::function<void(nvml::FakeNvml&)>& change) {
    const std::lock_guard lock(fake_->mutex);
    change(*fake_);
  }
  void Start(std::vector<FakeGpu> gpus, const std::string& proc_folder = "/proc",
             std::function<std::string()> take_dcgm = {}) {
    Change([&](nvml::FakeNvml& fake) { fake.gpus = std::move(gpus); });
    GpuMeterOptions options;
    options.proc_folder = proc_folder;
    options.period = SimDuration(2'000'000);
    options.process_period = SimDuration(5'000'000);
    options.take_dcgm = std::move(take_dcgm);
    auto meter = GpuMeter::Start(Load().value(), options);
    ASSERT_TRUE(meter.ok()) << meter.status().message();
    meter_ = std::move(*meter);
  }
  static Result<std::shared_ptr<const nvml::Library>> Load() { return nvml::Library::Load(FAIRLEAD_FAKE_NVML); }
  std::vector<GpuSums> Read() { return meter_->Read(&jobs_, SimTime()); }
  std::vector<GpuSums> ReadWhen(const std::function<bool(const std::vector<GpuSums>&)>& is_so) {
    for (int turn = 0; turn < 10'000; ++turn) {
      auto sums = Read();
      if (is_so(sums)) return sums;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ADD_FAILURE() << "it does not come to that";
    return {};
  }

  void* library_;
  nvml::FakeNvml* fake_;
  JobIdentifier jobs_;
  std::unique_ptr<GpuMeter> meter_;
};

bool AllWorked(const std::vector<GpuSums>& sums, size_t count) {
  return sums.size() == count && std::ranges::all_of(sums, [](const GpuSums& job) { return job.busy > Seconds(0.01); });
}

TEST_F(GpuMeterTest, OperationsAreSharesOfWhatEachUnitCanDo) {
  const Sleeper job("gpt");
  Start({{.pids = {job.pid()},
          .active = {{Metric::kSmActive, 80},
                     {Metric::kTensorHmma, 50},
                     {Metric::kTensorDfma, 10},
                     {Metric::kFp64, 20},
                     {Metric::kFp32, 30},
                     {Metric::kFp16, 40}}}});
  const auto sums = ReadWhen([](const auto& all) { return AllWorked(all, 1); });
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_EQ(sums[0].job, "gpt");
  EXPECT_EQ(sums[0].resolution, Seconds(0.002)) << "as often as counters are read";
  EXPECT_EQ(sums[0].num_gpus, 1U);
  const double of_a_cycle = 0.5 * 4096 + 0.1 * 256 + 0.2 * 128 + 0.3 * 256 + 0.4 * 512;
  EXPECT_NEAR(sums[0].flop.value() / (sums[0].busy.value() / 0.8) / (132 * 1e9 * of_a_cycle), 1, 1e-9);
}

TEST_F(GpuMeterTest, ProcessesOfOneGpuShareItsWork) {
  const Sleeper first("gpt");
  const Sleeper second("gpt");
  const Sleeper other("bert");
  const Sleeper stranger("");
  Start({{.pids = {first.pid(), other.pid(), stranger.pid()},
          .mps_pids = {second.pid(), first.pid()},
          .active = {{Metric::kSmActive, 100}}}});
  const auto sums = ReadWhen([](const auto& all) { return AllWorked(all, 2); });
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0].job, "bert");
  EXPECT_EQ(sums[1].job, "gpt");
  EXPECT_EQ(sums[1].num_gpus, 1U) << "two processes on one GPU";
  EXPECT_NEAR(sums[1].busy / sums[0].busy, 2, 1e-9);
}

TEST_F(GpuMeterTest, AJobOnSeveralGpusIsAddedUp) {
  const Sleeper first("gpt");
  const Sleeper second("gpt");
  Start({{.pids = {first.pid()}, .active = {{Metric::kSmActive, 100}, {Metric::kTensorHmma, 100}}},
         {.pids = {second.pid()}, .active = {{Metric::kSmActive, 100}}},
         {.pids = {}, .active = {{Metric::kSmActive, 100}}}});
  const auto sums = ReadWhen([](const auto& all) { return AllWorked(all, 1) && all[0].num_gpus == 2; });
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_NEAR(sums[0].flop.value() / sums[0].busy.value() / (132 * 1e9 * 4096 / 2), 1, 0.3);
}

TEST_F(GpuMeterTest, AProcessThatHasEndedCountsNoMore) {
  Sleeper first("gpt");
  Sleeper second("bert");
  Start({{.pids = {first.pid(), second.pid()}, .active = {{Metric::kSmActive, 100}}}});
  ReadWhen([](const auto& all) { return AllWorked(all, 2); });
  second.End();  // the driver still lists it
  const auto sums = ReadWhen([](const auto& all) { return all.size() == 1; });
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_EQ(sums[0].job, "gpt");
}

// As where this process has no descriptor left.
TEST_F(GpuMeterTest, AProcessThatCantBeReadHasNotEnded) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "12");
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder.path() / "12" / name, std::ios::trunc) << text;
  };
  const std::string stat = "12 (python) S 1 12 12 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0\n";
  write("stat", stat);
  write("status", "Name:\tpython\nUid:\t7\t7\t7\t7\n");
  write("environ", "FAIRLEAD_JOB=gpt");
  write("comm", "python\n");
  Start({{.pids = {12}, .active = {{Metric::kSmActive, 100}}}}, folder.path());
  const auto before = ReadWhen([](const auto& all) { return AllWorked(all, 1); });
  write("stat", "12 (pyt");
  const auto later = ReadWhen([&](const auto& all) { return !all.empty() && all[0].busy > 3 * before[0].busy; });
  EXPECT_EQ(later.at(0).job, before.at(0).job);
  std::filesystem::remove(folder.path() / "12/stat");
  ReadWhen([](const auto& all) { return all.empty(); });
}

TEST_F(GpuMeterTest, ANameThatNoJobMayHaveIsNone) {
  const Sleeper bad("../gpt");
  const Sleeper good("gpt");
  Start({{.pids = {bad.pid(), good.pid()}, .active = {{Metric::kSmActive, 100}}}});
  const auto sums = ReadWhen([](const auto& all) { return AllWorked(all, 1); });
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_EQ(sums[0].job, "gpt");
}

TEST_F(GpuMeterTest, WhatAGpuThatIsLostHasDoneStays) {
  const Sleeper job("gpt");
  Start({{.pids = {job.pid()}, .active = {{Metric::kSmActive, 100}}}});
  ReadWhen([](const auto& all) { return AllWorked(all, 1); });
  Change([](nvml::FakeNvml& fake) { fake.gpus[0].is_lost = true; });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto before = Read();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto after = Read();
  ASSERT_EQ(after.size(), 1U);
  EXPECT_EQ(after[0].busy.value(), before[0].busy.value());
  Change([](nvml::FakeNvml& fake) { fake.gpus[0].is_lost = false; });
  ReadWhen([&](const auto& all) { return all[0].busy > after[0].busy; });
}

TEST_F(GpuMeterTest, ManyProcessesAreListed) {
  const Sleeper job("gpt");
  std::vector<uint32_t> pids(1000, job.pid());
  Start({{.pids = pids, .active = {{Metric::kSmActive, 100}}}});
  EXPECT_EQ(ReadWhen([](const auto& all) { return AllWorked(all, 1); })[0].num_gpus, 1U);
}

TEST_F(GpuMeterTest, AGpuWithoutCountersIsNamed) {
  const Sleeper job("gpt");
  Start({{.pids = {job.pid()}}, {.is_supported = false, .generation = 8, .pids = {job.pid()}}, {.generation = 42}});
  EXPECT_EQ(
      meter_->Describe(),
      "measures the work of 1 GPU; not of GPU 1 (NVIDIA H100 80GB HBM3): it has no counters of its work (Hopper and "
      "later have; a DCGM exporter may, see --dcgm); not of GPU 2 (NVIDIA H100 80GB HBM3): compute capability 42.0 is "
      "unknown");
}

// An A100 has no counters of its own: 108 SMs of 64 cores, 2,048 16-bit operations a cycle of the tensor cores of each.
TEST_F(GpuMeterTest, AnExporterMeasuresWhatHasNoCounters) {
  const Sleeper first("gpt"), second("bert");
  const FakeGpu a100 = {.is_supported = false, .generation = 8, .cores = 108 * 64, .clock_mhz = 1410};
  std::vector<FakeGpu> gpus(3, a100);
  gpus[0].pids = {first.pid()};
  gpus[1].pids = {second.pid()};
  gpus[2] = {.pids = {first.pid()}, .active = {{Metric::kSmActive, 50}}};  // has them
  Start(gpus, "/proc", [] {
    return "DCGM_FI_PROF_SM_ACTIVE{gpu=\"0\"} 0.5\nDCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu=\"0\"} 0.25\n"
           "DCGM_FI_PROF_PIPE_FP32_ACTIVE{gpu=\"0\"} 0.125\n"
           "DCGM_FI_PROF_SM_ACTIVE{gpu=\"2\"} 1\nDCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu=\"2\"} 1\n"
           "DCGM_FI_PROF_SM_ACTIVE{gpu=\"1\",GPU_I_ID=\"3\"} 1\n";
  });
  EXPECT_EQ(meter_->Describe(), "measures the work of 3 GPUs, 2 of them by the DCGM exporter");
  const auto sums =
      ReadWhen([](const auto& all) { return all.size() == 2 && all[1].busy > Seconds(0.02) && all[1].num_gpus == 2; });
  EXPECT_EQ(sums[0].job, "bert");
  EXPECT_EQ(sums[0].flop.value(), 0) << "the exporter tells of a part of its GPU only";
  EXPECT_EQ(sums[1].job, "gpt");
  // Both GPUs were busy for half of the time; the one with counters did no operations.
  const double seconds = sums[1].busy.value();
  const double of_exporter = sums[1].flop.value() / (108 * 1.41e9 * (0.25 * 2048 + 0.125 * 128));
  EXPECT_EQ(sums[1].resolution, Seconds(30)) << "as often as exporters look";
  EXPECT_NEAR(of_exporter, seconds, 0.1 * seconds + 0.02) << "half of the busy seconds, at half a second each";
}

TEST_F(GpuMeterTest, WithoutGpusOrADriverItDoesNotStart) {
  EXPECT_EQ(GpuMeter::Start(Load().value()).status().message(), "there are no GPUs");
  Change([](nvml::FakeNvml& fake) { fake.gpus = {{.is_supported = false}}; });
  const auto old = GpuMeter::Start(Load().value());
  EXPECT_EQ(old.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(old.status().message(), HasSubstr("Hopper and later have"));
  Change([](nvml::FakeNvml& fake) { fake.init = 4; });
  EXPECT_THAT(Load().status().message(), HasSubstr("Insufficient Permissions"));
  EXPECT_EQ(nvml::Library::Load("libno-such-driver.so.1").status().code(), StatusCode::kNotFound);
  EXPECT_THAT(nvml::Library::Load("libm.so.6").status().message(), HasSubstr("has no nvmlInit_v2"));
}

}  // namespace
}  // namespace fairlead::service
