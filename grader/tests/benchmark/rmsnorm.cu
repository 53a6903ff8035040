// The solution of rmsnorm/forward, compiled as a student's file is, for simulator_cost.cpp.
#include ONEPASS_SUBMISSION  // rewritten

void run_rmsnorm(const float* x, const float* weight, float* y, float* rstd, int rows, int cols) {
  onepass::rmsnorm_forward(x, cols, weight, y, cols, rstd, rows, cols, 1e-6f, nullptr);
}
