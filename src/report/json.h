// The model as JSON: what the page carries and what `belay report --json` prints.
#pragma once

#include "report/model.h"

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace belay::report {

// Missing numbers are null; the others are rounded to six significant digits. The values of the node grid are
// packed: base64 of little-endian numbers q of "bits" 16, where 65535 is missing and else value = q / 65534 *
// "maximum", or of 8 with 255 and 254.
nlohmann::ordered_json to_json(const ReportModel& model);

// JSON text that can stand inside a <script> element: "<", ">", "&", U+2028 and U+2029 are written as \u
// escapes (they occur in strings only), invalid UTF-8 becomes U+FFFD.
std::string script_safe_json(const nlohmann::ordered_json& json);

// For text and attribute values in HTML.
std::string escape_html(std::string_view text);

// RFC 4648, with padding.
std::string base64(std::string_view bytes);

}  // namespace belay::report
