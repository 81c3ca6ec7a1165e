#include "core/file.h"
#include "spank/step.h"

#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

int main(int argc, char** argv) {
    struct Verb {
        std::string_view name;
        int (*run)(const std::vector<std::string>&);
    };
    constexpr Verb kVerbs[] = {{"prepare", belay::spank::prepare},
                               {"node", belay::spank::node},
                               {"supervise", belay::spank::supervise}};
    try {
        std::vector<std::string> words(argv + 1, argv + argc);
        (void)belay::core::occupy_standard_descriptors();
        belay::spank::show_hidden_variables();
        for (const Verb& verb : kVerbs)
            if (!words.empty() && words[0] == verb.name) return verb.run({words.begin() + 1, words.end()});
        fmt::print(stderr,
                   "belay-step is started by Belay's Slurm plugin; see belay(1) for what people type\n");
        return 2;
    } catch (const std::exception& exception) {
        fmt::print(stderr, "belay: {}\n", exception.what());
        return 1;
    }
}
