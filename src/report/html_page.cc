#include "report/html_page.h"

#include <fmt/format.h>

#include "report/html_style.h"
#include "report/svg_figure.h"

namespace fairlead::report {

std::string RenderPage(std::string_view title, std::string_view body) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{} – Fairlead</title>\n<style>",
      EscapeMarkup(title));
  page += PageStyle();
  page += "</style>\n</head>\n<body>\n<main>\n";
  page += body;
  return page + "</main>\n</body>\n</html>\n";
}

std::string RenderFigure(const PageFigure& figure, std::string_view heading_tag) {
  std::string html = "<figure>\n";
  if (!heading_tag.empty()) html += fmt::format("<{0}>{1}</{0}>\n", heading_tag, EscapeMarkup(figure.heading));
  html += "<div class=\"scroll-figure\">" + figure.svg + "</div>\n";
  if (!figure.caption.empty()) html += fmt::format("<figcaption>{}</figcaption>\n", EscapeMarkup(figure.caption));
  return html + "</figure>\n";
}

}  // namespace fairlead::report
