#include "spank/plain/plan.h"

#include "spank/plain/wire.h"

#include <cstring>

namespace belay::spank {

namespace {

size_t digits_of(const char* text) {
    return strspn(text, "0123456789");
}

}  // namespace

long plan_seconds(const char* plan) {
    size_t digits = digits_of(plan);
    if (digits == 0) return kMostSeconds;
    long seconds = 0;
    for (size_t i = 0; i < digits && seconds <= kMostSeconds; ++i) seconds = seconds * 10 + (plan[i] - '0');
    return seconds < kMostSeconds ? seconds : kMostSeconds;
}

bool begins_like_plan(const char* text) {
    size_t digits = digits_of(text);
    const char* rest = text + digits;
    return digits > 0 && strncmp(*rest == kOnlyRecorded ? rest + 1 : rest, " {", 2) == 0;
}

bool is_plan_of_record(const char* text) {
    return begins_like_plan(text) && text[digits_of(text)] == kOnlyRecorded;
}

}  // namespace belay::spank
