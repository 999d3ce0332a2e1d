/* phase.h: what phase.c shares with nobody but its tests. The public part stands in pfnnc.h. */
#ifndef PFNNC_PHASE_H
#define PFNNC_PHASE_H

#include "pfnnc.h"

/* Longest step that is still walking, in seconds: the slowest recorded walks take 0.8 s, a pause takes longer. */
#define PFNN_LONGEST_STEP 1.5

#endif /* PFNNC_PHASE_H */
