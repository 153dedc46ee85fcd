"""The results as Markdown tables."""

from collections.abc import Iterable, Sequence

from lab.benchmarks.results import Results, Run, measure, ratio

NOTHING = "-"
"""What stands where nothing was measured."""

TITLES = {
    "ours": "**ours**, all tables",
    "flink-light": "Flink SQL, light",
    "flink-full": "Flink SQL, full",
    "flink-join": "Flink SQL, the join alone",
    "tutorial": "tutorial: chained queries",
    "pathway": "Pathway",
    "plain-loop": "floor: a plain loop",
    "spark-noop": "floor: Spark reads, does nothing",
    "duckdb": "floor: DuckDB, from a file",
}


def markdown(results: Results) -> str:
    """All tables, each under a heading and left out when nothing was measured for it."""
    sections = (
        ("Drain of the whole log into new tables", drain_table(results)),
        ("Full rebuild", rebuild_table(results)),
        ("Freshness under a steady feed", freshness_table(results)),
        ("Start and warm-up of `pts stream`", start_table(results)),
        ("The same feed on larger and larger lakes", growth_table(results)),
        ("History corrected while the job is live", correction_table(results)),
        ("Two large lakes compared", comparison_table(results)),
        ("The embedded stack", stack_table(results)),
        ("The customers' API beside the job", api_table(results)),
        ("The board's pages", board_table(results)),
        ("The log drained by more and more executors", executors_table(results)),
        ("The same feed into a folder and into a bucket", store_table(results)),
        ("Rows that a drain left", rows_table(results)),
    )
    return "\n\n".join([about(results), *(f"### {title}\n\n{table}" for title, table in sections if table)]) + "\n"


def about(results: Results) -> str:
    """Machine, time, sizes: one paragraph."""
    told, options = results.about, results.about["options"]
    versions = ", ".join(f"{name} {number}" for name, number in told["versions"].items())
    log = results.log
    held = f"{log['scans']:,} scans and {log['routes']:,} routes of {log['packages']:,} packages" if log else "none"
    return (
        f"Measured {told['measured_at']} at {told['commit']} on {told['cores']} cores ({told['cpu']}), "
        f"{told['memory_gib']} GiB, {told['system']}; {versions}. Seeded log: {held}. "
        f"{options['repeats']} rounds, medians."
    )


def drain_table(results: Results) -> str:
    rows = []
    names = dict.fromkeys([*results.contenders("drain-warm"), *results.contenders("drain-cold")])
    for name in names:
        cold, warm = results.of("drain-cold", name), results.of("drain-warm", name)
        rows.append(
            [
                TITLES[name],
                number(measure(cold, "seconds"), 1),
                number(measure(warm, "seconds"), 1),
                number(per_second(results, warm), 0),
                number(cpu_per_million(results, warm), 0),
                number(measure(warm, "resident_mib"), 0),
                times(ratio(cold, results.of("drain-cold", "ours"), "seconds")),
                times(ratio(warm, results.of("drain-warm", "ours"), "seconds")),
            ]
        )
    head = ("who", "cold, s", "warm, s", "warm, scans/s", "CPU s per million scans", "resident, MiB")
    return table((*head, "cold time / ours", "warm time / ours"), rows)


def rebuild_table(results: Results) -> str:
    ours, floor = results.of("drain-warm", "ours"), results.of("drain-warm", "spark-noop")
    if not ours:
        return ""
    values = (number(measure(ours, "seconds"), 1), number(measure(floor, "seconds"), 1))
    return table(
        ("rebuild from an empty lake, s", "Spark reads the topics and does nothing, s", "ratio"),
        [[*values, times(ratio(ours, floor, "seconds"))]],
    )


def freshness_table(results: Results) -> str:
    rows = []
    for name in results.contenders("freshness"):
        for rate in sorted({run["rate"] for run in results.of("freshness", name)}):
            runs = results.of("freshness", name, rate=rate)
            rows.append(
                [
                    TITLES[name],
                    f"{rate:,}",
                    quantiles(runs, "gold"),
                    quantiles(runs, "topic"),
                    number(measure(runs, "settled_seconds"), 1),
                    number(measure(runs, "cpu_seconds_per_million"), 0),
                    number(measure(runs, "resident_mib"), 0),
                ]
            )
    head = ("who", "scans/s", "append -> table, p50 / p95 / p99 s", "append -> message, p50 / p95 / p99 s")
    return table((*head, "all shown after the feed's end, s", "CPU s per million scans", "resident, MiB"), rows)


def start_table(results: Results) -> str:
    starts = results.of("start", "ours")
    rows = [
        ["start on an empty lake to the first committed batch, s", number(measure(starts, "first_start_seconds"), 1)],
        ["restart to the first committed batch, s", number(measure(starts, "restart_seconds"), 1)],
    ]
    for rate in sorted({run["rate"] for run in results.of("freshness", "ours")}):
        runs = results.of("freshness", "ours", rate=rate)
        early, late = measure(runs, "early_batch_seconds"), measure(runs, "late_batch_seconds")
        rows.append([f"batch 5 / batch 50 at {rate:,} scans/s, s", f"{number(early, 2)} / {number(late, 2)}"])
    return table(("what", "measured"), rows) if starts or len(rows) > 2 else ""


def growth_table(results: Results) -> str:
    rows = []
    for packages, scans in dict.fromkeys((run["packages"], run["scans"]) for run in results.of("growth", "ours")):
        runs = results.of("growth", "ours", packages=packages, scans=scans)
        rows.append(
            [
                f"{packages:,}",
                f"{scans:,}",
                number(measure(runs, "lake_mib"), 0),
                f"{runs[0]['rate']:,}",
                number(measure(runs, "records_per_batch"), 0),
                number(measure(runs, "batch_seconds"), 2),
            ]
        )
    head = ("packages", "scans of history", "lake, MiB", "scans/s", "records per batch", "seconds per batch")
    return table(head, rows)


def correction_table(results: Results) -> str:
    runs = results.of("correction", "ours")
    rows = [
        [label, number(measure(runs, f"{name}_seconds"), 1), number(measure(runs, f"{name}_pause_seconds"), 1)]
        for name, label in {
            "build": "`pts replay build`",
            "compare": "`pts replay compare`",
            "promote": "`pts replay promote`",
            "rollback": "`pts replay rollback`",
            "promote_again": "`pts replay promote`, again",
            "backfill": "`pts backfill`, one day",
        }.items()
    ]
    told = [
        ["a usual batch of the job meanwhile", number(measure(runs, "batch_seconds"), 1), NOTHING],
        ["slowest answer to an analyst meanwhile", number(measure(runs, "slowest_answer_seconds"), 1), NOTHING],
    ]
    if not runs:
        return ""
    what = f"a log of {runs[0]['scans']:,} scans, {runs[0]['rate']:,} more each second"
    return table((what, "s", "the job waits, s"), rows + told)


def comparison_table(results: Results) -> str:
    rows = []
    for scans in sorted({run["scans"] for run in results.of("comparison", "ours")}):
        runs = results.of("comparison", "ours", scans=scans)
        rows.append(
            [f"{scans:,}", *(number(measure(runs, name), 0) for name in ("row_count", "seconds", "resident_mib"))]
        )
    return table(("scans", "rows of all tables, each side", "s", "resident, MiB"), rows)


def stack_table(results: Results) -> str:
    runs = results.of("stack", "ours")
    rows = {
        "`pts up` in a new home until Airflow answers, s": number(measure(runs, "first_ready_seconds"), 1),
        "once more, s": number(measure(runs, "ready_seconds"), 1),
        "Airflow, resident, MiB": number(measure(runs, "airflow_mib"), 0),
        "broker, job and feed, resident, MiB": number(measure(runs, "others_mib"), 0),
        "job while nothing comes, cores": number(measure(runs, "job_at_rest_cores"), 2),
        "its broker, cores": number(measure(runs, "broker_at_rest_cores"), 2),
    }
    return table(("what", "measured"), rows.items()) if runs else ""


def api_table(results: Results) -> str:
    rows = []
    for rate in sorted({run["rate"] for run in results.of("api", "ours")}):
        runs = results.of("api", "ours", rate=rate)
        answers = [measure(runs, f"answers.{name}_milliseconds") for name in ("p50", "p95", "p99")]
        rows.append(
            [
                f"{rate:,}",
                f"{runs[0]['streams']:,}",
                f"{number(measure(runs, 'answers.per_second'), 0)} ({number(measure(runs, 'answers.failed'), 0)})",
                " / ".join(number(value, 1) for value in answers),
                quantiles(runs, "topic"),
                quantiles(runs, "client"),
                number(measure(runs, "cpu_share"), 2),
                number(measure(runs, "resident_mib"), 0),
            ]
        )
    head = (
        "scans/s",
        "streams",
        "answers/s (failed)",
        "answer, p50 / p95 / p99 ms",
        "append -> message, p50 / p95 / p99 s",
    )
    more = ("append -> event at the client, p50 / p95 / p99 s", "API: cores used", "API: resident, MiB")
    return table((*head, *more), rows)


def board_table(results: Results) -> str:
    rows = []
    for packages, scans in sorted({(run["packages"], run["scans"]) for run in results.of("board", "ours")}):
        runs = results.of("board", "ours", packages=packages, scans=scans)
        for page in runs[0]["pages"]:
            times = [measure(runs, f"pages.{page}.{name}_milliseconds") for name in ("p50", "p95")]
            rows.append([f"{packages:,}", f"{scans:,}", page, " / ".join(number(value, 0) for value in times)])
    return table(("packages", "scans of history", "page", "answer, p50 / p95 ms"), rows)


def executors_table(results: Results) -> str:
    rows = []
    for count in sorted({run["executors"] for run in results.of("executors", "ours")}):
        runs = results.of("executors", "ours", executors=count)
        rows.append(
            [
                f"{count}" if count else "none: within the job",
                number(measure(runs, "seconds"), 1),
                number(measure(runs, "batch_seconds"), 1),
                number(measure(runs, "records_per_batch"), 0),
            ]
        )
    return table(("executors, one core each", "drain from a start, s", "a warm batch, s", "its records"), rows)


def store_table(results: Results) -> str:
    rows = []
    for place, rate in sorted({(run["place"], run["rate"]) for run in results.of("store", "ours")}):
        runs = results.of("store", "ours", place=place, rate=rate)
        rows.append(
            [
                place,
                f"{rate:,}",
                number(measure(runs, "batch_seconds"), 2),
                number(measure(runs, "records_per_batch"), 0),
                number(measure(runs, "requests_per_batch"), 0),
            ]
        )
    return table(("lake in a", "scans/s", "batch, s", "records per batch", "requests per batch"), rows)


def rows_table(results: Results) -> str:
    found = [
        [TITLES[name], ", ".join(f"{table_} {count:,}" for table_, count in rows.items())]
        for name, rows in results.rows().items()
    ]
    return table(("who", "rows by table"), found)


def per_second(results: Results, runs: Sequence[Run]) -> float | None:
    seconds = measure(runs, "seconds")
    return results.log["scans"] / seconds if seconds else None


def cpu_per_million(results: Results, runs: Sequence[Run]) -> float | None:
    seconds = measure(runs, "cpu_seconds")
    return None if seconds is None else seconds / results.log["scans"] * 1_000_000


def quantiles(runs: Sequence[Run], of: str) -> str:
    found = [measure(runs, f"{of}.{name}_seconds") for name in ("p50", "p95", "p99")]
    return NOTHING if found[0] is None else " / ".join(number(value, 2) for value in found)


def number(value: float | None, digits: int) -> str:
    return NOTHING if value is None else f"{value:,.{digits}f}"


def times(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}x"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; nothing without rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head), *lines]) if lines else ""
