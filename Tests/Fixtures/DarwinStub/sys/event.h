// The sources include this header on Darwin only, after all others.
#include "../Darwin.h"
