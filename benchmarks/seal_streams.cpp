// Turns a record's segments into Parquet files, without the digest that `belay record seal` makes as well:
// what a store of samples does too, so that the two can be compared.
//   seal_streams RECORD
#include "core/error.h"
#include "core/time.h"
#include "record/archive/archive.h"
#include "score/digest_store.h"

#include <cstdio>

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: seal_streams RECORD\n", stderr);
        return 2;
    }
    auto sealed = belay::record::seal(argv[1], belay::core::system_clock().now(), belay::score::stand_ins());
    if (sealed) return 0;
    std::fputs(sealed.error().render("seal_streams").c_str(), stderr);
    return 3;
}
