// Bitcoin Core's kernel, with the options that its C interface does not offer: sizes of caches,
// threads that fetch coins, the assumed-valid block; and the statistics of the coins. Every step is
// Core's own code, called in the order in which bitcoind calls it.

#include "kernel.h"

#include <chain.h>
#include <chainparams.h>
#include <coins.h>
#include <kernel/caches.h>
#include <kernel/chainparams.h>
#include <kernel/checks.h>
#include <kernel/coinstats.h>
#include <kernel/context.h>
#include <kernel/notifications_interface.h>
#include <logging.h>
#include <node/blockstorage.h>
#include <node/chainstate.h>
#include <sync.h>
#include <txdb.h>
#include <uint256.h>
#include <util/result.h>
#include <util/signalinterrupt.h>
#include <util/translation.h>
#include <validation.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::time_point from, Clock::time_point to)
{
    return std::chrono::duration<double>(to - from).count();
}

/// An error that Core cannot go on after ends the run.
struct Notifications : kernel::Notifications {
    std::string fatal;
    void flushError(const bilingual_str& message) override { fatal = message.original; }
    void fatalError(const bilingual_str& message) override { fatal = message.original; }
};

std::unique_ptr<const CChainParams> params(const std::string& chain)
{
    if (chain == "main") return CChainParams::Main();
    if (chain == "testnet3") return CChainParams::TestNet();
    if (chain == "testnet4") return CChainParams::TestNet4();
    if (chain == "signet") return CChainParams::SigNet();
    if (chain == "regtest") return CChainParams::RegTest();
    throw std::runtime_error("unknown chain " + chain);
}

/// CPU time of this process so far, outside and inside of the operating system.
std::pair<double, double> cpu_seconds()
{
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto of = [](const timeval& time) { return time.tv_sec + time.tv_usec / 1e6; };
    return {of(used.ru_utime), of(used.ru_stime)};
}

/// When the last block file was read: Core says so in its log, before it connects the blocks.
class Log
{
    Clock::time_point m_loaded{};

public:
    /// What is done then.
    std::function<void()> when_loaded;

    explicit Log(bool print)
    {
        auto line = [this, print](const std::string& line) {
            if (line.find("Reindexing finished") != std::string::npos) {
                m_loaded = Clock::now();
                if (when_loaded) when_loaded();
            }
            if (print) std::fputs(line.c_str(), stderr);
        };
        LogInstance().m_print_to_file = false;
        LogInstance().m_print_to_console = false;
        LogInstance().PushBackCallback(line);
        if (!LogInstance().StartLogging()) throw std::runtime_error("no log");
    }

    /// So that another can begin.
    ~Log() { LogInstance().DisconnectTestLogger(); }

    Clock::time_point loaded() const { return m_loaded; }
};

/// A datadir that is open.
class Core
{
    kernel::Context m_context;
    Notifications m_notifications;
    util::SignalInterrupt m_interrupt;
    std::unique_ptr<const CChainParams> m_params;
    std::unique_ptr<ChainstateManager> m_chainman;

public:
    Core(const blockmill_request& request, bool wipe) : m_params{params(request.chain)}
    {
        const fs::path datadir{fs::PathFromString(request.datadir)};
        const kernel::CacheSizes caches{request.cache};
        ChainstateManager::Options options{
            .chainparams = *m_params,
            .datadir = datadir,
            // regtest's default looks through the whole index after each block, to find faults of
            // Core's own; no other network does, and none should be measured so
            .check_block_index = 0,
            .notifications = m_notifications,
            .worker_threads_num = request.script_threads,
            .prevoutfetch_threads_num = request.fetch_threads,
        };
        if (request.assumed_valid) {
            options.assumed_valid_block = uint256{std::span{request.assumed_valid, 32}};
        }
        node::BlockManager::Options files{
            .chainparams = *m_params,
            .blocks_dir = datadir / "blocks",
            .notifications = m_notifications,
            .block_tree_db_params = DBParams{
                .path = datadir / "blocks" / "index",
                .cache_bytes = caches.block_tree_db,
                .wipe_data = wipe,
            },
        };
        m_chainman = std::make_unique<ChainstateManager>(m_interrupt, options, files);
        node::ChainstateLoadOptions load;
        load.wipe_chainstate_db = wipe;
        auto [status, error] = node::LoadChainstate(*m_chainman, caches, load);
        if (status != node::ChainstateLoadStatus::SUCCESS) throw std::runtime_error(error.original);
    }

    ~Core() { close(); }

    ChainstateManager& operator*() { return *m_chainman; }

    void interrupt() { (void)m_interrupt(); }

    /// Throws what Core said it could not go on after.
    void check() const
    {
        if (!m_notifications.fatal.empty()) throw std::runtime_error(m_notifications.fatal);
    }

    /// Writes everything to disk, as at shutdown.
    void close()
    {
        if (!m_chainman) return;
        {
            LOCK(::cs_main);
            for (const auto& chainstate : m_chainman->m_chainstates) {
                if (!chainstate->CanFlushToDisk()) continue;
                chainstate->ForceFlushStateToDisk();
                chainstate->ResetCoinsViews();
            }
        }
        m_chainman.reset();
    }
};

void tell_tip(ChainstateManager& chainman, bool index_only, blockmill_answer& answer)
{
    LOCK(::cs_main);
    const CBlockIndex* tip = index_only ? chainman.m_best_header : chainman.ActiveTip();
    answer.height = tip ? tip->nHeight : -1;
    if (tip) std::strncpy(answer.tip, tip->GetBlockHash().GetHex().c_str(), 64);
}

void reindex(const blockmill_request& request, blockmill_answer& answer)
{
    Log log{request.log != 0};
    const auto begin = Clock::now();
    const auto [user_before, sys_before] = cpu_seconds();
    Core core{request, /*wipe=*/true};
    const auto opened = Clock::now();
    // an interrupted Core stops behind the next file that it imports, before it connects blocks
    std::vector<fs::path> more;
    if (request.index_only) {
        more.emplace_back("/dev/null");
        log.when_loaded = [&core] { core.interrupt(); };
    }
    node::ImportBlocks(*core, more);
    const auto connected = Clock::now();
    core.check();
    tell_tip(*core, request.index_only, answer);
    core.close();
    answer.open_s = seconds(begin, opened);
    answer.load_s = seconds(opened, log.loaded());
    answer.connect_s = seconds(log.loaded(), connected);
    answer.flush_s = seconds(connected, Clock::now());
    const auto [user_after, sys_after] = cpu_seconds();
    answer.cpu_user_s = user_after - user_before;
    answer.cpu_sys_s = sys_after - sys_before;
    core.check();
}

void utxo(const blockmill_request& request, blockmill_answer& answer)
{
    const Log log{request.log != 0};
    Core core{request, /*wipe=*/false};
    tell_tip(*core, /*index_only=*/false, answer);
    const CCoinsViewDB& coins{WITH_LOCK(::cs_main, return (*core).ActiveChainstate().CoinsDB())};
    const auto type = kernel::CoinStatsHashType::HASH_SERIALIZED;
    const auto stats = kernel::ComputeUTXOStats(type, coins, (*core).m_blockman);
    if (!stats || !stats->total_amount) throw std::runtime_error("no statistics");
    answer.coins = stats->coins_count;
    answer.amount = *stats->total_amount;
    answer.transactions = stats->nTransactions;
    std::strncpy(answer.hash_serialized, stats->hashSerialized.GetHex().c_str(), 64);
}

template <typename Work>
bool attempt(const blockmill_request* request, blockmill_answer* answer, Work work)
{
    std::memset(answer, 0, sizeof(*answer));
    try {
        work(*request, *answer);
        return true;
    } catch (const std::exception& error) {
        std::strncpy(answer->error, error.what(), sizeof(answer->error) - 1);
        return false;
    }
}

} // namespace

bool blockmill_reindex(const blockmill_request* request, blockmill_answer* answer)
{
    return attempt(request, answer, reindex);
}

bool blockmill_utxo(const blockmill_request* request, blockmill_answer* answer)
{
    return attempt(request, answer, utxo);
}

bool blockmill_evict(const char* path)
{
    const int file = open(path, O_RDONLY);
    if (file < 0) return false;
    // pages that are not written yet would stay
    const bool done = fsync(file) == 0 && posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0;
    close(file);
    return done;
}
