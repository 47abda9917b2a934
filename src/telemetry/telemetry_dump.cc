#include "telemetry/telemetry_dump.h"

#include <fmt/format.h>

#include <utility>

#include "codec/json_archive.h"
#include "model/telemetry_fields.h"

namespace fairlead::telemetry {

using codec::DescribeValue, codec::Json, codec::ParseJson, codec::ReadInteger, codec::ReadValue, codec::UnknownKeys;

namespace {

using model::HostReport;
using model::JobLayout;
using model::RankReport;

// The members of a line; one of the records is there.
struct DumpLine {
  std::optional<uint64_t> version;
  std::optional<JobLayout> layout;
  std::optional<RankReport> rank_report;
  std::optional<HostReport> host_report;

  int num_records() const { return layout.has_value() + rank_report.has_value() + host_report.has_value(); }
};

template <class Archive, codec::IsRecord<DumpLine> Record>
void Describe(Archive& archive, Record& line) {
  archive.Optional(kTelemetryDumpKey.data(), line.version);
  archive.Optional("layout", line.layout);
  archive.Optional("rank_report", line.rank_report);
  archive.Optional("host_report", line.host_report);
}

std::string CheckRecord(const model::TelemetryRecord& record, const RecordChecker& checker) {
  if (const auto* report = std::get_if<RankReport>(&record)) {
    std::string error = checker.Check(*report);
    return error.empty() ? "" : "rank_report" + error;
  }
  if (const auto* report = std::get_if<HostReport>(&record)) {
    std::string error = checker.Check(*report);
    return error.empty() ? "" : "host_report" + error;
  }
  return "layout: appears twice; a recording is of one job and has one layout, its first record";
}

std::string RenderLine(const DumpLine& line) {
  return codec::ToJson(line).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Status TelemetryWriter::Write(const model::TelemetryRecord& record) {
  DumpLine line;
  if (checker_) {
    if (const std::string error = CheckRecord(record, *checker_); !error.empty()) return InvalidArgument(error);
    if (const auto* report = std::get_if<RankReport>(&record)) line.rank_report = *report;
    if (const auto* report = std::get_if<HostReport>(&record)) line.host_report = *report;
  } else {
    const auto* layout = std::get_if<JobLayout>(&record);
    if (layout == nullptr) return InvalidArgument("the first record must be the layout of the job");
    if (const std::string error = RecordChecker::Check(*layout); !error.empty()) {
      return InvalidArgument("layout" + error);
    }
    layout_ = std::make_unique<JobLayout>(*layout);
    checker_.emplace(*layout_);
    line.version = kTelemetryDumpVersion;
    line.layout = *layout;
  }
  *out_ << RenderLine(line) << '\n';
  return *out_ ? OkStatus() : Unavailable("writing the recording failed");
}

TelemetryReader::TelemetryReader(std::unique_ptr<std::istream> stream, const std::string& name,
                                 const TelemetryReaderOptions& options)
    : options_(options), name_(name), stream_(std::move(stream)), lines_(*stream_, name, options.line_bytes_max) {}

Result<TelemetryReader> TelemetryReader::Open(const std::string& path, const TelemetryReaderOptions& options) {
  FL_ASSIGN_OR_RETURN(std::unique_ptr<std::istream> stream, OpenInput(path));
  return FromStream(std::move(stream), path, options);
}

Result<TelemetryReader> TelemetryReader::FromStream(std::unique_ptr<std::istream> stream, const std::string& name,
                                                    const TelemetryReaderOptions& options) {
  TelemetryReader reader(std::move(stream), name, options);
  FL_RETURN_IF_ERROR(reader.ReadLayout());
  return reader;
}

Status TelemetryReader::ReadLayout() {
  if (!lines_.Next()) {
    FL_RETURN_IF_ERROR(lines_.status());
    return InvalidArgument(fmt::format("{}: is empty; expected a recording of telemetry", name_));
  }
  FL_ASSIGN_OR_RETURN(const Json json, ParseJson(lines_.text(), name_));
  const auto fail = [this](const std::string& what) {
    return InvalidArgument(fmt::format("{}: {}", lines_.Where(), what));
  };
  const auto version = json.is_object() ? json.find(kTelemetryDumpKey) : json.end();
  if (version == json.end())
    return fail(
        fmt::format("expected a recording that begins with {{\"{}\": {}", kTelemetryDumpKey, kTelemetryDumpVersion));
  uint64_t number = 0;
  if (!ReadInteger(*version, kTelemetryDumpVersion, &number).empty() || number == 0) {
    return fail(fmt::format("{}: expected version 1 to {}, found {}; a newer fairlead may read it", kTelemetryDumpKey,
                            kTelemetryDumpVersion, DescribeValue(*version)));
  }
  DumpLine line;
  std::string error = ReadValue(json, UnknownKeys::kRefused, &line);
  if (error.empty() && (!line.layout || line.num_records() != 1)) {
    error = ": expected the layout, and nothing else, in the first line";
  }
  if (error.empty()) {
    error = RecordChecker::Check(*line.layout);
    if (!error.empty()) error = ".layout" + error;
  }
  if (!error.empty()) return fail(codec::WithoutJoint(error));
  layout_ = std::make_unique<JobLayout>(*std::move(line.layout));
  checker_.emplace(*layout_);
  return OkStatus();
}

Status TelemetryReader::ReadRecord(const Json& json) {
  DumpLine line;
  std::string error = ReadValue(json, UnknownKeys::kRefused, &line);
  if (error.empty() && line.num_records() != 1) error = ": expected one rank_report or host_report";
  if (error.empty() && line.version) error = fmt::format(".{}: belongs only in the first line", kTelemetryDumpKey);
  if (error.empty()) {
    if (line.layout) record_ = *std::move(line.layout);
    if (line.rank_report) record_ = *std::move(line.rank_report);
    if (line.host_report) record_ = *std::move(line.host_report);
    error = CheckRecord(record_, *checker_);
    if (!error.empty()) error = "." + error;
  }
  if (error.empty()) return OkStatus();
  return InvalidArgument(fmt::format("{}: {}", lines_.Where(), codec::WithoutJoint(error)));
}

Status TelemetryReader::HandleCutOff() {
  is_cut_off_ = options_.accept_cut_off;
  if (is_cut_off_) return OkStatus();
  return InvalidArgument(
      fmt::format("{}: the recording ends within a record: cut off while it was written? The {} records before it are "
                  "whole and can be read with --accept-cut-off",
                  lines_.Where(), num_records_));
}

bool TelemetryReader::Next() {
  if (!status_.ok() || is_cut_off_) return false;
  if (!lines_.Next()) {
    status_ = lines_.status();
    return false;
  }
  const Result<Json> json = ParseJson(lines_.text(), name_, lines_.number());
  if (json.ok()) {
    status_ = ReadRecord(*json);
  } else {
    // No part of an object is an object, so only a record that was being written when the writer stopped is not JSON
    // and has no line end.
    status_ = lines_.is_complete() ? json.status() : HandleCutOff();
  }
  num_records_ += status_.ok() && !is_cut_off_;
  return status_.ok() && !is_cut_off_;
}

}  // namespace fairlead::telemetry
