import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { gatherStatus, readReplicaStatus } from '../../../src/gateway/operations/status.ts'
import type { Replicas } from '../../../src/platform/replicas.ts'
import { systemClock } from '../../../src/platform/runtime/index.ts'

const nothing = { ledger: null, auditHead: null, jobs: null, eventsLagSeconds: null, webhookDeliveriesWaiting: null }

async function problemsOf(changed: object): Promise<string[]> {
  const status = await readReplicaStatus({
    version: '1.2.3',
    role: 'gateway',
    startedAt: systemClock.now(),
    probes: [{ name: 'store', check: async () => undefined }],
    isDraining: () => false,
    registry: new Registry(),
    clock: systemClock,
  })
  const gather: Replicas['gather'] = async () => ({
    answers: [{ replica: 'a-1', result: { ...status, ...changed } }],
    missing: [],
  })
  const read = await gatherStatus({ gather, answer: () => undefined, close: () => undefined }, async () => nothing)
  expect(read.isHealthy).toBe(read.problems.length === 0)
  return read.problems
}

test('GET /status 200: a replica that serves only in part is a problem, although it is ready', async () => {
  expect(await problemsOf({})).toEqual([])
  expect(await problemsOf({ checks: { store: 'read-only', files: 'degraded', cache: 'ok' } })).toEqual([
    'a-1: store is read-only',
    'a-1: files is degraded',
  ])
  expect(await problemsOf({ backends: { loans: 'open', cards: 'closed', notes: 'half open' } })).toEqual([
    'a-1: the circuit of loans is open',
    'a-1: the circuit of notes is half open',
  ])
})

test('GET /status 200: names the failed checks of a replica that is not ready', async () => {
  const checks = { store: 'failed', cache: 'failed', files: 'degraded' }
  expect(await problemsOf({ readiness: 'unready', checks })).toEqual([
    'a-1 is not ready: store, cache',
    'a-1: files is degraded',
  ])
})
