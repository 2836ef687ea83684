"""The dashboard's Django settings.

Every deployment choice is an environment variable with a default that works locally.
"""

from typing import Any

from dlqadmin.host import folders
from dlqadmin.settings import beat, environment, topic_names
from dlqadmin.settings.environment import env, limit, rate, throttle_rate

BASE_DIR, LOCAL_DIR = environment.BASE_DIR, environment.LOCAL_DIR

ENVIRONMENT = env.str("DLQADMIN_ENVIRONMENT", default="LOCAL").upper()
LOCAL = ENVIRONMENT == "LOCAL"
CLUSTER = env.str("DLQADMIN_CLUSTER", default="local")
READ_ONLY = env.bool("DLQADMIN_READ_ONLY", default=False)
DEBUG = env.bool("DJANGO_DEBUG", default=False)

SECRET_KEY = env.str("SECRET_KEY", default="") or (environment.local_secret() if LOCAL else "")
ALLOWED_HOSTS: list[str] = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
if not LOCAL:
    environment.refuse_weak(SECRET_KEY, ALLOWED_HOSTS, debug=DEBUG)
CSRF_TRUSTED_ORIGINS: list[str] = env.list("CSRF_TRUSTED_ORIGINS", default=[])

# Kafka, engine, Redis
KAFKA_BOOTSTRAP_SERVERS = env.str("KAFKA_BOOTSTRAP_SERVERS", default="127.0.0.1:19092")
KAFKA_TIMEOUT_S = limit("KAFKA_TIMEOUT_S", 3.0, "s", "The duration of one request to a broker.", can_be_zero=True)
KAFKA_SECURITY = environment.client_security()
# Clusters beside the own one. Dead letters are indexed there if they have the option dead.letter.topics.
# `dlqadmin.clusters` validates the options.
OTHER_CLUSTERS = environment.json_object("OTHER_CLUSTERS", '{"name": {"bootstrap.servers": "…"}}')
# Passwords of the clusters that administrators configure, each with the brokers to which it may be sent.
KAFKA_CLUSTER_SECRETS = environment.json_object(
    "KAFKA_CLUSTER_SECRETS", '{"eu": {"addresses": ["kafka-eu:9092"], "file": "/run/secrets/…"}}'
)
ENGINE_URL = env.str("ENGINE_URL", default="http://127.0.0.1:8083").rstrip("/")
# Other drivers to which a standby driver may redirect. The credentials below are sent only to these
# addresses and to ENGINE_URL.
ENGINE_URLS: list[str] = env.list("ENGINE_URLS", default=[])
ENGINE_TOKEN = env.str("ENGINE_TOKEN", default="")
ENGINE_TOKEN_FILE = env.str("ENGINE_TOKEN_FILE", default="")  # takes precedence over ENGINE_TOKEN
ENGINE_USER = env.str("ENGINE_USER", default="")
ENGINE_PASSWORD = env.str("ENGINE_PASSWORD", default="")
ENGINE_CA_FILE = env.str("ENGINE_CA_FILE", default="")  # PEM; unset: the system's certificates
# Other Connect clusters, this engine's or Java's. `dlqadmin.connectors` validates the options.
CONNECT_CLUSTERS = environment.json_object("CONNECT_CLUSTERS", '{"legacy": {"url": "http://connect:8083"}}')
REDIS_URL = env.str("REDIS_URL", default="") or environment.local_redis_url()
# The engine's own topics, as its `*.storage.topic` options name them. No replay writes there.
STATUS_TOPIC = env.str("STATUS_TOPIC", default="connect-status")
OUTCOME_TOPIC = env.str("OUTCOME_TOPIC", default="connect-outcomes")
OBSERVED_SETTLE_S = limit(
    "OBSERVED_SETTLE_S",
    60.0,
    "s",
    "The time without a new failure, after a foreign consumer group committed past a record, until the record counts "
    "as passed.",
    can_be_zero=True,
)
CONFIG_TOPIC = env.str("CONFIG_TOPIC", default="connect-configs")
OFFSET_TOPIC = env.str("OFFSET_TOPIC", default="connect-offsets")
DLQ_TOPICS: list[str] = env.list("DLQ_TOPICS", default=topic_names.DEAD_LETTER_TOPICS)
# The consumer group of the indexers. Each database of the same Kafka cluster needs its own: members of one group share
# the partitions, and each database would miss the dead letters of the others.
INDEX_GROUP = env.str("INDEX_GROUP", default="") or environment.local_index_group()
# Such a topic is indexed once most of its newest records are dead letters.
DLQ_TOPIC_CANDIDATES: list[str] = env.list("DLQ_TOPIC_CANDIDATES", default=topic_names.CANDIDATE_TOPICS)

# Schema registries by name: `cluster`, `url`, `ca_file`, `auth` (none, basic, bearer, oauth), `user`, `secret`,
# `token_url`, `scope`. A cluster has at most one. `secret` names an entry of SCHEMA_REGISTRY_SECRETS, which holds the
# addresses to which it may be sent.
SCHEMA_REGISTRIES = environment.json_object("SCHEMA_REGISTRIES", '{"shop": {"cluster": "local", "url": "https://…"}}')
SCHEMA_REGISTRY_SECRETS = environment.json_object(
    "SCHEMA_REGISTRY_SECRETS", '{"shop": {"addresses": ["https://…"], "file": "/run/secrets/…"}}'
)
SCHEMA_REGISTRY_TIMEOUT_S = limit("SCHEMA_REGISTRY_TIMEOUT_S", 3.0, "s", "The duration of one request to a registry.")

# Origin topics from which pointers and the neighbours of dead letters are read, by dead letter
# topic. Without an entry, every topic may be read except internal topics, the engine's own topics and
# other dead letter topics.
POINTER_TOPICS = environment.pointer_topics()

# Topics whose records people may browse: names and regular expressions. Without an entry, every topic
# except internal topics. A name lifts what an internal topic's ending says, but never the protection of
# Kafka's and Connect's stores.
BROWSE_TOPICS: list[str] = environment.patterns("BROWSE_TOPICS", env.list("BROWSE_TOPICS", default=[]))

# Failures of different connectors, or of records of different origin topics, have groups of their own.
GROUPS_BY_ORIGIN = env.bool("GROUPS_BY_ORIGIN", default=True)

RETENTION_DAYS = limit(
    "RETENTION_DAYS",
    0,
    "days",
    "The time after which dead letters leave the index, unless a replay or a draft refers to them. On PostgreSQL they "
    "may stay a day longer, until a whole partition leaves. 0 keeps all.",
    can_be_zero=True,
)
INDEX_PARTITION_RECORDS = limit(
    "INDEX_PARTITION_RECORDS",
    10_000_000,
    "records",
    "The size of a new partition of the index. Its indexes should fit into PostgreSQL's memory.",
)
APPROVAL_ABOVE = limit(
    "APPROVAL_ABOVE",
    0 if LOCAL else 1000,
    "records",
    "More records of one person within `APPROVAL_WINDOW_HOURS` need the approval of a second person. 0 never needs it.",
    shown="`0` in LOCAL, else `1000`",
    can_be_zero=True,
)
APPROVAL_WINDOW_HOURS = limit("APPROVAL_WINDOW_HOURS", 24, "hours", "The window of `APPROVAL_ABOVE`.", can_be_zero=True)
# A replay to a topic or cluster other than the origin needs the approval of a second person.
APPROVAL_FOR_OTHER_TARGETS = env.bool("APPROVAL_FOR_OTHER_TARGETS", default=not LOCAL)
# Allowed replay targets: names and regular expressions, `cluster/topic` on another cluster. None
# allows every target that is not denied. A name overrides a denial by an internal topic's ending, but
# never the protection of Kafka's and Connect's stores.
REPLAY_TARGETS: list[str] | None = (
    environment.patterns("REPLAY_TARGETS", given) if (given := env.list("REPLAY_TARGETS", default=[])) else None
)

# Foreign programs run in a sandbox (bubblewrap or unshare). These kinds also run where no sandbox
# works: `foreign-classes` (rehearsals of classes that are not built in), `jq`.
ALLOWED_WITHOUT_SANDBOX: list[str] = env.list("ALLOWED_WITHOUT_SANDBOX", default=[])

# Export files. Web servers and workers must share the folder.
EXPORTS_DIR = BASE_DIR / env.str("EXPORTS_DIR", default=str(LOCAL_DIR / "exports"))
EXPORT_DAYS = limit("EXPORT_DAYS", 7, "days", "The time until an export file is deleted.", can_be_zero=True)
EXPORT_MAX_ROWS = limit("EXPORT_MAX_ROWS", 20_000_000, "rows", "The size of an export.", can_be_zero=True)

INSTALLED_APPS = [
    "dlqadmin.celery",  # the Celery application of all processes
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",  # the files of Swagger UI, so that no other host is asked for them
    "dlqadmin.broker",
    "dlqadmin.clusters",
    "dlqadmin.alerts",
    "dlqadmin.overview",
    "dlqadmin.erasures",
    "dlqadmin.replays",
    "dlqadmin.metrics",
    "dlqadmin.connectors",
    "dlqadmin.topics",
    "dlqadmin.exports",
    "dlqadmin.dialects",
    "dlqadmin.deadletters",
    "dlqadmin.schemas",
    "dlqadmin.notifications",
    "dlqadmin.people",
    "dlqadmin.accounts",
    "dlqadmin.teams",
    "dlqadmin.masking",
    "dlqadmin.audit",
]
MIDDLEWARE = [
    "dlqadmin.rest.current_request.current_request_middleware",
    "django.middleware.security.SecurityMiddleware",
    "dlqadmin.rest.headers.ContentSecurityPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "dlqadmin.accounts.middleware.SessionLimitMiddleware",  # must precede code that reads the session's user
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "dlqadmin.urls"
ASGI_APPLICATION = "dlqadmin.asgi.application"
WSGI_APPLICATION = "dlqadmin.wsgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# SQLite in LOCAL_DIR, or the PostgreSQL of DATABASE_URL
DATABASES: dict[str, dict[str, Any]] = {"default": environment.database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# State that all processes share: counts of sign-ins, flags of cancelled queries. Reads work without
# this cache.
CACHES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "shared": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "dlqadmin",
        "OPTIONS": {
            "serializer": "dlqadmin.rest.json_cache.JsonSerializer",  # Django's own serializer unpickles what it reads
            "socket_connect_timeout": 0.2,
            "socket_timeout": 0.2,
        },
    },
}

AUTHENTICATION_BACKENDS = ["dlqadmin.accounts.backend.AccountBackend"]
SIGN_IN_RATE = rate(
    "SIGN_IN_RATE",
    "5/15 minutes",
    "attempts per time",
    "Sign-in attempts with one account from one address. Ten times as many are allowed from one address with all "
    "accounts, five times as many with one account from all addresses.",
)
# OpenID providers by name: `title`, `issuer`, `client_id`, `secret` or `secret_file`, `ca_file`, `scopes`,
# `username_claim`, `groups_claim`, `groups` (value of the claim → names of groups), `administrators` (values of the
# claim that make a superuser). `dlqadmin.accounts.providers` validates them.
OIDC_PROVIDERS = environment.json_object("OIDC_PROVIDERS", '{"corp": {"issuer": "https://…", "client_id": "…"}}')
# If unset, only superusers sign in with a password, and everybody else with a provider.
LOCAL_SIGN_IN = env.bool("LOCAL_SIGN_IN", default=True)
# If set, the client's address is the last entry of X-Forwarded-For, which the proxy added.
BEHIND_PROXY = env.bool("BEHIND_PROXY", default=False)

# The HMAC key of the audit trail, and former keys, oldest first. Without its own key, a new
# SECRET_KEY would make all entries look changed.
AUDIT_KEY = environment.audit_key(SECRET_KEY)
AUDIT_OLD_KEYS: list[str] = env.list("AUDIT_OLD_KEYS", default=[])
# Destination of copies of sealed entries: kafka:<topic>, syslog:<host>:<port> (TCP) or
# syslog:/dev/log; empty: none.
AUDIT_SHIP_TO = env.str("AUDIT_SHIP_TO", default="")

# Channels of notifications. The key encrypts their targets; former keys still decrypt. Messages go to no loopback
# or private address, except the hosts and networks (CIDR) listed here.
# The address at which people open the dashboard, for links that leave it. Empty: alerts have no
# links, and other links use the host of the request.
DLQADMIN_URL = env.str("DLQADMIN_URL", default="").rstrip("/")
ALERT_KEY = environment.alert_key(SECRET_KEY)
ALERT_OLD_KEYS: list[str] = env.list("ALERT_OLD_KEYS", default=[])
ALERT_PRIVATE_HOSTS = environment.private_hosts(
    "ALERT_PRIVATE_HOSTS", default=["localhost", "127.0.0.0/8", "::1/128"] if LOCAL else []
)
# The mail server. Without EMAIL_HOST no channel sends e-mail.
EMAIL_HOST = env.str("EMAIL_HOST", default="")
EMAIL_USE_SSL = env.bool("EMAIL_USE_SSL", default=False)  # TLS from the first byte, usually on port 465
EMAIL_USE_TLS = env.bool("EMAIL_USE_TLS", default=not EMAIL_USE_SSL)  # STARTTLS
EMAIL_PORT = env.int("EMAIL_PORT", default=465 if EMAIL_USE_SSL else 587)
EMAIL_HOST_USER = env.str("EMAIL_HOST_USER", default="")
EMAIL_HOST_PASSWORD = env.str("EMAIL_HOST_PASSWORD", default="")
EMAIL_TIMEOUT = 10  # seconds
DEFAULT_FROM_EMAIL = env.str("EMAIL_FROM", default="dlqadmin@localhost")

# Security
HTTPS = env.bool("DJANGO_HTTPS", default=not LOCAL)
SECURE_SSL_REDIRECT = HTTPS
# Probes and Prometheus ask the process itself, behind the proxy. A redirect would come after a token was sent.
SECURE_REDIRECT_EXEMPT = [r"^api/v1/(alive|ready)$", r"^healthz$", r"^metrics$"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_PROXY else None
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SILENCED_SYSTEM_CHECKS = [
    "security.W021",  # the domain's owner decides on the browsers' preload list
    "models.W040",  # SQLite has no covering indexes, and works without them
]
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SESSION_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_ABSOLUTE_HOURS = limit(
    "SESSION_ABSOLUTE_HOURS", 12.0, "hours", "The time after a sign-in until its session ends."
)
SESSION_IDLE_MINUTES = limit("SESSION_IDLE_MINUTES", 30.0, "minutes", "The time without activity until a session ends.")
SESSION_COOKIE_AGE = max(1, round(SESSION_ABSOLUTE_HOURS * 3600))
API_TOKEN_DAYS = limit("API_TOKEN_DAYS", 90, "days", "The lifetime of an API token, unless its owner chooses another.")
API_TOKEN_MAX_DAYS = limit("API_TOKEN_MAX_DAYS", 365, "days", "The longest lifetime that an owner can choose.")
CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "dlqadmin.rest.problems.csrf_failure"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 12 * 1024 * 1024
CONTENT_SECURITY_POLICY = {
    "default-src": "'self'",
    "script-src": "'self'",
    "style-src": "'self' 'unsafe-inline'",  # the component library sets its variables in style elements
    "img-src": "'self' data:",
    "font-src": "'self' data:",
    "connect-src": "'self'",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# Static files: the built frontend at /, the admin's files under /static/
FRONTEND_DIST = folders.FRONTEND
STATIC_URL = "/static/"
STATIC_ROOT = None
WHITENOISE_USE_FINDERS = True
WHITENOISE_ROOT = FRONTEND_DIST if FRONTEND_DIST.is_dir() else None
WHITENOISE_IMMUTABLE_FILE_TEST = r"^/assets/"

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"
APPEND_SLASH = False

TEST_CONNECTION_RATE = throttle_rate(
    "TEST_CONNECTION_RATE", "20/minute", "tests per time", "Connection tests of clusters by one person."
)
REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "dlqadmin.accounts.authentication.ApiTokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["dlqadmin.audit.permissions.IsViewer"],
    "DEFAULT_PARSER_CLASSES": ["dlqadmin.rest.parsers.BoundedJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["dlqadmin.rest.renderers.JsonRenderer"],
    "DEFAULT_SCHEMA_CLASS": "dlqadmin.rest.schema.ProblemAutoSchema",
    # Without it, DRF identifies a client by its own X-Forwarded-For header, and throttling has no
    # effect.
    "NUM_PROXIES": 1 if BEHIND_PROXY else 0,
    "EXCEPTION_HANDLER": "dlqadmin.rest.problems.handle",
    "DEFAULT_THROTTLE_RATES": {
        "test-connection": TEST_CONNECTION_RATE,
    },
    "DATETIME_FORMAT": "%Y-%m-%dT%H:%M:%S.%fZ",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "dlqadmin",
    "DESCRIPTION": (
        "Dead letters with their groups, fixes and replays, and the metrics of the engine and its connectors."
    ),
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "/icon.svg",
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "validatorUrl": None, "filter": True, "docExpansion": "none"},
    "SERVE_PERMISSIONS": ["dlqadmin.audit.permissions.IsViewer"],
    "POSTPROCESSING_HOOKS": [],  # choices stay where they are used, so nobody has to invent names for them
}

CELERY_BROKER_URL = REDIS_URL
# Anyone who can write to Redis can queue a message, so messages are never unpickled.
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = CELERY_RESULT_SERIALIZER = CELERY_EVENT_SERIALIZER = "json"
CELERY_TASK_IGNORE_RESULT = True
# The next beat or sweep replaces a message that was lost with its worker. With late
# acknowledgement, kombu 5.7 ends a worker that loses Redis during a task ("'NoneType' object has no
# attribute 'hostname'").
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # a worker waits for Redis without limit
# Without these limits, an enqueuing process waits forever while Redis is down.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0.1,
    "interval_max": 0.1,
    "socket_connect_timeout": 3,
    "socket_timeout": 10,
    "socket_keepalive": True,
}
# Slices last five seconds and mostly sleep. In one queue with other tasks they would delay outcomes
# and metrics.
CELERY_TASK_DEFAULT_QUEUE = "celery"
CELERY_TASK_ROUTES = {"dlqadmin.replays.sending.tasks.send_replay": {"queue": "replays"}}
CELERY_BEAT_SCHEDULE_FILENAME = str(LOCAL_DIR / "celerybeat-schedule")
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE = beat.SCHEDULE
CELERY_BEAT_SCHEDULER = "dlqadmin.jobs.beat_scheduler:PatientScheduler"

# `text` or `json`: one object per line. Both have the ids of request, user, task, replay, connector and cluster.
LOG_FORMAT = environment.one_of("LOG_FORMAT", ("text", "json"))
# The OTLP/HTTP receiver of traces. Unset: there are none. `dlqadmin.tracing` needs the extra `tracing`.
OTEL_EXPORTER_OTLP_ENDPOINT = env.str("OTEL_EXPORTER_OTLP_ENDPOINT", default="")
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"()": "dlqadmin.logs.lines.IdentifiedTextLines"},
        "json": {"()": "dlqadmin.logs.lines.json_lines"},
    },
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT},
        "nowhere": {"class": "logging.NullHandler"},
    },
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
    "loggers": {
        "django.request": {"level": "ERROR"},
        "httpx": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        # Their lines quote addresses that contain tokens. The channel's result says what failed.
        "apprise": {"level": "WARNING", "handlers": ["nowhere"], "propagate": False},
        "urllib3": {"level": "ERROR"},
        # uvicorn's own handlers would write lines in another format.
        "uvicorn": {"handlers": [], "propagate": True},
        "uvicorn.access": {"handlers": [], "propagate": True},
    },
}
