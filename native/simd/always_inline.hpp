// Functions of kernel files are inlined or stand in the namespace of their instruction set: the linker would merge any
// other function across files, and the merged copy may use instructions that the machine does not have.
#pragma once

#define NBFNET_INLINE inline __attribute__((always_inline))
