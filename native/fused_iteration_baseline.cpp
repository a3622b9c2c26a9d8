// Fused iterations for the instruction set baseline.
#define NBFNET_ISA baseline
#include "fused_calls.hpp"
