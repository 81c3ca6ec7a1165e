#include "env/expansion.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::env {

namespace {

constexpr const char* kForms = "write ${NAME}, ${NAME:-default}, or $$ for a dollar sign";

bool starts_name(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}
bool continues_name(char c) {
    return starts_name(c) || (c >= '0' && c <= '9');
}

class Expander {
  public:
    Expander(std::string_view text, const std::vector<const core::Environment*>& scopes)
        : text_(text), scopes_(scopes) {}

    Expansion run() {
        result_.text = read_text(0, true);
        return std::move(result_);
    }

  private:
    // Up to the end or, within a default, up to its "}". `used`: whether what is read counts; a default that
    // is not needed is only checked for mistakes of form.
    std::string read_text(int depth, bool used) {
        std::string out;
        while (at_ < text_.size() && !failed_) {
            char c = text_[at_];
            if (depth > 0 && c == '}') break;
            if (c != '$') {
                out += c;
                ++at_;
            } else if (next() == '$') {
                out += '$';
                at_ += 2;
            } else if (next() == '{') {
                out += read_variable(depth, used);
            } else {
                warn_bare();
                out += c;
                ++at_;
            }
        }
        return out;
    }

    std::string read_variable(int depth, bool used) {
        size_t start = at_;
        at_ += 2;
        size_t name_start = at_;
        while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
        std::string name(text_.substr(name_start, at_ - name_start));
        if (at_ == text_.size()) return fail(start, "\"${\" has no closing brace");
        if (name.empty() || !starts_name(name[0])) return fail(start, "\"${\" needs the name of a variable");
        const std::string* value = find(name);
        bool has_default = text_.substr(at_).starts_with(":-");
        if (!has_default && text_[at_] != '}')
            return fail(start, fmt::format("\"{}\" after ${{{} is not supported", text_[at_], name));
        if (!has_default) {
            ++at_;
            if (value == nullptr && used) undefined(start, name);
            return value != nullptr ? *value : std::string();
        }
        if (depth == kDeepestDefault)
            return fail(start, fmt::format("defaults are nested more than {} deep", kDeepestDefault));
        at_ += 2;
        bool needed = value == nullptr || value->empty();
        std::string fallback = read_text(depth + 1, used && needed);
        if (failed_) return {};
        if (at_ == text_.size()) return fail(start, "\"${\" has no closing brace");
        ++at_;
        return needed ? fallback : *value;
    }

    char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }

    const std::string* find(const std::string& name) const {
        for (const core::Environment* scope : scopes_)
            if (auto found = scope->find(name); found != scope->end()) return &found->second;
        return nullptr;
    }

    std::string fail(size_t start, std::string message) {
        failed_ = true;
        size_t end = std::min(std::max(at_ + 1, start + 2), text_.size());
        result_.problems.push_back(
            {ExpansionProblem::Kind::kSyntax, start, end - start, std::move(message), kForms});
        return {};
    }
    void undefined(size_t start, const std::string& name) {
        result_.problems.push_back({ExpansionProblem::Kind::kUndefined, start, at_ - start,
                                    fmt::format("variable {} is not set", name),
                                    fmt::format("export {0}, or write ${{{0}:-}} if it may be empty", name)});
    }
    void warn_bare() {
        result_.problems.push_back(
            {ExpansionProblem::Kind::kBareDollar, at_, 1, "\"$\" without a brace stands for itself",
             "write ${NAME} for a variable, or $$ for a dollar sign without this warning"});
    }

    std::string_view text_;
    const std::vector<const core::Environment*>& scopes_;
    size_t at_ = 0;
    bool failed_ = false;
    Expansion result_;
};

}  // namespace

bool Expansion::ok() const {
    return std::ranges::all_of(
        problems, [](const auto& problem) { return problem.kind == ExpansionProblem::Kind::kBareDollar; });
}

Expansion expand(std::string_view text, const std::vector<const core::Environment*>& scopes) {
    return Expander(text, scopes).run();
}

std::vector<Piece> split_outside_variables(std::string_view text, char separator) {
    std::vector<Piece> pieces;
    size_t start = 0;
    int depth = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text.substr(i).starts_with("$$")) {
            ++i;
        } else if (text.substr(i).starts_with("${")) {
            ++depth;
            ++i;
        } else if (text[i] == '}' && depth > 0) {
            --depth;
        } else if (text[i] == separator && depth == 0) {
            pieces.push_back({start, text.substr(start, i - start)});
            start = i + 1;
        }
    }
    pieces.push_back({start, text.substr(start)});
    return pieces;
}

}  // namespace belay::env
