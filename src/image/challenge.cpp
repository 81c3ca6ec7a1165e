#include "image/challenge.h"

#include "core/text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace belay::image {

namespace {

using core::lower_case;

class ChallengeParser {
  public:
    explicit ChallengeParser(std::string_view text) : text_(text) {}

    std::vector<Challenge> parse() {
        std::vector<Challenge> out;
        while (skip(" \t,"), at_ < text_.size()) {
            std::string word = token();
            if (word.empty()) return out;
            skip(" \t");
            if (!out.empty() && at_ < text_.size() && text_[at_] == '=') {
                ++at_;
                skip(" \t");
                out.back().parameters[lower_case(word)] = value();
            } else {
                out.push_back({lower_case(word), {}});
            }
        }
        return out;
    }

  private:
    void skip(std::string_view set) {
        while (at_ < text_.size() && set.contains(text_[at_])) ++at_;
    }
    std::string token() {
        size_t end = std::min(text_.find_first_of(" \t,=\"", at_), text_.size());
        std::string out(text_.substr(at_, end - at_));
        at_ = end;
        return out;
    }
    std::string value() {
        if (at_ >= text_.size() || text_[at_] != '"') return token();
        std::string out;
        for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
            out += text_[at_];
        }
        if (at_ < text_.size()) ++at_;
        return out;
    }

    std::string_view text_;
    size_t at_ = 0;
};

std::string url_decode(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        uint8_t byte = 0;
        const char* digits = text.data() + i + 1;
        if (text[i] == '%' && i + 2 < text.size() &&
            std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
            out += static_cast<char>(byte);
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

}  // namespace

std::vector<Challenge> parse_challenges(std::string_view header) {
    return ChallengeParser(header).parse();
}

bool realm_names_scope(std::string_view realm) {
    if (realm.contains('#')) return true;
    const size_t question = realm.find('?');
    if (question == std::string_view::npos) return false;
    std::string query(realm.substr(question + 1));
    std::ranges::replace(query, ';', '&');
    return std::ranges::any_of(core::split(query, '&'), [](std::string_view parameter) {
        return url_decode(parameter.substr(0, parameter.find('='))) == "scope";
    });
}

}  // namespace belay::image
