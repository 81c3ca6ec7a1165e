// A pickle as values. Python's pickles are programs that may call anything; this follows how one builds its values
// and calls nothing: what a pickle would call stands there as a name with arguments.
//
// Protocols 2 to 5, as Python's pickle.py writes them, without out-of-band buffers, sets and code of extensions.
// Of more than kMaximumPickleSteps opcodes nothing is read: each of them, of a single byte, may add a value, and memory
// is in proportion to them.
#pragma once

#include "core/error.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace belay::bench::oc20 {

// A structure of OC20 has hundreds, however many atoms: the values of a tensor are one text.
inline constexpr size_t kMaximumPickleSteps = 1 << 17;

class Pickle {
  public:
    using Number = uint32_t;  // of a value

    enum class Kind : uint8_t {
        kNone,
        kBool,
        kInteger,
        kReal,
        kText,  // str, and bytes that Python 2 wrote
        kBytes,
        kTuple,
        kList,
        kDictionary,  // keys and values in turn
        kName,        // "module" and "name" of a class or a function
        kCall,  // the result of calling a name: what is called, arguments, and a state where it was given one
        kPersistent,  // what lies outside of the pickle, by its id
    };

    // Reads the pickle at the start of `bytes`, which must outlive this. Errors: kBadInput for anything else, with
    // the position.
    static core::Result<Pickle> read(std::string_view bytes);

    Number root() const { return root_; }
    size_t length() const { return length_; }  // of the pickle in bytes; others may follow
    Kind kind(Number value) const { return values_[value].kind; }
    int64_t integer(Number value) const { return values_[value].integer; }  // of kBool too: 0 or 1
    double real(Number value) const { return values_[value].real; }
    std::string_view text(Number value) const {
        return values_[value].text;
    }  // kText, kBytes; a name's last part
    std::string_view module(Number value) const { return values_[value].module; }
    // Of a tuple, list or dictionary; [what, arguments] or [what, arguments, state] of a call; [id].
    const std::vector<Number>& parts(Number value) const { return values_[value].parts; }

    bool is_name(Number value, std::string_view module, std::string_view name) const;
    // The value of a key in a dictionary, the last one if there are several.
    std::optional<Number> find(Number dictionary, std::string_view key) const;

  private:
    friend class PickleReader;
    struct Value {
        Kind kind = Kind::kNone;
        int64_t integer = 0;
        double real = 0;
        std::string_view text, module;
        std::vector<Number> parts;
    };
    std::vector<Value> values_;
    Number root_ = 0;
    size_t length_ = 0;
};

}  // namespace belay::bench::oc20
