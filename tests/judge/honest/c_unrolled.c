// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
void saxpy(double a, const float* x, const float* y, float* out, int64_t n) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int j = 0; j < 4; ++j) out[i + j] = (float)a * x[i + j] + y[i + j];
  for (; i < n; ++i) out[i] = (float)a * x[i] + y[i];
}
