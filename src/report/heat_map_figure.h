// A figure of coloured cells: one or more matrices side by side on one colour scale.
#pragma once

#include <string>
#include <vector>

#include "report/svg_figure.h"

namespace fairlead::report {

// Colours from nothing (0) to the top of the scale (kNumHeatColors - 1).
inline constexpr size_t kNumHeatColors = 11;

struct HeatCell {
  size_t row = 0;
  size_t column = 0;
  double heat = 0;  // 0..1 of the scale; 0 means none at all
  std::string tooltip;
  bool marked = false;  // gets a dot
};

// A label over neighbouring columns [first, first + count).
struct ColumnSpan {
  size_t first = 0;
  size_t count = 0;
  std::string label;
};

struct HeatPanel {
  std::string heading;
  std::vector<HeatCell> cells;
};

// All panels have the same rows and columns.
struct HeatMapFigure {
  std::string title;
  std::string description;
  std::vector<std::string> row_labels;     // [row]; labels that would overlap are left out
  std::vector<std::string> column_labels;  // [column]; empty strings where spans say it
  std::vector<ColumnSpan> column_spans;
  std::string row_axis;     // what a row is; empty: nothing written
  std::string column_axis;  // what a column is
  std::vector<HeatPanel> panels;
  // Lines with a frame around them, in every panel.
  std::vector<size_t> marked_rows;
  std::vector<size_t> marked_columns;
  // The colour scale: its name and the labels of its ends; an empty name: no scale is drawn.
  std::string scale_label;
  std::string scale_low;
  std::string scale_high;
  std::string mark_label;  // what a dot in a cell means; empty: there are none
  double width = 1080;
  double cell_width_max = 16;
  double cell_height_max = 16;
  double cells_height_max = 420;  // rows get thinner to stay inside it, down to 2 pixels
  // With more cells there are no tooltips, so that the page stays small and quick.
  size_t num_tooltips_max = 6000;
};

std::string Draw(const HeatMapFigure& figure);

}  // namespace fairlead::report
