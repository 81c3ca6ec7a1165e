// What a person may ask a token for: less than they are themselves, or as much, and never more. Pure.
#pragma once

#include "core/time.h"
#include "http/refusal.h"
#include "server/login/caller.h"
#include "server/state/token_store.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace belay::server {

// The body of POST /api/v1/tokens, all of which may be left out:
//   {"label": "laptop", "role": "user", "project": "qcd", "read_only": true, "job": KEY, "days": 30}
struct TokenWish {
    std::string label = {};
    TokenRole role = TokenRole::kUser;
    std::string project = {};
    bool is_read_only = false;
    std::optional<std::string> job = {};
    std::optional<int> days = {};
};
// Errors: 400 with what is wrong, also for keys that are not known: a limit that was misspelt would limit nothing.
http::Checked<TokenWish> parse_token_wish(std::string_view json);

struct TokenLifetimes {
    int usual_days = 90, most_days = 366;
};
// The token that the caller may have made for themselves. With a token in hand: it ends with that one, and allows nothing
// that it does not allow. Errors: 403 for what is more than they are, for callers that only read or see one job, and for
// nodes; 400.
http::Checked<TokenFacts> granted(const TokenWish& wish, const Caller& caller,
                                  const TokenLifetimes& lifetimes, core::Time now);

}  // namespace belay::server
