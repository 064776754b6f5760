// The C sources as Darwin compiles them. Only here, because the modules of other libraries would look for Darwin's files.
#undef __linux__
#define __APPLE__ 1
#include "../../../Sources/CRequestsClock/clock.h"
#include "../../../Sources/CRequestsPOSIX/shim.h"
#include "../../../Sources/CRequestsPOSIX/codings.h"
#include "../../../Sources/CRequestsPOSIX/crypto.h"
#include "../../../Sources/CRequestsPOSIX/tls.h"
#include "../../../Sources/CRequestsPOSIX/psl.h"
