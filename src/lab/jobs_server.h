// Receives requests to the runner of a lab's jobs: a socket in the lab's folder.
//
//     fairlead lab hook --- one question: JSON of an action ----------------> the runner of the jobs
//                       <-- one answer: {"exit_code", "message", "healthy"} --
// Actions are written as service/steering/hook_message.h describes them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/status.h"

namespace fairlead::lab {

// RUN/NAME/jobs.sock.
std::string JobsSocket(const std::string& lab_folder);

struct JobsAnswer {
  int exit_code = 0;  // of the hook
  std::string message;
  std::optional<bool> is_healthy;  // of test_host

  friend bool operator==(const JobsAnswer&, const JobsAnswer&) = default;
};

class JobsServer {
 public:
  struct Question {
    uint64_t id = 0;
    std::string text;
  };

  // Takes the place of a socket that was left over. Errors: kFailedPrecondition: the path is too long for a socket, or
  // not writable.
  static Result<JobsServer> Open(const std::string& path);
  ~JobsServer();
  JobsServer(JobsServer&& other) noexcept = default;
  JobsServer& operator=(JobsServer&&) = delete;

  // Questions that have come since the call before. Never waits.
  std::vector<Question> Take();
  // Each question once. A client that has gone meanwhile gets no answer.
  void Answer(uint64_t id, const JobsAnswer& answer);

 private:
  JobsServer() = default;

  std::string path_;
  Descriptor listener_;
  std::map<uint64_t, Descriptor> silent_;  // that have not sent a request yet
  std::map<uint64_t, Descriptor> asked_;
  uint64_t next_id_ = 1;
};

// Asks, and waits for the answer. Errors: kUnavailable: no jobs run there, or answers within `patience_s`.
Result<JobsAnswer> AskJobs(const std::string& path, const std::string& question, double patience_s);

}  // namespace fairlead::lab
