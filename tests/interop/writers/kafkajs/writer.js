// A kafkajs consumer that tries a record three times, and then writes it to a dead letter topic of its own.
// Usage: node writer.js BOOTSTRAP TOPIC DEAD_LETTERS GROUP

import { Kafka, logLevel } from 'kafkajs'
import initSqlJs from 'sql.js'

const ATTEMPTS = 3
const [bootstrap, topic, deadLetters, group] = process.argv.slice(2)

const { Database } = await initSqlJs()
const database = new Database()
database.run('CREATE TABLE earthquakes (id TEXT PRIMARY KEY, gap REAL, depth REAL CHECK (depth >= 0))')

function store(feature) {
  const { id, properties, geometry } = JSON.parse(feature)
  const gap = properties.gap.toFixed(1)
  database.run('REPLACE INTO earthquakes VALUES (?, ?, ?)', [id, gap, geometry.coordinates[2]])
}

function deadLetter({ partition, message }, error) {
  const headers = {
    ...message.headers,
    'x-original-topic': topic,
    'x-original-partition': String(partition),
    'x-original-offset': message.offset,
    'x-original-timestamp': message.timestamp,
    'x-consumer-group': group,
    'x-error-name': error.name,
    'x-error-message': error.message,
    'x-error-stack': error.stack,
    'x-retry-count': String(ATTEMPTS - 1),
    'x-failed-at': new Date().toISOString(),
  }
  return { key: message.key, value: message.value, headers }
}

const kafka = new Kafka({ clientId: 'earthquakes', brokers: [bootstrap], logLevel: logLevel.WARN })
const consumer = kafka.consumer({ groupId: group })
const producer = kafka.producer()
await producer.connect()
await consumer.connect()
await consumer.subscribe({ topics: [topic], fromBeginning: true })
await consumer.run({
  autoCommitThreshold: 1,
  eachMessage: async (payload) => {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      try {
        return store(payload.message.value)
      } catch (error) {
        if (attempt < ATTEMPTS) continue
        await producer.send({ topic: deadLetters, messages: [deadLetter(payload, error)] })
      }
    }
  },
})
process.on('SIGTERM', async () => {
  await consumer.disconnect()
  await producer.disconnect()
  process.exit(0)
})
