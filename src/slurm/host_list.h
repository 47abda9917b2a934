// Slurm's short forms of lists: of hosts, "h[0-3,7],x1", and of a host's devices, "gpu:a100:2(IDX:0,2-3)".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fairlead::slurm {

// More hosts than any cluster has: a longer list is a mistake, or an attack.
inline constexpr size_t kNumHostsMax = 100'000;

// Whether it can be a part of a list: letters, digits, '-', '_' and '.'.
bool IsListName(std::string_view name);

// Whether one of the hosts is this one.
bool Contains(std::span<const std::string> hosts, const std::string& host);

// In the order of the list. "", "(null)" and "None assigned" are no hosts. Numbers keep their zeros: "h[08-10]" is h08,
// h09, h10. Several brackets in one name count like digits, the last one first.
// Errors: kInvalidArgument: what is wrong, with the list, shortened.
Result<std::vector<std::string>> ExpandHosts(std::string_view list);

// What ExpandHosts() makes the same list of, in the same order: h0, h1, h3, x -> "h[0-1,3],x". Only numbers at the end
// of names are in brackets, as all versions of Slurm read them. Args: names of letters, digits, '-', '_' and '.'.
std::string CompressHosts(std::span<const std::string> hosts);

// "0,2-3" -> 0, 2, 3. Errors: kInvalidArgument; at most 4,096 numbers.
Result<std::vector<uint32_t>> ExpandNumbers(std::string_view list);

// Of "gpu:a100:4(S:0-1),gpu:2,nic:1": 6. Anything that is no such list: 0.
uint32_t CountGpus(std::string_view devices);

// Of "gpu:a100:2(IDX:0,2-3),nic:1(IDX:0)": 0, 2, 3. Anything that is no such list: none.
std::vector<uint32_t> GpuIndices(std::string_view devices);

// "a,b" -> a, b; commas in brackets or parentheses part nothing; empty parts are left out.
std::vector<std::string_view> SplitList(std::string_view list);

}  // namespace fairlead::slurm
