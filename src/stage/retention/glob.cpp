#include "stage/retention/glob.h"

#include <algorithm>

namespace belay::stage {

Glob::Glob(std::string_view pattern) {
    add(pattern);
    is_text_ = std::ranges::all_of(elements_, [](const Element& each) { return each.kind == Kind::kByte; });
    if (is_text_) text_ = pattern;
    begin_.assign(elements_.size() + 1, 0);
    begin_[0] = 1;
    pass_over(begin_);
}

Glob Glob::of_text(std::string_view text) {
    Glob glob;
    for (const char byte : text) glob.elements_.push_back({.byte = byte});
    glob.begin_.assign(glob.elements_.size() + 1, 0);
    glob.begin_[0] = 1;
    glob.text_ = text;
    glob.is_text_ = true;
    return glob;
}

void Glob::add(std::string_view pattern) {
    for (size_t at = 0; at < pattern.size(); ++at) {
        switch (pattern[at]) {
            case '*': {
                const bool twice = pattern.substr(at + 1).starts_with('*');
                const bool begins_part = at == 0 || pattern[at - 1] == '/';
                if (twice && begins_part && pattern.substr(at + 2).starts_with('/')) {
                    elements_.push_back({.kind = Kind::kDirectories});
                    elements_.push_back({.kind = Kind::kDirectoryRest});
                    at += 2;
                    break;
                }
                elements_.push_back({.kind = twice ? Kind::kAny : Kind::kAnyInPart});
                at += twice ? 1 : 0;
                break;
            }
            case '?':
                elements_.push_back({.kind = Kind::kAnyByte});
                break;
            case '[': {
                const std::string_view rest = pattern.substr(at + 1);
                const size_t first = rest.starts_with('!') || rest.starts_with('^') ? 2 : 1;
                const size_t end = rest.find(']', first);
                if (end == std::string_view::npos) {
                    elements_.push_back({.byte = '['});
                } else {
                    elements_.push_back({.kind = Kind::kSet, .set = std::string(rest.substr(0, end))});
                    at += end + 1;
                }
                break;
            }
            default:
                elements_.push_back({.byte = pattern[at]});
        }
    }
}

bool Glob::is_in(std::string_view set, char byte) {
    const bool negated = set.starts_with('!') || set.starts_with('^');
    if (negated) set.remove_prefix(1);
    bool found = false;
    const auto value = static_cast<unsigned char>(byte);
    for (size_t at = 0; at < set.size(); ++at) {
        const auto first = static_cast<unsigned char>(set[at]);
        auto last = first;
        if (at + 2 < set.size() && set[at + 1] == '-') {
            last = static_cast<unsigned char>(set[at + 2]);
            at += 2;
        }
        found = found || (value >= first && value <= last);
    }
    return found != negated;
}

// What may stand for nothing.
void Glob::pass_over(Reached& reached) const {
    for (size_t i = 0; i < elements_.size(); ++i) {
        if (reached[i] == 0) continue;
        if (elements_[i].kind == Kind::kAny || elements_[i].kind == Kind::kAnyInPart) reached[i + 1] = 1;
        if (elements_[i].kind == Kind::kDirectories) reached[i + 2] = 1;
    }
}

// Whether anything is reached still.
bool Glob::step(const Reached& reached, char byte, Reached& next) const {
    next.assign(reached.size(), 0);
    bool any = false;
    auto reach = [&](size_t i) {
        next[i] = 1;
        any = true;
    };
    for (size_t i = 0; i < elements_.size(); ++i) {
        if (reached[i] == 0) continue;
        const Element& element = elements_[i];
        switch (element.kind) {
            case Kind::kByte:
                if (element.byte == byte) reach(i + 1);
                break;
            case Kind::kAnyByte:
                if (byte != '/') reach(i + 1);
                break;
            case Kind::kSet:
                if (byte != '/' && is_in(element.set, byte)) reach(i + 1);
                break;
            case Kind::kAny:
                reach(i);
                break;
            case Kind::kAnyInPart:
                if (byte != '/') reach(i);
                break;
            case Kind::kDirectories:
                if (byte != '/') reach(i + 1);
                break;
            case Kind::kDirectoryRest:
                reach(i);
                if (byte == '/') reach(i + 1);
                break;
        }
    }
    if (any) pass_over(next);
    return any;
}

// Through the text, beginning with what is reached. Whether the whole pattern was, at its end, or before a "/"
// in it.
bool Glob::run(std::string_view text, Reached& reached, bool at_each_slash) const {
    static thread_local Reached next;
    for (const char byte : text) {
        if (byte == '/' && at_each_slash && reached.back() != 0) return true;
        const bool goes_on = step(reached, byte, next);
        std::swap(reached, next);
        if (!goes_on) return false;
    }
    return reached.back() != 0;
}

bool Glob::matches(std::string_view text) const {
    if (is_everything_) return true;
    if (begin_.empty()) return false;
    if (is_text_) return text == text_;
    static thread_local Reached reached;
    reached = begin_;
    return run(text, reached, false);
}

bool Glob::covers(std::string_view path) const {
    if (is_everything_) return true;
    if (begin_.empty()) return false;
    if (is_text_)
        return path.starts_with(text_) && (path.size() == text_.size() || path[text_.size()] == '/');
    static thread_local Reached reached;
    reached = begin_;
    return run(path, reached, true);
}

Glob Glob::after(std::string_view prefix) const {
    Glob rest;
    rest.is_everything_ = is_everything_;
    if (is_everything_ || begin_.empty()) return rest;
    if (is_text_) {
        if (text_.starts_with(prefix)) return of_text(std::string_view(text_).substr(prefix.size()));
        rest.is_everything_ = covers(prefix);
        return rest;
    }
    Reached reached = begin_;
    Reached next;
    for (const char byte : prefix) {
        if (byte == '/' && reached.back() != 0) {
            rest.is_everything_ = true;
            return rest;
        }
        if (!step(reached, byte, next)) return rest;
        std::swap(reached, next);
    }
    rest.elements_ = elements_;
    rest.begin_ = std::move(reached);
    return rest;
}

}  // namespace belay::stage
