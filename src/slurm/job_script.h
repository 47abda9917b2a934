// Does a batch script keep the contract of elastic jobs (docs/operate/slurm.md), and if not, which line helps?
//
// Read as sbatch reads it: options are in lines that begin with "#SBATCH", up to the first line that is neither a
// comment nor empty; later ones are none. Of an option that comes twice the last one counts. Options of the command
// line are not seen. What a program does on a signal can't be read from its script: that it is told is checked, and not
// what it makes of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fairlead::slurm {

struct ScriptCheck {
  enum class State : uint8_t {
    kKept,
    kBroken,  // the job is not elastic, or loses work
    kBetter,  // it may be left as it is
  };
  std::string name;  // "nodes"
  State state = State::kKept;
  uint32_t line = 0;  // of the script, from 1; 0: it is in no line
  std::string found;  // for people
  std::string helps;  // a line for the script, or advice; empty where it is kept
};

// "kept", "broken", "better".
std::string_view Name(ScriptCheck::State state);

// One for each part of the contract, always all of them and in the same order. Bytes of the script are shown printable
// and shortened. Errors: kInvalidArgument: it is no script (it does not begin with "#!"), or has a zero byte.
// Cost: linear.
Result<std::vector<ScriptCheck>> CheckJobScript(std::string_view script);

bool IsContractKept(const std::vector<ScriptCheck>& checks);

}  // namespace fairlead::slurm
