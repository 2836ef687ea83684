"""Settings of the dashboard; every deployment choice is an environment variable with a default that works locally."""

import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

import environ

BASE_DIR = Path(__file__).resolve().parent.parent

env = environ.Env()  # type: ignore[no-untyped-call]  # the library is typed in part
environ.Env.read_env(BASE_DIR / ".env")
LOCAL_DIR = BASE_DIR / env.str("LOCAL_DIR", default=".local")

ENVIRONMENT = env.str("DLQADMIN_ENVIRONMENT", default="LOCAL").upper()
LOCAL = ENVIRONMENT == "LOCAL"
CLUSTER = env.str("DLQADMIN_CLUSTER", default="local")
READ_ONLY = env.bool("DLQADMIN_READ_ONLY", default=False)
DEBUG = env.bool("DJANGO_DEBUG", default=False)


def _local_secret() -> str:
    """The signing key of a local installation: made once, readable by its owner only."""
    path = LOCAL_DIR / "secret-key"
    if not path.exists():
        LOCAL_DIR.mkdir(exist_ok=True)
        draft = LOCAL_DIR / f"secret-key.{secrets.token_hex(8)}"
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(50))
        with suppress(FileExistsError):  # another process of the same start was first
            path.hardlink_to(draft)
        draft.unlink()
    return path.read_text()


# Outside LOCAL a missing key stops the start.
SECRET_KEY = env.str("SECRET_KEY", default="") or (_local_secret() if LOCAL else env.str("SECRET_KEY"))
ALLOWED_HOSTS: list[str] = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS: list[str] = env.list("CSRF_TRUSTED_ORIGINS", default=[])

# Kafka, engine, Redis
KAFKA_BOOTSTRAP_SERVERS = env.str("KAFKA_BOOTSTRAP_SERVERS", default="127.0.0.1:19092")
KAFKA_TIMEOUT_S = env.float("KAFKA_TIMEOUT_S", default=3.0)  # for one question to the broker
ENGINE_URL = env.str("ENGINE_URL", default="http://127.0.0.1:8083").rstrip("/")
REDIS_URL = env.str("REDIS_URL", default="redis://127.0.0.1:16379/0")
# The engine's own topics, as its `*.storage.topic` options name them: no replay writes there.
STATUS_TOPIC = env.str("STATUS_TOPIC", default="connect-status")
OUTCOME_TOPIC = env.str("OUTCOME_TOPIC", default="connect-outcomes")
CONFIG_TOPIC = env.str("CONFIG_TOPIC", default="connect-configs")
OFFSET_TOPIC = env.str("OFFSET_TOPIC", default="connect-offsets")
DLQ_TOPICS: list[str] = env.list("DLQ_TOPICS", default=[r".*[.-]dlq$"])

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "rest_framework.authtoken",
    "django_filters",
    "drf_spectacular",
    "dlqadmin.overview",
    "dlqadmin.replays",
    "dlqadmin.metrics",
    "dlqadmin.connectors",
    "dlqadmin.deadletters",
    "dlqadmin.audit",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "dlqadmin.rest.headers.ContentSecurityPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
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

# Database: SQLite in .local, or PostgreSQL by DATABASE_URL
DATABASES: dict[str, dict[str, Any]] = {"default": env.db("DATABASE_URL", default="sqlite:///.local/dlqadmin.sqlite3")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
_database = DATABASES["default"]
if _database["ENGINE"] == "django.db.backends.sqlite3":
    _database["NAME"] = str(BASE_DIR / _database["NAME"]) if _database["NAME"] != ":memory:" else ":memory:"
    Path(_database["NAME"]).parent.mkdir(parents=True, exist_ok=True)
    _database["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-32000;",
    }
else:
    _database.setdefault("CONN_MAX_AGE", 0)
    _database.setdefault("OPTIONS", {}).setdefault("connect_timeout", 5)

# Safety
HTTPS = env.bool("DJANGO_HTTPS", default=not LOCAL and not DEBUG)
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^api/v1/alive$"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env.bool("BEHIND_PROXY", default=False) else None
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SILENCED_SYSTEM_CHECKS = ["security.W021"]  # entering the browsers' preload list is for the domain's owner to decide
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SESSION_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
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

# Files: the built frontend at /, the admin's own under /static/
FRONTEND_DIST = BASE_DIR / "frontend" / "dist"
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

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rest_framework.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["dlqadmin.audit.permissions.IsViewer"],
    "DEFAULT_PARSER_CLASSES": ["dlqadmin.rest.parsers.BoundedJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "dlqadmin.rest.schema.ProblemAutoSchema",
    # Without it a client's own X-Forwarded-For would be its identity, and the sign-in limit none.
    "NUM_PROXIES": 1 if env.bool("BEHIND_PROXY", default=False) else 0,
    "EXCEPTION_HANDLER": "dlqadmin.rest.problems.handle",
    "DEFAULT_THROTTLE_RATES": {"sign-in": env.str("SIGN_IN_RATE", default="20/minute")},
    "DATETIME_FORMAT": "%Y-%m-%dT%H:%M:%S.%fZ",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "dlqadmin",
    "DESCRIPTION": "Dead letters, their groups, fixes and replays, the metrics of the engine and its connectors.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "SERVE_PERMISSIONS": ["dlqadmin.audit.permissions.IsViewer"],
    "ENUM_NAME_OVERRIDES": {
        "ItemState": "dlqadmin.replays.models.ItemState.choices",
        "ReplayStatus": "dlqadmin.replays.models.ReplayStatus.choices",
    },
}

CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
# A message lost with its worker is made up for by the next beat or sweep, and kombu 5.7 ends a worker that loses
# Redis in the middle of a task it has not acknowledged ("'NoneType' object has no attribute 'hostname'").
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # a worker waits for Redis as long as it takes
# Without them whoever enqueues waits for ever while Redis is away, or answers nothing.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0.1,
    "interval_max": 0.1,
    "socket_connect_timeout": 3,
    "socket_timeout": 10,
    "socket_keepalive": True,
}
# Slices last five seconds and sleep for most of them: in one queue they would keep outcomes and metrics waiting.
CELERY_TASK_ROUTES = {"dlqadmin.replays.tasks.send_replay": {"queue": "replays"}}
CELERY_BEAT_SCHEDULE_FILENAME = str(LOCAL_DIR / "celerybeat-schedule")
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "collect-metrics": {
        "task": "dlqadmin.metrics.tasks.collect_metrics",
        "schedule": 2.0,
        "options": {"expires": 2.0},  # a late worker must not run a queue of them
    },
    "sweep-replays": {
        "task": "dlqadmin.replays.tasks.sweep_replays",
        "schedule": 3.0,
        "options": {"expires": 3.0},
    },
    "watch-replays": {
        "task": "dlqadmin.replays.tasks.watch_replays",
        "schedule": 1.0,
        "options": {"expires": 1.0},
    },
    "prune-reports": {
        "task": "dlqadmin.replays.tasks.prune_reports",
        "schedule": 3600.0,
        "options": {"expires": 3600.0},
    },
    "prune-metrics": {
        "task": "dlqadmin.metrics.tasks.prune_metrics",
        "schedule": 3600.0,
        "options": {"expires": 3600.0},
    },
}

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
    "loggers": {"django.request": {"level": "ERROR"}, "httpx": {"level": "WARNING"}},
}
