// Any bytes as a recording: an error with the file's name, or records that survive writing and reading back.
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "telemetry/telemetry_dump.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace telemetry = fairlead::telemetry;
  const auto open = [](const std::string& text) {
    return telemetry::TelemetryReader::FromStream(std::make_unique<std::istringstream>(text), "fuzz.jsonl");
  };
  auto reader = open(std::string(reinterpret_cast<const char*>(data), size));
  if (!reader.ok()) {
    FL_CHECK(reader.status().message().starts_with("fuzz.jsonl:"));
    return 0;
  }
  std::ostringstream out;
  telemetry::TelemetryWriter writer(out);
  std::vector<fairlead::model::TelemetryRecord> records = {reader->layout()};
  while (reader->Next()) records.push_back(reader->record());
  FL_CHECK(reader->status().ok() || reader->status().message().starts_with("fuzz.jsonl:"));
  for (const auto& record : records) FL_CHECK(writer.Write(record).ok());
  auto again = open(out.str());
  FL_CHECK(again.ok() && again->layout() == reader->layout());
  for (size_t i = 1; i < records.size(); ++i) FL_CHECK(again->Next() && again->record() == records[i]);
  FL_CHECK(!again->Next() && again->status().ok());
  return 0;
}
