// Orders and levels where nobody chooses paths: how much does each lose against the enumerated optimum of levels?
//
// With the best of 32 path choices there is little left to decide, and every order looks alike. Here the paths are
// given, and jobs have to share what there is:
//
//   one spine   all jobs on one aggregation switch
//   hashed      each job on a switch drawn at random
//   8:1         all jobs on one aggregation switch, with uplinks that bound every job which crosses them
//
//   order       a level for each job, as the method orders them; against the best of all orders
//   best cut    three levels: the best vector that reverses no two jobs which share a link
//   own cut     three levels as the method makes them of its order
//   levels      three levels of Crux's order, by the rules of all methods
//
// The last three against the best of 3^5 level vectors on the same paths.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace fairlead::experiments::crux_near_optimality {

enum class GivenPaths : uint8_t { kOneSpine, kHashed, kSlowUplinks };
inline constexpr size_t kNumGivenPaths = 3;
inline constexpr std::array<std::string_view, kNumGivenPaths> kGivenPathsNames = {"one spine", "hashed", "8:1"};

// Whose order.
enum class GivenOrder : uint8_t {
  kCrux,
  kIntensity,  // Crux without its correction factor
  kTacclStar,
  kSincronia,
  kVarys,
  kRandom,  // the mean over all orders
  kWorst,   // the worst of all orders
};
inline constexpr size_t kNumGivenOrders = 7;
inline constexpr std::array<std::string_view, kNumGivenOrders> kGivenOrderNames = {
    "crux", "crux without correction", "taccl-star", "sincronia", "varys", "random order", "worst order"};

// Levels of Crux's order.
enum class GivenLevels : uint8_t { kCompression, kEqualGroups, kTopRanks, kWorst };
inline constexpr size_t kNumGivenLevels = 4;
inline constexpr std::array<std::string_view, kNumGivenLevels> kGivenLevelsNames = {
    "crux's compression", "equal groups", "top ranks", "worst valid levels"};

// Errors (U* - U) / U*.
struct GivenPathsResult {
  std::array<double, kNumGivenOrders> order{};
  std::array<double, kNumGivenOrders> best_cut{};
  std::array<double, kNumGivenOrders> own_cut{};  // NaN for kRandom and kWorst, which have no rule
  std::array<double, kNumGivenLevels> levels{};
};

// Same seed, same result: of the case that RunCase(seed) has.
std::array<GivenPathsResult, kNumGivenPaths> RunGivenPaths(uint64_t seed);

}  // namespace fairlead::experiments::crux_near_optimality
