// What the HTTP server has counted, as metric families. Pure.
#pragma once

#include "http/metrics.h"
#include "metrics/model.h"

#include <vector>

namespace belay::server {

std::vector<metrics::Family> http_families(const http::Metrics& counted);

}  // namespace belay::server
