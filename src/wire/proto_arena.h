// Memory of one message while it is written or read: a protobuf message is many small objects, which end together.
#pragma once

#include <google/protobuf/arena.h>

#include <cstddef>

namespace fairlead::wire {

class ProtoArena {
 public:
  ProtoArena() : arena_(block_, sizeof(block_)) {}
  ProtoArena(const ProtoArena&) = delete;
  ProtoArena& operator=(const ProtoArena&) = delete;

  // Ends with the arena.
  template <class Message>
  Message* Create() {
    return google::protobuf::Arena::CreateMessage<Message>(&arena_);
  }

 private:
  // Small messages need no memory but this.
  alignas(std::max_align_t) char block_[4096];
  google::protobuf::Arena arena_;
};

}  // namespace fairlead::wire
