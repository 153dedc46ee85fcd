"""Numbers against bounds, by Great Expectations: the verdicts, and the pages that show them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import great_expectations as gx
import pyarrow as pa
from great_expectations.core import ExpectationValidationResult
from great_expectations.core.run_identifier import RunIdentifier
from great_expectations.data_context.types.base import (
    DataContextConfig,
    InMemoryStoreBackendDefaults,
    ProgressBarsConfig,
)
from great_expectations.expectations.core.expect_column_max_to_be_between import ExpectColumnMaxToBeBetween
from great_expectations.expectations.metadata_types import FailureSeverity

from expectations.result import Outcome
from expectations.truth import Suite, Truth
from pipelines.settings import Quality


@dataclass(frozen=True)
class Measured:
    """A suite and what was measured for it.

    Attributes:
        suite: The suite.
        facts: One row, with a column of numbers named after each truth.
        examples: By a truth's name, its first violation in a sentence, where there is one.
    """

    suite: Suite
    facts: pa.Table
    examples: Mapping[str, str] = field(default_factory=dict)


Verdicts = Mapping[tuple[str, str], Outcome]
"""By table and truth."""


def validated(
    measured: Iterable[Measured],
    quality: Quality,
    batch_id: int,
    checked_at: datetime,
    pages: Path,
) -> Verdicts:
    """The verdict on each number, after a page for each table, and an index of them, were written to the folder.

    Nothing is kept elsewhere, and nothing is sent to anybody.
    """
    context = gx.get_context(mode="ephemeral", project_config=_configuration(pages))
    lake = context.data_sources.add_pandas("lake")
    run_id = RunIdentifier(run_name=f"batch-{batch_id}", run_time=checked_at)
    verdicts: dict[tuple[str, str], Outcome] = {}
    for each in measured:
        name = each.suite.table.name
        batch = lake.add_dataframe_asset(name).add_batch_definition_whole_dataframe(f"batch-{batch_id}")
        suite = context.suites.add(
            gx.ExpectationSuite(
                name,
                expectations=[
                    _expectation(truth, quality, each.examples.get(truth.name)) for truth in each.suite.truths
                ],
            )
        )
        definition = context.validation_definitions.add(gx.ValidationDefinition(name=name, data=batch, suite=suite))
        found = definition.run(batch_parameters={"dataframe": each.facts.to_pandas()}, run_id=run_id)
        for result in found.results:
            assert result.expectation_config is not None
            verdicts[name, result.expectation_config.kwargs["column"]] = _outcome(result)
    context.build_data_docs()
    return verdicts


def _expectation(truth: Truth, quality: Quality, example: str | None) -> ExpectColumnMaxToBeBetween:
    least, most = truth.within(quality)
    first = f" The first: {example}." if example else ""
    return ExpectColumnMaxToBeBetween(
        column=truth.name,
        min_value=least,
        max_value=most,
        severity=FailureSeverity(truth.severity),
        description=f"[{truth.severity}, {least:g} to {most:g}] {truth.note}{first}",
    )


def _outcome(result: ExpectationValidationResult) -> Outcome:
    """What raised while it was evaluated was not judged, whatever else the result says."""
    if (result.exception_info or {}).get("raised_exception") is not False:
        return "error"
    return "met" if result.success else "failed"


def _configuration(pages: Path) -> DataContextConfig:
    return DataContextConfig(
        store_backend_defaults=InMemoryStoreBackendDefaults(),
        data_docs_sites={
            "quality": {
                "class_name": "SiteBuilder",
                "show_how_to_buttons": False,
                "store_backend": {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(pages)},
                "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
            }
        },
        progress_bars=ProgressBarsConfig(globally=False),
        analytics_enabled=False,
    )
