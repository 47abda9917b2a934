// Formats are recognized by content.
#include "telemetry/detect_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "telemetry/random_telemetry.h"
#include "telemetry/telemetry_dump.h"

namespace fairlead::telemetry {
namespace {

using testing::HasSubstr;

TEST(DetectFormatTest, ByContent) {
  const std::pair<const char*, RecordingFormat> kFiles[] = {
      {R"({"fairlead_telemetry":1,"layout":{"ranks":[)", RecordingFormat::kDump},
      {R"({"entries":[{"collective_seq_id":1,"duration_ms":)", RecordingFormat::kFlightRecorder},
      {R"({"version": "2.5", "pg_config": {}})", RecordingFormat::kFlightRecorder},
      {R"({"header":{"id":"0x1"},"metadata":{"inspector_output_format_version":"v4.0"},"coll_perf":{)",
       RecordingFormat::kInspector},
      {"{\n  \"nccl_version\": \"2.28.7\",\n  \"communicators_count\": 1,", RecordingFormat::kRas},
      {R"(OK {"communicators": [{"missing_ranks" : []}]})", RecordingFormat::kRas},
      // A name is no key.
      {R"({"profiling_name":"coll_perf","pg_config":{"x":"fairlead_telemetry"}})", RecordingFormat::kFlightRecorder},
  };
  for (const auto& [head, expected] : kFiles) {
    const auto format = DetectFormat(head, "f");
    ASSERT_TRUE(format.ok()) << head;
    EXPECT_EQ(*format, expected) << head;
  }
}

TEST(DetectFormatTest, OurOwnIsAlwaysKnown) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    std::ostringstream out;
    TelemetryWriter writer(out);
    for (const auto& record : DrawRecording(2, random)) ASSERT_TRUE(writer.Write(record).ok());
    const auto format = DetectFormat(out.str(), "f");
    ASSERT_TRUE(format.ok() && *format == RecordingFormat::kDump) << seed;
  }
}

TEST(DetectFormatTest, ABadOneIsRefusedWithAdvice) {
  const std::pair<std::string, const char*> kFiles[] = {
      {"", "f: is empty"},
      {" \n", "f: is empty"},
      {std::string("\x80\x02}q\x00", 5), "is a pickle"},
      {"\x1f\x8b\x08", "gunzip"},
      {std::string("{\0}", 3), "is no text"},
      {"job,gpus\n1,2\n", "found none of them"},
      {R"({"version": 1})", "found none of them"},
      {R"({"coll_perf)", "found none of them"},
      {R"({"a\)", "found none of them"},
  };
  for (const auto& [head, expected] : kFiles) {
    const auto format = DetectFormat(head, "f");
    ASSERT_FALSE(format.ok()) << head;
    EXPECT_THAT(format.status().message(), HasSubstr(expected));
  }
}

TEST(DetectFormatTest, NamesAreParsedBack) {
  for (const char* name : {"dump", "flight-recorder", "inspector", "ras"}) {
    ASSERT_TRUE(ParseFormat(name).ok());
    EXPECT_EQ(Name(*ParseFormat(name)), name);
  }
  EXPECT_THAT(ParseFormat("pickle").status().message(), HasSubstr("dump, flight-recorder, inspector, ras"));
}

}  // namespace
}  // namespace fairlead::telemetry
