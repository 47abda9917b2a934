#include "report/figure_pdf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "report/html_style.h"

namespace fairlead::report {

namespace {

// ---- Styles

using Declarations = std::map<std::string, std::string, std::less<>>;

std::string_view TrimmedCss(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \n\t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \n\t") + 1 - begin);
}

Declarations ReadDeclarations(std::string_view text) {
  Declarations read;
  while (!text.empty()) {
    const size_t end = std::min(text.find(';'), text.size());
    const std::string_view one = text.substr(0, end);
    const size_t colon = one.find(':');
    if (colon != std::string_view::npos)
      read[std::string(TrimmedCss(one.substr(0, colon)))] = TrimmedCss(one.substr(colon + 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return read;
}

// "svg .node.culprit" -> no element, {"node", "culprit"}; "svg text.axis" -> "text", {"axis"}.
struct StyleRule {
  std::string element;  // empty: any
  std::vector<std::string> classes;
  Declarations declarations;
  size_t weight() const { return classes.size() * 2 + (element.empty() ? 0 : 1); }
};

// Nothing: it is about something else than shapes of a figure, or about what the pointer does.
std::optional<StyleRule> ReadSelector(std::string_view selector) {
  selector = TrimmedCss(selector);
  if (selector.starts_with("svg ")) selector = TrimmedCss(selector.substr(4));
  if (selector.empty() || selector.find_first_of(" :[>#*") != std::string_view::npos) return std::nullopt;
  StyleRule rule;
  const size_t dot = selector.find('.');
  rule.element = selector.substr(0, dot);
  static const std::set<std::string_view> kShapes = {"", "text", "rect", "path", "line", "circle"};
  if (!kShapes.contains(rule.element)) return std::nullopt;
  for (std::string_view rest = dot == std::string_view::npos ? "" : selector.substr(dot + 1); !rest.empty();) {
    const size_t end = std::min(rest.find('.'), rest.size());
    rule.classes.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return rule;
}

class FigureStyles {
 public:
  FigureStyles() {
    std::string_view css = PageStyle();
    while (true) {
      const size_t open = css.find('{');
      if (open == std::string_view::npos) return;
      const std::string_view head = TrimmedCss(css.substr(0, open));
      if (head.starts_with("@")) {
        css.remove_prefix(EndOfBlock(css, open));
        continue;
      }
      const size_t close = std::min(css.find('}', open), css.size());
      AddRule(head, ReadDeclarations(css.substr(open + 1, close - open - 1)));
      css.remove_prefix(std::min(close + 1, css.size()));
    }
  }

  // What holds for an element; with values instead of variables.
  Declarations Of(std::string_view element, std::string_view classes) const {
    std::set<std::string_view> own;
    while (!classes.empty()) {
      const size_t end = std::min(classes.find(' '), classes.size());
      if (end > 0) own.insert(classes.substr(0, end));
      classes.remove_prefix(std::min(end + 1, classes.size()));
    }
    std::vector<const StyleRule*> matching;
    for (const StyleRule& rule : rules_) {
      const bool is_meant = (rule.element.empty() || rule.element == element) &&
                            std::ranges::all_of(rule.classes, [&](const auto& one) { return own.contains(one); });
      if (is_meant) matching.push_back(&rule);
    }
    std::ranges::stable_sort(matching, {}, &StyleRule::weight);
    Declarations style = root_;
    for (const StyleRule* rule : matching) {
      for (const auto& [key, value] : rule->declarations) style[key] = value;
    }
    for (auto& [key, value] : style) {
      // A variable may stand for another one: --c for --s3.
      for (int depth = 0; depth < 4 && value.starts_with("var("); ++depth) {
        const auto meaning = style.find(value.substr(4, value.find(')') - 4));
        value = meaning == style.end() ? "" : meaning->second;
      }
    }
    return style;
  }

 private:
  static size_t EndOfBlock(std::string_view css, size_t open) {
    size_t depth = 0;
    for (size_t i = open; i < css.size(); ++i) {
      if (css[i] == '{') ++depth;
      if (css[i] == '}' && --depth == 0) return i + 1;
    }
    return css.size();
  }

  void AddRule(std::string_view selectors, const Declarations& declarations) {
    while (!selectors.empty()) {
      const size_t end = std::min(selectors.find(','), selectors.size());
      const std::string_view selector = TrimmedCss(selectors.substr(0, end));
      if (selector == ":root") {
        for (const auto& [key, value] : declarations) root_[key] = value;
      } else if (auto rule = ReadSelector(selector); rule && !(rule->element.empty() && rule->classes.empty())) {
        rule->declarations = declarations;
        rules_.push_back(*std::move(rule));
      }
      selectors.remove_prefix(std::min(end + 1, selectors.size()));
    }
  }

  Declarations root_;
  std::vector<StyleRule> rules_;
};

// ---- Text

// Widths of Helvetica's characters from space to tilde, in thousandths of the size.
constexpr std::array<uint16_t, 95> kWidths = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};

// Of WinAnsiEncoding, beside those of Latin 1: code point, byte, width.
struct PlacedCharacter {
  uint32_t code_point;
  uint8_t byte;
  uint16_t width;
};
constexpr std::array<PlacedCharacter, 9> kPlaced = {{{0x2013, 0x96, 556},
                                                     {0x2014, 0x97, 1000},
                                                     {0x2018, 0x91, 222},
                                                     {0x2019, 0x92, 222},
                                                     {0x201c, 0x93, 333},
                                                     {0x201d, 0x94, 333},
                                                     {0x2022, 0x95, 350},
                                                     {0x2026, 0x85, 1000},
                                                     {0x20ac, 0x80, 556}}};

struct PdfText {
  std::string bytes;  // escaped, as between parentheses
  double width = 0;   // at size 1
};

// The next character of UTF-8, which is whole: pages have no other.
uint32_t TakeCodePoint(std::string_view* text) {
  const auto first = static_cast<unsigned char>(text->front());
  const size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  uint32_t code_point = length == 1 ? first : first & (0xffu >> (length + 1));
  for (size_t i = 1; i < length && i < text->size(); ++i) {
    code_point = code_point << 6 | (static_cast<unsigned char>((*text)[i]) & 0x3fu);
  }
  text->remove_prefix(std::min(length, text->size()));
  return code_point;
}

PdfText EncodeText(std::string_view text) {
  PdfText encoded;
  while (!text.empty()) {
    const uint32_t code_point = TakeCodePoint(&text);
    uint8_t byte = '?';
    uint16_t width = 556;
    if (code_point >= 0x20 && code_point < 0x7f) {
      byte = static_cast<uint8_t>(code_point);
      width = kWidths[code_point - 0x20];
    } else if (code_point >= 0xa1 && code_point <= 0xff) {
      byte = static_cast<uint8_t>(code_point);
    }
    for (const PlacedCharacter& placed : kPlaced) {
      if (placed.code_point != code_point) continue;
      byte = placed.byte;
      width = placed.width;
    }
    encoded.width += width / 1000.0;
    const char c = static_cast<char>(byte);
    if (c == '(' || c == ')' || c == '\\') encoded.bytes += '\\';
    if (byte >= 0x80) {
      encoded.bytes += fmt::format("\\{:03o}", byte);
    } else {
      encoded.bytes += c;
    }
  }
  return encoded;
}

std::string PlainText(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kEntities = {
      {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}, {"&amp;", '&'}}};
  std::string plain;
  while (!text.empty()) {
    size_t length = 1;
    char c = text.front();
    for (const auto& [entity, meaning] : kEntities) {
      if (!text.starts_with(entity)) continue;
      length = entity.size();
      c = meaning;
    }
    plain += c;
    text.remove_prefix(length);
  }
  return plain;
}

// ---- Drawing

double NumberIn(std::string_view text, double otherwise = 0) {
  text = TrimmedCss(text);
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() ? number : otherwise;
}

// Without more digits than are seen.
std::string PdfNumber(double value) {
  std::string text = fmt::format("{:.3f}", value);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

struct PdfColor {
  double red = 0, green = 0, blue = 0;
};

// "#rrggbb"; nothing: none.
std::optional<PdfColor> ReadColor(std::string_view text) {
  if (text.size() != 7 || text[0] != '#') return std::nullopt;
  uint32_t value = 0;
  const auto read = std::from_chars(text.data() + 1, text.data() + 7, value, 16);
  if (read.ec != std::errc()) return std::nullopt;
  return PdfColor{(value >> 16) / 255.0, (value >> 8 & 255u) / 255.0, (value & 255u) / 255.0};
}

std::string ColorOperator(const PdfColor& color, const char* name) {
  return fmt::format("{} {} {} {}\n", PdfNumber(color.red), PdfNumber(color.green), PdfNumber(color.blue), name);
}

class PdfFigure {
 public:
  std::string Render(std::string_view svg) {
    const size_t head_end = svg.find('>');
    if (head_end == std::string_view::npos) return "";
    std::string_view box = Attribute(svg.substr(0, head_end + 1), "viewBox");
    const auto numbers = Numbers(box);
    if (numbers.size() != 4 || !(numbers[2] > 0) || !(numbers[3] > 0)) return "";
    width_ = numbers[2];
    height_ = numbers[3];
    // Pixels are three quarters of a point; y goes down.
    content_ = fmt::format("0.75 0 0 -0.75 0 {} cm\n", PdfNumber(height_ * 0.75));
    svg.remove_prefix(head_end + 1);
    while (!svg.empty()) TakeElement(&svg);
    return File();
  }

 private:
  static std::string_view Attribute(std::string_view tag, std::string_view name) {
    const std::string key = fmt::format(" {}=\"", name);
    const size_t at = tag.find(key);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = tag.substr(at + key.size());
    return rest.substr(0, rest.find('"'));
  }

  static std::vector<double> Numbers(std::string_view text) {
    std::vector<double> numbers;
    while (true) {
      const size_t begin = text.find_first_of("-.0123456789");
      if (begin == std::string_view::npos) return numbers;
      text.remove_prefix(begin);
      const size_t end = std::min(text.find_first_not_of("-.0123456789"), text.size());
      numbers.push_back(NumberIn(text.substr(0, end)));
      text.remove_prefix(end);
    }
  }

  void TakeElement(std::string_view* svg) {
    const size_t open = svg->find('<');
    const size_t close = open == std::string_view::npos ? open : svg->find('>', open);
    if (close == std::string_view::npos) {
      *svg = {};
      return;
    }
    const std::string_view tag = svg->substr(open, close + 1 - open);
    svg->remove_prefix(close + 1);
    const std::string_view name = tag.substr(1, tag.find_first_of(" />", 1) - 1);
    const auto skip_to = [&](std::string_view end) {
      const size_t at = svg->find(end);
      const std::string_view inside = svg->substr(0, at);
      svg->remove_prefix(at == std::string_view::npos ? svg->size() : at + end.size());
      return inside;
    };
    if (name == "title" || name == "desc" || name == "style") {
      skip_to(fmt::format("</{}>", name));
    } else if (name == "text") {
      DrawText(tag, skip_to("</text>"));
    } else if (name == "rect" || name == "line" || name == "circle" || name == "path") {
      DrawShape(name, tag);
    }
  }

  void DrawShape(std::string_view name, std::string_view tag) {
    const Declarations style = styles_.Of(name, Attribute(tag, "class"));
    const auto value = [&](const char* key) {
      const auto found = style.find(key);
      return found == style.end() ? std::string_view() : std::string_view(found->second);
    };
    if (value("display") == "none") return;
    const std::string_view fill_text = value("fill");
    // What says nothing is black, but lines have no inside.
    std::optional<PdfColor> fill = ReadColor(fill_text);
    if (fill_text.empty() && name != "line") fill = PdfColor();
    const std::optional<PdfColor> stroke = ReadColor(value("stroke"));
    if (name == "line") fill.reset();
    if (!fill && !stroke) return;
    const std::string outline = OutlineOf(name, tag);
    if (outline.empty()) return;
    content_ += "q\n";
    if (const double opacity = NumberIn(value("opacity"), 1); opacity < 1) {
      content_ += fmt::format("/{} gs\n", OpacityName(opacity));
    }
    if (fill) content_ += ColorOperator(*fill, "rg");
    if (stroke) {
      content_ += ColorOperator(*stroke, "RG");
      content_ += PdfNumber(NumberIn(value("stroke-width"), 1)) + " w\n";
      if (value("stroke-linejoin") == "round") content_ += "1 j\n";
      if (const auto dashes = Numbers(value("stroke-dasharray")); !dashes.empty()) {
        content_ += "[";
        for (const double dash : dashes) content_ += PdfNumber(dash) + " ";
        content_ += "] 0 d\n";
      }
    }
    content_ += outline + (fill && stroke ? "B\n" : fill ? "f\n" : "S\n") + "Q\n";
  }

  static std::string OutlineOf(std::string_view name, std::string_view tag) {
    const auto number = [&](const char* key) { return NumberIn(Attribute(tag, key)); };
    if (name == "rect") {
      return fmt::format("{} {} {} {} re\n", PdfNumber(number("x")), PdfNumber(number("y")), PdfNumber(number("width")),
                         PdfNumber(number("height")));
    }
    if (name == "line") {
      return fmt::format("{} {} m {} {} l\n", PdfNumber(number("x1")), PdfNumber(number("y1")), PdfNumber(number("x2")),
                         PdfNumber(number("y2")));
    }
    return name == "circle" ? CircleOutline(number("cx"), number("cy"), number("r")) : PathOutline(Attribute(tag, "d"));
  }

  // Four curves.
  static std::string CircleOutline(double x, double y, double r) {
    const double k = r * 0.5523;
    std::string text = fmt::format("{} {} m\n", PdfNumber(x + r), PdfNumber(y));
    const auto curve = [&](double x1, double y1, double x2, double y2, double x3, double y3) {
      for (const double value : {x1, y1, x2, y2, x3, y3}) text += PdfNumber(value) + " ";
      text += "c\n";
    };
    curve(x + r, y + k, x + k, y + r, x, y + r);
    curve(x - k, y + r, x - r, y + k, x - r, y);
    curve(x - r, y - k, x - k, y - r, x, y - r);
    curve(x + k, y - r, x + r, y - k, x + r, y);
    return text + "h\n";
  }

  static std::string PathOutline(std::string_view path) {
    std::string text;
    double x = 0;
    double y = 0;
    while (!path.empty()) {
      const char command = path.front();
      path.remove_prefix(1);
      const size_t end = std::min(path.find_first_of("MLHVCZhvz"), path.size());
      const std::vector<double> numbers = Numbers(path.substr(0, end));
      path.remove_prefix(end);
      const size_t count = numbers.size();
      const auto to = [&](double new_x, double new_y, char name) {
        x = new_x;
        y = new_y;
        text += fmt::format("{} {} {}\n", PdfNumber(x), PdfNumber(y), name);
      };
      if (command == 'M' && count >= 2) to(numbers[0], numbers[1], 'm');
      if (command == 'H' && count >= 1) to(numbers[0], y, 'l');
      if (command == 'h' && count >= 1) to(x + numbers[0], y, 'l');
      if (command == 'V' && count >= 1) to(x, numbers[0], 'l');
      if (command == 'v' && count >= 1) to(x, y + numbers[0], 'l');
      for (size_t i = 0; command == 'L' && i + 1 < count; i += 2) to(numbers[i], numbers[i + 1], 'l');
      for (size_t i = 0; command == 'C' && i + 5 < count; i += 6) {
        for (size_t n = i; n < i + 4; ++n) text += PdfNumber(numbers[n]) + " ";
        to(numbers[i + 4], numbers[i + 5], 'c');
      }
      if (command == 'Z' || command == 'z') text += "h\n";
    }
    return text;
  }

  struct Run {
    PdfText text;
    double gap = 0;   // before it
    double size = 0;  // pixels
    bool is_bold = false;
    PdfColor color;
    double width() const { return text.width * size; }
  };

  Run RunOf(std::string_view text, std::string_view classes, double gap) const {
    const Declarations style = styles_.Of("text", classes);
    Run run{.text = EncodeText(PlainText(text)), .gap = gap, .size = 12, .color = {}};
    if (const auto size = style.find("font-size"); size != style.end()) run.size = NumberIn(size->second, 12);
    if (const auto weight = style.find("font-weight"); weight != style.end())
      run.is_bold = NumberIn(weight->second) >= 600;
    if (const auto fill = style.find("fill"); fill != style.end())
      run.color = ReadColor(fill->second).value_or(PdfColor());
    return run;
  }

  // Texts in a row, or one.
  void DrawText(std::string_view tag, std::string_view inside) {
    const std::string_view classes = Attribute(tag, "class");
    std::vector<Run> runs;
    if (inside.find("<tspan") == std::string_view::npos) {
      runs.push_back(RunOf(inside.substr(0, inside.find('<')), classes, 0));
    }
    for (size_t at = inside.find("<tspan"); at != std::string_view::npos; at = inside.find("<tspan", at + 1)) {
      const size_t close = inside.find('>', at);
      const size_t end = inside.find("</tspan>", at);
      if (close == std::string_view::npos || end == std::string_view::npos) break;
      const std::string_view span = inside.substr(at, close + 1 - at);
      runs.push_back(RunOf(inside.substr(close + 1, end - close - 1),
                           fmt::format("{} {}", classes, Attribute(span, "class")), NumberIn(Attribute(span, "dx"))));
    }
    double width = 0;
    for (const Run& run : runs) width += run.gap + run.width();
    const Declarations style = styles_.Of("text", classes);
    const auto anchor = style.find("text-anchor");
    double x = anchor == style.end()        ? 0
               : anchor->second == "middle" ? -width / 2
               : anchor->second == "end"    ? -width
                                            : 0;
    const auto turn = Numbers(Attribute(tag, "transform"));
    const bool is_vertical = turn.size() == 3;  // translate(x y) rotate(-90)
    const double base_x = is_vertical ? turn[0] : NumberIn(Attribute(tag, "x"));
    const double base_y = is_vertical ? turn[1] : NumberIn(Attribute(tag, "y"));
    for (const Run& run : runs) {
      x += run.gap;
      content_ += "BT\n" + ColorOperator(run.color, "rg");
      content_ += fmt::format("/{} {} Tf\n", run.is_bold ? "F2" : "F1", PdfNumber(run.size));
      // Letters stand upright although y goes down.
      if (is_vertical) {
        content_ += fmt::format("0 -1 -1 0 {} {} Tm\n", PdfNumber(base_x), PdfNumber(base_y - x));
      } else {
        content_ += fmt::format("1 0 0 -1 {} {} Tm\n", PdfNumber(base_x + x), PdfNumber(base_y));
      }
      content_ += fmt::format("({}) Tj\nET\n", run.text.bytes);
      x += run.width();
    }
  }

  std::string OpacityName(double opacity) {
    const auto percent = static_cast<int>(std::clamp(opacity, 0.0, 1.0) * 100 + 0.5);
    opacities_.insert(percent);
    return fmt::format("O{}", percent);
  }

  // Objects, where they are, and what they are for.
  std::string File() const {
    std::string states;
    for (const int percent : opacities_) {
      const std::string share = PdfNumber(percent / 100.0);
      states += fmt::format("/O{} << /ca {} /CA {} >> ", percent, share, share);
    }
    const auto font = [](const char* name) {
      return fmt::format("<< /Type /Font /Subtype /Type1 /BaseFont /{} /Encoding /WinAnsiEncoding >>", name);
    };
    const std::vector<std::string> objects = {
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        fmt::format(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {} {}] /Contents 4 0 R /Resources << /Font << /F1 5 0 R /F2 6 "
            "0 R >> /ExtGState << {}>> >> >>",
            PdfNumber(width_ * 0.75), PdfNumber(height_ * 0.75), states),
        fmt::format("<< /Length {} >>\nstream\n{}endstream", content_.size(), content_),
        font("Helvetica"),
        font("Helvetica-Bold")};
    std::string file = "%PDF-1.4\n";
    std::string places;
    for (size_t i = 0; i < objects.size(); ++i) {
      places += fmt::format("{:010} 00000 n \n", file.size());
      file += fmt::format("{} 0 obj\n{}\nendobj\n", i + 1, objects[i]);
    }
    const size_t table = file.size();
    file +=
        fmt::format("xref\n0 {}\n0000000000 65535 f \n{}trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{}\n%%EOF\n",
                    objects.size() + 1, places, objects.size() + 1, table);
    return file;
  }

  const FigureStyles styles_;
  double width_ = 0;
  double height_ = 0;
  std::string content_;
  std::set<int> opacities_;
};

}  // namespace

std::string RenderPdf(std::string_view svg) { return PdfFigure().Render(svg); }

}  // namespace fairlead::report
