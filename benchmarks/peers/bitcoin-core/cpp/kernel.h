// What the Rust side may ask of Bitcoin Core's internals: see kernel.cpp. The two structs are
// mirrored in src/kernel.rs.

#ifndef BLOCKMILL_KERNEL_H
#define BLOCKMILL_KERNEL_H

#include <cstdint>

extern "C" {

struct blockmill_request {
    const char* datadir;
    const char* chain;
    /// The 32 bytes of a block hash, or null for the default of the chain.
    const uint8_t* assumed_valid;
    /// Bytes of all caches together, as -dbcache.
    uint64_t cache;
    /// Threads that check scripts besides the one that connects.
    int32_t script_threads;
    /// Threads that fetch the coins of a block ahead.
    int32_t fetch_threads;
    int32_t log;
    /// Stop when all blocks are in the index; the tip is the best header.
    int32_t index_only;
};

struct blockmill_answer {
    double open_s;
    double load_s;
    double connect_s;
    double flush_s;
    /// Of all threads, from begin to end.
    double cpu_user_s;
    double cpu_sys_s;
    int32_t height;
    char tip[65];
    uint64_t coins;
    int64_t amount;
    uint64_t transactions;
    char hash_serialized[65];
    char error[256];
};

/// Core's own reindex of the block files in datadir/blocks. False: see error.
bool blockmill_reindex(const blockmill_request*, blockmill_answer*);
/// Statistics of the coins in a datadir, by Core's own gettxoutsetinfo code. False: see error.
bool blockmill_utxo(const blockmill_request*, blockmill_answer*);
/// Takes a file out of the page cache.
bool blockmill_evict(const char* path);
}

#endif
