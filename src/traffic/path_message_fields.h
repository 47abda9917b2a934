// The fields of what agents and the controller say of paths (codec/record.h). Numbers never change meaning.
#pragma once

#include "codec/record.h"
#include "traffic/path_messages.h"

namespace fairlead::codec {

template <>
inline constexpr uint64_t kNumEnumerators<traffic::QueuePairAnswer::Kind> = 4;
template <>
inline constexpr uint64_t kNumEnumerators<traffic::MoveCause> = traffic::kNumMoveCauses;

}  // namespace fairlead::codec

namespace fairlead::traffic {

template <class Archive, codec::IsRecord<HeldPath> Record>
void Describe(Archive& archive, Record& path) {
  archive.Required(1, "is_managed", path.is_managed);
  archive.Required(2, "plane", path.plane);
  archive.Required(3, "path", path.path);
  archive.Required(4, "port", path.port);
}

template <class Archive, codec::IsRecord<QueuePairAnswer> Record>
void Describe(Archive& archive, Record& answer) {
  archive.Required(1, "kind", answer.kind, codec::FromOne());
  archive.Required(2, "plane", answer.plane);
  archive.Required(3, "path", answer.path);
  archive.Required(4, "port", answer.port);
  archive.Required(5, "epoch", answer.epoch);
}

template <class Archive, codec::IsRecord<ConnectionAnswer> Record>
void Describe(Archive& archive, Record& answer) {
  archive.Required(1, "connection", answer.connection);
  archive.Required(2, "reason", answer.reason);
  archive.Required(3, "queue_pairs", answer.queue_pairs);
}

}  // namespace fairlead::traffic
