// SPDX-License-Identifier: Apache-2.0
// The page's files, embedded at build time (cmake/GpubenchVega.cmake). The hashes are those a Content-Security-Policy
// names.
#pragma once

#include <string_view>

namespace gpubench::reports::page {

std::string_view frame();  ///< the template
std::string_view style();
std::string_view script_base();
std::string_view script_base_hash();
std::string_view script_table();
std::string_view script_table_hash();
std::string_view script_charts();
std::string_view script_charts_hash();
std::string_view vega();  ///< empty when built without the bundle
std::string_view vega_hash();

}  // namespace gpubench::reports::page
