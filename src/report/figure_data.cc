#include "report/figure_data.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "report/figure_json.h"
#include "report/html_style.h"

namespace fairlead::report {

namespace {

constexpr std::string_view kBegin = "<svg ";
constexpr std::string_view kEnd = "</svg>";
constexpr size_t kNameMax = 60;

// The value of an attribute of the element that `markup` begins with; empty: it has none.
std::string_view AttributeOf(std::string_view markup, std::string_view name) {
  const std::string_view tag = markup.substr(0, markup.find('>'));
  const std::string key = fmt::format(" {}=\"", name);
  const size_t at = tag.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = tag.substr(at + key.size());
  return rest.substr(0, rest.find('"'));
}

// What EscapeMarkup() has made of a text, back.
std::string Unescape(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kEntities = {
      {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}}};
  std::string plain;
  while (!text.empty()) {
    size_t length = 1;
    char c = text.front();
    for (const auto& [entity, meaning] : kEntities) {
      if (text.substr(0, entity.size()) != entity) continue;
      length = entity.size();
      c = meaning;
    }
    plain += c;
    text.remove_prefix(length);
  }
  return plain;
}

// "GPU utilization over time" -> "gpu-utilization-over-time".
std::string FileName(std::string_view title) {
  std::string name;
  for (const char c : title) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool is_upper = c >= 'A' && c <= 'Z';
    if (name.size() >= kNameMax) break;
    if (is_plain || is_upper) {
      name += is_upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? "figure" : name;
}

std::string Field(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  const std::string& text = value.get_ref<const std::string&>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string Line(const std::vector<Json>& values) {
  std::string line;
  for (size_t i = 0; i < values.size(); ++i) line += (i == 0 ? "" : ",") + Field(values[i]);
  return line + "\n";
}

std::string LineCsv(const Json& figure) {
  std::string csv = Line({"series", figure["x"]["label"], figure["y"]["label"], "low", "high"});
  for (const Json& series : figure["series"]) {
    for (size_t i = 0; i < series["x"].size(); ++i) {
      const auto bound = [&](const char* key) { return series.contains(key) ? series[key][i] : Json(); };
      csv += Line({series["label"], series["x"][i], series["y"][i], bound("low"), bound("high")});
    }
  }
  return csv;
}

std::string ScheduleCsv(const Json& figure) {
  std::string csv = Line({"lane", "begin", "end", "height", "text"});
  for (const Json& lane : figure["lanes"]) {
    for (const Json& block : lane["blocks"]) csv += Line({lane["label"], block[0], block[1], block[2], block[3]});
  }
  return csv;
}

std::string BarCsv(const Json& figure) {
  std::string csv = Line({"group", "series", "value", "mark"});
  for (const Json& group : figure["groups"]) {
    for (size_t s = 0; s < group["values"].size(); ++s) {
      const Json mark = s < group["marks"].size() ? group["marks"][s] : Json();
      csv += Line({group["label"], figure["series"][s], group["values"][s], mark});
    }
  }
  return csv;
}

// Framed rows and columns are lines without a value, of no panel.
std::string HeatCsv(const Json& figure) {
  std::string csv = Line({"panel", "row", "column", "row_name", "column_name", "value", "marked"});
  const auto name = [&](const char* of, const Json& i) {
    const size_t place = i.get<size_t>();
    return place < figure[of].size() ? figure[of][place] : Json();
  };
  for (const Json& panel : figure["panels"]) {
    for (const Json& cell : panel["cells"]) {
      csv += Line({panel["heading"], cell[0], cell[1], name("rows", cell[0]), name("columns", cell[1]), cell[2],
                   cell.size() > 3 ? 1 : 0});
    }
  }
  for (const Json& row : figure["marked_rows"]) csv += Line({"", row, Json(), name("rows", row), Json(), Json(), 1});
  for (const Json& column : figure["marked_columns"]) {
    csv += Line({"", Json(), column, Json(), name("columns", column), Json(), 1});
  }
  return csv;
}

std::string HostsCsv(const Json& figure) {
  std::string csv = Line({"host", "kind", "begin", "end", "text"});
  for (const Json& row : figure["rows"]) csv += Line({row[0], row[1], row[2], row[3], row[4]});
  return csv;
}

// A line for each node that a node waits for, and one for a node that waits for none.
std::string WaitsCsv(const Json& figure) {
  std::string csv = Line({"node", "label", "is_operation", "is_culprit", "waits_for"});
  for (size_t i = 0; i < figure["nodes"].size(); ++i) {
    const Json& node = figure["nodes"][i];
    const auto add = [&](const Json& awaited) {
      csv += Line({i, node["label"], node["operation"] ? 1 : 0, node["culprit"] ? 1 : 0, awaited});
    };
    bool waits = false;
    for (const Json& wait : figure["waits"]) {
      if (wait[0] != i) continue;
      waits = true;
      add(wait[1]);
    }
    if (!waits) add(Json());
  }
  return csv;
}

std::string NetworkCsv(const Json& figure) {
  std::string csv =
      Line({"below", "above", "worst_link", "load", "cables", "down", "degraded", "capacity_bytes_per_s"});
  const Json& nodes = figure["nodes"];
  for (const Json& link : figure["links"]) {
    csv += Line({nodes[link["below"].get<size_t>()]["name"], nodes[link["above"].get<size_t>()]["name"], link["name"],
                 link["load"], link.value("cables", 1), link.value("down", 0), link.value("degraded", 0),
                 link["capacity_bytes_per_s"]});
  }
  return csv;
}

std::string CsvOf(std::string_view data) {
  const Json figure = Json::parse(Unescape(data), nullptr, false);
  if (!figure.is_object()) return "";
  const std::string kind = figure.value("kind", "");
  if (kind == "line") return LineCsv(figure);
  if (kind == "schedule") return ScheduleCsv(figure);
  if (kind == "bar") return BarCsv(figure);
  if (kind == "heat") return HeatCsv(figure);
  if (kind == "hosts") return HostsCsv(figure);
  if (kind == "waits") return WaitsCsv(figure);
  return kind == "network" ? NetworkCsv(figure) : "";
}

}  // namespace

Json FigureNumber(double value) {
  if (!std::isfinite(value)) return {};
  const std::string text = fmt::format("{:.6g}", value);
  double rounded = 0;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  // Whole numbers are written without a point.
  if (rounded == std::floor(rounded) && std::abs(rounded) < 1e15) return static_cast<int64_t>(rounded);
  return rounded;
}

Json FigureNumbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(FigureNumber(value));
  return list;
}

Json FigureAxis(const std::string& label, Interval domain, const std::vector<Tick>& ticks) {
  Json list = Json::array();
  for (const Tick& tick : ticks) list.push_back(Json::array({FigureNumber(tick.value), tick.label}));
  return {{"label", label},
          {"low", FigureNumber(domain.low)},
          {"high", FigureNumber(domain.high)},
          {"ticks", std::move(list)}};
}

Json FigureFrame(const Box& frame) { return FigureNumbers({frame.x, frame.y, frame.width, frame.height}); }

std::string FigureText(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string WithLightColors(std::string_view svg) {
  constexpr std::string_view kUse = "var(";
  // The first block of the style has them all: "--page: #ffffff; ".
  const std::string_view style = PageStyle().substr(0, PageStyle().find('}'));
  std::string text;
  for (size_t use = svg.find(kUse); use != std::string_view::npos; use = svg.find(kUse)) {
    text += svg.substr(0, use);
    const size_t end = std::min(svg.find(')', use), svg.size());
    const std::string variable(svg.substr(use + kUse.size(), end - use - kUse.size()));
    const size_t at = style.find(variable + ": ");
    if (at != std::string_view::npos) {
      const size_t value = at + variable.size() + 2;
      text += style.substr(value, style.find(';', value) - value);
    }
    svg.remove_prefix(std::min(end + 1, svg.size()));
  }
  return text.append(svg);
}

std::vector<FigureFile> FiguresOf(std::string_view page) {
  std::vector<FigureFile> files;
  for (size_t at = page.find(kBegin); at != std::string_view::npos; at = page.find(kBegin, at)) {
    const size_t end = page.find(kEnd, at);
    if (end == std::string_view::npos) break;
    const std::string_view svg = page.substr(at, end + kEnd.size() - at);
    at = end;
    const std::string title = Unescape(AttributeOf(svg, "aria-label"));
    FigureFile file;
    file.name = fmt::format("{:02}-{}", files.size() + 1, FileName(title));
    const size_t tag_end = svg.find('>') + 1;
    // As wide as in the page; paper has no dark setting.
    file.svg = std::string(svg.substr(0, tag_end)) + "<style>" + std::string(PageStyle()) +
               "svg { background: var(--page); font-family: system-ui, sans-serif; }</style>" +
               std::string(svg.substr(tag_end)) + "\n";
    file.csv = CsvOf(AttributeOf(svg, "data-figure"));
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace fairlead::report
