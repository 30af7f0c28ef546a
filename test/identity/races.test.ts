import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { generateSync } from 'otplib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Tx } from '../../src/database/index.ts'
import { lockAccount } from '../../src/identity/accounts/store.ts'
import { cancelLoginAttempts } from '../../src/identity/attempts/store.ts'
import { refreshToken } from '../../src/identity/login/contract.ts'
import {
  generateBackupCodes,
  revokeOtp,
  sendStepUpCode,
  setupOtp,
  stepUp,
  verifyOtp,
} from '../../src/identity/mfa/contract.ts'
import { activatePendingSecret, putPendingSecret, readOtp, removeOtp } from '../../src/identity/mfa/store.ts'
import { sealSecret } from '../../src/identity/mfa/totp.ts'
import { forgotPassword, resetPassword } from '../../src/identity/passwords/contract.ts'
import { strengthEstimator } from '../../src/identity/passwords/policy.ts'
import { cancelPasswordTokens } from '../../src/identity/passwords/store.ts'
import { configureSessions, terminateAllSessions } from '../../src/identity/sessions/contract.ts'
import { toDate } from '../../src/kernel/index.ts'
import { embeddedStore, postgresStore } from '../ledger/stores.ts'
import {
  begin,
  call,
  codeOf,
  complete,
  createRequestContext,
  credential,
  type Harness,
  harness,
  initiate,
  mailedCode,
  signIn,
} from './harness.ts'
import { interceptVerify, type RunAfterVerify } from './intercept-verify.ts'

const stores = [
  { name: 'PGlite', open: embeddedStore, rounds: 6 },
  { name: 'PostgreSQL', open: postgresStore, rounds: 12 },
]

/** One-time actions happen once, even at several replicas. */
describe.each(stores)('concurrency on $name', ({ open, rounds }) => {
  let at: Harness
  let other: Harness['identity']
  let isAvailable = false
  let runAfterVerify: RunAfterVerify

  beforeAll(async () => {
    const store = await open()
    if (!store) return
    isAvailable = true
    at = await harness(
      (settings) => {
        settings.portals.CONSUMER.codeSends.limit = 10_000
        settings.login.failures.limit = 10_000
        settings.portals.CONSUMER.forgot.limit = 10_000
      },
      (ports) => {
        runAfterVerify = interceptVerify(ports)
      },
      store,
    )
    other = await at.replica()
  })
  afterAll(() => at?.close())

  const race = (name: string, body: () => Promise<void>) =>
    test(name, async ({ skip }) => {
      skip(!isAvailable, 'PostgreSQL is not installed')
      await body()
    })

  const openSessions = async (email: string): Promise<number> => {
    const rows = await at.ports.database
      .selectFrom('sessions')
      .innerJoin('accounts', 'accounts.bizId', 'sessions.accountBizId')
      .select('sessions.bizId')
      .where('accounts.email', '=', email)
      .where('endedAt', 'is', null)
      .execute()
    return rows.length
  }
  const replicas = (count: number) => Array.from({ length: count }, (_, each) => (each % 2 ? other : at.identity))
  const countFulfilled = async (tries: Promise<unknown>[]): Promise<number> =>
    (await Promise.allSettled(tries)).filter(({ status }) => status === 'fulfilled').length

  const signedIn = async (email: string) => {
    await at.account(email)
    const session = await signIn(at, email)
    const caller = await at.identity.authentication.accessToken(credential(session.accessToken))
    return { session, caller }
  }

  race('auth.loginComplete 200: exactly one of parallel requests for a sign-in succeeds', async () => {
    for (let round = 0; round < rounds; round++) {
      const email = `race${round}@demo.test`
      await at.account(email)
      const { sessionId, code } = await begin(at, email)
      expect(await countFulfilled(replicas(6).map((identity) => complete(at, sessionId, code, {}, identity)))).toBe(1)
      expect(await openSessions(email)).toBe(1)
    }
  })

  race('auth.loginComplete 404: the slower of two requests with the correct code', async () => {
    await at.account('second@demo.test')
    const { sessionId, code } = await begin(at, 'second@demo.test')
    const ends = await Promise.allSettled([at.identity, other].map((by) => complete(at, sessionId, code, {}, by)))
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const refusals = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))
    expect(refusals).toMatchObject([{ code: 'AUTH.SESSION_NOT_FOUND' }])
  })

  race('auth.loginComplete 200: parallel sign-ins stay within the session limit; the oldest sessions end', async () => {
    const email = 'bound@demo.test'
    await at.account(email)
    for (let round = 0; round < 6; round++) {
      at.clock.advance(1_000)
      const logins: Awaited<ReturnType<typeof begin>>[] = []
      for (let login = 0; login < 8; login++) logins.push(await begin(at, email, { clientHash: `client-${login}` }))
      const done = await Promise.all(
        logins.map(({ sessionId, code }, login) => complete(at, sessionId, code, { clientHash: `client-${login}` })),
      )
      expect(done).toHaveLength(8)
      expect(await openSessions(email)).toBe(5)
    }
    const ended = await at.ports.database
      .selectFrom('sessions')
      .select('loginAt')
      .where('endReason', '=', 'DISPLACED')
      .execute()
    expect(Math.min(...ended.map((row) => row.loginAt))).toBeLessThan(at.clock.now())
  })

  race('auth.loginComplete 401: parallel guesses get five tries in total', async () => {
    const email = 'guess@demo.test'
    await at.account(email)
    const { sessionId, code } = await begin(at, email)
    const guesses = Array.from({ length: 20 }, (_, guess) => (guess === Number(code) ? '999999' : `00000${guess % 10}`))
    const codes = await Promise.all(guesses.map((guess) => codeOf(complete(at, sessionId, guess))))
    expect(codes.filter((each) => each === 'AUTH.CODE_INVALID')).toHaveLength(5)
  })

  race('auth.loginInitiate 401: starts no attempt during the commit of a password change', async () => {
    const email = 'crossing@demo.test'
    const id = await at.account(email)
    const { database, passwords } = at.ports
    const passwordHash = await passwords.hash('violet-Anchor-Tundra-58')
    let committed: Promise<unknown> = Promise.resolve()
    runAfterVerify(async () => {
      const tx = await database.startTransaction().execute()
      await lockAccount(tx, 'CONSUMER', id)
      await tx.updateTable('accounts').set({ passwordHash }).where('bizId', '=', id).execute()
      await cancelLoginAttempts(tx, 'CONSUMER', id, at.clock.now())
      committed = pause(100).then(() => tx.commit().execute())
    })
    expect(await codeOf(initiate(at, email))).toBe('AUTH.INVALID_CREDENTIALS')
    await committed
  })

  race('auth.loginComplete 404: a concurrent suspension does not count as a failure', async () => {
    const email = 'meanwhile@demo.test'
    const id = await at.account(email)
    const { sessionId, code } = await begin(at, email)
    const { database } = at.ports
    const failures = () => database.selectFrom('login_failures').select('failures').where('failures', '>', 0).execute()
    const before = (await failures()).length
    const tx = await database.startTransaction().execute()
    await lockAccount(tx, 'CONSUMER', id)
    await tx.updateTable('accounts').set({ accountStatus: 'SUSPENDED' }).where('bizId', '=', id).execute()
    const committed = pause(100).then(() => tx.commit().execute())
    expect(await codeOf(complete(at, sessionId, code))).toBe('AUTH.SESSION_NOT_FOUND')
    await committed
    expect(await failures()).toHaveLength(before)
  })

  race('auth.refresh 200: parallel tabs get one successor; concurrent sign-ins respect a new limit', async () => {
    for (let round = 0; round < rounds; round++) {
      const email = `tabs${round}@demo.test`
      const { session, caller } = await signedIn(email)
      const tabs = await Promise.all(
        replicas(6).map((identity) =>
          call(identity, refreshToken, createRequestContext(at.clock), { refreshToken: session.refreshToken }),
        ),
      )
      expect(new Set(tabs.map((tab) => tab.refreshToken)).size).toBe(1)
      const logins: Awaited<ReturnType<typeof begin>>[] = []
      for (let login = 0; login < 3; login++) logins.push(await begin(at, email))
      const bound = call(other, configureSessions, createRequestContext(at.clock), { maxConcurrentSessions: 2 }, caller)
      await Promise.all([bound, ...logins.map(({ sessionId, code }) => complete(at, sessionId, code))])
      expect(await openSessions(email)).toBeLessThanOrEqual(2)
    }
  })

  race('auth.refresh 404: during the commit of the end of the session', async () => {
    const { session, caller } = await signedIn('ending@demo.test')
    const tx = await at.ports.database.startTransaction().execute()
    const ended = { endedAt: toDate(at.clock.now()), endReason: 'LOGOUT' } as const
    await tx.updateTable('sessions').set(ended).where('bizId', '=', caller.sessionId).execute()
    const committed = pause(100).then(() => tx.commit().execute())
    const refreshed = call(other, refreshToken, createRequestContext(at.clock), { refreshToken: session.refreshToken })
    expect(await codeOf(refreshed)).toBe('AUTH.SESSION_NOT_FOUND')
    await committed
  })

  race('sessions.terminateAll 200: ends other sessions once, with concurrent requests and refreshes', async () => {
    for (let round = 0; round < rounds; round++) {
      const email = `end${round}@demo.test`
      const { caller } = await signedIn(email)
      const second = await signIn(at, email)
      const endings = replicas(3).map((identity) =>
        call(identity, terminateAllSessions, createRequestContext(at.clock), null, caller),
      )
      const refresh = call(other, refreshToken, createRequestContext(at.clock), { refreshToken: second.refreshToken })
      const [ended] = await Promise.all([Promise.all(endings), refresh.catch(() => undefined)])
      expect(ended.reduce((sum, { terminatedSessions }) => sum + terminatedSessions, 0)).toBe(1)
      expect(await openSessions(email)).toBe(1)
    }
  })

  race('an authenticator code, a backup code and a reset link work once', async () => {
    for (let round = 0; round < rounds; round++) {
      const email = `once${round}@demo.test`
      const { caller } = await signedIn(email)
      const request = createRequestContext(at.clock)
      const { secret } = await call(at.identity, setupOtp, request, null, caller)
      const otp = () => generateSync({ secret, epoch: Math.floor(at.clock.now() / 1_000) })
      expect(
        await countFulfilled(
          replicas(5).map((identity) => call(identity, verifyOtp, request, { code: otp() }, caller)),
        ),
      ).toBe(1)
      at.clock.advance(30_000)
      const proof = { mfaMethod: 'OTP', code: otp() }
      expect(await countFulfilled(replicas(5).map((identity) => call(identity, stepUp, request, proof, caller)))).toBe(
        1,
      )
      const { codes } = await call(at.identity, generateBackupCodes, request, null, caller)
      const backup = { mfaMethod: 'BACKUP_CODE', code: codes[0] }
      expect(await countFulfilled(replicas(5).map((identity) => call(identity, stepUp, request, backup, caller)))).toBe(
        1,
      )
      await call(at.identity, forgotPassword, request, { email, turnstileToken: '' })
      await at.background.idle()
      const link = at.outbox.list().find(({ to, template }) => to === email && template === 'password-reset')
      const token = /#token=([\w-]+)/.exec(link?.text ?? '')?.[1]
      const reset = { token, newPassword: `violet-Anchor-Tundra-${round}`, mfaMethod: 'BACKUP_CODE', code: codes[1] }
      expect(await countFulfilled(replicas(5).map((identity) => call(identity, resetPassword, request, reset)))).toBe(1)
      expect(await openSessions(email)).toBe(0)
    }
  })

  race('password.reset 404: during a password change, without a deadlock', async () => {
    const email = 'both-ways@demo.test'
    const id = await at.account(email)
    const request = createRequestContext(at.clock)
    await call(at.identity, forgotPassword, request, { email, turnstileToken: '' })
    await at.background.idle()
    const link = at.outbox.list().find((mail) => mail.to === email)
    const token = /#token=([\w-]+)/.exec(link?.text ?? '')?.[1]
    await strengthEstimator()
    let reset: Promise<string> | undefined
    await at.ports.database.transaction().execute(async (tx) => {
      await sql`SET LOCAL lock_timeout = '300ms'`.execute(tx)
      await lockAccount(tx, 'CONSUMER', id)
      reset = codeOf(call(at.identity, resetPassword, request, { token, newPassword: 'violet-Anchor-Tundra-58' }))
      await pause(400)
      await cancelPasswordTokens(tx, 'CONSUMER', id, at.clock.now())
    })
    expect(await reset).toBe('AUTH.SESSION_NOT_FOUND')
  })

  describe('an authenticator during its replacement', () => {
    /** The active one was verified in the previous time step. */
    const prepareReplacement = async (email: string) => {
      const { caller } = await signedIn(email)
      const request = createRequestContext(at.clock)
      const setup = async () => (await call(at.identity, setupOtp, request, null, caller)).secret
      const codeOfStep = (secret: string, steps: number) =>
        generateSync({ secret, epoch: Math.floor(at.clock.now() / 1_000) + steps * 30 })
      const before = await setup()
      await call(at.identity, verifyOtp, request, { code: codeOfStep(before, -1) }, caller)
      const after = await setup()
      const { pendingSecret } = (await readOtp(at.ports.database, 'CONSUMER', caller.accountId)) ?? {}
      if (!pendingSecret) throw new Error('no pending secret')
      const step = Math.floor(at.clock.now() / 30_000) - 1
      return { caller, request, pendingSecret, step, oldCode: codeOfStep(before, 0), newCode: codeOfStep(after, 0) }
    }
    /** The request starts after `work` has run and before its transaction commits. */
    const during = async (work: (tx: Tx) => Promise<unknown>, sendRequest: () => Promise<unknown>): Promise<string> => {
      const tx = await at.ports.database.startTransaction().execute()
      await work(tx)
      const committed = pause(150).then(() => tx.commit().execute())
      const end = await codeOf(sendRequest())
      await committed
      return end
    }

    race('mfa.stepUp 401 AUTH.CODE_INVALID: for a code of the old one', async () => {
      const { caller, request, pendingSecret, step, oldCode, newCode } = await prepareReplacement('replaced@demo.test')
      const activate = (tx: Tx) =>
        activatePendingSecret(tx, 'CONSUMER', caller.accountId, pendingSecret, step, at.clock.now())
      const verifyTotp = (code: string) => call(at.identity, stepUp, request, { mfaMethod: 'OTP', code }, caller)
      expect(await during(activate, () => verifyTotp(oldCode))).toBe('AUTH.CODE_INVALID')
      await verifyTotp(newCode)
    })

    race('mfa.otpVerify 401 or 409: does not activate a secret that a concurrent setup has replaced', async () => {
      const { caller, request, newCode } = await prepareReplacement('replaced-twice@demo.test')
      const { accountId } = caller
      const secret = sealSecret(at.ports.secretBox, 'CONSUMER', accountId, new Uint8Array(20))
      const replacePending = (tx: Tx) => putPendingSecret(tx, 'CONSUMER', accountId, secret, at.clock.now())
      const before = await readOtp(at.ports.database, 'CONSUMER', accountId)
      const verify = () => call(at.identity, verifyOtp, request, { code: newCode }, caller)
      expect(['AUTH.CODE_INVALID', 'STATE.CONFLICT']).toContain(await during(replacePending, verify))
      const after = await readOtp(at.ports.database, 'CONSUMER', accountId)
      expect(after).toMatchObject({ secret: before?.secret, verifiedAt: before?.verifiedAt })
    })

    race('mfa.otpRevoke 409 STATE.CONFLICT: after a concurrent removal; the new setup stays pending', async () => {
      const { caller, request, pendingSecret, newCode } = await prepareReplacement('revoked@demo.test')
      const { accountId } = caller
      await call(at.identity, sendStepUpCode, request, { mfaMethod: 'EMAIL' }, caller)
      await call(
        at.identity,
        stepUp,
        request,
        { mfaMethod: 'EMAIL', code: mailedCode(at, 'revoked@demo.test') },
        caller,
      )
      const steppedUp = { ...caller, steppedUpAt: at.clock.now() }
      const revoke = () => call(at.identity, revokeOtp, request, {}, steppedUp)
      const replacePending = async (tx: Tx) => {
        await lockAccount(tx, 'CONSUMER', accountId)
        await removeOtp(tx, 'CONSUMER', accountId)
        await putPendingSecret(tx, 'CONSUMER', accountId, pendingSecret, at.clock.now())
      }
      expect(await during(replacePending, revoke)).toBe('STATE.CONFLICT')
      await call(at.identity, verifyOtp, request, { code: newCode }, caller)
    })
  })

  race('cleanup deletes expired rows and nothing else', async () => {
    const email = 'sweep@demo.test'
    await at.account(email)
    const { sessionId, code } = await begin(at, email)
    await at.identity.deleteExpired(at.ports.database)
    const { accessToken } = await complete(at, sessionId, code)
    await call(at.identity, forgotPassword, createRequestContext(at.clock), { email, turnstileToken: '' })
    await at.background.idle()
    const count = async (
      table: 'sessions' | 'refresh_tokens' | 'login_sessions' | 'one_time_codes' | 'password_tokens',
    ) => (await at.ports.database.selectFrom(table).select('portal').execute()).length
    expect(await count('password_tokens')).toBeGreaterThan(0)
    const links = await count('password_tokens')
    await at.identity.deleteExpired(at.ports.database)
    expect(await count('password_tokens')).toBe(links)
    expect((await at.identity.authentication.accessToken(credential(accessToken))).portal).toBe('CONSUMER')
    expect(await count('sessions')).toBeGreaterThan(0)
    at.clock.advance(31 * 86_400_000)
    await at.identity.deleteExpired(at.ports.database)
    for (const table of ['sessions', 'refresh_tokens', 'login_sessions', 'one_time_codes', 'password_tokens'] as const)
      expect(await count(table)).toBe(0)
  })
})
