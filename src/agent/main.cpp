#include "agent/program.h"

int main(int argc, char** argv) {
    belay::core::Application application(belay::agent::application_page());
    belay::agent::add_commands(application);
    return application.run(argc, argv);
}
