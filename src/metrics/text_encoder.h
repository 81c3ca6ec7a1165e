// Families as text for who scrapes them: OpenMetrics 1.0 or Prometheus' 0.0.4.
//
//   # TYPE belay_node_cpu_seconds counter
//   # UNIT belay_node_cpu_seconds seconds
//   # HELP belay_node_cpu_seconds CPU time
//   belay_node_cpu_seconds_total{node="n1",mode="user"} 12.5 1700000000.5
//   # EOF
//
// Prometheus' form has the whole name in every line, no UNIT, milliseconds and no EOF, and shows an info as a gauge.
// Labels keep their order; empty ones are left out; bytes that are not UTF-8 become U+FFFD.
#pragma once

#include "core/error.h"
#include "metrics/model.h"
#include "metrics/text_form.h"

#include <span>
#include <string>

namespace belay::metrics {

// Errors: kBadInput of check(), and in Prometheus' form, which has no order of times, for two samples of one series.
core::Result<std::string> encode_text(std::span<const Family> families, TextForm form);

}  // namespace belay::metrics
