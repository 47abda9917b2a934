#include "model/place_names.h"

#include <utility>

namespace fairlead::model {

PlaceNames::PlaceNames(std::vector<std::string> hosts, std::vector<std::string> nics, std::vector<std::string> leaves)
    : table_(std::make_shared<const Table>(Table{std::move(hosts), std::move(nics), std::move(leaves)})) {}

std::string PlaceNames::Of(HostId host) const { return Text("host", &Table::hosts, host.value()); }

std::string PlaceNames::Of(NicId nic) const { return Text("NIC", &Table::nics, nic.value()); }

std::string PlaceNames::Of(LeafId leaf) const { return Text("leaf switch", &Table::leaves, leaf.value()); }

std::string PlaceNames::Text(const char* what, std::vector<std::string> Table::*list, size_t index) const {
  const bool has_name = table_ && index < (*table_.*list).size() && !(*table_.*list)[index].empty();
  return std::string(what) + " " + (has_name ? (*table_.*list)[index] : std::to_string(index));
}

}  // namespace fairlead::model
