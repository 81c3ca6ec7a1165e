// What nodes say, told once for all that say the same.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace belay::slurm {

// The nodes folded, for a line that people read: "n[1-2]", cut after 200 bytes with how many there are.
// Printable.
std::string short_list(std::span<const std::string> nodes);

class NodeCauses {
  public:
    // `text` is what is shown; a node that says it twice in a row counts once.
    void add(std::string text, const std::string& node);
    // "n[1-2]: TEXT" in the order in which the texts came; what is beyond `limit` is counted in a last line.
    std::vector<std::string> lines(size_t limit = std::numeric_limits<size_t>::max()) const;

  private:
    std::vector<std::pair<std::string, std::vector<std::string>>> causes_;  // few: most nodes say the same
};

}  // namespace belay::slurm
