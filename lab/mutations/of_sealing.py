"""What keeps personal fields off the log in clear, and shows them to nobody who lacks the keys (ADR 29)."""

from lab.mutations.mutation import Mutation

SEAL = "pipelines/contracts/seal.py"
ENVELOPE = "pipelines/contracts/envelope.py"
STORE = "pipelines/io/keys/key_store.py"
CLEARANCE = "pipelines/io/keys/clearance.py"
UNSEALING = "pipelines/io/duckdb/unsealing.py"
READER = "pipelines/io/duckdb/reader.py"

SEALED = "tests/contracts/test_seal.py::test_sealed_scan_has_the_verdict_and_the_other_columns_of_the_clear_one[csv]"
WHOLE = "tests/contracts/test_seal.py::test_what_is_not_understood_is_sealed_whole_under_the_key_of_its_day"
OPENS = "tests/contracts/test_seal.py::test_envelope_opens_with_its_key_for_its_package_and_topic_alone"
ROOM = "tests/contracts/test_seal.py::test_what_has_no_room_when_it_is_sealed_is_sealed_whole_or_its_beginning_is"
LONG_KEY = "tests/contracts/test_seal.py::test_key_of_megabytes_is_not_kept"
OF_MANY = "tests/io/keys/test_key_store.py::test_of_many_erased_keys_no_piece_is_left_among_those_that_stay"
ERASED = "tests/io/keys/test_key_store.py::test_erased_key_is_in_no_file_and_is_never_minted_again"
CLEARED = "tests/io/keys/test_clearance.py"
SHOWN = "tests/io/duckdb/test_unsealing.py"

CLEAR = "What must be forgotten stands on no kept topic in clear"
ONE = "An envelope opens with its key, for its package and topic alone"
ROOMY = "What is sealed has room on the kept topic"
GONE = "An erased package has no key, and never gets another one"
RIGHT = "Sealed fields are shown to who may read the key store, to everybody else a mask"
CLOSED = "What is read in clear is in no file"

MUTATIONS = (
    Mutation(CLEAR, "the fields stay where they stood", SEAL, "texts.update(dict.fromkeys(fields))", "pass", SEALED),
    Mutation(
        CLEAR,
        "what is not understood is kept as it is",
        SEAL,
        "if verdict.reason is not None and verdict.reason not in OF_TIMES:",
        "if False:",
        f"{WHOLE}[key]",
    ),
    Mutation(
        CLEAR,
        "a key that is no tracking number is kept",
        SEAL,
        "kept = message.key if _is_number(message.key) else None",
        "kept = message.key",
        f"{WHOLE}[key]",
    ),
    Mutation(CLEAR, "a key may be of any length", SEAL, "len(key) <= LONGEST_KEY_BYTES and ", "", LONG_KEY),
    Mutation(
        ONE,
        "an envelope opens for every package",
        ENVELOPE,
        'inner = _opened(envelope.removeprefix(OF_A_PACKAGE), key, f"{tracking_number}:{topic}")',
        'inner = _opened(envelope.removeprefix(OF_A_PACKAGE), key, f"42:{topic}")',
        OPENS,
    ),
    Mutation(
        ROOMY,
        "nobody looks how large it has become",
        SEAL,
        "if len(value) > most_bytes:",
        "if False:",
        f"{ROOM}[700-csv]",
    ),
    Mutation(
        ROOMY,
        "all of it is sealed whole",
        SEAL,
        '(message.value or b"")[: largest_sealed(most_bytes)]',
        'message.value or b""',
        f"{ROOM}[30000-csv]",
    ),
    Mutation(
        GONE,
        "a key that is missing is minted again",
        STORE,
        "(?, ?, NULL) ON CONFLICT DO NOTHING",
        "(?, ?, NULL) ON CONFLICT DO UPDATE SET key = excluded.key, erased_at = NULL WHERE key IS NULL",
        ERASED,
    ),
    Mutation(
        GONE, "its bytes stay in the file", STORE, "PRAGMA secure_delete = ON", "PRAGMA secure_delete = OFF", OF_MANY
    ),
    Mutation(
        GONE,
        "all who seal for it are given one key",
        STORE,
        "return key or new_key()",
        "return key or bytes(32)",
        ERASED,
    ),
    Mutation(
        RIGHT,
        "an envelope that does not open is shown",
        CLEARANCE,
        "return dict.fromkeys(self.fields, ERASED if is_erased else SEALED)",
        "return None",
        f"{CLEARED}::test_who_may_read_the_key_store_sees_the_fields_and_everybody_else_a_mask",
    ),
    Mutation(
        RIGHT,
        "that it is erased, nobody says",
        CLEARANCE,
        "ERASED if is_erased else SEALED",
        "SEALED",
        f"{CLEARED}::test_erased_package_is_masked_for_everybody_and_its_neighbour_is_not",
    ),
    Mutation(
        RIGHT,
        "a value is shown as it is stored",
        CLEARANCE,
        "return masked_bytes(value)",
        "return value",
        f"{CLEARED}::test_record_of_the_quarantine_has_no_part_of_an_envelope",
    ),
    Mutation(
        RIGHT,
        "a key store of every user is as good as another",
        STORE,
        "if file.stat().st_mode & STRANGERS:",
        "if False:",
        f"{CLEARED}::test_key_store_of_every_user_is_refused_and_not_a_mask",
    ),
    Mutation(
        RIGHT,
        "a detail quotes an envelope",
        UNSEALING,
        '"detail": f"regexp_replace(detail, ',
        '"detail": f"coalesce(detail, ',
        f"{SHOWN}::test_values_are_opened_or_masked_and_other_bytes_are_what_they_are",
    ),
    Mutation(
        CLOSED,
        "DuckDB spills what was opened",
        READER,
        '"" if clearance.opens else duck.spill_folder()',
        "duck.spill_folder()",
        f"{SHOWN}::test_what_is_read_in_clear_is_spilled_nowhere",
    ),
)
