// The C sources for tests as Darwin compiles them; no Swift source that is checked for Darwin uses them.
#undef __linux__
#define __APPLE__ 1
#include "../../../Sources/CRequestsTest/certificates.h"
#include "../../../Sources/CRequestsTest/processes.h"
