#include "progress/plain_line.h"

#include <algorithm>

namespace belay::progress {

namespace {

constexpr char kEscape = '\x1b';
constexpr char kBell = '\x07';
constexpr int kMostLabels = 3;
constexpr std::string_view kLauncherWords[] = {"[rank", "[default"};

// The byte behind the escape sequence that starts at `start`.
size_t end_of_escape(std::string_view line, size_t start) {
    size_t i = start + 1;
    if (i >= line.size()) return i;
    if (line[i] == '[') {  // control sequence: parameters, then one byte from @ to ~
        ++i;
        while (i < line.size() && line[i] >= ' ' && line[i] < '@') ++i;
        return i < line.size() && line[i] >= '@' && line[i] <= '~' ? i + 1 : i;
    }
    if (line[i] == ']') {  // operating system command, up to a bell or ESC backslash
        for (++i; i < line.size(); ++i) {
            if (line[i] == kBell) return i + 1;
            if (line[i] == kEscape) return i + 1 < line.size() && line[i + 1] == '\\' ? i + 2 : i;
        }
        return i;
    }
    while (i < line.size() && line[i] >= ' ' && line[i] < '0') ++i;  // intermediate bytes
    return i < line.size() && line[i] >= '0' && line[i] <= '~' ? i + 1 : i;
}

size_t digits_at(std::string_view text, size_t start) {
    size_t i = start;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i;
    return i - start;
}

// "12: ", the number padded with blanks to the width of the largest.
size_t srun_label(std::string_view text) {
    size_t start = std::min(text.find_first_not_of(' '), text.size());
    size_t digits = digits_at(text, start);
    return digits > 0 && text.substr(start + digits).starts_with(": ") ? start + digits + 2 : 0;
}

// "[rank3]:", and a blank behind it if there is one.
size_t launcher_label(std::string_view text) {
    for (std::string_view word : kLauncherWords) {
        if (!text.starts_with(word)) continue;
        size_t digits = digits_at(text, word.size());
        size_t end = word.size() + digits;
        if (digits == 0 || !text.substr(end).starts_with("]:")) continue;
        end += 2;
        return text.substr(end).starts_with(' ') ? end + 1 : end;
    }
    return 0;
}

}  // namespace

std::string without_escapes(std::string_view line) {
    std::string out;
    out.reserve(line.size());
    for (size_t i = 0; i < line.size();) {
        if (line[i] == kEscape) {
            i = end_of_escape(line, i);
            continue;
        }
        bool control = static_cast<unsigned char>(line[i]) < ' ' || line[i] == '\x7f';
        if (!control || line[i] == '\t') out += line[i];
        ++i;
    }
    return out;
}

size_t label_length(std::string_view line) {
    size_t length = 0;
    for (int i = 0; i < kMostLabels; ++i) {
        std::string_view rest = line.substr(length);
        size_t more = std::max(srun_label(rest), launcher_label(rest));
        if (more == 0) break;
        length += more;
    }
    return length;
}

}  // namespace belay::progress
