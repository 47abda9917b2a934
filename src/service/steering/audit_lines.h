// Lines of the audit log on their way into it, and the last ones that are there, for people.
//
//     Add() --> [lines of a batch] --ToRecord()--> store, before the first is written
//                     |                              | Restore(): those of a batch that a death has cut off
//                     '--Write(), from where it stuck---> audit log --> shown()
//
// Guarantees  a line is in the log once for each Write() that has come to its end; twice where a process has died
//             between the line and the removal of its record.
// Thread      one at a time.
#pragma once

#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "report/json_value.h"

namespace fairlead::service {

class AuditLines {
 public:
  using WriteLine = std::function<Status(const report::Json&)>;

  // Args: write: appends a line to the log; empty: there is no log, and lines are shown only. num_shown: at most.
  AuditLines(WriteLine write, size_t num_shown) : write_(std::move(write)), num_shown_(num_shown) {}

  // Of the batch.
  void Add(report::Json line) { lines_.push_back(std::move(line)); }
  // All lines of the batch, for Restore(); nothing: none has to be written.
  std::optional<std::string> ToRecord() const;
  // Lines of a batch of before become the first of this one. Before anything else. Returns whether it can be read.
  bool Restore(const std::string& record);
  // Those that are not written yet. Errors: those of the log; the next call goes on behind what was written.
  Status Write();
  // The batch is over: the next line is one of another.
  void EndBatch();

  // Lines that were written by this process, in order.
  const std::deque<report::Json>& shown() const { return shown_; }

 private:
  const WriteLine write_;
  const size_t num_shown_;
  std::vector<report::Json> lines_;
  size_t num_written_ = 0;  // of these
  std::deque<report::Json> shown_;
};

}  // namespace fairlead::service
