// The inner loops for any processor.
#define NBFNET_ISA baseline
#include "paths/path_loops.hpp"
