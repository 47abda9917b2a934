// Fields that messages share, from protobuf's wide types to ours: each reads one field, or says what is wrong with it.
//
// All return kInvalidArgument with the field's name, what was expected and what was found.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ip_address.h"
#include "base/sim_time.h"
#include "base/status.h"

namespace fairlead::wire {

// Input from strangers must not fill the log: the library's own messages about it are dropped. Called before parsing.
void SilenceLibrary();

// 4 bytes of IPv4, 16 of IPv6, in network order.
std::string WriteAddress(const IpAddress& address);
Status ReadAddress(const std::string& bytes, std::string_view field, IpAddress* address);
// The same, and no bytes for an address that is unset.
std::string WriteOptionalAddress(const IpAddress& address);
Status ReadOptionalAddress(const std::string& bytes, std::string_view field, IpAddress* address);

Status ReadPort(uint32_t value, std::string_view field, uint16_t* port);
Status ReadProtocol(uint32_t value, std::string_view field, uint8_t* protocol);

// One of the numbers of an enum of which `last` is the last one; they count from 0.
template <class Enum>
Status ReadEnumerator(uint32_t value, Enum last, std::string_view field, Enum* enumerator);

// IsName() of host_message_codec.h.
Status ReadName(const std::string& text, std::string_view field, std::string* name);

// CheckJobName() of model/job_name.h.
Status ReadJobName(const std::string& text, std::string_view field, std::string* name);

// Finite and at least 0.
Status ReadAmount(double value, std::string_view field, double* amount);
// Finite and over 0.
Status ReadPositive(double value, std::string_view field, double* amount);
// Over 0.
Status ReadPeriod(int64_t ns, std::string_view field, SimDuration* period);

// ---- Inline ----

// An error where the value is more than `most`.
Status CheckAtMost(uint64_t value, uint64_t most, std::string_view field);

template <class Enum>
Status ReadEnumerator(uint32_t value, Enum last, std::string_view field, Enum* enumerator) {
  FL_RETURN_IF_ERROR(CheckAtMost(value, static_cast<uint64_t>(last), field));
  *enumerator = static_cast<Enum>(value);
  return OkStatus();
}

}  // namespace fairlead::wire
