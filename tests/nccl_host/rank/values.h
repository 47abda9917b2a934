// Numbers of NCCL's types, as doubles: those that tests use are exact in all of them.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <string>

namespace fairlead::nccl_host {

size_t BytesOf(ncclDataType_t type);
std::string NameOf(ncclDataType_t type);
void Put(ncclDataType_t type, std::byte* values, size_t i, double value);
double Get(ncclDataType_t type, const std::byte* values, size_t i);

}  // namespace fairlead::nccl_host
