import { once } from 'node:events'
import { createServer } from 'node:http'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { recordCheck } from '../../../src/ledger/integrity-store.ts'
import { systemClock } from '../../../src/platform/runtime/index.ts'
import { runCli } from '../../harness/cli.ts'
import { send } from '../../harness/http.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'

describe('portico status and explain', needsStore(), () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico()
  })
  afterAll(() => portico?.stop())

  const roles = inject('topology') === 'embedded' ? ['gateway'] : ['domains', 'gateway', 'gateway']
  const run = (...args: string[]) => runCli([...args, '--operations-url', portico.operationsUrl], {})
  const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).out)

  test('status exit 0: every replica with its checks, queues and version, and the state of the store', async () => {
    const read = await json('status')
    expect(read.replicas.map(({ role }: { role: string }) => role).toSorted()).toEqual(roles)
    expect(read).toMatchObject({ isHealthy: true, problems: [], missing: [] })
    for (const replica of read.replicas) {
      expect(replica).toMatchObject({ readiness: 'ready', reasons: {}, queues: { database: expect.any(Number) } })
      expect(replica.checks).toMatchObject({ store: 'ok', ledger: 'ok' })
      expect(replica.version).toMatch(/^\d+\.\d+\.\d+/)
    }
    expect(read.shared).toMatchObject({ jobs: { due: expect.any(Number) }, audit: null })
    const text = await run('status')
    expect(text, text.err).toMatchObject({ code: 0, err: '' })
    expect(text.out).toMatch(/^replica +role +version +state/)
    expect(text.out).toMatch(/^ledger +(consistent|not checked yet)/m)
    // `portico audit verify` runs in a separate process, so it does not change this line.
    expect(text.out).toMatch(/^audit log +not verified by a gateway since its start/m)
    expect(text.out).toMatch(/^audit head +\d+:[0-9a-f]{64}$/m)
  })

  test('status exit 0: counts jobs that failed and wait for a retry, such as mails that the server refuses', async () => {
    const { database } = portico.running
    const jobId = crypto.randomUUID()
    await sql`INSERT INTO jobs (biz_id, kind, payload, status, run_at, attempts, failure, created_at)
      VALUES (${jobId}, 'identity.notice', '{}', 'WAITING', now() + interval '1 hour', 3, 'refused', now())`.execute(
      database,
    )
    try {
      // A run that has started before may be shared.
      await expect.poll(async () => (await json('status')).shared.jobs.retrying).toBe(1)
      expect((await run('status')).out).toMatch(/^jobs +\d+ due, 1 waiting for a retry, 0 failed for good$/m)
    } finally {
      await database.deleteFrom('jobs').where('bizId', '=', jobId).execute()
    }
  })

  test('explain exit 0: finds a request of another replica, and names the replica', async () => {
    const requestId = crypto.randomUUID()
    const refused = await send(portico.urls.at(-1) ?? '', 'GET', '/web/v1/consumer/profile', {
      headers: { 'x-request-id': requestId },
    })
    expect(refused.status).toBe(401)
    const { entries, missing } = await json('explain', requestId)
    expect(missing).toEqual([])
    expect(entries).toMatchObject([{ requestId, operation: 'profile.read', status: 401, replica: expect.any(String) }])
    const text = await run('explain', requestId)
    expect(text.out).toMatch(/^code +ACCESS\.TOKEN_MISSING$/m)
    const unknown = await run('explain', crypto.randomUUID())
    expect([unknown.code, unknown.out]).toEqual([1, expect.stringContaining('no replica knows')])
  })

  test('explain exit 0: names the stage that refused, and the slowest one with its time', async () => {
    const stages = [
      { stage: 'limits', verdict: 'passed', ms: 0.9 },
      { stage: 'body', verdict: 'passed' },
      { stage: 'serve', verdict: 'refused', ms: 812.5 },
      { stage: 'answer', verdict: 'not reached' },
    ]
    const entry = { replica: 'one', at: '2026-11-29T09:00:00.000Z', operation: 'profile.read', ms: 815, stages }
    const server = createServer((_request, response) => response.end(JSON.stringify([entry])))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const address = server.address()
    if (typeof address !== 'object' || address === null) throw new Error('no address')
    try {
      const { out } = await runCli(['explain', 'an-id', '--operations-url', `http://127.0.0.1:${address.port}`], {})
      expect(out).toContain('stage      serve: refused\ntook       815 ms\nslowest    serve: 812.5 ms\n')
    } finally {
      server.close()
    }
  })

  test('status exit 1: names a replica whose check fails, with the reason', async () => {
    const broken = { rule: 'planted', subject: 'a wallet', violations: 3 }
    // The job of the ledger replaces the result at any time.
    const read = async () => {
      await recordCheck(portico.running.database, { at: systemClock.now(), broken, isWhole: true })
      const { code, out } = await run('status', '--json')
      return { code, ...JSON.parse(out) }
    }
    const found = await vi.waitUntil(
      async () => {
        const state = await read()
        const isComplete =
          /not ready: ledger/.test(state.problems.join()) && state.shared.ledger?.brokenRule === 'planted'
        return isComplete && state
      },
      { timeout: 30_000, interval: 200 },
    )
    expect(found.code).toBe(1)
    expect(found.shared.ledger).toMatchObject({ discrepancies: 3, brokenRule: 'planted' })
    expect(found.replicas.map(({ reasons }: { reasons: object }) => reasons)).toContainEqual({
      ledger: 'ledger check failed: planted',
    })
  })

  test.each([
    ['status', []],
    ['explain', ['an-id']],
  ])('%s exit 1: a URL that is not an operations listener is named, without a dump', async (command, rest) => {
    const { code, err } = await runCli([command, ...rest, '--operations-url', portico.url], {})
    expect(code).toBe(1)
    expect(err).toMatch(
      /^portico: \S+ responds with 404, unlike the operations listener of this version: set --operations-url\n$/,
    )
  })

  test('status exit 1: a listener that does not allow the host name is reported with the setting', async () => {
    const server = createServer((_request, response) => response.writeHead(421).end('{}'))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const address = server.address()
    if (typeof address !== 'object' || address === null) throw new Error('no address')
    try {
      const { code, err } = await runCli(['status', '--operations-url', `http://127.0.0.1:${address.port}`], {})
      expect([code, err]).toEqual([1, expect.stringContaining('listen.operationsAllowedHosts')])
    } finally {
      server.close()
    }
  })

  test('status exit 1: a deployment that does not answer is named with the option', async () => {
    const { code, out } = await runCli(['status', '--json', '--operations-url', 'http://127.0.0.1:1'], {})
    expect(code).toBe(1)
    expect(JSON.parse(out).error).toMatchObject({ message: expect.stringContaining('--operations-url'), exitCode: 1 })
  })
})
