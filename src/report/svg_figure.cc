#include "report/svg_figure.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "report/printable_text.h"

namespace fairlead::report {
namespace {

constexpr double kLabelColumnWidth = 6.6;

std::string_view AnchorStyle(Anchor anchor) {
  switch (anchor) {
    case Anchor::kStart:
      return "";
    case Anchor::kMiddle:
      return " middle";
    case Anchor::kEnd:
      return " end";
  }
  return "";
}

// "/>", or the tooltip and the closing tag.
std::string CloseShape(std::string_view tag, std::string_view tooltip) {
  return tooltip.empty() ? "/>\n" : fmt::format("><title>{}</title></{}>\n", EscapeMarkup(tooltip), tag);
}

}  // namespace

std::string EscapeMarkup(std::string_view text) {
  std::string escaped;
  for (const char c : CleanText(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string FormatCoordinate(double pixels) {
  FL_CHECK(std::isfinite(pixels));
  const auto tenths = std::llround(pixels * 10);
  if (tenths % 10 == 0) return fmt::format("{}", tenths / 10);
  return fmt::format("{:.1f}", static_cast<double>(tenths) / 10);
}

std::string LinePath(std::span<const Point> points, bool stepped) {
  std::string path;
  for (size_t i = 0; i < points.size(); ++i) {
    const std::string x = FormatCoordinate(points[i].x);
    const std::string y = FormatCoordinate(points[i].y);
    if (i == 0) {
      path += fmt::format("M{} {}", x, y);
    } else if (stepped) {
      path += fmt::format("H{}V{}", x, y);
    } else {
      path += fmt::format("L{} {}", x, y);
    }
  }
  return path;
}

std::string BandPath(std::span<const Point> upper, std::span<const Point> lower) {
  std::vector<Point> outline(upper.begin(), upper.end());
  outline.insert(outline.end(), std::make_reverse_iterator(lower.end()), std::make_reverse_iterator(lower.begin()));
  return outline.empty() ? "" : LinePath(outline) + "Z";
}

SvgFigure::SvgFigure(double width, double height, std::string_view title, std::string_view description) {
  text_ = fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" style=\"max-width:{0}px\" role=\"img\" aria-label=\"{2}\" "
      "xmlns=\"http://www.w3.org/2000/svg\">\n"
      "<title>{2}</title>\n<desc>{3}</desc>\n",
      FormatCoordinate(width), FormatCoordinate(height), EscapeMarkup(title), EscapeMarkup(description));
}

void SvgFigure::AddLine(Point from, Point to, std::string_view style) {
  text_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>\n", FormatCoordinate(from.x),
                       FormatCoordinate(from.y), FormatCoordinate(to.x), FormatCoordinate(to.y), style);
}

void SvgFigure::AddPath(std::string_view path, std::string_view style, std::string_view tooltip) {
  if (path.empty()) return;
  text_ += fmt::format("<path d=\"{}\" class=\"{}\"{}", path, style, CloseShape("path", tooltip));
}

void SvgFigure::AddBox(const Box& box, std::string_view style, std::string_view tooltip) {
  text_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{}\"{}", FormatCoordinate(box.x),
                       FormatCoordinate(box.y), FormatCoordinate(box.width), FormatCoordinate(box.height), style,
                       CloseShape("rect", tooltip));
}

void SvgFigure::AddDot(Point center, double radius, std::string_view style, std::string_view tooltip) {
  text_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" class=\"{}\"{}", FormatCoordinate(center.x),
                       FormatCoordinate(center.y), FormatCoordinate(radius), style, CloseShape("circle", tooltip));
}

void SvgFigure::AddText(Point at, std::string_view text, std::string_view style, Anchor anchor) {
  text_ += fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}{}\">{}</text>\n", FormatCoordinate(at.x),
                       FormatCoordinate(at.y), style, AnchorStyle(anchor), EscapeMarkup(text));
}

void SvgFigure::AddTextRow(Point end, std::span<const StyledText> texts, double gap) {
  text_ += fmt::format("<text x=\"{}\" y=\"{}\" class=\"end\">", FormatCoordinate(end.x), FormatCoordinate(end.y));
  for (const StyledText& one : texts) {
    const bool is_first = &one == texts.data();
    text_ += fmt::format("<tspan dx=\"{}\" class=\"{}\">{}</tspan>", FormatCoordinate(is_first ? 0 : gap), one.style,
                         EscapeMarkup(one.text));
  }
  text_ += "</text>\n";
}

void SvgFigure::AddVerticalText(Point at, std::string_view text, std::string_view style) {
  text_ += fmt::format("<text transform=\"translate({} {}) rotate(-90)\" class=\"{} middle\">{}</text>\n",
                       FormatCoordinate(at.x), FormatCoordinate(at.y), style, EscapeMarkup(text));
}

std::string SvgFigure::Finish() {
  std::string text = std::exchange(text_, "") + "</svg>\n";
  const std::string data = std::exchange(data_, "");
  constexpr std::string_view kBegin = "<svg";
  if (!data.empty()) text.insert(kBegin.size(), " data-figure=\"" + EscapeMarkup(data) + "\"");
  return text;
}

double LabelWidth(std::string_view text) { return kLabelColumnWidth * static_cast<double>(DisplayWidth(text)); }

}  // namespace fairlead::report
