#include "report/html_page.h"

#include <fmt/format.h>

#include <cctype>

#include "report/html_style.h"
#include "report/printable_text.h"
#include "report/report_script.h"
#include "report/svg_figure.h"

namespace fairlead::report {

namespace {

bool IsDigitAt(std::string_view text, size_t i) {
  return i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0;
}

}  // namespace

std::string RenderPage(std::string_view title, std::string_view body) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src '{}'; "
      "base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{} – Fairlead</title>\n<style>",
      ReportScriptHash(), EscapeMarkup(title));
  page += PageStyle();
  page += "</style>\n</head>\n<body>\n<main>\n";
  page += body;
  page += "</main>\n<script type=\"module\">";
  page += ReportScript();
  return page + "</script>\n</body>\n</html>\n";
}

std::string PlaceInPage(std::string_view kind, std::string_view name) {
  std::string anchor = std::string(kind) + "=";
  for (const char c : CleanText(name)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~';
    anchor += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return anchor;
}

std::string RenderFigure(const PageFigure& figure, std::string_view heading_tag) {
  std::string html = "<figure>\n";
  if (!heading_tag.empty()) html += fmt::format("<{0}>{1}</{0}>\n", heading_tag, EscapeMarkup(figure.heading));
  html += "<div class=\"scroll-figure\">" + figure.svg + "</div>\n";
  if (!figure.caption.empty()) html += fmt::format("<figcaption>{}</figcaption>\n", EscapeMarkup(figure.caption));
  return html + "</figure>\n";
}

std::string TypographicNumber(std::string_view text) {
  const std::string escaped = EscapeMarkup(text);
  std::string set;
  for (size_t i = 0; i < escaped.size(); ++i) {
    const bool word_before = i > 0 && std::isalnum(static_cast<unsigned char>(escaped[i - 1])) != 0;
    const bool word_after = i + 1 < escaped.size() && std::isalnum(static_cast<unsigned char>(escaped[i + 1])) != 0;
    if (escaped.compare(i, 6, " -&gt;") == 0 && i + 6 < escaped.size() && escaped[i + 6] == ' ') {
      set += " →";
      i += 5;
    } else if (escaped[i] == '-' && !word_before && IsDigitAt(escaped, i + 1)) {
      set += "−";
    } else if (escaped[i] == 'x' && i > 0 && IsDigitAt(escaped, i - 1) && !word_after) {
      set += "×";
    } else {
      set += escaped[i];
    }
  }
  return set;
}

}  // namespace fairlead::report
