#!/bin/sh
# As kafka-run.sh: run the broker that KAFKA_… variables configure. By another name: run the command of Kafka of that name.
set -eu
run() { exec java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx512m -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp '/opt/kafka/libs/*' "$@"; }
case "$(basename "$0" .sh)" in
    kafka-broker-api-versions) run org.apache.kafka.tools.BrokerApiVersionsCommand "$@" ;;
    kafka-topics) run org.apache.kafka.tools.TopicCommand "$@" ;;
    kafka-console-producer) run org.apache.kafka.tools.ConsoleProducer "$@" ;;
    kafka-console-consumer) run org.apache.kafka.tools.consumer.ConsoleConsumer "$@" ;;
esac
env | sed -n 's/^KAFKA_//p' | while IFS='=' read -r name value; do
    echo "$(echo "$name" | tr '[:upper:]_' '[:lower:].')=$value"
done >/opt/kafka/config/server.properties
java -cp '/opt/kafka/libs/*' kafka.tools.StorageTool format --ignore-formatted \
    --cluster-id "${CLUSTER_ID:-5L6g3nShT-eMCtK--X86sw}" --config /opt/kafka/config/server.properties
run kafka.Kafka /opt/kafka/config/server.properties
