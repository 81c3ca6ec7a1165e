// What the tests of the trainer ask about its output:
//   train_probe log FILE                 every line is an MLLOG event; prints how many
//   train_probe value FILE KEY [MEMBER]  of the last event of that key: its value, or a member of its
//   metadata, as JSON train_probe compare A B TOLERANCE    two files of float32 agree, number by number;
//   prints the largest difference
#include "core/file.h"
#include "core/text.h"
#include "progress/mllog.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace belay {
namespace {

using core::bad_input;
using core::Result;

Result<std::vector<progress::MllogEvent>> events_of(const std::string& path) {
    BELAY_TRY(text, core::read_file(path));
    std::vector<progress::MllogEvent> events;
    for (auto& line : progress::parse_mllog(text)) {
        if (!line.event) return std::unexpected(std::move(line.event.error()));
        events.push_back(std::move(*line.event));
    }
    auto lines = std::ranges::count(text, '\n');
    if (lines != static_cast<std::ptrdiff_t>(events.size()))
        return bad_input("{} lines, but {} events", lines, events.size());
    return events;
}

Result<std::string> value_of(const std::string& path, std::string_view key, std::string_view member) {
    BELAY_TRY(events, events_of(path));
    auto last =
        std::find_if(events.rbegin(), events.rend(), [&](const auto& event) { return event.key == key; });
    if (last == events.rend()) return bad_input("no event {}", key);
    if (member.empty()) return core::write_python_json(*last->value);
    return core::write_python_json(last->metadata->at(std::string(member)));
}

Result<std::vector<float>> floats_of(const std::string& path) {
    BELAY_TRY(bytes, core::read_file(path));
    if (bytes.empty() || bytes.size() % sizeof(float) != 0) return bad_input("{}: not float32", path);
    std::vector<float> numbers(bytes.size() / sizeof(float));
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
}

Result<std::string> compare(const std::string& one, const std::string& other, double tolerance) {
    BELAY_TRY(left, floats_of(one));
    BELAY_TRY(right, floats_of(other));
    if (left.size() != right.size()) return bad_input("{} and {} numbers", left.size(), right.size());
    double largest = 0;
    for (size_t i = 0; i < left.size(); ++i) {
        double difference = std::fabs(double{left[i]} - right[i]);
        if (!(difference <= tolerance)) return bad_input("number {}: {} and {}", i, left[i], right[i]);
        largest = std::max(largest, difference);
    }
    return fmt::format("{:.3g}", largest);
}

Result<std::string> answer(std::span<const std::string> words) {
    if (words.size() == 2 && words[0] == "log") {
        BELAY_TRY(events, events_of(words[1]));
        return std::to_string(events.size());
    }
    if ((words.size() == 3 || words.size() == 4) && words[0] == "value")
        return value_of(words[1], words[2], words.size() == 4 ? words[3] : "");
    if (words.size() == 4 && words[0] == "compare")
        if (auto tolerance = core::parse_number<double>(words[3]))
            return compare(words[1], words[2], *tolerance);
    return bad_input("wrong usage");
}

}  // namespace
}  // namespace belay

int main(int argc, char** argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    auto text = belay::answer(words);
    if (!text) {
        fmt::print(stderr, "{}", text.error().render("train_probe"));
        return 1;
    }
    fmt::print("{}\n", *text);
}
