// Importer of what LLDP daemons know of their neighbours: `lldpctl -f json`, `lldpcli -f json show neighbors`, and the
// same with json0, of many hosts and switches.
//
//     reports/node1.json             {"lldp": {"interface": {"eth0": {"chassis": {"leaf1": …}, "port": …}}}}
//     reports/leaf1.json
//     reports/node1.addresses.json   optional: `ip -json address` there
//
// Cables are reported by both ends, by one, or several times; each is one cable. Names with and without a domain are
// the same device. Ports of a host that its switches report with one aggregation are one NIC. A device is a switch or a
// host by its system description, else by its capabilities; an undescribed device with only switches as neighbours is a
// host. Speeds are those of the negotiated medium ("100GbaseCR4"), where there is one; the lower of two.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "topology/import/foreign_network.h"

namespace fairlead::topology {

// The reports of one device.
struct LldpReport {
  std::string device;
  std::string neighbours;  // JSON
  std::string addresses;   // JSON of `ip -json address`; empty: unknown
  std::string where;       // the file, for messages
};

// A folder with a file per device, or a file: of one device, named like it, or an object with a report for each name.
// Errors: those of files, and of ReadLldp.
Result<ForeignNetwork> LoadLldp(const std::string& path);

// Errors: kInvalidArgument: no JSON, or not that of lldpd, with file and path in it; no cable at all.
Result<ForeignNetwork> ReadLldp(const std::vector<LldpReport>& reports, const std::string& where);

// One text with the reports of several devices, or of the one that it is named like. Errors: kInvalidArgument.
Result<std::vector<LldpReport>> SplitLldp(const std::string& text, const std::string& device, const std::string& where);

}  // namespace fairlead::topology
