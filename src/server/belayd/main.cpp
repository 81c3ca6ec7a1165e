#include "server/belayd/program.h"

int main(int argc, char** argv) {
    belay::core::Application application(belay::server::application_page());
    belay::server::add_commands(application);
    return application.run(belay::server::with_command_first({argv + 1, argv + argc}));
}
