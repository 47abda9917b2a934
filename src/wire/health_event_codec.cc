#include "wire/health_event_codec.h"

#include <type_traits>

#include "codec/protobuf_archive.h"

namespace fairlead {
namespace {

constexpr uint32_t kVersion = 1;
constexpr int64_t kNsPerSecond = 1'000'000'000;

// google.protobuf.Timestamp.
struct Timestamp {
  int64_t seconds = 0;
  int32_t nanos = 0;
};

// Of no timestamp that can be had: SimTime::Never().
SimTime TimeOf(const Timestamp& timestamp) {
  int64_t ns = 0;
  const bool is_time = timestamp.nanos >= 0 && timestamp.nanos < kNsPerSecond &&
                       !__builtin_mul_overflow(timestamp.seconds, kNsPerSecond, &ns) &&
                       !__builtin_add_overflow(ns, int64_t{timestamp.nanos}, &ns);
  return is_time ? SimTime(ns) : SimTime::Never();
}

// What those who receive an event may do with it.
enum class Strategy : uint8_t { kUnspecified = 0, kExecuteRemediation = 1, kStoreOnly = 2 };

struct HealthEvents {
  std::vector<wire::HealthEvent> events;
};

template <class Archive, codec::IsRecord<Timestamp> Record>
void Describe(Archive& archive, Record& timestamp) {
  archive.Required(1, "seconds", timestamp.seconds, codec::PlainInt());
  archive.Required(2, "nanos", timestamp.nanos, codec::PlainInt());
}

template <class Archive, codec::IsRecord<HealthEvents> Record>
void Describe(Archive& archive, Record& events) {
  uint32_t version = kVersion;
  archive.Required(1, "version", version);
  archive.Required(2, "events", events.events);
}

}  // namespace

template <>
inline constexpr uint64_t codec::kNumEnumerators<Strategy> = 3;
template <>
inline constexpr uint64_t codec::kNumEnumerators<wire::HealthEvent::Action> =
    static_cast<uint64_t>(wire::HealthEvent::Action::kRestartBareMetal) + 1;

namespace wire {

template <class Archive, codec::IsRecord<HealthEvent::Entity> Record>
void Describe(Archive& archive, Record& entity) {
  archive.Required(1, "type", entity.type);
  archive.Required(2, "value", entity.value);
}

template <class Archive, codec::IsRecord<HealthEvent> Record>
void Describe(Archive& archive, Record& event) {
  uint32_t version = kVersion;
  Timestamp generated = {.seconds = event.generated.ns() / kNsPerSecond,
                         .nanos = static_cast<int32_t>(event.generated.ns() % kNsPerSecond)};
  Strategy strategy = event.may_be_acted_upon ? Strategy::kExecuteRemediation : Strategy::kStoreOnly;
  archive.Required(1, "version", version);
  archive.Required(2, "agent", event.agent);
  archive.Required(3, "component_class", event.component_class);
  archive.Required(4, "check_name", event.check);
  archive.Required(5, "is_fatal", event.is_fatal);
  archive.Required(6, "is_healthy", event.is_healthy);
  archive.Required(7, "message", event.message);
  archive.Required(8, "recommended_action", event.action);
  archive.Required(9, "error_codes", event.error_codes);
  archive.Required(10, "entities", event.entities);
  archive.Required(12, "generated", generated);
  archive.Required(13, "node_name", event.node);
  archive.Required(16, "strategy", strategy);
  if constexpr (!std::is_const_v<Record>) {
    event.generated = TimeOf(generated);
    event.may_be_acted_upon = strategy != Strategy::kStoreOnly;
  }
}

}  // namespace wire

std::string wire::WriteHealthEvents(std::span<const HealthEvent> events) {
  return codec::WriteProtobuf(HealthEvents{{events.begin(), events.end()}});
}

Result<std::vector<wire::HealthEvent>> wire::ReadHealthEvents(std::string_view bytes) {
  HealthEvents events;
  const std::string error = codec::ReadProtobuf(bytes, &events);
  if (!error.empty()) return InvalidArgument("health events: " + error);
  for (const wire::HealthEvent& event : events.events) {
    if (event.generated == SimTime::Never()) return InvalidArgument("health events: generated: expected 1677 to 2262");
  }
  return std::move(events.events);
}

}  // namespace fairlead
