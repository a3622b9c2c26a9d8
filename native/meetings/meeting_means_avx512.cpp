// Meeting means for the instruction set avx512.
#if defined(__x86_64__)
#define NBFNET_ISA avx512
#include "meetings/meeting_loops.hpp"
#endif
