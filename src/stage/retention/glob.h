// Patterns of paths. Pure; any bytes.
//
//   *    any number of bytes but "/"     ?             one byte but "/"
//   **   any number of bytes             [a-z] [!a-z]  one of these, none of these (also [^a-z])
//   **/  at the beginning of a part: any number of directories, or none
//
// A bracket that is not closed, or that stands first within brackets, is meant itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::stage {

// A pattern, taken apart once. Matching takes time in proportion to the product of the lengths at most, and
// allocates nothing.
class Glob {
  public:
    explicit Glob(std::string_view pattern);
    // Each byte is meant itself.
    static Glob of_text(std::string_view text);

    // All of a text.
    bool matches(std::string_view text) const;
    // A path, or a directory that it is beneath: "a/b" covers "a/b" and "a/b/c", and not "a/bc".
    bool covers(std::string_view path) const;
    // What covers a path where this one covers `prefix` and that path behind it: "*" of "/scratch/*" after
    // "/scratch/". `prefix` ends with "/".
    Glob after(std::string_view prefix) const;
    // Covers nothing, which only a result of after() does.
    bool is_empty() const { return !is_everything_ && begin_.empty(); }
    // Covers everything, which only a result of after() does of its own accord.
    bool is_everything() const { return is_everything_; }

  private:
    enum class Kind : uint8_t { kByte, kAnyByte, kSet, kAny, kAnyInPart, kDirectories, kDirectoryRest };
    struct Element {
        Kind kind = Kind::kByte;
        char byte = 0;
        std::string set = {};  // what stands between the brackets
    };
    // [i]: the first i elements match what came so far.
    using Reached = std::vector<uint8_t>;

    Glob() = default;
    static bool is_in(std::string_view set, char byte);
    void add(std::string_view pattern);
    void pass_over(Reached& reached) const;
    bool step(const Reached& reached, char byte, Reached& next) const;
    bool run(std::string_view text, Reached& reached, bool at_each_slash) const;

    std::vector<Element> elements_;
    Reached begin_;
    std::string text_;  // where each byte is meant itself
    bool is_text_ = false;
    bool is_everything_ = false;
};

}  // namespace belay::stage
