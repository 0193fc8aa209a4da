//! The option `signatures`.

blockmill_signatures::signature_lanes!(blockmill_pipeline, level Execution);
