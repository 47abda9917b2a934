#include "slurm/state_names.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace fairlead::slurm {
namespace {

std::string Upper(std::string_view word) {
  std::string upper(word);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

template <size_t N>
bool IsOneOf(const std::string& word, const std::string_view (&words)[N]) {
  return std::ranges::find(words, word) != std::end(words);
}

}  // namespace

JobState JobStateOf(std::span<const std::string_view> words) {
  JobState state = JobState::kEnded;
  bool is_completing = false;
  bool is_configuring = false;
  for (const std::string_view given : words) {
    const std::string word = Upper(given);
    if (word == "COMPLETING" || word == "STAGE_OUT") is_completing = true;
    if (word == "CONFIGURING") is_configuring = true;
    if (word == "RUNNING" || word == "RESIZING" || word == "SIGNALING") state = JobState::kRunning;
    if (word == "SUSPENDED" || word == "STOPPED") state = JobState::kSuspended;
    if (IsOneOf(word, {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"})) {
      state = JobState::kPending;
    }
  }
  if (is_completing) return JobState::kCompleting;
  return is_configuring ? JobState::kConfiguring : state;
}

void SetNodeState(std::span<const std::string_view> words, Node* node) {
  bool is_well = false;
  bool is_away = false;
  node->is_drained = node->is_busy = node->is_unknown = false;
  for (const std::string_view given : words) {
    std::string word = Upper(given);
    while (!word.empty() && word.back() != '_' && std::ispunct(static_cast<unsigned char>(word.back())) != 0) {
      is_away |= word.back() == '*';
      word.pop_back();
    }
    node->is_unknown |= word == "UNKNOWN";
    is_well |= IsOneOf(word, {"IDLE", "MIXED", "ALLOCATED", "COMPLETING", "DRAINED", "DRAINING"});
    is_away |= IsOneOf(word, {"DOWN", "ERROR", "NOT_RESPONDING", "POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN"});
    node->is_drained |= IsOneOf(word, {"DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING"});
    node->is_busy |= IsOneOf(word, {"MIXED", "ALLOCATED", "COMPLETING", "DRAINING"});
  }
  node->is_up = is_well && !is_away;
}

std::string_view NameOf(JobState state) {
  switch (state) {
    case JobState::kPending:
      return "pending";
    case JobState::kConfiguring:
      return "configuring";
    case JobState::kRunning:
      return "running";
    case JobState::kSuspended:
      return "suspended";
    case JobState::kCompleting:
      return "completing";
    case JobState::kEnded:
      break;
  }
  return "ended";
}

}  // namespace fairlead::slurm
