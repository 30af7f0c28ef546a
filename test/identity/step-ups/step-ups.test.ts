import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateSync } from 'otplib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createTransfer } from '../../../src/banking/transfers/contract.ts'
import { canonicalPurpose, confirmedSchemas } from '../../../src/contract/step-up-purpose.ts'
import { logout } from '../../../src/identity/login/contract.ts'
import { revokeOtp, sendStepUpCode, setupOtp, stepUp, verifyOtp } from '../../../src/identity/mfa/contract.ts'
import { digestOfPurpose } from '../../../src/identity/step-ups/digest.ts'
import type { Caller, Idempotency, Instant, Operation } from '../../../src/kernel/index.ts'
import { root } from '../../harness/settings.ts'
import {
  call,
  codeOf,
  createRequestContext,
  credential,
  type Harness,
  harness,
  mailedCode,
  refusalOf,
  signedIn,
  signIn,
} from '../harness.ts'

const email = 'owner@demo.test'
const operations = [setupOtp, revokeOtp, createTransfer]

let at: Harness
let caller: Caller
beforeAll(async () => {
  at = await harness(
    (settings) => {
      settings.mfa = { ...settings.mfa, binding: 'purpose' }
      settings.portals.CONSUMER.codeSends.limit = 1_000
    },
    (ports) => {
      ports.purposes.findOperation = (id) => operations.find((operation) => operation.id === id)
    },
  )
  await at.account(email)
})
beforeEach(async () => {
  caller = await signedIn(at, email)
})
afterAll(() => at.close())

const purpose = { operationId: setupOtp.id }
function invoke<O extends Parameters<typeof call>[1]>(operation: O, body: unknown = null, by = caller) {
  return call(at.identity, operation, createRequestContext(at.clock), body, by)
}
async function confirm(by = caller) {
  await invoke(sendStepUpCode, { mfaMethod: 'EMAIL', purpose }, by)
  await invoke(stepUp, { mfaMethod: 'EMAIL', code: mailedCode(at, email), purpose }, by)
}
function spend(by = caller, idempotency: Idempotency | null = null, operation: Operation = setupOtp) {
  const { accountId, apiKeyId, portal } = by
  const context = { ...createRequestContext(at.clock), operationId: operation.id, accountId, apiKeyId, portal }
  return at.identity.stepUps.spend({
    caller: by,
    context: { ...context, at: at.clock.now() },
    workspaceId: null,
    purpose: canonicalPurpose(operation, null, {}),
    idempotency,
  })
}
function minutes(count: number): number {
  return count * 60_000
}
function spent(verifiedAt: Instant) {
  return { verifiedAt }
}
const none = { reason: 'no recent step-up' }

describe('a step-up that is bound to its purpose', () => {
  test('mfa.stepUp 200: can be spent once, before five minutes have passed', async () => {
    await confirm()
    const verifiedAt = at.clock.now()
    at.clock.advance(minutes(5) - 1)
    expect(await spend()).toEqual(spent(verifiedAt))
    expect(await spend()).toEqual({ reason: 'the step-up for this purpose is spent' })
    await confirm()
    at.clock.advance(minutes(5))
    expect(await spend()).toEqual(none)
  })

  test('mfa.stepUp 200: not after the clock was set back by an hour', async () => {
    await confirm()
    at.clock.advance(-minutes(60))
    expect(await spend()).toEqual(none)
    at.clock.advance(minutes(60))
  })

  test('mfa.stepUp 200: a second verification can be spent again', async () => {
    await confirm()
    await spend()
    at.clock.advance(minutes(1))
    await confirm()
    expect(await spend()).toEqual(spent(at.clock.now()))
  })

  test('mfa.stepUp 200: only in its own session, and not after that has ended', async () => {
    const other = await signedIn(at, email)
    await confirm()
    expect(await spend(other)).toEqual(none)
    await invoke(logout)
    expect(await spend()).toEqual(none)
  })

  test('mfa.stepUp 200: only for its own operation; never for an API key', async () => {
    await confirm()
    const other = { reason: 'the recent step-ups have other purposes' }
    expect(await spend(caller, null, revokeOtp)).toEqual(other)
    const key = { ...caller, sessionId: null, apiKeyId: at.ports.ids.next() }
    expect(await spend(key)).toEqual({ reason: 'an API key cannot step up' })
  })

  test('mfa.stepUp 200: a retry with the same id and body can use it again, no other command', async () => {
    await confirm()
    const verifiedAt = at.clock.now()
    const command = { key: 'one', bodyHash: 'a' }
    expect(await spend(caller, command)).toEqual(spent(verifiedAt))
    expect(await spend(caller, command)).toEqual(spent(verifiedAt))
    for (const other of [{ ...command, key: 'two' }, { ...command, bodyHash: 'b' }, null])
      expect(await spend(caller, other)).toEqual({ reason: 'the step-up for this purpose is spent' })
  })

  test('mfa.stepUp 200: many parallel commands spend it once', async () => {
    await confirm()
    const results = await Promise.all(Array.from({ length: 20 }, () => spend()))
    expect(results.filter((result) => 'verifiedAt' in result)).toHaveLength(1)
  })

  test('mfa.stepUp, mfa.stepUpSend 400: without a purpose, for an authenticator, too', async () => {
    for (const body of [
      { mfaMethod: 'EMAIL', code: '123456' },
      { mfaMethod: 'OTP', code: '123456' },
      { mfaMethod: 'BACKUP_CODE', code: '123456' },
    ])
      expect((await refusalOf(invoke(stepUp, body))).detail.field).toBe('purpose')
    expect((await refusalOf(invoke(sendStepUpCode, { mfaMethod: 'EMAIL' }))).detail.field).toBe('purpose')
  })

  test('mfa.stepUp 401: a mailed code for another purpose counts as a failure', async () => {
    await invoke(sendStepUpCode, { mfaMethod: 'EMAIL', purpose })
    const code = mailedCode(at, email)
    const other = { operationId: revokeOtp.id }
    expect(await codeOf(invoke(stepUp, { mfaMethod: 'EMAIL', code, purpose: other }))).toBe('AUTH.CODE_INVALID')
    await invoke(stepUp, { mfaMethod: 'EMAIL', code, purpose })
    expect(await spend(caller, null, revokeOtp)).toEqual({ reason: 'the recent step-ups have other purposes' })
  })

  test('a session has no general step-up, not even one from before the setting changed', async () => {
    const { accessToken } = await signIn(at, email)
    const read = () => at.identity.authentication.accessToken(credential(accessToken, { bypassCache: true }))
    const by = await read()
    await confirm(by)
    await at.ports.database
      .updateTable('sessions')
      .set({ steppedUpAt: new Date(at.clock.now()) })
      .where('bizId', '=', by.sessionId)
      .execute()
    expect((await read()).steppedUpAt).toBeNull()
  })

  test('mfa.otpRevoke 200: without a code, with a step-up that the gateway has spent', async () => {
    const owner = 'authenticator@demo.test'
    await at.account(owner)
    const by = await signedIn(at, owner)
    const { secret } = await invoke(setupOtp, null, by)
    await invoke(verifyOtp, { code: generateSync({ secret, epoch: Math.floor(at.clock.now() / 1_000) }) }, by)
    expect(await codeOf(invoke(revokeOtp, {}, by))).toBe('ACCESS.STEP_UP_REQUIRED')
    expect((await invoke(revokeOtp, {}, { ...by, steppedUpAt: at.clock.now() })).isEnabled).toBe(false)
  })

  test('rows are deleted a day after they have expired, and with their session', async () => {
    await confirm()
    const rows = async () =>
      (await at.ports.database.selectFrom('step_ups').select('sessionBizId').execute()).filter(
        ({ sessionBizId }) => sessionBizId === caller.sessionId,
      )
    expect(await rows()).toHaveLength(1)
    at.clock.advance(minutes(25 * 60))
    await at.identity.deleteExpired(at.ports.database)
    expect(await rows()).toEqual([])
  })
})

describe('the canonical form of a purpose', () => {
  const page = readFileSync(join(root, 'docs/concepts/step-up.md'), 'utf8')
  const canonical = /```text\n([^`]+)```/.exec(page)?.[1]?.replaceAll('\n', '') ?? ''
  const digest = /`([0-9a-f]{64})`/.exec(page)?.[1]

  const example = JSON.parse(/```json\n([^`]+)```/.exec(page)?.[1] ?? '')

  test('is the documented one, for the documented example', () => {
    const { operationId, workspaceBizId, ...given } = example.purpose
    expect(operationId).toBe(createTransfer.id)
    const fields = z.strictObject(confirmedSchemas(createTransfer)).parse(given)
    expect(canonicalPurpose(createTransfer, workspaceBizId, fields)).toBe(canonical)
    expect(digestOfPurpose(canonical)).toBe(digest)
  })

  test('sorts lists of texts, and keeps the order of other lists', () => {
    const of = (fields: object) => canonicalPurpose(createTransfer, null, { ...fields })
    expect(of({ codes: ['b', 'a'] })).toBe(of({ codes: ['a', 'b'] }))
    expect(of({ steps: [2, 1] })).not.toBe(of({ steps: [1, 2] }))
  })
})
