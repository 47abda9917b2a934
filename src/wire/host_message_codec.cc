#include "wire/host_message_codec.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "codec/protobuf_archive.h"
#include "controller/host_message_fields.h"

namespace fairlead::wire {

template <class Message>
struct Batch {
  std::vector<Message> messages;
};

template <class Archive, class Record>
requires codec::IsRecord<Record, Batch<controller::FromAgent>> || codec::IsRecord<Record, Batch<controller::ToAgent>>
void Describe(Archive& archive, Record& batch) { archive.Required(1, "messages", batch.messages); }

namespace {

// A batch of one message.
template <class Message>
std::string WriteBatch(const Message& message) {
  codec::ProtobufWriter writer;
  writer.Required(1, "messages", message);
  return writer.Take();
}

template <class Message>
Result<std::vector<Message>> ReadBatch(std::string_view bytes) {
  if (bytes.size() > kMessageBytesMax) {
    return InvalidArgument(fmt::format("expected at most {} bytes, found {}", kMessageBytesMax, bytes.size()));
  }
  Batch<Message> batch;
  const std::string error = codec::ReadProtobuf(bytes, &batch);
  if (!error.empty()) return InvalidArgument(error);
  if (batch.messages.empty()) return InvalidArgument("expected a batch of messages, found no message in it");
  return std::move(batch.messages);
}

}  // namespace

std::string WriteFromAgent(const controller::FromAgent& message) { return WriteBatch(message); }
std::string WriteToAgent(const controller::ToAgent& message) { return WriteBatch(message); }

Result<std::vector<controller::FromAgent>> ReadFromAgent(std::string_view bytes) {
  FL_ASSIGN_OR_RETURN(std::vector<controller::FromAgent> messages, ReadBatch<controller::FromAgent>(bytes));
  for (controller::FromAgent& message : messages) {
    auto* seen = std::get_if<controller::ProcessesSeen>(&message);
    if (seen == nullptr) continue;
    for (telemetry::SeenProcess& process : seen->processes) process.report.job = seen->job;
  }
  return messages;
}

Result<std::vector<controller::ToAgent>> ReadToAgent(std::string_view bytes) {
  return ReadBatch<controller::ToAgent>(bytes);
}

}  // namespace fairlead::wire
