#include "report/link_matrix.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <string_view>

namespace fairlead::report {
namespace {

constexpr std::string_view kArrow = "->";

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// The two ends of a link name; no arrow: all of it is the source.
struct LinkEnds {
  std::string source;
  std::string destination;  // with "#2" of parallel links
};

LinkEnds SplitName(const std::string& name) {
  const size_t arrow = name.find(kArrow);
  if (arrow == std::string::npos) return {name, ""};
  return {name.substr(0, arrow), name.substr(arrow + kArrow.size())};
}

// The name of a node without the number of a parallel link.
std::string NodeOf(const std::string& end) { return end.substr(0, end.find('#')); }

// "h12/nic0" -> "h/nic": what kind of thing a node is, as far as its name tells.
std::string KindOf(const std::string& end) {
  std::string kind = NodeOf(end);
  kind.erase(std::remove_if(kind.begin(), kind.end(), IsDigit), kind.end());
  return kind;
}

// Kinds that say too little for people.
std::string ReadableKind(const std::string& kind) { return kind.find('/') != std::string::npos ? "host" : kind; }

// Which kind of node gets the rows.
std::string ChooseRowKind(const std::vector<LinkEnds>& ends, topology::LinkTier tier) {
  std::map<std::string, std::set<std::string>> nodes;  // by kind
  for (const LinkEnds& end : ends) {
    nodes[KindOf(end.source)].insert(NodeOf(end.source));
    nodes[KindOf(end.destination)].insert(NodeOf(end.destination));
  }
  const bool fewest = tier == topology::LinkTier::kHostLeaf;
  std::string chosen = nodes.begin()->first;
  for (const auto& [kind, names] : nodes) {
    const size_t best = nodes[chosen].size();
    if (fewest ? names.size() < best : names.size() > best) chosen = kind;
  }
  return chosen;
}

// A link as seen from the switch of its row.
struct Port {
  const sim::LinkResult* link = nullptr;
  std::string row;
  std::string peer;
  bool leaving = false;
};

std::vector<Port> FindPorts(const std::vector<const sim::LinkResult*>& links, topology::LinkTier tier) {
  std::vector<LinkEnds> ends;
  ends.reserve(links.size());
  for (const sim::LinkResult* link : links) ends.push_back(SplitName(link->name));
  const std::string row_kind = ChooseRowKind(ends, tier);
  std::vector<Port> ports;
  for (size_t i = 0; i < links.size(); ++i) {
    const bool entering = KindOf(ends[i].source) != row_kind && KindOf(ends[i].destination) == row_kind;
    const std::string number = ends[i].destination.substr(NodeOf(ends[i].destination).size());
    if (entering) {
      ports.push_back({links[i], NodeOf(ends[i].destination), ends[i].source + number, false});
    } else {
      ports.push_back({links[i], ends[i].source, ends[i].destination, true});
    }
  }
  return ports;
}

struct NaturalOrder {
  bool operator()(const std::string& a, const std::string& b) const { return NaturalLess(a, b); }
};

// Column of every peer in one direction: the same peer is in the same column of every row if that keeps the matrix at
// most twice as wide as its fullest row, else the ports of each row are packed to the left.
size_t PlaceColumns(const std::vector<Port>& ports, bool leaving, size_t first, std::vector<LinkCell>& cells) {
  std::map<std::string, std::set<std::string, NaturalOrder>> peers_of_row;
  std::set<std::string, NaturalOrder> all_peers;
  size_t fullest = 0;
  for (const Port& port : ports) {
    if (port.leaving != leaving) continue;
    all_peers.insert(port.peer);
    auto& peers = peers_of_row[port.row];
    peers.insert(port.peer);
    fullest = std::max(fullest, peers.size());
  }
  const bool aligned = all_peers.size() <= 2 * fullest;
  std::map<std::string, std::map<std::string, size_t>> columns;  // by row, by peer
  for (const auto& [row, peers] : peers_of_row) {
    size_t next = first;
    for (const std::string& peer : aligned ? all_peers : peers) columns[row][peer] = next++;
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].leaving == leaving) cells[i].column = columns[ports[i].row][ports[i].peer];
  }
  return aligned ? all_peers.size() : fullest;
}

void AddSpan(LinkMatrix& matrix, const std::vector<Port>& ports, bool leaving, size_t count) {
  if (count == 0) return;
  const auto port = std::find_if(ports.begin(), ports.end(), [leaving](const Port& p) { return p.leaving == leaving; });
  const std::string row = ReadableKind(KindOf(port->row));
  const std::string peer = ReadableKind(KindOf(port->peer));
  std::string label = row;
  if (!peer.empty()) label = leaving ? row + " to " + peer : peer + " to " + row;
  matrix.spans.push_back({matrix.num_columns, count, label});
  matrix.num_columns += count;
}

}  // namespace

LinkMatrix ArrangeLinks(const std::vector<const sim::LinkResult*>& links, topology::LinkTier tier) {
  LinkMatrix matrix;
  if (links.empty()) return matrix;
  const std::vector<Port> ports = FindPorts(links, tier);
  std::map<std::string, size_t, NaturalOrder> row_of;
  for (const Port& port : ports) row_of[port.row] = 0;
  for (auto& [name, row] : row_of) {
    row = matrix.rows.size();
    matrix.rows.push_back(name);
  }
  for (const Port& port : ports) matrix.cells.push_back({port.link, row_of[port.row], 0});
  for (const bool leaving : {true, false}) {
    AddSpan(matrix, ports, leaving, PlaceColumns(ports, leaving, matrix.num_columns, matrix.cells));
  }
  return matrix;
}

bool NaturalLess(const std::string& a, const std::string& b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (IsDigit(a[i]) && IsDigit(b[j])) {
      const auto end_of_number = [](const std::string& s, size_t from) {
        while (from < s.size() && IsDigit(s[from])) ++from;
        return from;
      };
      while (i < a.size() && a[i] == '0') ++i;
      while (j < b.size() && b[j] == '0') ++j;
      const std::string_view x = std::string_view(a).substr(i, end_of_number(a, i) - i);
      const std::string_view y = std::string_view(b).substr(j, end_of_number(b, j) - j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      i += x.size();
      j += y.size();
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
    }
  }
  if ((i < a.size()) != (j < b.size())) return j < b.size();
  return a < b;  // equal but for leading zeros
}

}  // namespace fairlead::report
