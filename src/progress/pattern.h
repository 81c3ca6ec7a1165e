// A regular expression with which a person tells Belay what a training program's lines mean.
//
//   step (?P<step>\d+)/(?P<total>\d+) loss (?P<loss>\S+) (?P<tokens_per_second>[\d,.]+) tok/s
//
// RE2 syntax, so the time is linear in the line whatever the expression. A group may have one of the names of
// group_names().
#pragma once

#include "core/error.h"
#include "progress/progress_event.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace belay::progress {

// The names that a group may have.
std::vector<std::string_view> group_names();

class Pattern {
  public:
    // `name` stands for the file in error messages. Errors: kBadInput with the place of the fault: no regular
    // expression, no named group, a group of unknown name.
    static core::Result<Pattern> compile(std::string_view expression,
                                         std::string_view name = "progress pattern");

    // Searches the line for the expression. Nothing if it is not there, or if none of its groups is a number.
    // The kind is evaluation if there is a metric and no loss, else train. Only a match that ends behind the
    // first `label_length` bytes counts, so that the number in a launcher's label is never taken for a step.
    std::optional<ProgressEvent> match(std::string_view line, size_t label_length = 0) const;

    const std::string& expression() const;

  private:
    struct Group {
        int index;
        size_t field;  // in the table of fields
    };

    Pattern(std::shared_ptr<const re2::RE2> expression, std::vector<Group> groups);

    std::shared_ptr<const re2::RE2> expression_;
    std::vector<Group> groups_;
};

// All of them; errors as of compile, naming the number of the pattern where there are several.
core::Result<std::vector<Pattern>> compile_patterns(std::span<const std::string> expressions);

}  // namespace belay::progress
