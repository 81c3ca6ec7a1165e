// Which tables a person's SQL may mean, as far as can be told without running it.
#pragma once

#include <string_view>

namespace belay::cli {

// Whether a word stands in it, in capitals or not, as DuckDB reads names: `gpu` stands in FROM "GPU" and not
// in FROM gpu_summary. Texts and comments count too.
bool has_word(std::string_view sql, std::string_view word);

}  // namespace belay::cli
