import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { canonicalPurpose } from '../../../src/contract/step-up-purpose.ts'
import type { StepUpPort } from '../../../src/gateway/pipeline/ports.ts'
import { sendStepUpCode, setupOtp, stepUp } from '../../../src/identity/mfa/contract.ts'
import { assertSession } from '../../../src/identity/sessions/rules.ts'
import { createStepUpAbsence } from '../../../src/identity/step-ups/absence.ts'
import { createStepUps } from '../../../src/identity/step-ups/service.ts'
import { type Caller, toInstant } from '../../../src/kernel/index.ts'
import { call, createRequestContext, type Harness, harness, mailedCode, signedIn } from '../harness.ts'

const email = 'owner@demo.test'
const lease = { ms: 250, shared: true }
const none = { reason: 'no recent step-up' }

let at: Harness
beforeAll(async () => {
  at = await harness(
    (settings) => {
      settings.mfa = { ...settings.mfa, binding: 'purpose' }
      settings.sessions = { ...settings.sessions, lease }
      settings.portals.CONSUMER.codeSends.limit = 1_000
    },
    (ports) => {
      ports.purposes.findOperation = (id) => [setupOtp].find((operation) => operation.id === id)
    },
  )
  await at.account(email)
})
afterAll(() => at.close())

/** Shares the database with `at`. Its clock runs, unlike that of `at`. */
function createReplica() {
  const [start, begun] = [at.clock.now(), performance.now()]
  const clock = { now: () => toInstant(Math.round(start + performance.now() - begun)) }
  const stepUpAbsence = createStepUpAbsence({ ...at.ports, clock }, { cacheSize: 10, lease })
  return createStepUps({ ...at.ports, clock, stepUpAbsence })
}

function spendAt({ spend }: StepUpPort, caller: Caller, purpose = canonicalPurpose(setupOtp, null, {})) {
  const { accountId, apiKeyId, portal } = caller
  const context = { ...createRequestContext(at.clock), operationId: setupOtp.id, accountId, apiKeyId, portal }
  return spend({ caller, context: { ...context, at: at.clock.now() }, workspaceId: null, purpose, idempotency: null })
}

async function confirm(caller: Caller) {
  const purpose = { operationId: setupOtp.id }
  const invoke = (operation: typeof sendStepUpCode | typeof stepUp, body: object) =>
    call(at.identity, operation, createRequestContext(at.clock), body, caller)
  await invoke(sendStepUpCode, { mfaMethod: 'EMAIL', purpose })
  await invoke(stepUp, { mfaMethod: 'EMAIL', code: mailedCode(at, email), purpose })
}

test('mfa.stepUp 200: every replica finds the step-up, even if it has just read that there is none', async () => {
  const caller = await signedIn(at, email)
  const replica = createReplica()
  const confirmed = confirm(caller)
  // Until the response, this replica reads again and again that there is none, or finds the step-up.
  let isPending = true
  void confirmed.finally(() => {
    isPending = false
  })
  while (isPending) {
    expect(await spendAt(replica, caller, 'another purpose')).toHaveProperty('reason')
    await nextTurn()
  }
  await confirmed
  expect(await spendAt(replica, caller)).toHaveProperty('verifiedAt')
})

test('mfa.stepUp 200: the replica of the step-up finds it immediately, and reads nothing for a session without one', async () => {
  const caller = await signedIn(at, email)
  expect(await spendAt(at.identity.stepUps, caller)).toEqual(none)
  await at.ports.database
    .updateTable('step_ups')
    .set({ sessionBizId: assertSession(caller).sessionId })
    .execute()
  expect(await spendAt(at.identity.stepUps, caller)).toEqual(none)
  at.clock.advance(lease.ms)
  expect(await spendAt(at.identity.stepUps, caller)).not.toEqual(none)
  const other = await signedIn(at, email)
  expect(await spendAt(at.identity.stepUps, other)).toEqual(none)
  await confirm(other)
  expect(await spendAt(at.identity.stepUps, other)).toHaveProperty('verifiedAt')
})
