#include "wire/health_event_codec.h"

#include <nvsentinel/health_event.pb.h>

#include "wire/proto_arena.h"

namespace fairlead::wire {
namespace {

namespace pb = fairlead::nvsentinel;

constexpr uint32_t kVersion = 1;
constexpr int64_t kNsPerSecond = 1'000'000'000;

void Fill(const HealthEvent& event, pb::HealthEvent* message) {
  message->set_version(kVersion);
  message->set_agent(event.agent);
  message->set_component_class(event.component_class);
  message->set_check_name(event.check);
  message->set_is_fatal(event.is_fatal);
  message->set_is_healthy(event.is_healthy);
  message->set_message(event.message);
  message->set_recommended_action(static_cast<pb::Action>(event.action));
  for (const std::string& code : event.error_codes) message->add_error_codes(code);
  for (const auto& [type, value] : event.entities) {
    pb::Entity* entity = message->add_entities();
    entity->set_type(type);
    entity->set_value(value);
  }
  message->mutable_generated()->set_seconds(event.generated.ns() / kNsPerSecond);
  message->mutable_generated()->set_nanos(static_cast<int32_t>(event.generated.ns() % kNsPerSecond));
  message->set_node_name(event.node);
  message->set_strategy(event.may_be_acted_upon ? pb::STRATEGY_EXECUTE_REMEDIATION : pb::STRATEGY_STORE_ONLY);
}

HealthEvent Read(const pb::HealthEvent& message) {
  HealthEvent event;
  event.node = message.node_name();
  event.check = message.check_name();
  event.agent = message.agent();
  event.component_class = message.component_class();
  event.is_healthy = message.is_healthy();
  event.is_fatal = message.is_fatal();
  event.may_be_acted_upon = message.strategy() != pb::STRATEGY_STORE_ONLY;
  event.message = message.message();
  event.action = static_cast<HealthEvent::Action>(message.recommended_action());
  event.error_codes.assign(message.error_codes().begin(), message.error_codes().end());
  for (const pb::Entity& entity : message.entities()) event.entities.emplace_back(entity.type(), entity.value());
  event.generated = SimTime(message.generated().seconds() * kNsPerSecond + message.generated().nanos());
  return event;
}

}  // namespace

std::string WriteHealthEvents(std::span<const HealthEvent> events) {
  ProtoArena arena;
  auto* message = arena.Create<pb::HealthEvents>();
  message->set_version(kVersion);
  for (const HealthEvent& event : events) Fill(event, message->add_events());
  return message->SerializeAsString();
}

Result<std::vector<HealthEvent>> ReadHealthEvents(std::string_view bytes) {
  ProtoArena arena;
  auto* message = arena.Create<pb::HealthEvents>();
  if (!message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument("health events: not such a message");
  }
  std::vector<HealthEvent> events;
  for (const pb::HealthEvent& event : message->events()) events.push_back(Read(event));
  return events;
}

}  // namespace fairlead::wire
