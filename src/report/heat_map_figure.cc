#include "report/heat_map_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "report/figure_json.h"
#include "report/printable_text.h"

namespace fairlead::report {
namespace {

constexpr size_t kPanelsPerLine = 2;
constexpr size_t kRowLabelColumns = 18;
// The labels of rows and columns are smaller than LabelWidth() expects.
constexpr double kSmallFont = 0.87;
constexpr double kPanelGap = 28;
constexpr double kLegendHeight = 34;
constexpr double kHeadingHeight = 22;
constexpr double kSpanHeight = 18;
constexpr double kColumnLabelHeight = 16;
constexpr double kAxisHeight = 18;
constexpr double kRowSpacing = 11;  // least distance of two row labels
constexpr double kThinnestRow = 2;
constexpr double kSwatch = 16;

// Sizes that all panels share.
struct Layout {
  size_t num_rows = 0;
  size_t num_columns = 0;
  size_t panels_per_line = 1;
  double label_width = 0;
  double cell_width = 0;
  double cell_height = 0;
  double top = 0;           // above the first line of panels
  double head = 0;          // of a panel, above its cells
  double panel_width = 0;   // with its labels
  double panel_height = 0;  // with its head and the gap below

  // Cells have gaps where they are large enough to spare a pixel.
  double gap() const { return std::min(cell_width, cell_height) >= 5 ? 1 : 0; }
  double cells_width() const { return cell_width * static_cast<double>(num_columns); }
  double cells_height() const { return cell_height * static_cast<double>(num_rows); }
};

Layout PlanLayout(const HeatMapFigure& figure) {
  Layout layout;
  layout.num_rows = figure.row_labels.size();
  layout.num_columns = figure.column_labels.size();
  layout.panels_per_line = std::clamp<size_t>(figure.panels.size(), 1, kPanelsPerLine);
  for (const std::string& label : figure.row_labels) {
    layout.label_width =
        std::max(layout.label_width, kSmallFont * LabelWidth(TruncateToWidth(label, kRowLabelColumns)));
  }
  layout.label_width += 8;
  const auto per_line = static_cast<double>(layout.panels_per_line);
  layout.panel_width = (figure.width - kPanelGap * (per_line - 1)) / per_line;
  const double room = layout.panel_width - layout.label_width;
  layout.cell_width =
      std::min(figure.cell_width_max, room / static_cast<double>(std::max<size_t>(1, layout.num_columns)));
  layout.cell_height = std::clamp(figure.cells_height_max / static_cast<double>(std::max<size_t>(1, layout.num_rows)),
                                  kThinnestRow, figure.cell_height_max);
  layout.top = figure.scale_label.empty() ? 0 : kLegendHeight;
  const bool has_column_labels = std::any_of(figure.column_labels.begin(), figure.column_labels.end(),
                                             [](const std::string& label) { return !label.empty(); });
  layout.head = kHeadingHeight + (figure.column_axis.empty() ? 0 : kAxisHeight) +
                (figure.column_spans.empty() ? 0 : kSpanHeight) + (has_column_labels ? kColumnLabelHeight : 0);
  layout.panel_height = layout.head + layout.cells_height() + 16;
  return layout;
}

size_t ColorOf(double heat) {
  if (!(heat > 0)) return 0;
  return static_cast<size_t>(std::ceil(std::min(heat, 1.0) * (kNumHeatColors - 1)));
}

void DrawScale(const HeatMapFigure& figure, SvgFigure& svg) {
  double x = 0;
  svg.AddText({x, 16}, figure.scale_label, "axis-label");
  x += LabelWidth(figure.scale_label) + 12;
  svg.AddText({x, 16}, figure.scale_low, "tick");
  x += LabelWidth(figure.scale_low) + 6;
  for (size_t color = 0; color < kNumHeatColors; ++color) {
    svg.AddBox({x, 5, kSwatch, 13}, fmt::format("cell h{}", color));
    x += kSwatch;
  }
  svg.AddText({x + 6, 16}, figure.scale_high, "tick");
  x += LabelWidth(figure.scale_high) + 28;
  if (!figure.mark_label.empty()) {
    svg.AddDot({x, 12}, 2.2, "mark");
    svg.AddText({x + 8, 16}, figure.mark_label, "tick");
  }
}

Box CellBox(const Layout& layout, Point origin, const HeatCell& cell) {
  return {origin.x + layout.cell_width * static_cast<double>(cell.column),
          origin.y + layout.cell_height * static_cast<double>(cell.row), layout.cell_width - layout.gap(),
          layout.cell_height - layout.gap()};
}

void DrawCellsWithTooltips(const HeatPanel& panel, const Layout& layout, Point origin, SvgFigure& svg) {
  for (const HeatCell& cell : panel.cells) {
    const Box box = CellBox(layout, origin, cell);
    svg.AddBox(box, fmt::format("cell h{}", ColorOf(cell.heat)), cell.tooltip);
    if (cell.marked && box.width >= 5) {
      svg.AddDot({box.x + box.width / 2, box.y + box.height / 2}, std::min(2.2, box.width / 4), "mark");
    }
  }
}

// One path per colour: a few bytes a cell.
void DrawCellsCompactly(const HeatPanel& panel, const Layout& layout, Point origin, SvgFigure& svg) {
  std::array<std::string, kNumHeatColors> paths;
  for (const HeatCell& cell : panel.cells) {
    const Box box = CellBox(layout, origin, cell);
    paths[ColorOf(cell.heat)] +=
        fmt::format("M{} {}h{}v{}h-{}z", FormatCoordinate(box.x), FormatCoordinate(box.y), FormatCoordinate(box.width),
                    FormatCoordinate(box.height), FormatCoordinate(box.width));
  }
  for (size_t color = 0; color < paths.size(); ++color) svg.AddPath(paths[color], fmt::format("cell h{}", color));
}

void DrawRowLabels(const HeatMapFigure& figure, const Layout& layout, Point origin, SvgFigure& svg) {
  double next = origin.y;
  for (size_t row = 0; row < layout.num_rows; ++row) {
    const double middle = origin.y + layout.cell_height * (static_cast<double>(row) + 0.5);
    if (middle < next) continue;
    svg.AddText({origin.x - 6, middle + 3.5}, TruncateToWidth(figure.row_labels[row], kRowLabelColumns), "tick small",
                Anchor::kEnd);
    next = middle + kRowSpacing;
  }
}

void DrawColumnLabels(const HeatMapFigure& figure, const Layout& layout, Point origin, SvgFigure& svg) {
  // From the last one back: text is at the end, and is worth more than one of many similar numbers.
  double limit = std::numeric_limits<double>::infinity();
  for (size_t column = layout.num_columns; column-- > 0;) {
    const std::string label = TruncateToWidth(figure.column_labels[column], 6);
    const double middle = origin.x + layout.cell_width * (static_cast<double>(column) + 0.5);
    if (label.empty() || middle + LabelWidth(label) / 2 > limit) continue;
    if (middle - LabelWidth(label) / 2 < origin.x) continue;
    svg.AddText({middle, origin.y - 5}, label, "tick small", Anchor::kMiddle);
    limit = middle - LabelWidth(label) / 2 - 2;
  }
  for (const ColumnSpan& span : figure.column_spans) {
    const double left = origin.x + layout.cell_width * static_cast<double>(span.first);
    const double right = left + layout.cell_width * static_cast<double>(span.count) - 3;
    svg.AddLine({left, origin.y - 4}, {right, origin.y - 4}, "axis");
    const auto columns = static_cast<size_t>(std::max(3.0, (right - left) / (kSmallFont * LabelWidth("x"))));
    svg.AddText({left, origin.y - 8}, TruncateToWidth(span.label, columns), "tick small");
  }
}

void DrawMarkedLines(const HeatMapFigure& figure, const Layout& layout, Point origin, SvgFigure& svg) {
  for (const size_t row : figure.marked_rows) {
    svg.AddBox({origin.x - 1, origin.y + layout.cell_height * static_cast<double>(row) - 1, layout.cells_width() + 1,
                layout.cell_height + 1},
               "outline");
  }
  for (const size_t column : figure.marked_columns) {
    svg.AddBox({origin.x + layout.cell_width * static_cast<double>(column) - 1, origin.y - 1, layout.cell_width + 1,
                layout.cells_height() + 1},
               "outline");
  }
}

// Where the first cell of a panel is.
Point OriginOf(const Layout& layout, size_t index) {
  const size_t line = index / layout.panels_per_line;
  const double left = static_cast<double>(index % layout.panels_per_line) * (layout.panel_width + kPanelGap);
  return {left + layout.label_width, layout.top + static_cast<double>(line) * layout.panel_height + layout.head};
}

void DrawPanel(const HeatMapFigure& figure, const Layout& layout, size_t index, bool with_tooltips, SvgFigure& svg) {
  const HeatPanel& panel = figure.panels[index];
  const Point origin = OriginOf(layout, index);
  const double top = origin.y - layout.head;
  svg.AddText({origin.x, top + 13}, panel.heading, "panel-heading");
  if (!figure.column_axis.empty()) {
    svg.AddText({origin.x, top + kHeadingHeight + 10}, figure.column_axis, "tick small");
    svg.AddText({origin.x - 6, top + kHeadingHeight + 10}, figure.row_axis, "tick small", Anchor::kEnd);
  }
  DrawRowLabels(figure, layout, origin, svg);
  DrawColumnLabels(figure, layout, origin, svg);
  svg.AddBox({origin.x, origin.y, layout.cells_width(), layout.cells_height()}, "cell-ground");
  if (with_tooltips) {
    DrawCellsWithTooltips(panel, layout, origin, svg);
  } else {
    DrawCellsCompactly(panel, layout, origin, svg);
  }
  DrawMarkedLines(figure, layout, origin, svg);
}

std::string DataOf(const HeatMapFigure& figure, const Layout& layout) {
  Json panels = Json::array();
  for (size_t i = 0; i < figure.panels.size(); ++i) {
    const HeatPanel& panel = figure.panels[i];
    Json cells = Json::array();
    for (const HeatCell& cell : panel.cells) {
      Json one = Json::array({cell.row, cell.column, FigureNumber(cell.heat)});
      if (cell.marked) one.push_back(1);
      cells.push_back(std::move(one));
    }
    const Point origin = OriginOf(layout, i);
    panels.push_back({{"heading", panel.heading},
                      {"frame", Json::array({FigureNumber(origin.x), FigureNumber(origin.y),
                                             FigureNumber(layout.cell_width), FigureNumber(layout.cell_height)})},
                      {"cells", std::move(cells)}});
  }
  Json spans = Json::array();
  for (const ColumnSpan& span : figure.column_spans) spans.push_back(Json::array({span.label, span.first}));
  return FigureText({{"kind", "heat"},
                     {"rows", figure.row_labels},
                     {"columns", figure.column_labels},
                     {"spans", std::move(spans)},
                     {"scale", figure.scale_label},
                     {"marked_rows", figure.marked_rows},
                     {"marked_columns", figure.marked_columns},
                     {"panels", std::move(panels)}});
}

}  // namespace

std::string Draw(const HeatMapFigure& figure) {
  const Layout layout = PlanLayout(figure);
  const size_t num_lines = (figure.panels.size() + layout.panels_per_line - 1) / layout.panels_per_line;
  const double height = layout.top + layout.panel_height * static_cast<double>(std::max<size_t>(1, num_lines));
  SvgFigure svg(figure.width, height, figure.title, figure.description);
  svg.SetData(DataOf(figure, layout));
  if (!figure.scale_label.empty()) DrawScale(figure, svg);
  size_t num_cells = 0;
  for (const HeatPanel& panel : figure.panels) num_cells += panel.cells.size();
  for (size_t i = 0; i < figure.panels.size(); ++i) {
    DrawPanel(figure, layout, i, num_cells <= figure.num_tooltips_max, svg);
  }
  return svg.Finish();
}

}  // namespace fairlead::report
