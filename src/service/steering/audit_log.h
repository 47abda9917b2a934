// The audit log: what steering and operators had done and what became of it, one line of JSON each.
//
//     {"at_s": 1700000000.5, "kind": "action", …, "chain": "5feceb66ffc86f38…"}
//
// Problem     whoever changes a line, takes one out or adds one must not pass unnoticed; and a line that says that a
//             host is isolated must outlive the machine that has isolated it.
// Method      each line carries a hash (SHA-256) of the hash before it and of its own text, the first one of a chain
//             that of all bytes of the file before. A line is on the disk (fdatasync) before Write() returns. The file
//             belongs to its owner (0600), to one process at a time (flock), and grows only. After a line that was cut
//             short by a crash, or lines of before there were hashes, a new chain begins, which says so
//             ("chain_begins": true) and covers them.
// Limits      who may write the file can write a whole new one with hashes that fit: keep a copy of the last hash, or
//             the log, elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/status.h"
#include "controller/steering_dispatcher.h"
#include "report/json_value.h"

namespace fairlead::service {

class AuditLog {
 public:
  // Continues a log that is there. Errors: kFailedPrecondition: the file can't be opened, belongs to others too, or
  // another process writes it; says why.
  static Result<AuditLog> Open(const std::string& path);

  // Errors: kResourceExhausted: it could not be written; later lines are still tried.
  Status Write(const controller::AuditEntry& entry);
  Status Write(const report::Json& entry);

 private:
  AuditLog(std::string path, Descriptor file, std::string chain, bool begins)
      : path_(std::move(path)), file_(std::move(file)), chain_(std::move(chain)), begins_(begins) {}

  std::string path_;
  Descriptor file_;
  std::string chain_;    // of the last line
  bool begins_ = false;  // the next line begins a chain
};

// What a log is worth.
struct AuditVerdict {
  uint64_t num_lines = 0;
  uint64_t num_chained = 0;
  uint64_t num_beginnings = 0;        // of chains
  std::string last_chain;             // of the last line; empty: it has none
  std::vector<std::string> breaks;    // "line 7: …": what has been changed, taken out or added; the first hundred
  std::vector<std::string> warnings;  // lines that no hash vouches for, or that were cut short
};

// Errors: those of reading the file.
Result<AuditVerdict> VerifyAuditLog(const std::string& path);

}  // namespace fairlead::service
