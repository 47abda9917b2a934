// Hosts by name, so that what is kept outlives the ids of the fabric that it was written with.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/ids.h"
#include "codec/json_text.h"

namespace fairlead::codec {

class HostNames {
 public:
  // Args: names [host]; must outlive this.
  explicit HostNames(std::span<const std::string> names) : names_(names) {
    for (size_t i = 0; i < names.size(); ++i) ids_[names[i]] = HostId(i);
  }

  // null: none. A number: beyond the names.
  Json ToJson(HostId host) const {
    if (!host.valid()) return {};
    return host.index() < names_.size() ? Json(names_[host.index()]) : Json(host.value());
  }

  // No host for a name that there is not any more, which is remembered as lost. Args: name as ToJson() writes it.
  HostId Find(const std::string& name) {
    if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
    lost_.insert(name);
    has_lost_ = true;
    return {};
  }

  const std::set<std::string>& lost() const { return lost_; }
  // Whether a lost host was named since the last call.
  bool TakeLoss() { return std::exchange(has_lost_, false); }

 private:
  std::span<const std::string> names_;
  std::map<std::string, HostId> ids_;
  std::set<std::string> lost_;
  bool has_lost_ = false;
};

}  // namespace fairlead::codec
