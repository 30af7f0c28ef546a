import { hash, verify } from '@node-rs/argon2'
import { serveRuns } from './runs.ts'

/* Uses the gateway's cost and concurrency limit. The rate is an upper bound for logins. */
const password = 'Portico-demo-2026'
const hashed = await hash(password, { memoryCost: 19_456, timeCost: 2, parallelism: 1 })

serveRuns(2, () => verify(hashed, password))
