// The rows of `onepass measure` on a GPU; those of the simulator are in measure_test.cpp.
#include "driver/measure/measure_table.h"

#include <doctest/doctest.h>

using namespace onepass::driver;

namespace {

Json event(int cols, double naive_ms, double ms, const char* note) {
  return {{"event", "bandwidth"},
          {"rows", 4096},
          {"cols", cols},
          {"dtype", "fp16"},
          {"naive_gbs", 331},
          {"student_gbs", 3000},
          {"copy_gbs", 4000},
          {"reference_gbs", 3900},
          {"naive_ms", {{"median", naive_ms}}},
          {"student_ms", {{"median", ms}, {"p20", ms * 0.9}, {"p80", ms * 1.1}}},
          {"note", note}};
}

}  // namespace

TEST_CASE("a table of times and bandwidth, with marks for notes") {
  MeasureTable table(Device::gpu, "solutions");
  CHECK(
      table.header() ==
      "Times of a call (median, and of yours the 20th and 80th percentile), and effective\n"
      "bandwidth (least bytes / median time):\n"
      "                                 ms                               naive    GB/s             "
      "   % of        GB/s\n"
      "     rows     cols  dtype     naive    yours     20 %     80 %  / yours   naive  yours   "
      "copy  copy   solutions\n");
  CHECK(table.row(event(2048, 0.5, 0.05, "")) ==
        "     4096     2048   fp16    0.5000   0.0500   0.0450   0.0550    10.00     331   3000   "
        "4000    75        3900\n");
  const std::string marked = table.row(event(256, 0.5, 0.05, "small"));
  CHECK(marked.substr(marked.size() - 5) == " (1)\n");
  table.row(event(512, 0.5, 0.05, "noisy"));
  const std::string again = table.row(event(256, 0.5, 0.05, "small"));
  CHECK(again == marked);
  CHECK(table.notes() == "  (1) small\n  (2) noisy\n");
}

TEST_CASE("what is not there is a dash, and what was not measured says why") {
  MeasureTable table(Device::gpu, "");
  Json alone = event(256, 0.5, 0.05, "");
  alone["naive_gbs"] = alone["naive_ms"] = alone["copy_gbs"] = nullptr;
  CHECK(
      table.row(alone) ==
      "     4096      256   fp16         -   0.0500   0.0450   0.0550        -       -   3000      "
      "-     -\n");
  CHECK(table.row({{"event", "measurement_failed"},
                   {"rows", 4},
                   {"cols", 8},
                   {"dtype", "bf16"},
                   {"message", "student: wrong\nin detail"}}) ==
        "        4        8   bf16   not measured: student: wrong\n");
  CHECK(table.row({{"event", "skipped"},
                   {"rows", 4},
                   {"cols", 8},
                   {"dtype", "bf16"},
                   {"message", "Too large."}}) ==
        "        4        8   bf16   left out: Too large.\n");
}
