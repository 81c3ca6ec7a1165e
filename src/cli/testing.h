// The whole program in a test: a command line, and what it answers.
#pragma once

#include "cli/commands.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace belay::cli::testing {

struct Outcome {
    int status;
    std::string out, err;
};

inline std::string text_of(std::FILE* file) {
    std::string text(static_cast<size_t>(std::ftell(file)), '\0');
    std::rewind(file);
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fclose(file);
    return text;
}

// With no configuration of this machine.
inline Outcome belay(std::vector<std::string> words, const std::string& configuration = "/nonexistent") {
    setenv("BELAY_CONFIG_DIR", configuration.c_str(), 1);
    std::FILE* out = std::tmpfile();
    std::FILE* err = std::tmpfile();
    int status = 0;
    {
        core::Application application(application_page(), out, err);
        add_commands(application);
        status = application.run(std::move(words));
    }
    return {status, text_of(out), text_of(err)};
}

}  // namespace belay::cli::testing
