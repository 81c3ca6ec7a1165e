// The start of a step's plan, which is all that the plugin reads of it: "SECONDS {…".
#pragma once

namespace belay::spank {

// How long tasks wait for belay-step at most: kMostSeconds where the plan does not say, or says more.
long plan_seconds(const char* plan);

// Whether a text can be a plan. It may be cut off after 15 bytes.
bool begins_like_plan(const char* text);

// Whether it is one of a step that is only recorded. The same.
bool is_plan_of_record(const char* text);

}  // namespace belay::spank
