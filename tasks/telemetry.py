"""Spans and numbers of model and tool calls, by OpenTelemetry's conventions for generative models.

Only the API is used: where nobody has set up the SDK a call costs a few microseconds, and nothing
leaves the process. One span stands for one logical call; its attempts are events. Texts of
messages, arguments and results are left out unless ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_``
``CONTENT`` is ``true``: a document's text is the customer's.

All names stand in the two tables below. Source: the GenAI semantic conventions, November 2026.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from deskwork.tasks.profiles import Profile
from deskwork.tasks.replies import Reply
from deskwork.tools.errors import DeskworkError

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
MAX_TOKENS = "gen_ai.request.max_tokens"
LEVEL = "gen_ai.request.reasoning.level"
CONVERSATION = "gen_ai.conversation.id"
RESPONSE_ID = "gen_ai.response.id"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
OUTPUT = "gen_ai.output.messages"
TOOL_NAME = "gen_ai.tool.name"
TOOL_CALL_ID = "gen_ai.tool.call.id"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"
TOKEN_TYPE = "gen_ai.token.type"
ERROR = "error.type"
AGENT_NAME = "gen_ai.agent.name"
ATTEMPT = "deskwork.attempt"
USAGE = {
    "input": "gen_ai.usage.input_tokens",
    "output": "gen_ai.usage.output_tokens",
    "cache_read": "gen_ai.usage.cache_read.input_tokens",
    "cache_write": "gen_ai.usage.cache_write.input_tokens",
    "reasoning": "gen_ai.usage.reasoning.output_tokens",
}
CONTENT_SWITCH = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

_own: trace.TracerProvider | None = None
"""What sends Deskwork's spans where the program itself has set up nothing."""
_meter = metrics.get_meter("deskwork")
_duration = _meter.create_histogram(
    "gen_ai.client.operation.duration", "s", "How long a model call took, its attempts together."
)
_tokens = _meter.create_histogram(
    "gen_ai.client.token.usage", "{token}", "Tokens that a model call used."
)
_tool_duration = _meter.create_histogram(
    "gen_ai.execute_tool.duration", "s", "How long a tool call took."
)


def use(provider: trace.TracerProvider) -> None:
    """Send this process' spans by a provider that is Deskwork's alone, not the whole program's."""
    global _own
    _own = provider


def is_own() -> bool:
    """Whether `use` was called."""
    return _own is not None


class ModelCall:
    """The span of one model call."""

    def __init__(self, span: Span, common: dict[str, Any]) -> None:
        self._span = span
        self._common = common
        self._attempts = 0

    def failed_attempt(self, error: DeskworkError, wait: float) -> None:
        """An attempt failed and another one follows after ``wait`` seconds."""
        self._attempts += 1
        name = type(error).__name__
        self._span.add_event(
            "attempt", {ATTEMPT: self._attempts, ERROR: name, "deskwork.wait": wait}
        )

    def answered(self, reply: Reply) -> None:
        """The reply came."""
        self._attempts += 1
        if reply.usage:
            for name, count in reply.usage.as_json().items():
                if name in ("input", "output"):
                    _tokens.record(count, {**self._common, TOKEN_TYPE: name})
        if not self._span.is_recording():
            return
        self._span.add_event("attempt", {ATTEMPT: self._attempts})
        found: dict[str, Any] = {FINISH_REASONS: [reply.raw_finish]}
        found |= {RESPONSE_ID: reply.response_id} if reply.response_id else {}
        found |= {RESPONSE_MODEL: reply.model} if reply.model else {}
        usage = reply.usage.as_json() if reply.usage else {}
        found |= {USAGE[name]: count for name, count in usage.items() if name in USAGE}
        if shows_content():
            found[OUTPUT] = reply.text
        self._span.set_attributes(found)


class ToolCallSpan:
    """The span of one tool call."""

    def __init__(self, span: Span, common: dict[str, Any]) -> None:
        self._span = span
        self._common = common

    def ended(self, outcome: str, result: str) -> None:
        """The call came to an end; any outcome but ``ok`` and ``decided`` is an error's type."""
        if outcome not in ("ok", "decided"):
            self._common[ERROR] = outcome
            self._span.set_attribute(ERROR, outcome)
            self._span.set_status(Status(StatusCode.ERROR))
        if shows_content():
            self._span.set_attribute(TOOL_RESULT, result)


@contextmanager
def job_run(flow: str, job: str) -> Iterator[None]:
    """A span ``invoke_agent FLOW`` around a run of a job: all its calls, its child jobs' too."""
    asked = {OPERATION: "invoke_agent", AGENT_NAME: flow, CONVERSATION: job}
    with _span(f"invoke_agent {flow}", SpanKind.INTERNAL, asked) as span:
        try:
            yield
        except BaseException as error:
            _failed(span, error)
            raise


@contextmanager
def model_call(
    profile: Profile, model: str, tier: str, conversation: str, max_output: int | None
) -> Iterator[ModelCall]:
    """A span ``chat MODEL`` around a call to a model."""
    common: dict[str, Any] = {
        OPERATION: "chat",
        PROVIDER: profile.provider or profile.name,
        REQUEST_MODEL: model,
    }
    began = time.perf_counter()
    asked = {**common, LEVEL: tier, CONVERSATION: conversation}
    if limit := max_output or profile.max_output:
        asked[MAX_TOKENS] = limit
    with _span(f"chat {model}", SpanKind.CLIENT, asked) as span:
        try:
            yield ModelCall(span, common)
        except BaseException as error:
            common[ERROR] = type(error).__name__
            _failed(span, error)
            raise
        finally:
            _duration.record(time.perf_counter() - began, common)


@contextmanager
def tool_call(name: str, call_id: str, arguments: str) -> Iterator[ToolCallSpan]:
    """A span ``execute_tool NAME`` around a tool's run."""
    common: dict[str, Any] = {OPERATION: "execute_tool", TOOL_NAME: name, TOOL_TYPE: "function"}
    began = time.perf_counter()
    asked = {**common, TOOL_CALL_ID: call_id}
    if shows_content():
        asked[TOOL_ARGUMENTS] = arguments
    with _span(f"execute_tool {name}", SpanKind.INTERNAL, asked) as span:
        try:
            yield ToolCallSpan(span, common)
        except BaseException as error:
            common[ERROR] = type(error).__name__
            _failed(span, error)
            raise
        finally:
            _tool_duration.record(time.perf_counter() - began, common)


def shows_content() -> bool:
    """True where whoever runs this wants texts in the spans."""
    return os.environ.get(CONTENT_SWITCH, "").lower() == "true"


@contextmanager
def _span(name: str, kind: SpanKind, attributes: dict[str, Any]) -> Iterator[Span]:
    # An exception's text may quote what a document or a server said: only its type is kept.
    tracer = trace.get_tracer("deskwork", tracer_provider=_own)
    with tracer.start_as_current_span(
        name,
        kind=kind,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        yield span


def _failed(span: Span, error: BaseException) -> None:
    span.set_attribute(ERROR, type(error).__name__)
    span.set_status(Status(StatusCode.ERROR))
