"""Settings of the dashboard; every deployment choice is an environment variable with a default that works locally."""

from typing import Any

from dlqadmin.settings import beat, environment
from dlqadmin.settings.environment import env

BASE_DIR, LOCAL_DIR = environment.BASE_DIR, environment.LOCAL_DIR

ENVIRONMENT = env.str("DLQADMIN_ENVIRONMENT", default="LOCAL").upper()
LOCAL = ENVIRONMENT == "LOCAL"
CLUSTER = env.str("DLQADMIN_CLUSTER", default="local")
READ_ONLY = env.bool("DLQADMIN_READ_ONLY", default=False)
DEBUG = env.bool("DJANGO_DEBUG", default=False)

# Outside LOCAL a missing key stops the start.
SECRET_KEY = env.str("SECRET_KEY", default="") or (environment.local_secret() if LOCAL else env.str("SECRET_KEY"))
ALLOWED_HOSTS: list[str] = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS: list[str] = env.list("CSRF_TRUSTED_ORIGINS", default=[])

# Kafka, engine, Redis
KAFKA_BOOTSTRAP_SERVERS = env.str("KAFKA_BOOTSTRAP_SERVERS", default="127.0.0.1:19092")
KAFKA_TIMEOUT_S = env.float("KAFKA_TIMEOUT_S", default=3.0)  # for one question to the broker
KAFKA_SECURITY = environment.client_security()
OTHER_CLUSTERS = environment.other_clusters()  # where replays may write besides the own cluster
ENGINE_URL = env.str("ENGINE_URL", default="http://127.0.0.1:8083").rstrip("/")
REDIS_URL = env.str("REDIS_URL", default="redis://127.0.0.1:16379/0")
# The engine's own topics, as its `*.storage.topic` options name them: no replay writes there.
STATUS_TOPIC = env.str("STATUS_TOPIC", default="connect-status")
OUTCOME_TOPIC = env.str("OUTCOME_TOPIC", default="connect-outcomes")
# How long a record that a foreign consumer group committed past must not come back before it is called passed.
OBSERVED_SETTLE_S = env.float("OBSERVED_SETTLE_S", default=60.0)
CONFIG_TOPIC = env.str("CONFIG_TOPIC", default="connect-configs")
OFFSET_TOPIC = env.str("OFFSET_TOPIC", default="connect-offsets")
DLQ_TOPICS: list[str] = env.list("DLQ_TOPICS", default=[r".*[.-]dlq$"])

# Dead letters that failed longer ago are forgotten, but for those that a replay or a draft refers to; 0 keeps all.
RETENTION_DAYS = env.int("RETENTION_DAYS", default=0)

# A replay of more records is run only after a second person, an approver, has agreed to its plan; 0: never.
APPROVAL_ABOVE = env.int("APPROVAL_ABOVE", default=0 if LOCAL else 1000)

# Files of dead letters that workers write: where, for how long, and how many rows one may have. Web servers and
# workers see the same folder.
EXPORTS_DIR = BASE_DIR / env.str("EXPORTS_DIR", default=str(LOCAL_DIR / "exports"))
EXPORT_DAYS = env.int("EXPORT_DAYS", default=7)
EXPORT_MAX_ROWS = env.int("EXPORT_MAX_ROWS", default=20_000_000)

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
    "dlqadmin.clusters",
    "dlqadmin.overview",
    "dlqadmin.replays",
    "dlqadmin.metrics",
    "dlqadmin.connectors",
    "dlqadmin.exports",
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
DATABASES: dict[str, dict[str, Any]] = {"default": environment.database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# What all processes see: the flags of cancelled queries. A read goes on without it.
CACHES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "shared": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "dlqadmin",
        "OPTIONS": {"socket_connect_timeout": 0.2, "socket_timeout": 0.2},
    },
}

# Safety
HTTPS = env.bool("DJANGO_HTTPS", default=not LOCAL and not DEBUG)
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^api/v1/alive$"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env.bool("BEHIND_PROXY", default=False) else None
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SILENCED_SYSTEM_CHECKS = [
    "security.W021",  # entering the browsers' preload list is for the domain's owner to decide
    "models.W040",  # SQLite has no covering indexes, and does without
]
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
    "DEFAULT_THROTTLE_RATES": {
        "sign-in": env.str("SIGN_IN_RATE", default="20/minute"),
        "test-connection": env.str("TEST_CONNECTION_RATE", default="20/minute"),
    },
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
        "BulkFixKind": "dlqadmin.replays.models.BulkFixKind.choices",
        "BulkFixProgramKind": "dlqadmin.replays.bulk_serializers.KINDS",
        "BulkFixStatus": "dlqadmin.replays.models.BulkFixStatus.choices",
        "ReportKind": "dlqadmin.reports.serializers.KINDS",
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
CELERY_BEAT_SCHEDULE = beat.SCHEDULE

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
    "loggers": {"django.request": {"level": "ERROR"}, "httpx": {"level": "WARNING"}},
}
