// shoal.h -- the library: everything that a program outside of this tree includes.
//
// The headers that are named here, and what they declare, change only with a new minor version and a line in CHANGELOG.md
// until 1.0, and with a new major version after it. Headers that these include are installed beside them, because C++ needs
// them, and may change at any time; all others are private and not installed.
#pragma once

#include "shoal/version.h"

// ---- below the torch line: configs, layouts ----
#include "shoal/cluster/environment.h"
#include "shoal/cluster/membership.h"
#include "shoal/cluster/step_page.h"
#include "shoal/config/cluster_config.h"
#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/even_parts.h"
#include "shoal/plan/layout.h"

// ---- ranks and models ----
#include "shoal/comm/world.h"
#include "shoal/model/block.h"
#include "shoal/model/builder.h"
#include "shoal/model/precision.h"
#include "shoal/model/unit.h"
#include "shoal/optim/learning_rate.h"
#include "shoal/parallel/parallel_model.h"
#include "shoal/parallel/ranks.h"

// ---- data, training, proofs ----
#include "shoal/feed/feed.h"
#include "shoal/feed/micro_batches.h"
#include "shoal/train/trainer.h"
#include "shoal/verify/agreement.h"
#include "shoal/verify/tolerance.h"
