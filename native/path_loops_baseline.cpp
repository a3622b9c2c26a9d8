// The inner loops for any processor.
#define NBFNET_ISA baseline
#include "path_loops.hpp"
