import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAuditExport } from '../../src/compose/audit/export.ts'
import { Secret } from '../../src/config/values.ts'
import { createDependencyLog } from '../../src/platform/dependency-log.ts'
import { systemDurations, systemIds } from '../../src/platform/runtime/index.ts'
import { createLogger } from '../../src/platform/telemetry/index.ts'
import { testClock } from '../identity/clock.ts'
import { embeddedStore, type TestStore } from '../ledger/stores.ts'

const clock = testClock()
let store: TestStore
beforeAll(async () => {
  store = await embeddedStore()
})
afterAll(() => store?.close())

async function startWith(url: string): Promise<Record<string, string>[]> {
  clock.advance(1)
  const logger = createLogger('silent')
  const dependencies = createDependencyLog(logger, systemDurations)
  const infrastructure = { database: store.database, clock, ids: systemIds, durations: systemDurations, dependencies }
  const parts = { logger, registry: new Registry() }
  const audit = { export: { to: new Secret(url), secret: null } }
  await startAuditExport({ audit }, infrastructure as never, parts)
  const entries = store.database.selectFrom('audit_log').where('action', '=', 'settings.audit.export')
  const rows = await entries.select('detail').orderBy('at').execute()
  return rows.map(({ detail }) => detail as Record<string, string>)
}

test('settings.audit.export: records a change of the path or the query, without a key that they contain', async () => {
  const first = await startWith('https://siem.example/http/path-key?token=query-key')
  expect(first).toEqual([{ to: 'https://siem.example', urlDigest: expect.stringMatching(/^[0-9a-f]{8}$/) }])
  expect(await startWith('https://siem.example/http/path-key?token=query-key')).toEqual(first)
  // The same service, but the account of an attacker.
  const changed = await startWith('https://siem.example/http/path-key?token=other-key')
  expect(changed).toHaveLength(2)
  expect(await startWith('https://siem.example/http/other-key?token=other-key')).toHaveLength(3)
  expect(JSON.stringify(changed)).not.toMatch(/path-key|query-key|other-key/)
})
