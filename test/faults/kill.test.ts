import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needsPostgres } from '../harness/needs.ts'
import type { TestPostgres } from '../harness/postgres.ts'
import { seededPostgres } from '../harness/prepared-postgres.ts'
import { type PorticoProcess, startProcess } from '../harness/process.ts'
import { seededDirectory } from '../harness/template.ts'
import { burst, createClient, sendRequest, signedIn } from './client.ts'
import { checkBook, settleAll } from './invariants.ts'

const postgres: TestPostgres | undefined = await seededPostgres({ synchronous_commit: 'on' })
const { directory, remove } = await seededDirectory()

afterAll(async () => {
  await postgres?.stop()
  await remove()
})

const places = [
  ['the embedded store', { PORTICO_DATA_DIR: directory }, { directory }],
  ['PostgreSQL', { DATABASE_URL: postgres?.url ?? '', PORTICO_DATA_DIR: directory }, { url: postgres?.url ?? '' }],
] as const

describe.each(places)('the gateway is killed in a burst of transfers, on %s', (name, variables, place) => {
  const isSkipped = name === 'PostgreSQL' && !postgres
  let gateway: PorticoProcess
  const start = async () => {
    gateway = await startProcess({ ...variables, PORTICO_RATE_LIMIT_SCALE: '1000', LOG_LEVEL: 'warn' })
  }
  beforeAll(() => (isSkipped ? undefined : start()))
  afterAll(() => gateway?.stop())

  test(
    'nothing acknowledged is lost, nothing is there by halves, what was revoked stays so',
    needsPostgres(!isSkipped),
    async () => {
      const client = createClient(() => [gateway])
      const user = await signedIn(client)
      const gone = await signedIn(client, 'member@demo.test')
      await sendRequest(gone, 'POST', '/auth/logout')
      const run = burst(user, 8)
      for (const enough of [60, 140]) {
        await expect
          .poll(() => run.attempts.filter(({ status }) => status === 200).length, { timeout: 60_000 })
          .toBeGreaterThan(enough)
        gateway.child.kill('SIGKILL')
        await once(gateway.child, 'exit')
        await start()
      }
      const attempts = await run.stop()
      expect(attempts.some(({ status }) => status === 0)).toBe(true)
      const count = await settleAll(user, attempts)
      expect((await sendRequest(gone, 'GET', '/profile')).status).toBe(401)
      expect(await gateway.stop()).toBe(0)
      await checkBook(place, count)
    },
  )
})
