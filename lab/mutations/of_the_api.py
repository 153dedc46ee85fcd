"""What a client of the API is shown, and who keeps others from being answered."""

from lab.mutations.mutation import Mutation

APP = "pipelines/api/app.py"
FEED = "pipelines/api/feed.py"
STREAM = "pipelines/api/stream.py"
STORE = "pipelines/api/store.py"
SERVER = "pipelines/web/server.py"

T_APP = "tests/api/test_app.py"
T_FEED = "tests/api/test_feed.py"
T_STREAM = "tests/api/test_stream.py"
T_SERVER = "tests/web/test_server.py"
BEING_FILLED = f"{T_APP}::test_what_the_store_held_while_it_was_filled_is_not_shown"

NEVER_OLDER = "A client of the API never gets a report that is older than one before"
AT_LEAST = "A report is at least as new as the position that is asked for"
ONE_TRANSACTION = "The API's store has reports and positions of one moment"
OTHERS = "Whoever says nothing keeps no other client from being answered"

_READY = "        self._raise_if_not_ready()\n"
_READ = "        entry = self.entry(number)\n"

MUTATIONS = (
    Mutation(NEVER_OLDER, "a store that is whole afterwards is good", APP, _READY + _READ, _READ, BEING_FILLED),
    Mutation(NEVER_OLDER, "a store that was whole before is good", APP, _READ + _READY, _READ, BEING_FILLED),
    Mutation(
        NEVER_OLDER, "a stream begins with a store that is being filled",
        STREAM, "    if not is_ready():\n        return\n", "",
        f"{T_STREAM}::test_stream_does_not_begin_with_what_the_store_held_while_it_was_filled",
    ),
    Mutation(
        NEVER_OLDER, "a store is whole once a partition is read to its end",
        FEED, "all(positions[part] >= end for part", "any(positions[part] >= end for part",
        f"{T_FEED}::test_store_is_not_vouched_for_while_a_partition_is_not_read_to_its_end",
    ),
    Mutation(
        NEVER_OLDER, "the reports of another topic stay",
        FEED, "self._store.topic_id() == topic.topic_id", "True",
        f"{T_FEED}::test_topic_that_is_another_one_is_read_from_its_beginning",
    ),
    Mutation(
        NEVER_OLDER, "a client that comes again gets what it has seen",
        STREAM, "entry.offset <= int(found[2])", "entry.offset < int(found[2])",
        f"{T_STREAM}::test_client_that_comes_again_gets_what_it_missed_and_nothing_twice",
    ),
    Mutation(
        NEVER_OLDER, "a client gets what is older than it has seen",
        STREAM, "entry.offset <= int(found[2])", "entry.offset == int(found[2])",
        f"{T_STREAM}::test_client_that_has_seen_more_than_this_server_gets_nothing_older",
    ),
    Mutation(
        AT_LEAST, "the position itself need not be read",
        APP, "self.hub.positions.get(position.partition, 0) > position.offset",
        "self.hub.positions.get(position.partition, 0) >= position.offset",
        f"{T_APP}::test_report_is_at_least_as_new_as_asked_for_or_none",
    ),
    Mutation(
        AT_LEAST, "a scan of any partition will do",
        "pipelines/api/report.py", 'known[f"{kind}KafkaPartition"] == position.partition', "True",
        f"{T_APP}::test_report_is_at_least_as_new_as_asked_for_or_none",
    ),
    Mutation(
        ONE_TRANSACTION, "what failed is kept in part",
        STORE, 'self._writer.execute("ROLLBACK")', 'self._writer.execute("COMMIT")',
        "tests/api/test_store.py::test_write_that_fails_leaves_neither_report_nor_position",
    ),
    Mutation(
        OTHERS, "one that never asks is waited for",
        SERVER, "call_later(HEAD_SECONDS,", "call_later(1_000 * HEAD_SECONDS,",
        f"{T_SERVER}::test_client_that_does_not_end_the_head_of_its_request_is_let_go",
    ),
    Mutation(
        OTHERS, "one more than the most is taken",
        SERVER, "if len(self.connections) > self._most:", "if len(self.connections) > self._most + 1:",
        f"{T_SERVER}::test_connection_that_is_one_too_many_is_closed_and_an_ended_one_makes_room",
    ),
)  # fmt: skip
