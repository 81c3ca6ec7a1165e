#include "progress/output_tail.h"

#include "core/text.h"
#include "core/utf8.h"
#include "progress/plain_line.h"
#include "progress/secrets.h"

#include <algorithm>

namespace belay::progress {

namespace {

// What is left on the line of a terminal: the text behind the last return that has any behind it.
std::string_view last_drawn(std::string_view line) {
    while (line.ends_with('\r')) line.remove_suffix(1);
    return line.substr(line.rfind('\r') + 1);
}

}  // namespace

void OutputTail::feed(std::string_view bytes) {
    if (bytes.size() > kMostBytes) {
        is_cut_ = true;
        bytes_ = bytes.substr(bytes.size() - kMostBytes);
        return;
    }
    bytes_ += bytes;
    if (bytes_.size() < 2 * kMostBytes) return;
    is_cut_ = true;
    bytes_.erase(0, bytes_.size() - kMostBytes);
}

std::vector<std::string> OutputTail::lines() const {
    std::string_view text = bytes_;
    bool is_cut = is_cut_;
    if (text.size() > kMostBytes) {
        text = text.substr(text.size() - kMostBytes);
        is_cut = true;
    }
    // The first line lacks its beginning, and may be all there is.
    if (const size_t end = text.find('\n'); is_cut && end < text.size() - 1) text.remove_prefix(end + 1);
    std::vector<std::string> lines;
    for (std::string_view line : core::split(text, '\n')) {
        std::string plain = core::to_valid_utf8(without_escapes(last_drawn(line)));
        plain.erase(plain.find_last_not_of(" \t") + 1);
        if (!plain.empty()) lines.push_back(std::move(plain));
    }
    mask_secrets(lines);
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(std::min(lines.size(), kMostLines)));
    for (std::string& line : lines)
        if (line.size() > kLongestLine) line = std::string(core::utf8_prefix(line, kLongestLine)) + " …";
    return lines;
}

}  // namespace belay::progress
