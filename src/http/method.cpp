#include "http/method.h"

#include <array>

namespace belay::http {

namespace {

struct MethodRow {
    Method method;
    std::string_view name;
    bool changes_state;
};

constexpr std::array kMethods = {
    MethodRow{Method::kGet, "GET", false},         MethodRow{Method::kHead, "HEAD", false},
    MethodRow{Method::kPost, "POST", true},        MethodRow{Method::kPut, "PUT", true},
    MethodRow{Method::kPatch, "PATCH", true},      MethodRow{Method::kDelete, "DELETE", true},
    MethodRow{Method::kOptions, "OPTIONS", false},
};

}  // namespace

std::string_view method_name(Method method) {
    return kMethods[static_cast<size_t>(method)].name;
}

std::optional<Method> method_of(std::string_view name) {
    for (const MethodRow& row : kMethods)
        if (row.name == name) return row.method;
    return std::nullopt;
}

bool changes_state(Method method) {
    return kMethods[static_cast<size_t>(method)].changes_state;
}

}  // namespace belay::http
