#include "telemetry/dcgm_metrics.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::telemetry {
namespace {

using model::HostSymptom;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// As dcgm-exporter 3.3 writes it.
std::string Line(const char* field, int gpu, const std::string& value) {
  return fmt::format(
      "DCGM_FI_DEV_{}{{gpu=\"{}\",UUID=\"GPU-5f2c\",pci_bus_id=\"00000000:3B:00.0\",device=\"nvidia{}\","
      "modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"h3\",DCGM_FI_DRIVER_VERSION=\"550.54\"}} {}\n",
      field, gpu, gpu, value);
}

std::vector<std::string> TextsOf(const std::vector<model::HostSymptomRecord>& symptoms) {
  std::vector<std::string> texts;
  for (const auto& symptom : symptoms) {
    texts.push_back(fmt::format("{} {} {}", static_cast<int>(symptom.symptom), symptom.device, symptom.text));
  }
  return texts;
}

TEST(PrometheusLineTest, NamesLabelsAndValues) {
  const auto sample = ReadPrometheusLine("a_b{x=\"1\", y=\"say \\\"no\\\" \\\\ \\n\",} 1.5e3 1700000000000");
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(sample->name, "a_b");
  EXPECT_EQ(sample->labels.at("x"), "1");
  EXPECT_EQ(sample->labels.at("y"), "say \"no\" \\ \n");
  EXPECT_EQ(sample->value, 1500);
  EXPECT_EQ(ReadPrometheusLine("up 1")->value, 1);
  for (const char* text : {"", "# HELP a b", "a", "a{", "a{x}", "a{x=1} 1", "a{x=\"1} 1", "a{x=\"1\"",
                           "a{x=\"1\"y=\"2\"} 1", "a{} one", "a 1x", "{x=\"1\"} 1"}) {
    EXPECT_FALSE(ReadPrometheusLine(text).has_value()) << text;
  }
}

// The last Xid stays until there is another one; that of before is history, and a job's own mistakes are no symptom.
TEST(DcgmMetricsTest, AnXidIsToldWhenItChanges) {
  DcgmMetrics metrics;
  EXPECT_THAT(metrics.Read(Line("XID_ERRORS", 0, "79") + Line("XID_ERRORS", 1, "0")), IsEmpty());
  EXPECT_THAT(metrics.Read(Line("XID_ERRORS", 0, "79") + Line("XID_ERRORS", 1, "0")), IsEmpty());
  const auto lost = metrics.Read(Line("XID_ERRORS", 0, "79") + Line("XID_ERRORS", 1, "79"));
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost[0].symptom, HostSymptom::kGpuLost);
  EXPECT_EQ(lost[0].device, 1u);
  EXPECT_EQ(lost[0].text, "Xid 79 (DCGM)");
  EXPECT_THAT(metrics.Read(Line("XID_ERRORS", 1, "31")), IsEmpty());
  EXPECT_THAT(metrics.Read(Line("XID_ERRORS", 1, "48")), SizeIs(1));
}

TEST(DcgmMetricsTest, CountersTellWhatHasBeenAdded) {
  DcgmMetrics metrics;
  EXPECT_THAT(metrics.Read(Line("ECC_DBE_VOL_TOTAL", 3, "7") + Line("NVLINK_REPLAY_ERROR_COUNT_TOTAL", 2, "100")),
              IsEmpty());
  EXPECT_THAT(
      TextsOf(metrics.Read(Line("ECC_DBE_VOL_TOTAL", 3, "9") + Line("NVLINK_REPLAY_ERROR_COUNT_TOTAL", 2, "150"))),
      ElementsAre(
          fmt::format("{} 3 uncorrected memory errors (DCGM: +2)", static_cast<int>(HostSymptom::kGpuMemoryError)),
          fmt::format("{} 2 NVLink replays (DCGM: +50)", static_cast<int>(HostSymptom::kNvlinkError))));
  // The driver was loaded again.
  EXPECT_THAT(metrics.Read(Line("ECC_DBE_VOL_TOTAL", 3, "0")), IsEmpty());
  EXPECT_THAT(metrics.Read(Line("ECC_DBE_VOL_TOTAL", 3, "1")), SizeIs(1));
}

TEST(DcgmMetricsTest, AThrottledGpuIsToldWhileItIs) {
  DcgmMetrics metrics;
  for (int i = 0; i < 2; ++i) {
    const auto symptoms = metrics.Read(Line("CLOCKS_EVENT_REASONS", 5, "104"));  // 8 | 0x20 | 0x40
    ASSERT_THAT(symptoms, SizeIs(1));
    EXPECT_EQ(symptoms[0].symptom, HostSymptom::kGpuThrottled);
    EXPECT_EQ(symptoms[0].text,
              "clocks reduced: hardware slowdown, software thermal slowdown, hardware thermal slowdown (DCGM)");
  }
  EXPECT_THAT(metrics.Read(Line("CLOCKS_EVENT_REASONS", 5, "4")), IsEmpty()) << "a power cap is usual";
  EXPECT_THAT(metrics.Read(Line("THERMAL_VIOLATION", 5, "1000")), IsEmpty());
  EXPECT_THAT(metrics.Read(Line("THERMAL_VIOLATION", 5, "2000")), SizeIs(1));
  EXPECT_THAT(metrics.Read(Line("THERMAL_VIOLATION", 5, "2000")), IsEmpty());
  EXPECT_THAT(metrics.Read(Line("ROW_REMAP_FAILURE", 0, "1")), SizeIs(1));
}

TEST(DcgmMetricsTest, BlanksAndTheUnknownAreSkipped) {
  DcgmMetrics metrics;
  const std::string blank = "9223372036854775794";
  metrics.Read(Line("ECC_DBE_VOL_TOTAL", 0, "0") + Line("XID_ERRORS", 0, "0"));
  EXPECT_THAT(metrics.Read(Line("ECC_DBE_VOL_TOTAL", 0, blank) + Line("XID_ERRORS", 0, blank) +
                           Line("CLOCKS_EVENT_REASONS", 0, blank) + Line("CLOCKS_EVENT_REASONS", 0, "NaN") +
                           Line("GPU_TEMP", 0, "95") + Line("CLOCKS_EVENT_REASONS", 99'999, "8") +
                           "DCGM_FI_DEV_ROW_REMAP_FAILURE 1\nDCGM_FI_DEV_ROW_REMAP_FAILURE{gpu=\"x\"} 1\n"),
              IsEmpty());
}

TEST(DcgmActivityTest, SharesOfWholeGpus) {
  const auto activities = ReadDcgmActivity(
      "# TYPE DCGM_FI_PROF_SM_ACTIVE gauge\n"
      "DCGM_FI_PROF_SM_ACTIVE{gpu=\"0\",UUID=\"GPU-1\",modelName=\"NVIDIA A100\"} 0.75\n"
      "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu=\"0\"} 0.5\nDCGM_FI_PROF_PIPE_FP64_ACTIVE{gpu=\"0\"} 0.1\n"
      "DCGM_FI_PROF_PIPE_FP32_ACTIVE{gpu=\"0\"} 0.2\nDCGM_FI_PROF_PIPE_FP16_ACTIVE{gpu=\"0\"} 1\n"
      "DCGM_FI_PROF_SM_ACTIVE{gpu=\"1\",GPU_I_ID=\"7\"} 0.9\n"                         // a part of one
      "DCGM_FI_PROF_SM_ACTIVE{gpu=\"2\"} 9223372036854775794\n"                        // blank
      "DCGM_FI_PROF_SM_ACTIVE{gpu=\"3\"} -1\nDCGM_FI_PROF_SM_ACTIVE{gpu=\"4\"} nan\n"  // no shares
      "DCGM_FI_PROF_PCIE_TX_BYTES{gpu=\"5\"} 1\nDCGM_FI_DEV_GPU_UTIL{gpu=\"6\"} 1\nDCGM_FI_PROF_SM_ACTIVE 1\n");
  ASSERT_EQ(activities.size(), 1U);
  const DcgmActivity& activity = activities.at(0);
  EXPECT_EQ(activity.sm, 0.75);
  EXPECT_EQ(activity.tensor, 0.5);
  EXPECT_EQ(activity.fp64, 0.1);
  EXPECT_EQ(activity.fp32, 0.2);
  EXPECT_EQ(activity.fp16, 1);
  EXPECT_TRUE(ReadDcgmActivity("").empty());
}

}  // namespace
}  // namespace fairlead::telemetry
