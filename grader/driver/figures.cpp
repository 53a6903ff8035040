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

double number_at(const Json& event, const std::string& place) {
  const Json::json_pointer pointer(place);
  const bool is_there = event.contains(pointer) && event.at(pointer).is_number();
  return is_there ? event.at(pointer).get<double>() : 0;
}

double value_of(const Json& event, const Figure& figure) {
  const double divisor = figure.divisor == "elements"
                             ? number_at(event, "/rows") * number_at(event, "/cols")
                         : figure.divisor.empty() ? 1
                                                  : number_at(event, figure.divisor);
  return divisor > 0 ? number_at(event, figure.place) * figure.factor / divisor : 0;
}

std::string figure_text(const Json& event, const Figure& figure) {
  const double value = value_of(event, figure);
  return value > 0 ? fmt::format("{:.{}f}", value, figure.decimals) : "-";
}

}  // namespace onepass::driver
