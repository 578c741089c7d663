// SPDX-License-Identifier: Apache-2.0
// Student's t with any degrees of freedom, and many tests at once.
#pragma once

#include <span>
#include <vector>

namespace gpubench::statistics {

/// P(T > t) of Student's t, by the incomplete beta function (Abramowitz and Stegun 26.7.1 and 26.5.8, its continued
/// fraction by Lentz's method); right to about 1e-12. `degrees` > 0, or infinity for the normal distribution.
double student_tail(double t, double degrees);

/// The t with P(T > t) = `tail`, 0 < tail < 1, by bisection.
double student_quantile(double tail, double degrees);

/// Adjusted p-values, in the order given: rejecting those that are at most alpha keeps the chance of one or more false
/// rejections at most alpha, whatever the tests' dependence (Holm, Scandinavian Journal of Statistics 6, 1979).
std::vector<double> holm(std::span<const double> p_values);

/// Two-sided exact sign test: the chance that fair coins split at least as unevenly as `positive` against `negative`; 1
/// for none.

double sign_test(int positive, int negative);

double digamma(double x);           ///< x > 0; Abramowitz and Stegun 6.3.5 and 6.3.18
double trigamma(double x);          ///< x > 0; Abramowitz and Stegun 6.4.6 and 6.4.12
double inverse_trigamma(double y);  ///< x with trigamma(x) = y > 0, by bisection of the logarithm

}  // namespace gpubench::statistics
