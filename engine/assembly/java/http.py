"""Rows of the HTTP sinks of Aiven and Confluent. Confluent's source is closed; its names are those of its reference."""

from __future__ import annotations

from math import ceil

from engine.assembly.java.rows import PLACEHOLDER, JavaConnector, TranslatedOption, left_out, open_point

NO_PROXY = "the engine uses no proxy"
TRUST = "write the certificates to trust, as PEM texts, in ssl.truststore.certificates"
VERIFIED = "certificates and host names are always verified"
CLIENT_CREDENTIALS = "a token request has the names of RFC 6749, for client credentials"
OF_PROXY = "it belongs to http.proxy.host"
OF_REGEX = "it belongs to regex.patterns"
OF_REPORTER = "it belongs to the reporter's topics"
DELAYS = "delays begin at 300 ms and double, up to errors.retry.delay.max.ms"
RETRIED = "408, 425, 429 and 5xx are retried; any other 4xx is an error of its record at once"
RETRIED_CODES = ("400-", "400-599", "500-", "500-599", "408,429,500-", "429,500-", "429,500-599")
REPORTS = "the engine writes no responses to topics; errors.deadletterqueue.topic.name keeps records that failed"
PLAIN_HEADER = "headers are the same for all records, and have no commas"
FRAME = ("batch.prefix", "batch.separator", "batch.suffix")
ARRAY = ("[", ",", "]")


def _frame(own: dict[str, str]) -> list[TranslatedOption]:
    """Write line ends and tabs around records as escapes, because blanks around a value are stripped."""
    for name in FRAME:
        if name in own:
            own[name] = _escaped(own[name])
    return []


def _confluent(own: dict[str, str]) -> list[TranslatedOption]:
    return [*_headers(own), *_batches(own), *_timeout(own), *_scheme(own), *_scope(own)]


def _headers(own: dict[str, str]) -> list[TranslatedOption]:
    """Return the options that stand for the headers: Content-Type and Authorization have options of their own."""
    text, separator = own.pop("headers", ""), own.pop("header.separator", "").strip() or "|"
    rows, others = list[TranslatedOption](), list[str]()
    for header in filter(None, map(str.strip, text.split(separator))):
        name, _, value = header.partition(":")
        if name.strip().lower() == "content-type":
            rows.append(TranslatedOption("http.headers.content.type", value.strip(), "the Content-Type of headers"))
        elif name.strip().lower() == "authorization":
            if own.get("auth.type", "").strip().lower() in {"", "none"}:
                own.pop("auth.type", None)
            rows.append(TranslatedOption("http.authorization.type", "static", "the Authorization of headers"))
            rows.append(TranslatedOption("http.headers.authorization", value.strip()))
        elif "," in header or PLACEHOLDER.search(header):
            rows.append(open_point(f"the header {name.strip()} has no equivalent: {PLAIN_HEADER}"))
        else:
            others.append(header)
    if others:
        rows.append(TranslatedOption("http.headers.additional", ",".join(others), "the other headers"))
    return rows


def _batches(own: dict[str, str]) -> list[TranslatedOption]:
    size = own.pop("batch.max.size", "1").strip()
    given = {name: _escaped(own.pop(name)) for name in FRAME if name in own}
    is_json = own.get("request.body.format", "").strip().lower() == "json"
    as_array = own.pop("batch.json.as.array", None)
    if is_json and (as_array is None or as_array.strip().lower() == "true"):
        frame = dict(zip(FRAME, ARRAY, strict=True))
        default = ", the default there" if as_array is None else ""
        comment = f"a request is an array of JSON values: batch.json.as.array=true{default}"
        other = [name for name, text in given.items() if text not in {"", frame[name]}]
        if other:
            return [open_point(f"{', '.join(other)} has no equivalent beside batch.json.as.array=true; choose one")]
    else:
        frame = {"batch.prefix": "", "batch.separator": ",", "batch.suffix": "", **given}
        comment = "batches have no option there that enables them"
        if size == "1" and not frame["batch.prefix"] and not frame["batch.suffix"]:
            return []
    rows = [TranslatedOption("batching.enabled", "true", comment), TranslatedOption("batch.max.size", size)]
    return rows + [TranslatedOption(name, text) for name, text in frame.items()]


def _timeout(own: dict[str, str]) -> list[TranslatedOption]:
    text = own.pop("http.request.timeout.ms", "").strip()
    if not text.isdecimal():
        return (
            [open_point(f"http.request.timeout.ms={text} is no number; write http.timeout in seconds")] if text else []
        )
    seconds = str(max(1, ceil(int(text) / 1000)))
    return [TranslatedOption("http.timeout", seconds, "http.request.timeout.ms is http.timeout here, in seconds")]


def _scheme(own: dict[str, str]) -> list[TranslatedOption]:
    enabled = own.pop("ssl.enabled", None)
    if enabled is None:
        return []
    if enabled.strip().lower() == "true" and not own.get("http.api.url", "").strip().lower().startswith("https:"):
        return [open_point("ssl.enabled=true has no equivalent: the URL decides; write https to use TLS")]
    return [left_out(f"ssl.enabled={enabled} is dropped: the URL says http or https")]


def _scope(own: dict[str, str]) -> list[TranslatedOption]:
    if own.get("auth.type", "").strip().lower() == "oauth2" and "oauth2.client.scope" not in own:
        return [TranslatedOption("oauth2.client.scope", "any", "the default there")]
    return []


def _escaped(text: str) -> str:
    return text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


AIVEN_HTTP_SINK = JavaConnector(
    "io.aiven.kafka.connect.http.HttpSinkConnector",
    "HttpSink",
    renamed={"max.retries": "errors.retry.limit", "retry.backoff.ms": "errors.retry.delay.max.ms"},
    dropped={
        "http.proxy.port": OF_PROXY,
        "http.ssl.truststore.password": "it belongs to http.ssl.truststore.location",
        "kafka.retry.backoff.ms": "a failed put is retried as errors.retry.* say",
    },
    fixed={
        "http.proxy.host": (("",), NO_PROXY),
        "http.ssl.trust.all.certs": (("false",), VERIFIED),
        "http.ssl.truststore.location": (("",), TRUST),
        "oauth2.grant.type": (("client_credentials",), CLIENT_CREDENTIALS),
        "oauth2.request.grant.type.property": (("grant_type",), CLIENT_CREDENTIALS),
        "oauth2.request.client.id.property": (("client_id",), CLIENT_CREDENTIALS),
        "oauth2.request.client.secret.property": (("client_secret",), CLIENT_CREDENTIALS),
        "oauth2.token.renew.on.status.codes": (("401", "407", "401,407"), "a token is renewed after 401 and 407"),
        "decimal.format": (("NUMERIC",), "decimals are written as numbers"),
    },
    defaults={"max.retries": "1"},
    convert=_frame,
)
CONFLUENT_HTTP_SINK = JavaConnector(
    "io.confluent.connect.http.HttpSinkConnector",
    "HttpSink",
    renamed={
        "http.api.url": "http.url",
        "auth.type": "http.authorization.type",
        "oauth2.token.url": "oauth2.access.token.url",
        "oauth2.token.property": "oauth2.response.token.property",
        "oauth2.client.auth.mode": "oauth2.client.authorization.mode",
        "max.retries": "errors.retry.limit",
    },
    dropped={
        "http.connect.timeout.ms": "http.timeout limits the wait for a connection, too",
        "http.proxy.port": OF_PROXY,
        "http.proxy.user": OF_PROXY,
        "http.proxy.password": OF_PROXY,
        "regex.replacements": OF_REGEX,
        "regex.separator": OF_REGEX,
        "retry.backoff.ms": DELAYS,
        "retry.backoff.policy": DELAYS,
        "oauth2.client.header.separator": "it belongs to oauth2.client.headers",
        "https.ssl.protocol": "TLS 1.2 or later is used",
        "report.errors.as": OF_REPORTER,
        "reporter.*": OF_REPORTER,
        "confluent.*": "the engine needs no licence",
    },
    fixed={
        "auth.type": (
            {"NONE": "none", "BASIC": "basic", "OAUTH2": "oauth2"},
            "for a fixed token, write http.authorization.type=static and http.headers.authorization",
        ),
        "behavior.on.error": (
            ("fail",),
            "errors.tolerance=all skips records that fail, and errors.deadletterqueue.topic.name keeps them",
        ),
        "behavior.on.null.values": (("fail", "ignore", "delete"), "ignore leaves such records out without a log line"),
        "batch.key.pattern": (("someKey",), "a batch holds records in their order, whatever their keys are"),
        "http.proxy.host": (("",), NO_PROXY),
        "regex.patterns": (("",), "use a transform to change values"),
        "reporter.error.topic.name": (("",), REPORTS),
        "reporter.result.topic.name": (("",), REPORTS),
        "retry.on.status.codes": (RETRIED_CODES, RETRIED),
        "https.host.verifier.enabled": (("true",), VERIFIED),
        "https.ssl.endpoint.identification.algorithm": (("https",), VERIFIED),
        "https.ssl.*": (("",), TRUST),
        "oauth2.client.headers": (("",), "a token request has no further headers"),
        "oauth2.jwt.enabled": (("false",), "tokens come from an id and a secret"),
        "oauth2.jwt.*": (("",), "tokens come from an id and a secret"),
    },
    defaults={"behavior.on.null.values": "ignore", "request.body.format": "string", "max.retries": "10"},
    convert=_confluent,
)  # fmt: skip
