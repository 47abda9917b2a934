// A fabric as a picture of layers: hosts, leaves, spines and cores as nodes, all cables between two nodes as one line.
//
// Problem     a cluster of 10,000 hosts has more switches and cables than a page has pixels, or a reader has patience.
// Method      a tier of more than `nodes_max` nodes is shown as runs of neighbours, within the parts of the fabric
//             where there are few parts; runs get longer until there are at most `links_max` lines. A line stands for
//             its worst cable. `open` shows the members of one run, or what is below one leaf, with what they are
//             cabled to. Parts are what leaves and spines fall into without the cores: planes where hosts are cabled to
//             several, pods otherwise.
// Cost        O(links + links of all jobs) time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "report/json_value.h"
#include "topology/fabric.h"

namespace fairlead::report {

enum class PictureTier : uint8_t { kHost, kLeaf, kSpine, kCore };
inline constexpr size_t kNumPictureTiers = 4;
std::string_view Name(PictureTier tier);    // "host", "leaf", "spine", "core"
std::string_view Plural(PictureTier tier);  // "hosts", "leaves", …

struct LinkCondition {
  double load = 0;    // 0..1
  double health = 1;  // share of its capacity that is left, 0..1
  bool is_down = false;
  bool is_in_doubt = false;  // something is wrong with it, not known how much
};

// A job and the network links on its paths.
struct JobOnLinks {
  std::string name;
  std::vector<LinkId> links;  // in any order; others than network links are passed over
};

struct PictureInput {
  const topology::Fabric& fabric;
  std::vector<LinkCondition> conditions;  // [LinkId]; empty: all are idle and well
  std::vector<JobOnLinks> jobs;           // those that matter most first
  // [link] loads in equal bins of time; may lack links.
  std::map<LinkId, std::vector<float>> load_over_time = {};
};

struct PictureOptions {
  std::string open = {};        // the name of a node of another picture; empty: the whole fabric
  std::string job = {};         // of which all is told; empty: none
  size_t nodes_max = 64;        // of a tier, before it is shown as runs
  size_t links_max = 1200;      // lines
  size_t jobs_max = 200;        // with names
  size_t job_links_max = 8000;  // lines of all jobs together; jobs beyond have none
};

struct PictureNode {
  std::string name;  // "leaf3"; of a run "leaf0..leaf9"
  PictureTier tier = PictureTier::kLeaf;
  std::string part;          // "pod 1", "plane 0"; empty: the fabric is one part, or it is a host
  std::string rails;         // of a leaf "rail 3", "rails 0-3"; empty: all NICs of its hosts
  uint32_t num_members = 1;  // > 1: a run
  uint32_t num_hosts = 0;    // below a leaf
  bool opens = false;        // there is more to see inside
};

struct PictureLink {
  uint32_t below = 0;  // nodes
  uint32_t above = 0;
  std::string name;  // the worst link: down, then degraded, then the fullest
  uint32_t num_cables = 0;
  uint32_t num_down = 0;                   // cables
  uint32_t num_degraded = 0;               // cables with less than all of their capacity, or in doubt
  double capacity_bytes_per_s = 0;         // of all together, in one direction
  double load = 0;                         // of the fullest that is not down, 0..1
  std::vector<float> load_over_time = {};  // the greatest of those known; empty: none is
};

struct PictureJob {
  std::string name;
  bool is_told = false;            // whether `links` holds all
  std::vector<uint32_t> links;     // ascending
  std::vector<std::string> meets;  // jobs on one of its links, those that matter most first; at most a dozen
  uint32_t num_meets = 0;
};

struct TopologyPicture {
  std::string open;
  std::vector<PictureNode> nodes;  // by tier, from below
  std::vector<PictureLink> links;
  std::vector<PictureJob> jobs;
  uint32_t num_jobs = 0;                                    // of all
  std::array<size_t, kNumPictureTiers> num_in_fabric = {};  // [tier]
};

// Errors: kNotFound: the fabric has no such node to open, or there is no such job.
Result<TopologyPicture> MakePicture(const PictureInput& input, const PictureOptions& options = {});

// For pages (web/picture.js); numbers that are 0 or 1 as a rule are left out where they are. Keys are never renamed.
Json PictureJson(const TopologyPicture& picture);

}  // namespace fairlead::report
