// Writes the page of made-up measurements: report_sample training|hostile|bare|large OUTPUT.html
#include "core/file.h"
#include "report/page.h"
#include "report/terminal.h"
#include "report/testing/synthetic.h"

#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
    using namespace belay::report;
    if (argc != 3) {
        std::fputs("usage: report_sample training|hostile|bare|large OUTPUT.html\n", stderr);
        return 2;
    }
    std::string_view which = argv[1];
    Measurements data = which == "hostile" ? synthetic_hostile()
                        : which == "bare"  ? synthetic_bare()
                        : which == "large" ? synthetic_large(1000)
                                           : synthetic_training();
    ReportModel model = assemble(data);
    auto written = belay::core::replace_file(argv[2], render_html(model));
    if (!written) {
        std::fputs(written.error().render().c_str(), stderr);
        return written.error().exit_status();
    }
    std::fputs(render_terminal(model, false, 100).c_str(), stdout);
    return 0;
}
