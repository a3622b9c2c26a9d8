// Relational SpMM for the AVX-512 instructions.
#if defined(__x86_64__)
#define NBFNET_ISA avx512
#include "relational_spmm_kernels.hpp"
#endif
