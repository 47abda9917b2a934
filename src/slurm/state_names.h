// Slurm's words for states, in the spellings of its versions and commands: "RUNNING", "IDLE+DRAIN*", ["IDLE", "DRAIN"];
// and ours.
#pragma once

#include <span>
#include <string_view>

#include "slurm/cluster_state.h"

namespace fairlead::slurm {

// A base state, with flags or without. Words that are not known say nothing; a job of which all words are unknown has
// ended as far as we know, and is left alone.
JobState JobStateOf(std::span<const std::string_view> words);

// Sets is_up, is_drained and is_busy. Words may have signs behind them: '*' does not answer. Of a node whose words are
// unknown it is not known that it is up.
void SetNodeState(std::span<const std::string_view> words, Node* node);

// As we show it: "running".
std::string_view NameOf(JobState state);

}  // namespace fairlead::slurm
