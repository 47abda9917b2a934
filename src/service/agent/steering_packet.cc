#include "service/agent/steering_packet.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace fairlead::service {

namespace {

using shm::SteeringQuestionKind;

IpAddress AddressOf(const shm::SteeringAddress& address) {
  std::array<uint8_t, 16> bytes;
  std::copy(std::begin(address.bytes), std::end(address.bytes), bytes.begin());
  return IpAddress(bytes);
}

// Args: Packet begins with magic and version.
template <class Packet>
Result<Packet> ReadPacket(PacketBytes bytes) {
  uint32_t magic = 0;
  uint16_t version = 0;
  if (bytes.size() < sizeof(magic) + sizeof(version)) return InvalidArgument("a packet is too short");
  std::memcpy(&magic, bytes.data(), sizeof(magic));
  std::memcpy(&version, bytes.data() + sizeof(magic), sizeof(version));
  if (magic != shm::kSteeringMagic) return InvalidArgument("a packet of something else");
  if (version != shm::kSteeringVersion) return Status(StatusCode::kFailedPrecondition, "a packet of another version");
  if (bytes.size() != sizeof(Packet)) return InvalidArgument("a packet of a wrong size");
  Packet packet;
  std::memcpy(&packet, bytes.data(), sizeof(packet));
  return packet;
}

}  // namespace

Result<agent::PathRequested> ReadQuestion(PacketBytes packet) {
  FL_ASSIGN_OR_RETURN(const shm::SteeringQuestion question, ReadPacket<shm::SteeringQuestion>(packet));
  agent::PathRequested asked;
  switch (question.kind) {
    case SteeringQuestionKind::kConnect:
      asked.kind = agent::QuestionKind::kConnect;
      break;
    case SteeringQuestionKind::kAccept:
      asked.kind = agent::QuestionKind::kAccept;
      break;
    case SteeringQuestionKind::kQueuePair:
      asked.kind = agent::QuestionKind::kQueuePair;
      break;
    default:
      return InvalidArgument("a question of an unknown kind");
  }
  const char* job_end = std::find(std::begin(question.job), std::end(question.job), '\0');
  if (job_end == std::end(question.job)) return InvalidArgument("a job's name without an end");
  asked.job.assign(std::begin(question.job), job_end);
  asked.inode = asked.kind == agent::QuestionKind::kQueuePair ? 0 : question.socket_inode;
  asked.source = AddressOf(question.source);
  asked.destination = AddressOf(question.destination);
  asked.source_port = question.source_port;
  asked.destination_port = question.destination_port;
  return asked;
}

Result<agent::PathRequestOutcome> ReadOutcome(PacketBytes packet) {
  FL_ASSIGN_OR_RETURN(const shm::SteeringOutcome outcome, ReadPacket<shm::SteeringOutcome>(packet));
  return agent::PathRequestOutcome{.question = 0, .source_port = outcome.source_port, .error = outcome.error};
}

std::array<std::byte, sizeof(shm::SteeringAnswer)> WriteAnswer(const agent::AnswerProcess& answer) {
  shm::SteeringAnswer packet = {};
  packet.magic = shm::kSteeringMagic;
  packet.version = shm::kSteeringVersion;
  packet.kind = answer.leave ? shm::SteeringAnswerKind::kLeave : shm::SteeringAnswerKind::kUse;
  packet.source_port = answer.source_port;
  packet.sets_class = answer.sets_class ? 1 : 0;
  packet.traffic_class = answer.traffic_class;
  return std::bit_cast<std::array<std::byte, sizeof(shm::SteeringAnswer)>>(packet);
}

}  // namespace fairlead::service
