// The score for the instruction set avx512.
#if defined(__x86_64__)
#define NBFNET_ISA avx512
#include "score/mlp_kernels.hpp"
#endif
