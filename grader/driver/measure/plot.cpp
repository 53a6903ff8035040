#include "driver/measure/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "driver/printable.h"

namespace onepass::driver {
namespace {

constexpr double kWidth = 760, kLeft = 72, kRight = 24;  // of the picture, and beside the panels
constexpr double kHead = 114;                            // above the first panel
constexpr double kHeight = 280, kBelow = 84;             // of a panel, and from it to the next
constexpr double kLogarithmic = 16;                      // largest by smallest x
constexpr double kLabel = 52;                            // least room for a number below the x axis

// Colours that differ in lightness too, on white and on a dark ground; the reader's system chooses.
constexpr const char* kStyle = R"(<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2933 }
  .title { font-size: 16px; font-weight: bold } .small { font-size: 12px; fill: #52606d }
  .panel { font-weight: bold } .dashed { stroke-dasharray: 6 4 }
  .ground { fill: #fff } .grid { stroke: #d9e2ec } .axis { stroke: #52606d }
  .line { stroke-width: 2 } .line.s1 { stroke-width: 5 } .band { stroke: none; opacity: 0.25 }
  .s0 { stroke: #c2410c; fill: #c2410c } .s1 { stroke: #0b69a3; fill: #0b69a3 }
  .s2 { stroke: #627d98; fill: #627d98 } .s3 { stroke: #2f855a; fill: #2f855a }
  .s4 { stroke: #7b2d8b; fill: #7b2d8b } polyline.line { fill: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #e4e7eb } .small { fill: #9aa5b1 } .ground { fill: #14181d }
    .grid { stroke: #323f4b } .axis { stroke: #9aa5b1 }
    .s0 { stroke: #fb923c; fill: #fb923c } .s1 { stroke: #4cb5f5; fill: #4cb5f5 }
    .s2 { stroke: #9fb3c8; fill: #9fb3c8 } .s3 { stroke: #68d391; fill: #68d391 }
    .s4 { stroke: #d6a4e0; fill: #d6a4e0 }
  }
</style>
)";

std::string text_at(double x, double y, const char* anchor, const char* style,
                    const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n",
                     x, y, anchor, style, in_html(text));
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2,
      y2, style);
}

// A step of 1, 2 or 5 times a power of ten, for about five of them up to `largest`.
double step_for(double largest) {
  const double power = std::pow(10.0, std::floor(std::log10(largest / 5)));
  const double steps = largest / 5 / power;
  return power * (steps <= 1 ? 1 : steps <= 2 ? 2 : steps <= 5 ? 5 : 10);
}

// From the numbers of one panel to places in the picture.
struct Scale {
  double first, last, top_value;
  double top;  // of the panel
  bool logarithmic;

  Scale(const Panel& panel, double top_value_, double top_)
      : first(panel.x.front()),
        last(panel.x.back()),
        top_value(top_value_),
        top(top_),
        logarithmic(last >= kLogarithmic * first) {}

  double x(double value) const {
    const double part = last == first ? 0.5
                        : logarithmic ? std::log(value / first) / std::log(last / first)
                                      : (value - first) / (last - first);
    return kLeft + part * (kWidth - kLeft - kRight);
  }
  double y(double value) const { return top + kHeight * (1 - value / top_value); }
};

std::string axes(const Panel& panel, const Plot& plot, const Scale& scale) {
  const double bottom = scale.top + kHeight;
  const double right = kWidth - kRight;
  std::string text = text_at(kLeft, scale.top - 10, "start", "panel", panel.title);
  const double step = step_for(scale.top_value);
  for (double value = 0; value <= scale.top_value * 1.001; value += step) {
    text += line(kLeft, scale.y(value), right, scale.y(value), value > 0 ? "grid" : "axis");
    text += text_at(kLeft - 8, scale.y(value) + 4, "end", "small", fmt::format("{:g}", value));
  }
  double last_label = -kWidth;
  for (const double x : panel.x) {
    text += line(scale.x(x), bottom, scale.x(x), bottom + 4, "axis");
    if (scale.x(x) - last_label >= kLabel) {  // numbers that would touch are left out
      last_label = scale.x(x);
      text += text_at(last_label, bottom + 19, "middle", "small", fmt::format("{:g}", x));
    }
  }
  text += text_at((kLeft + right) / 2, bottom + 40, "middle", "", plot.x_label);
  return text + fmt::format(
                    "<text transform=\"translate(18 {:.1f}) rotate(-90)\" "
                    "text-anchor=\"middle\">{}</text>\n",
                    scale.top + kHeight / 2, in_html(plot.y_label));
}

std::string points(const Panel& panel, const std::vector<double>& y, const Scale& scale) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (y[i] > 0) {
      result.push_back(fmt::format("{:.1f},{:.1f}", scale.x(panel.x[i]), scale.y(y[i])));
    }
  }
  return fmt::format("{}", fmt::join(result, " "));
}

std::string band(const Panel& panel, const Series& series, std::size_t color, const Scale& scale) {
  Panel back = panel;
  std::vector<double> low = series.low;
  std::reverse(back.x.begin(), back.x.end());
  std::reverse(low.begin(), low.end());
  return fmt::format("<polygon class=\"band s{}\" points=\"{} {}\"/>\n", color,
                     points(panel, series.high, scale), points(back, low, scale));
}

std::string curve(const Panel& panel, const Series& series, std::size_t color, const Scale& scale) {
  std::string text = series.low.empty() ? "" : band(panel, series, color, scale);
  text += fmt::format("<polyline class=\"line{} s{}\" points=\"{}\"/>\n",
                      series.dashed ? " dashed" : "", color, points(panel, series.y, scale));
  for (std::size_t i = 0; i < series.y.size(); ++i) {
    if (series.y[i] > 0 && !series.dashed) {
      text += fmt::format(
          "<circle class=\"s{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{}: {:.4g} at "
          "{:g}</title></circle>\n",
          color, scale.x(panel.x[i]), scale.y(series.y[i]), in_html(series.name), series.y[i],
          panel.x[i]);
    }
  }
  return text;
}

double largest_value(const Panel& panel) {
  double largest = 0;
  for (const Series& series : panel.series) {
    for (const std::vector<double>& values : {series.y, series.high}) {
      for (const double value : values) {
        largest = std::max(largest, value);
      }
    }
  }
  return largest;
}

std::string legend(const std::vector<Series>& all) {
  std::string text;
  double x = kLeft;
  for (std::size_t i = 0; i < all.size(); ++i) {
    text +=
        fmt::format("<line x1=\"{0}\" y1=\"62\" x2=\"{1}\" y2=\"62\" class=\"line{2} s{3}\"/>\n", x,
                    x + 22, all[i].dashed ? " dashed" : "", i);
    text += text_at(x + 28, 66, "start", "", all[i].name);
    x += 52 + 8 * static_cast<double>(all[i].name.size());
  }
  return text;
}

std::string draw(const Panel& panel, const Plot& plot, double top) {
  const double largest = largest_value(panel);
  const double step = step_for(largest);
  const Scale scale(panel, std::ceil(largest / step) * step, top);
  std::string text = axes(panel, plot, scale);
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    text += curve(panel, panel.series[i], i, scale);
  }
  return text;
}

}  // namespace

std::string svg(const Plot& plot) {
  const double height =
      kHead + static_cast<double>(plot.panels.size()) * (kHeight + kBelow) - kBelow + 52;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\">\n<title>{2}</title>\n{3}<rect class=\"ground\" width=\"{0}\" "
      "height=\"{1}\"/>\n",
      kWidth, height, in_html(plot.title), kStyle);
  text += text_at(kLeft, 24, "start", "title", plot.title);
  text += text_at(kLeft, 43, "start", "small", plot.subtitle);
  text += legend(plot.panels.front().series);
  double top = kHead;
  for (const Panel& panel : plot.panels) {
    text += draw(panel, plot, top);
    top += kHeight + kBelow;
  }
  return text + "</svg>\n";
}

}  // namespace onepass::driver
