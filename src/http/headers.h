// Header fields in the order in which they came.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::http {

struct Header {
    std::string name;  // of a request: in lower case
    std::string value;
    bool operator==(const Header&) const = default;
};

class Headers {
  public:
    void add(std::string_view lower_case_name, std::string_view value);
    // The first value; nothing where the field is missing. Points into this object.
    std::optional<std::string_view> find(std::string_view lower_case_name) const;
    std::vector<std::string_view> all(std::string_view lower_case_name) const;
    // Whether one of the field's comma separated words is `word`, whatever the case ("Connection: close").
    bool lists(std::string_view lower_case_name, std::string_view word) const;

    size_t size() const { return headers_.size(); }
    auto begin() const { return headers_.begin(); }
    auto end() const { return headers_.end(); }

  private:
    std::vector<Header> headers_;
};

// RFC 9110, section 5.6.2: what methods and names of fields are made of; not empty.
bool is_token(std::string_view text);
// A value that can stand on one line: no control characters but tabs, no blanks around it.
bool is_field_value(std::string_view text);

}  // namespace belay::http
