#include "experiment/paper_table.h"

#include <fmt/format.h>

#include <limits>
#include <set>

#include "base/yaml_reader.h"

namespace fairlead::experiment {
namespace {

constexpr double kAny = std::numeric_limits<double>::max();

std::optional<double> OptionalDouble(YamlMap& map, std::string_view key) {
  if (!map.Has(key)) return std::nullopt;
  return map.RequiredDouble(key, -kAny, kAny);
}

PaperRow ReadRow(YamlMap& map) {
  PaperRow row;
  row.name = map.RequiredString("name");
  row.unit = map.RequiredString("unit");
  row.paper = OptionalDouble(map, "paper");
  row.low = OptionalDouble(map, "low");
  row.high = OptionalDouble(map, "high");
  row.note = map.String("note", "");
  if (row.low && row.high && *row.low > *row.high) {
    map.Fail("low", fmt::format("expected at most high ({}), found {}", *row.high, *row.low));
  }
  return row;
}

}  // namespace

Result<PaperTable> ParsePaperTable(std::string_view yaml, const std::string& name) {
  FL_ASSIGN_OR_RETURN(const YamlDocument document, YamlDocument::Parse(yaml, name));
  YamlMap root = document.Root();
  PaperTable table;
  table.title = root.RequiredString("title");
  table.source = root.RequiredString("paper");
  table.seed = static_cast<uint64_t>(root.Int("seed", 1, 0, std::numeric_limits<int64_t>::max()));
  std::set<std::string> names;
  for (YamlMap& map : root.Maps("rows")) {
    table.rows.push_back(ReadRow(map));
    if (!names.insert(table.rows.back().name).second) {
      map.Fail("name", fmt::format("a row named '{}' is further up; expected each name once", table.rows.back().name));
    }
    FL_RETURN_IF_ERROR(map.Finish());
  }
  FL_RETURN_IF_ERROR(root.Finish());
  if (table.rows.empty()) return InvalidArgument(fmt::format("{}: rows: expected at least one row, found none", name));
  return table;
}

}  // namespace fairlead::experiment
