#include "procfs/pid_environ.h"

namespace belay::procfs {

bool EnvironVariable::feed(std::string_view bytes) {
    for (char byte : bytes) {
        if (byte == '\0') {
            if (matched_ == wanted_.size()) return true;
            matched_ = 0;
            differs_ = false;
        } else if (matched_ == wanted_.size()) {
            if (value_.size() <= longest_) value_ += byte;
        } else if (!differs_ && byte == wanted_[matched_]) {
            ++matched_;
        } else {
            differs_ = true;
        }
    }
    return false;
}

}  // namespace belay::procfs
