#include "telemetry/import_texts.h"

#include <sstream>

#include "telemetry/telemetry_dump.h"

namespace fairlead::telemetry {

namespace {

SimTime TimeOf(const model::TelemetryRecord& record) {
  if (const auto* report = std::get_if<model::RankReport>(&record)) return report->at;
  if (const auto* report = std::get_if<model::HostReport>(&record)) return report->at;
  return SimTime();
}

Status CheckRecording(const Recording& recording) {
  std::ostringstream out;
  TelemetryWriter writer(out);
  Status status = writer.Write(recording.layout);
  SimTime last;
  for (const model::TelemetryRecord& record : recording.reports) {
    if (status.ok()) status = writer.Write(record);
    if (TimeOf(record) < last) return Internal("reports are not in order of time");
    last = TimeOf(record);
  }
  if (!status.ok()) return Internal(status.message());
  for (const model::RankPlace& place : recording.layout.ranks) {
    if (place.host.index() >= recording.host_names.size()) return Internal("a host has no name");
  }
  auto reader = TelemetryReader::FromStream(std::make_unique<std::istringstream>(out.str()), "again.jsonl");
  for (const model::TelemetryRecord& record : recording.reports) {
    if (!reader.ok() || !reader->Next() || !(reader->record() == record))
      return Internal("not the same when read back");
  }
  return OkStatus();
}

}  // namespace

Result<Recording> ImportTexts(RecordingFormat format, const std::vector<std::pair<std::string, std::string>>& files) {
  const std::unique_ptr<Importer> importer = CreateImporter(format);
  for (const auto& [name, text] : files) {
    std::istringstream stream(text);
    FL_RETURN_IF_ERROR(importer->Add(stream, name));
  }
  FL_ASSIGN_OR_RETURN(Recording recording, importer->Finish());
  FL_RETURN_IF_ERROR(CheckRecording(recording));
  return recording;
}

const model::RankReport* FindReport(const Recording& recording, uint32_t rank) {
  const model::RankReport* found = nullptr;
  for (const model::TelemetryRecord& record : recording.reports) {
    const auto* report = std::get_if<model::RankReport>(&record);
    if (report == nullptr || report->rank != model::RankId(rank)) continue;
    if (found != nullptr) return nullptr;
    found = report;
  }
  return found;
}

}  // namespace fairlead::telemetry
