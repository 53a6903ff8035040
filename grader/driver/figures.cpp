#include "driver/figures.h"

#include <fmt/format.h>

namespace onepass::driver {

std::vector<Figure> traffic_figures(const std::string& reference) {
  std::vector<Figure> figures = {{"least", "/least_bytes", "elements", 2},
                                 {"yours", "/student/requested_bytes", "elements", 2},
                                 {"distinct", "/student/distinct_bytes", "elements", 2},
                                 {"naive", "/naive/requested_bytes", "elements", 2}};
  if (!reference.empty()) {
    figures.push_back({reference, "/reference/requested_bytes", "elements", 2});
  }
  return figures;
}

std::optional<double> number_at(const Json& event, const std::string& place) {
  const Json::json_pointer pointer(place);
  const bool is_there = event.contains(pointer) && event.at(pointer).is_number();
  return is_there ? std::optional(event.at(pointer).get<double>()) : std::nullopt;
}

std::string figure_text(const Json& event, const Figure& figure) {
  const double value = number_at(event, figure.place).value_or(0) * figure.factor;
  double divisor = 1;
  if (figure.divisor == "elements") {
    divisor = number_at(event, "/rows").value_or(0) * number_at(event, "/cols").value_or(0);
  } else if (!figure.divisor.empty()) {
    divisor = number_at(event, figure.divisor).value_or(0);
  }
  return value > 0 && divisor > 0 ? fmt::format("{:.{}f}", value / divisor, figure.decimals) : "-";
}

}  // namespace onepass::driver
