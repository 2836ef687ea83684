// A Watermill router. It tries a record three times, then the poison queue middleware writes the dead letter.
// Usage: watermill BOOTSTRAP TOPIC DEAD_LETTERS GROUP
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	_ "modernc.org/sqlite"
)

const schema = `CREATE TABLE earthquakes (id TEXT PRIMARY KEY, gap REAL NOT NULL, depth REAL CHECK (depth >= 0))`

type feature struct {
	ID         string
	Properties struct{ Gap *float64 }
	Geometry   struct{ Coordinates []float64 }
}

func main() {
	bootstrap, topic, deadLetters, group := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	database := must(sql.Open("sqlite", ":memory:"))
	database.SetMaxOpenConns(1) // each connection would have a database of its own
	must(database.Exec(schema))

	logger := watermill.NewStdLogger(false, false)
	marshaler := kafka.NewWithPartitioningMarshaler(keyOf)
	options := kafka.DefaultSaramaSubscriberConfig()
	options.Consumer.Offsets.Initial = -2 // the oldest
	options.Consumer.Offsets.AutoCommit.Interval = 200 * time.Millisecond
	subscriber := must(kafka.NewSubscriber(kafka.SubscriberConfig{
		Brokers:               []string{bootstrap},
		Unmarshaler:           marshaler,
		ConsumerGroup:         group,
		OverwriteSaramaConfig: options,
	}, logger))
	publisher := must(kafka.NewPublisher(kafka.PublisherConfig{
		Brokers:   []string{bootstrap},
		Marshaler: marshaler,
	}, logger))

	router := must(message.NewRouter(message.RouterConfig{}, logger))
	retry := middleware.Retry{MaxRetries: 2, InitialInterval: 100 * time.Millisecond, Logger: logger}
	router.AddMiddleware(must(middleware.PoisonQueue(publisher, deadLetters)), retry.Middleware)
	router.AddNoPublisherHandler("earthquakes", topic, subscriber, func(record *message.Message) error {
		return store(database, record.Payload)
	})

	until, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := router.Run(until); err != nil {
		log.Fatal(err)
	}
}

// keyOf returns the key of the consumed record, so that its dead letter has it too.
func keyOf(_ string, record *message.Message) (string, error) {
	key, _ := kafka.MessageKeyFromCtx(record.Context())
	return string(key), nil
}

// store parses and stores one feature.
func store(database *sql.DB, payload []byte) error {
	var parsed feature
	if err := json.Unmarshal(payload, &parsed); err != nil {
		return err
	}
	_, err := database.Exec("REPLACE INTO earthquakes VALUES (?, ?, ?)",
		parsed.ID, parsed.Properties.Gap, parsed.Geometry.Coordinates[2])
	return err
}

// must returns the value, or ends the program.
func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
