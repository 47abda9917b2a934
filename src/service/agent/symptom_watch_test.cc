#include "service/agent/symptom_watch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "base/temporary_folder.h"
#include "service/agent/fake_nvml_example.h"

namespace fairlead::service {
namespace {

namespace fs = std::filesystem;
using model::HostSymptom;
using model::HostSymptomRecord;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

HostSymptomRecord Record(HostSymptom symptom, uint32_t device, const std::string& text) {
  return {.symptom = symptom, .device = device, .text = text};
}

// A pipe plays the kernel log: each write is a record, as long as each is read before the next.
class SymptomWatchTest : public testing::Test {
 protected:
  SymptomWatchTest() {
    EXPECT_EQ(mkfifo(folder_.File("kmsg").c_str(), 0600), 0);
    log_ = Descriptor(open(folder_.File("kmsg").c_str(), O_RDWR));
    for (const char* address : {"0000:1b:00.0", "0000:3b:00.0", "0000:af:00.0"}) {
      fs::create_directories(folder_.File("gpus/") + address);
    }
  }
  SymptomWatchOptions Options() const {
    return {
        .kernel_log = folder_.File("kmsg"), .gpu_folder = folder_.File("gpus"), .port_folder = folder_.File("ports")};
  }
  void Log(const std::string& record) const { ASSERT_GT(write(log_.get(), record.data(), record.size()), 0); }
  void Count(const std::string& file, uint64_t count) const {
    const std::string path = folder_.File("ports/mlx5_2/ports/1/" + file);
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << count << '\n';
  }

  TemporaryFolder folder_;
  Descriptor log_;
};

TEST_F(SymptomWatchTest, MessagesOfTheKernelAreOfTheGpuAtTheirAddress) {
  SymptomWatch watch(Options());
  EXPECT_TRUE(watch.kernel_log_status().ok());
  EXPECT_THAT(watch.Look(), IsEmpty());
  Log("3,10,20,-;NVRM: Xid (PCI:0000:AF:00): 79, pid=7, GPU has fallen off the bus.\n");
  EXPECT_THAT(watch.Look(), ElementsAre(Record(HostSymptom::kGpuLost, 2,
                                               "NVRM: Xid (PCI:0000:AF:00): 79, pid=7, GPU has fallen off the bus.")));
  EXPECT_THAT(watch.Look(), IsEmpty()) << "once";
  Log("11,11,21,-;NVRM: Xid (PCI:0000:AF:00): 79, pid=7, written by a program\n");
  EXPECT_THAT(watch.Look(), IsEmpty());
  Log("4,12,22,-;Out of memory: Killed process 7 (py\xff\x01thon3)\n");
  EXPECT_THAT(watch.Look(),
              ElementsAre(Record(HostSymptom::kOutOfMemory, 0, "Out of memory: Killed process 7 (py??thon3)")));
}

// The exporter is asked less often than there are looks; what it said at the first one is history.
TEST_F(SymptomWatchTest, WhatDcgmsExporterSays) {
  SymptomWatchOptions options = Options();
  std::string text = "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{gpu=\"2\"} 1\n";
  options.take_dcgm = [&] { return std::exchange(text, {}); };
  SymptomWatch watch(options);
  EXPECT_THAT(watch.Look(), IsEmpty());
  text = "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{gpu=\"2\"} 3\n";
  EXPECT_THAT(watch.Look(),
              ElementsAre(Record(HostSymptom::kGpuMemoryError, 2, "uncorrected memory errors (DCGM: +2)")));
  EXPECT_THAT(watch.Look(), IsEmpty());
}

TEST_F(SymptomWatchTest, WithoutAKernelLogTheOtherSourcesAreRead) {
  SymptomWatchOptions options = Options();
  options.kernel_log = folder_.File("nothing");
  Count("counters/link_downed", 3);
  SymptomWatch watch(options);
  EXPECT_THAT(watch.kernel_log_status().message(), testing::EndsWith("nothing: No such file or directory"));
  Count("counters/link_downed", 4);
  EXPECT_THAT(watch.Look(), SizeIs(1));
}

TEST_F(SymptomWatchTest, CountersOfPortsSpeakWhenTheyRise) {
  Count("counters/link_downed", 3);
  Count("counters/symbol_error", 100);
  Count("hw_counters/rx_icrc_encapsulated", 0);
  SymptomWatch watch(Options());
  EXPECT_THAT(watch.Look(), IsEmpty()) << "what was before is history";
  Count("counters/link_downed", 4);
  Count("counters/symbol_error", 107);
  EXPECT_THAT(watch.Look(), ElementsAre(Record(HostSymptom::kLinkDown, 0, "mlx5_2 port 1: its link went down (+1)"),
                                        Record(HostSymptom::kNicErrors, 0, "mlx5_2 port 1: symbol errors (+7)")));
  Count("counters/symbol_error", 0);  // the driver was loaded again
  EXPECT_THAT(watch.Look(), IsEmpty());
  Count("counters/symbol_error", 1);
  EXPECT_THAT(watch.Look(), SizeIs(1));
  std::ofstream(folder_.File("ports/mlx5_2/ports/1/counters/symbol_error")) << "N/A (no PMA)\n";
  EXPECT_THAT(watch.Look(), IsEmpty());
}

TEST_F(SymptomWatchTest, GpusAreThrottledAsLongAsTheyAre) {
  void* library = dlopen(FAIRLEAD_FAKE_NVML, RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  auto* fake = reinterpret_cast<nvml::GetFakeNvml>(dlsym(library, nvml::kGetFakeNvml))();
  fake->init = nvml::kSuccess;
  fake->gpus = {{}, {.uncorrected_errors = 2}};
  {
    SymptomWatchOptions options = Options();
    auto nvml = nvml::Library::Load(FAIRLEAD_FAKE_NVML);
    ASSERT_TRUE(nvml.ok());
    options.nvml = *nvml;
    SymptomWatch watch(options);
    EXPECT_THAT(watch.Look(), IsEmpty());
    fake->gpus[0].throttle_reasons = 4 | 1;  // the power cap, idle
    EXPECT_THAT(watch.Look(), IsEmpty());
    fake->gpus[0].throttle_reasons = nvml::kHardwareThermal | nvml::kHardwareSlowdown;
    const auto hot =
        Record(HostSymptom::kGpuThrottled, 0, "clocks reduced: hardware slowdown, hardware thermal slowdown");
    EXPECT_THAT(watch.Look(), ElementsAre(hot));
    fake->gpus[1].uncorrected_errors = 5;
    EXPECT_THAT(watch.Look(), ElementsAre(hot, Record(HostSymptom::kGpuMemoryError, 1, "3 uncorrected memory errors")));
    fake->gpus[0].is_lost = true;
    EXPECT_THAT(watch.Look(), IsEmpty());
  }
  dlclose(library);
}

TEST_F(SymptomWatchTest, OneLookHasItsBound) {
  SymptomWatch watch(Options());
  fs::remove_all(folder_.File("ports"));
  for (int device = 0; device < 100; ++device) {
    const std::string folder = folder_.File("ports/mlx5_" + std::to_string(device) + "/ports/1/counters");
    fs::create_directories(folder);
    std::ofstream(folder + "/link_downed") << 0 << '\n';
  }
  watch.Look();
  for (const auto& device : fs::directory_iterator(folder_.File("ports"))) {
    std::ofstream(device.path() / "ports/1/counters/link_downed") << 1 << '\n';
  }
  EXPECT_THAT(watch.Look(), SizeIs(SymptomWatch::kSymptomsOfLook));
}

}  // namespace
}  // namespace fairlead::service
