// Makes records of simulated training jobs, of which it is known what is wrong with them:
//   second_generator DIRECTORY NUMBER SEED [CAUSE]     writes DIRECTORY/NNN.record-dir and
//   DIRECTORY/truth.tsv second_generator --truth NUMBER SEED [CAUSE]       prints only the truth
//   second_generator --causes                          prints the vocabulary
// CAUSE: the name of the one cause that all jobs shall have, or "sound". The records are not sealed.
#include "make_job.h"
#include "write_record.h"

#include <charconv>
#include <cstdio>
#include <fstream>
#include <iostream>

namespace belay::second_generator {

namespace {

std::optional<uint64_t> number_of(std::string_view text) {
    uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

bool is_known(std::string_view cause) {
    if (cause.empty() || cause == "sound") return true;
    for (const Cause* one : all_causes())
        if (cause == one->name) return true;
    return false;
}

int usage() {
    std::fputs(
        "usage: second_generator DIRECTORY|--truth NUMBER SEED [CAUSE]\n       second_generator --causes\n",
        stderr);
    return 2;
}

int run(int argc, char** argv) {
    const std::string where = argc > 1 ? argv[1] : "";
    if (where == "--causes") {
        std::cout << vocabulary();
        return 0;
    }
    if (argc < 4 || argc > 5) return usage();
    const auto count = number_of(argv[2]), seed = number_of(argv[3]);
    const std::string_view wanted = argc > 4 ? argv[4] : "";
    if (!count || *count > 1000 || !seed || !is_known(wanted)) return usage();
    const bool only_truth = where == "--truth";
    const std::filesystem::path directory = where;
    std::ofstream file;
    if (!only_truth) {
        std::error_code error;
        std::filesystem::create_directories(directory, error);
        file.open(directory / "truth.tsv");
    }
    std::ostream& truth = only_truth ? std::cout : file;
    truth << truth_header();
    for (int number = 0; number < static_cast<int>(*count); ++number) {
        const Made made = make_job(number, *seed, wanted);
        truth << truth_row(made);
        if (only_truth) continue;
        auto written =
            write_record(directory / fmt::format("{:03}.record-dir", number), made.job, made.timeline);
        if (written) continue;
        std::fputs(written.error().render("second_generator").c_str(), stderr);
        return 3;
    }
    truth.flush();
    return truth.good() ? 0 : 3;
}

}  // namespace

}  // namespace belay::second_generator

int main(int argc, char** argv) {
    return belay::second_generator::run(argc, argv);
}
