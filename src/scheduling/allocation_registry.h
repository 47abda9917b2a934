// All allocation policies by name, and what users may set of each.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling {

// Names in the order shown to users.
std::vector<std::string_view> AllocationPolicyNames();

// A number of a policy that users may set.
struct PolicyOption {
  std::string_view name;
  double value = 0;       // by default
  std::string_view help;  // unit, range, and what a higher number does
};

// Of a policy, in the order shown to users; nothing for one without options, or an unknown one.
std::vector<PolicyOption> AllocationPolicyOptions(std::string_view name);

// By the names of options.
using PolicySettings = std::map<std::string, double, std::less<>>;

// With default options; `seed` feeds policies that draw. Errors: kInvalidArgument for an unknown name, listing the
// known ones.
Result<std::unique_ptr<AllocationPolicy>> CreateAllocationPolicy(std::string_view name, uint64_t seed);

// With some options set. Errors: also kInvalidArgument for an option that the policy does not have, listing those it
// has, and for a number outside its range.
Result<std::unique_ptr<AllocationPolicy>> CreateAllocationPolicy(std::string_view name, uint64_t seed,
                                                                 const PolicySettings& settings);

}  // namespace fairlead::scheduling
