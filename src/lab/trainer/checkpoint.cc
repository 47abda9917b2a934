#include "lab/trainer/checkpoint.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file_reader.h"
#include "base/file_writer.h"

namespace fairlead::lab {

Result<uint64_t> ReadCheckpoint(const std::string& path) {
  const Result<std::string> text = ReadWholeFile(path);
  if (text.status().code() == StatusCode::kNotFound) return uint64_t{0};
  if (!text.ok()) return text.status();
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (json.is_object() && json.contains("iteration") && json["iteration"].is_number_unsigned()) {
    return json["iteration"].get<uint64_t>();
  }
  return InvalidArgument(
      fmt::format("{}: expected a checkpoint such as {{\"iteration\": 40}}. Remove it to start over", path));
}

Status WriteCheckpoint(const std::string& path, uint64_t iterations) {
  return WriteFileAtomically(path, fmt::format("{{\"iteration\": {}}}\n", iterations), Outlives::kProcess);
}

Status KeepCheckpoint(const TrainerPlan& plan, uint64_t done, std::atomic<bool>* wanted) {
  if (plan.worker != 0) return OkStatus();
  if (!plan.progress.empty()) {
    FL_RETURN_IF_ERROR(WriteFileAtomically(plan.progress, fmt::format("{}\n", done), Outlives::kProcess));
  }
  const bool is_wanted = wanted != nullptr && wanted->exchange(false);
  const bool is_due = plan.checkpoint_every != 0 && done % plan.checkpoint_every == 0;
  if (plan.checkpoint.empty() || !(is_due || is_wanted)) return OkStatus();
  return WriteCheckpoint(plan.checkpoint, done);
}

}  // namespace fairlead::lab
