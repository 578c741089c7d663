// SPDX-License-Identifier: Apache-2.0
// Names of operations, runs and points beside their marks. A specification holds unseen anchors for them ("label" in
// short_form.h). The page has Vega place them; vl-convert has no canvas for that, so that pictures place them here.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace gpubench::reports::charts {

using Json = nlohmann::json;

/// Gives each layer of anchors a name, and each anchor its text, by which `place_labels` finds them in the scene. False
/// where there are none.
bool name_anchors(Json& spec);

/// Layers of anchors become layers of text. `scene` is Vega's scenegraph of the specification with named anchors. A
/// label lies beside its anchor, in the plot, on no point and no other text; where no side has room, it is left out.
/// Throws Json::exception where `scene` is none.
void place_labels(Json& spec, const Json& scene);

/// At most the width of a text in Arial or Liberation Sans, in pixels.
double text_width(std::string_view text, double font_size);

}  // namespace gpubench::reports::charts
