// Relational SpMM for the AVX2 and FMA instructions.
#if defined(__x86_64__)
#define NBFNET_ISA avx2
#include "relational_spmm_kernels.hpp"
#endif
