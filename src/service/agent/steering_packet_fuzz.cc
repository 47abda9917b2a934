// Fuzz target: packets of training processes.
//
// Nothing but a whole packet of our version is taken, and what is taken is what was written.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "service/agent/steering_packet.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead;
  const auto packet = std::as_bytes(std::span(data, size));
  const auto question = service::ReadQuestion(packet);
  if (question.ok()) {
    FL_CHECK(size == sizeof(shm::SteeringQuestion) && question->job.size() < shm::kSteeringJobBytes);
    FL_CHECK(question->job.find('\0') == question->job.npos);
  }
  const auto outcome = service::ReadOutcome(packet);
  FL_CHECK(!outcome.ok() || size == sizeof(shm::SteeringOutcome));
  FL_CHECK(!question.ok() || !outcome.ok());
  return 0;
}
