//! How signatures are verified.

blockmill_signatures::signature_lanes!(blockmill_pipeline, level Execution);
