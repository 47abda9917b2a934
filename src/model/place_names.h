// Names of hosts, NICs and leaf switches: a table for code that writes texts for people.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "model/telemetry.h"

namespace fairlead::model {

// Copies share one table. Texts say what a thing is: "host h3", "NIC h3/nic0", "leaf switch leaf1"; what the table does
// not name is called by its number: "host 3".
class PlaceNames {
 public:
  PlaceNames() = default;  // numbers only
  // Args: [id]; empty names are none.
  PlaceNames(std::vector<std::string> hosts, std::vector<std::string> nics, std::vector<std::string> leaves);

  std::string Of(HostId host) const;
  std::string Of(NicId nic) const;
  std::string Of(LeafId leaf) const;

 private:
  struct Table {
    std::vector<std::string> hosts;
    std::vector<std::string> nics;
    std::vector<std::string> leaves;
  };

  std::string Text(const char* what, std::vector<std::string> Table::*list, size_t index) const;

  std::shared_ptr<const Table> table_;
};

}  // namespace fairlead::model
