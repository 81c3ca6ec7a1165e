// The two text forms in which metrics are shown to who scrapes them, and which of them an asker takes.
#pragma once

#include <cstdint>
#include <string_view>

namespace belay::metrics {

enum class TextForm : uint8_t {
    kOpenMetrics,  // OpenMetrics 1.0
    kPrometheus,   // Prometheus' text format 0.0.4
};

// The value of the header Content-Type.
std::string_view content_type(TextForm form);

// The form for the header Accept of a request (RFC 9110, 12.5.1): the one that it wants more, by the most
// specific of its ranges. OpenMetrics is only for those who name it, with version 1.0.0 or none; where nothing
// fits, and without a header, it is Prometheus' form, which everybody reads.
TextForm negotiate(std::string_view accept);

}  // namespace belay::metrics
