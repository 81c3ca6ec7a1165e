// Reads what encode_text() writes, and nothing else: no other order, spelling, blank or escape. For tests, and to
// look at what a site scraped from us; not a reader for other exporters.
#pragma once

#include "core/error.h"
#include "metrics/model.h"
#include "metrics/text_form.h"

#include <string_view>
#include <vector>

namespace belay::metrics {

// Prometheus' form does not say units, so families read from it have none. Errors: kBadInput with the number of the
// line, or of check() for what only the families as a whole show; memory is bounded by the size of the text.
core::Result<std::vector<Family>> read_text(std::string_view text, TextForm form);

}  // namespace belay::metrics
