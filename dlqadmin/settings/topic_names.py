"""The default names of dead letter topics."""

# Names that no other topics have. The client compiles these expressions too, and it knows only POSIX syntax.
DEAD_LETTER_TOPICS = [
    r".*[._-](dlq|DLQ|dlt|DLT)$",  # Spring Kafka, and Kafka Connect by custom
    r"(.*[._-])?dead[._-]?letters?([._-](queue|topic))?$",
    r"dead-letter-(queue|topic)-.*",  # SmallRye
]
# Names that other topics may have too, such as an application's log of errors.
CANDIDATE_TOPICS = [
    r"(?i)(.*[._-])?(dlq|dlt|dead[._-]?letters?|errors?|failed|failures|poison(ed)?|quarantine)([._-].*)?",
    r"(?i)(.*[._-])?park(ed|ing[._-]?lot)([._-].*)?",
]
