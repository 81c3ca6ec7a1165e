// /proc/PID/environ: the variables that a process was started with. See proc_pid_environ(5).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace belay::procfs {

// Finds one variable in the file, which is fed piece by piece. Nothing else of an environment is kept.
class EnvironVariable {
  public:
    // `longest` is what is kept of the value, and one byte more where it is longer.
    EnvironVariable(std::string_view name, size_t longest)
        : wanted_(std::string(name) + "="), longest_(longest) {}

    // True once the value is complete: an entry that lacks its NUL, at the end of a file that was overwritten
    // or cut, never is.
    bool feed(std::string_view bytes);
    std::string_view value() const { return value_; }

  private:
    std::string wanted_;
    size_t longest_;
    std::string value_;
    size_t matched_ = 0;    // characters of the current entry that are as wanted
    bool differs_ = false;  // the current entry is another variable
};

}  // namespace belay::procfs
