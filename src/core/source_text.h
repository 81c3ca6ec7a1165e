// A text that a person wrote, with its lines: places in it are found without reading it from the start again,
// and share it.
#pragma once

#include "core/error.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace belay::core {

class SourceText {
  public:
    SourceText(std::string_view text, std::string file);

    std::string_view text() const { return *text_; }
    const std::string& file() const { return file_; }

    // Lines and columns count from 1. A place behind the end of its line is at that end; of a line behind the
    // last, at its beginning.
    SourcePosition at(int line, int column) const;
    // The same for a column that counts characters instead of bytes.
    SourcePosition at_character(int line, int column) const;
    SourcePosition at_offset(size_t offset) const;

  private:
    struct Line {
        size_t begin;
        size_t characters;  // of the text before it
    };
    bool has(int line) const { return line >= 1 && static_cast<size_t>(line) <= lines_.size(); }
    std::string_view line_text(int line) const;  // without its end

    std::string file_;
    std::shared_ptr<const std::string> text_;
    std::vector<Line> lines_;
    std::vector<size_t> marks_;  // where every 64th character of the text begins
};

}  // namespace belay::core
