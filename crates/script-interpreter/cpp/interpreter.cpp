// What bitcoinconsensus.cpp of Bitcoin Core does for each input, with the transaction read and
// hashed once. The calls are those of Core's own validation: one PrecomputedTransactionData for a
// transaction (CheckInputScripts), one VerifyScript for an input (CScriptCheck).

#include <primitives/transaction.h>
#include <pubkey.h>
#include <script/bitcoinconsensus.h>
#include <script/interpreter.h>
#include <version.h>

#include <cstring>
#include <exception>
#include <ios>
#include <utility>
#include <vector>

namespace {

// Core's own reader is not among the sources that the crate has.
class Reader
{
public:
    Reader(const unsigned char* bytes, size_t left) : m_bytes(bytes), m_left(left) {}

    void read(Span<std::byte> to)
    {
        if (to.size() > m_left) throw std::ios_base::failure("end of data");
        if (to.empty()) return;
        std::memcpy(to.data(), m_bytes, to.size());
        m_bytes += to.size();
        m_left -= to.size();
    }

    template <typename T>
    Reader& operator>>(T&& object)
    {
        ::Unserialize(*this, object);
        return *this;
    }

    int GetVersion() const { return PROTOCOL_VERSION; }

private:
    const unsigned char* m_bytes;
    size_t m_left;
};

struct Transaction {
    const CTransaction transaction;
    PrecomputedTransactionData hashes;

    explicit Transaction(Reader& reader) : transaction(deserialize, reader) {}
};

} // namespace

extern "C" {

// The transaction of so many bytes, whose inputs spend these outputs. None, and why, where there is
// no such transaction.
Transaction* blockmill_transaction_read(const unsigned char* bytes, size_t length,
                                        const UTXO* outputs, size_t count,
                                        bitcoinconsensus_error* error) noexcept
{
    Transaction* read = nullptr;
    try {
        Reader reader(bytes, length);
        read = new Transaction(reader);
        const CTransaction& transaction = read->transaction;
        *error = bitcoinconsensus_ERR_OK;
        if (count != transaction.vin.size()) {
            *error = bitcoinconsensus_ERR_SPENT_OUTPUTS_MISMATCH;
        } else if (GetSerializeSize(transaction, PROTOCOL_VERSION) != length) {
            *error = bitcoinconsensus_ERR_TX_SIZE_MISMATCH;
        } else {
            std::vector<CTxOut> spent;
            spent.reserve(count);
            for (const UTXO* output = outputs; output != outputs + count; ++output) {
                const unsigned char* script = output->scriptPubKey;
                spent.emplace_back(output->value, CScript(script, script + output->scriptPubKeySize));
            }
            read->hashes.Init(transaction, std::move(spent));
            return read;
        }
    } catch (const std::exception&) {
        *error = bitcoinconsensus_ERR_TX_DESERIALIZE;
    }
    delete read;
    return nullptr;
}

// Does the input fulfil the script of the output that it spends? 1 and 0 are yes and no.
int blockmill_transaction_verify(const Transaction* read, size_t input, unsigned flags,
                                 bitcoinconsensus_error* error) noexcept
{
    try {
        *error = bitcoinconsensus_ERR_OK;
        if (flags & ~static_cast<unsigned>(bitcoinconsensus_SCRIPT_FLAGS_VERIFY_ALL)) {
            *error = bitcoinconsensus_ERR_INVALID_FLAGS;
            return 0;
        }
        if (input >= read->transaction.vin.size()) {
            *error = bitcoinconsensus_ERR_TX_INDEX;
            return 0;
        }
        const CTxIn& in = read->transaction.vin[input];
        const CTxOut& spent = read->hashes.m_spent_outputs[input];
        const TransactionSignatureChecker checker(&read->transaction, input, spent.nValue,
                                                  read->hashes, MissingDataBehavior::FAIL);
        return VerifyScript(in.scriptSig, spent.scriptPubKey, &in.scriptWitness, flags, checker);
    } catch (const std::exception&) {
        *error = bitcoinconsensus_ERR_TX_DESERIALIZE;
        return 0;
    }
}

void blockmill_transaction_free(Transaction* read) noexcept
{
    delete read;
}

} // extern "C"
