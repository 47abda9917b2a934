// Drawing: text of one SVG figure from lines, boxes, curves and labels.
//
// Colours and fonts are classes that the page's style sheet (html_style.h) fills, so that one figure serves a light and
// a dark screen and paper. Coordinates are pixels from the upper left corner, written to a tenth.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead::report {

// Clean text (printable_text.h) with & < > " ' written as entities: safe between tags and inside quoted attributes.
std::string EscapeMarkup(std::string_view text);

// 12.04 -> "12", 3.25 -> "3.3"; what is not finite is a broken invariant.
std::string FormatCoordinate(double pixels);

struct Point {
  double x = 0;
  double y = 0;
};

struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

enum class Anchor {
  kStart,   // text begins at its point
  kMiddle,  // is centred on it
  kEnd,     // ends there
};

// "M1 2L3 4L5 6", or with a level step before each new height. Empty for no points.
std::string LinePath(std::span<const Point> points, bool stepped = false);
// A closed outline: along `upper`, back along `lower`.
std::string BandPath(std::span<const Point> upper, std::span<const Point> lower);

class SvgFigure {
 public:
  // `title` is the figure's short name, `description` says in a sentence what it shows; both are for readers who can't
  // see it.
  SvgFigure(double width, double height, std::string_view title, std::string_view description);

  // `style` is a list of class names, ours and therefore not escaped. Texts and tooltips are escaped.
  void AddLine(Point from, Point to, std::string_view style);
  void AddPath(std::string_view path, std::string_view style, std::string_view tooltip = "");
  void AddBox(const Box& box, std::string_view style, std::string_view tooltip = "");
  void AddDot(Point center, double radius, std::string_view style, std::string_view tooltip = "");
  void AddText(Point at, std::string_view text, std::string_view style, Anchor anchor = Anchor::kStart);
  // Texts beside each other, `gap` pixels apart, the last one of which ends at a point. The browser lays them out, so
  // they do not overlap whatever its font is.
  struct StyledText {
    std::string text;
    std::string style;
  };
  void AddTextRow(Point end, std::span<const StyledText> texts, double gap);
  // Reads from bottom to top, centred on `at`.
  void AddVerticalText(Point at, std::string_view text, std::string_view style);

  // What it shows, for the page's script and for those who want the numbers: becomes the attribute data-figure
  // (figure_data.h).
  void SetData(std::string json) { data_ = std::move(json); }

  // The finished element. The figure is empty afterwards.
  std::string Finish();

 private:
  std::string text_;
  std::string data_;
};

// Pixels that a label of the figure font (12 px) takes, roughly; for margins.
double LabelWidth(std::string_view text);

}  // namespace fairlead::report
