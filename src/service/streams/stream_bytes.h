// Messages as gRPC carries them: whole byte strings.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <string_view>

namespace fairlead::service {

inline grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

// One message in one piece. Cost: a copy where it came in several.
class WholeMessage {
 public:
  explicit WholeMessage(const grpc::ByteBuffer& buffer)
      : is_whole_(buffer.TrySingleSlice(&slice_).ok() || buffer.DumpToSingleSlice(&slice_).ok()) {}

  // Empty where the buffer was not valid.
  std::string_view bytes() const {
    if (!is_whole_) return {};
    return {reinterpret_cast<const char*>(slice_.begin()), slice_.size()};
  }

 private:
  grpc::Slice slice_;
  bool is_whole_;
};

}  // namespace fairlead::service
