// EDF text (TOML) to a Definition.
#pragma once

#include "env/definition.h"

namespace belay::env {

// Every mistake of the file is appended to `problems`; what is right is in the result all the same. `chain`:
// the files through which this one was reached, itself last.
Definition read_edf(std::string_view text, const std::string& file, const std::vector<std::string>& chain,
                    Problems& problems);

}  // namespace belay::env
