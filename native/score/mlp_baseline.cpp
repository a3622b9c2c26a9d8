// The score for the instructions that every processor has.
#define NBFNET_ISA baseline
#include "score/mlp_kernels.hpp"
