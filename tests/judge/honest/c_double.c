// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
void saxpy(double a, const float* x, const float* y, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = (float)(a * x[i] + y[i]);
}
