// All allocation policies by name.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling {

// Names in the order shown to users.
std::vector<std::string_view> AllocationPolicyNames();

// With default options; `seed` feeds policies that draw. Errors: kInvalidArgument for an unknown name, listing the
// known ones.
Result<std::unique_ptr<AllocationPolicy>> CreateAllocationPolicy(std::string_view name, uint64_t seed);

}  // namespace fairlead::scheduling
