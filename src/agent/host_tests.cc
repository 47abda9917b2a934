#include "agent/host_tests.h"

#include <algorithm>
#include <string>
#include <utility>

namespace fairlead::agent {

using controller::HostTestKind;

std::string HostTests::FindObjection(const controller::HostTestWanted& wanted, bool has_jobs) const {
  if (wanted.test == 0 || running_.contains(wanted.test)) return "a test of this number is under way";
  if (running_.size() >= kRunningMax) return "too many tests are under way";
  if (wanted.length > controller::kTestLengthMax) return "the test would take too long";
  if (has_jobs && !wanted.despite_jobs) return "a training job has connections on this host";
  if (wanted.kind == HostTestKind::kBurnIn) return "";
  if (!addresses_.AreTraining(wanted.local, wanted.peer) || wanted.peer.is_unset()) {
    return "the test is not between a training NIC of this host and another host";
  }
  if (wanted.num_streams < 1 || wanted.num_streams > controller::kTestStreamsMax) return "too many streams, or none";
  if ((wanted.kind == HostTestKind::kSend) != (wanted.port != 0)) return "senders have a port, and only they";
  return "";
}

void HostTests::Take(const controller::HostTestWanted& wanted, bool has_jobs) {
  const std::string objection = FindObjection(wanted, has_jobs);
  if (!objection.empty()) {
    controller::HostTestDone refused;
    refused.test = wanted.test;
    refused.error = objection;
    refused.is_refused = true;
    return outbox_.Send(std::move(refused));
  }
  if (running_.empty()) symptoms_.clear();
  running_.insert(wanted.test);
  outbox_.Act(RunHostTest{wanted});
}

void HostTests::Take(const HostTestListens& event) {
  if (running_.contains(event.test)) outbox_.Send(controller::HostTestReady{.test = event.test, .port = event.port});
}

void HostTests::Take(const HostTestEnded& event) {
  if (running_.erase(event.done.test) == 0) return;
  controller::HostTestDone done = event.done;
  done.error.resize(std::min(done.error.size(), controller::kSymptomBytesMax));
  done.symptoms = std::exchange(symptoms_, {});
  outbox_.Send(std::move(done));
}

void HostTests::AddSymptoms(std::span<const model::HostSymptomRecord> symptoms) {
  if (running_.empty()) return;
  for (const model::HostSymptomRecord& symptom : symptoms) {
    if (symptoms_.size() < controller::kSymptomsMax) symptoms_.push_back(symptom);
  }
}

void HostTests::Cancel() {
  if (running_.empty()) return;
  running_.clear();
  symptoms_.clear();
  outbox_.Act(StopHostTests{});
}

}  // namespace fairlead::agent
