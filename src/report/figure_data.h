// The numbers of a figure, beside its drawing: the page's script (web/report/report.js) makes tooltips and zoom of
// them, and others a file of values.
//
// JSON in the attribute data-figure of each figure's svg element:
//
//   kind line      timeline: whether x is a moment, if it is a time; x, y: {label, low, high, ticks: [[value, label]]},
//                  frame: [x, y, width, height] in pixels, series: [{label, color, x: […], y: […], low: […], high:
//                  […]}]
//   kind schedule  the same x and frame; lanes: [{label, blocks: [[begin, end, height, text]]}]
//   kind bar       series: [label], groups: [{label, values: […], marks: […]}]
//   kind heat      rows, columns: [label]; marked_rows, marked_columns: [row or column]; spans: [[label, first
//                  column]]; scale: of what heat is the share; panels: [{heading, frame: [x, y, width and height of a
//                  cell] in pixels, cells: [[row, column, heat, 1 where it is marked]]}]
//   kind hosts     hosts: [label]; end_s: of the axis; frame; rows: [[host, "job", "closed" or "mark", begin, end,
//                  text]]
//   kind waits     nodes: [{label, operation, culprit}]; waits: [[node, the one that it waits for]]
//   kind network   as topology_picture.h
//
// Numbers have six significant digits; what is not finite is null.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fairlead::report {

// A figure of a page, as files.
struct FigureFile {
  std::string name;  // "03-gpu-utilization-over-time", unique in its page
  std::string svg;   // a file of its own, with its style
  std::string csv;   // empty: it has no numbers
};

// In the order of the page. Args: page: as RenderPage() makes it.
std::vector<FigureFile> FiguresOf(std::string_view page);

// The same drawing for programs that know no variables of CSS: each is replaced by what it is on a light page.
std::string WithLightColors(std::string_view svg);

}  // namespace fairlead::report
