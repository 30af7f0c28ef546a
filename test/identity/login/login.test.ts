import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { completeLogin } from '../../../src/identity/login/contract.ts'
import { sendStepUpCode } from '../../../src/identity/mfa/contract.ts'
import { storedInPlainText } from '../../harness/rows.ts'
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
  refusalOf,
  send,
  signedIn,
  signIn,
} from '../harness.ts'

let at: Harness
const verified: (string | null)[] = []
beforeAll(async () => {
  at = await harness(undefined, (ports) => {
    const { verify } = ports.passwords
    ports.passwords = {
      ...ports.passwords,
      verify: (...input) => verify(...input).finally(() => verified.push(input[0])),
    }
  })
})
afterAll(() => at.close())

describe('auth.loginInitiate', () => {
  test('200: starts a sign-in attempt and stores only a digest of its session id', async () => {
    await at.account('ann@demo.test')
    const reply = await initiate(at, 'ann@demo.test')
    expect(reply).toMatchObject({ expiresIn: 600, accountStatus: null, pendingApproval: false })
    expect(reply.mfaMethods.map((method) => method.value)).toEqual([10011001])
    expect(await storedInPlainText(at.ports.database, reply.sessionId ?? '')).toEqual([])
  })

  test('200: ignores case, width and white space of the e-mail address', async () => {
    const reply = await initiate(at, '  ＡＮＮ@Demo.test ')
    expect(reply.sessionId).toBeTypeOf('string')
  })

  test('401: the same for unknown address, wrong password, suspended account and other portal', async () => {
    await at.account('sam@demo.test', { status: 'SUSPENDED' })
    const refusals = await Promise.all([
      codeOf(initiate(at, 'nobody@demo.test')),
      codeOf(initiate(at, 'ann@demo.test', {}, 'wrong')),
      codeOf(initiate(at, 'sam@demo.test')),
      codeOf(initiate(at, 'ann@demo.test', { portal: 'SYSTEM' })),
    ])
    expect(new Set(refusals)).toEqual(new Set(['AUTH.INVALID_CREDENTIALS']))
  })

  test('401: verifies a password for an unknown address, too', async () => {
    const before = verified.length
    for (const email of ['ann@demo.test', 'nobody@demo.test'])
      expect(await codeOf(initiate(at, email, {}, 'wrong'))).toBe('AUTH.INVALID_CREDENTIALS')
    // test/platform/crypto.test.ts checks that null takes the same time.
    expect(verified.slice(before)).toEqual([expect.stringMatching(/^\$argon2id\$/), null])
  })

  test('200: reveals a pending approval only for the correct password, and starts no attempt', async () => {
    await at.account('pat@demo.test', { status: 'PENDING_APPROVAL' })
    expect(await codeOf(initiate(at, 'pat@demo.test', {}, 'wrong'))).toBe('AUTH.INVALID_CREDENTIALS')
    const reply = await initiate(at, 'pat@demo.test')
    expect(reply).toMatchObject({ sessionId: null, pendingApproval: true, mfaMethods: [] })
    expect(reply.accountStatus?.value).toBe(10010201)
  })

  test('429: after ten failures in 15 minutes, for the correct password and unknown addresses, too', async () => {
    await at.account('bob@demo.test')
    for (const email of ['bob@demo.test', 'ghost@demo.test']) {
      for (let failure = 0; failure < 10; failure++)
        expect(await codeOf(initiate(at, email, {}, 'wrong'))).toBe('AUTH.INVALID_CREDENTIALS')
      const refused = await refusalOf(initiate(at, email))
      expect([refused.code, refused.detail.retryAfter]).toEqual(['ACCESS.RATE_LIMITED', 60])
    }
    expect(await codeOf(initiate(at, 'BOB@demo.test '))).toBe('ACCESS.RATE_LIMITED')
    at.clock.advance(60_000)
    expect(await codeOf(initiate(at, 'bob@demo.test', {}, 'wrong'))).toBe('AUTH.INVALID_CREDENTIALS')
    expect((await refusalOf(initiate(at, 'bob@demo.test'))).detail.retryAfter).toBe(120)
    at.clock.advance(120_000)
    expect((await initiate(at, 'bob@demo.test')).sessionId).toBeTypeOf('string')
    expect(await codeOf(initiate(at, 'bob@demo.test', {}, 'wrong'))).toBe('AUTH.INVALID_CREDENTIALS')
    expect((await refusalOf(initiate(at, 'bob@demo.test'))).detail.retryAfter).toBe(240)
    at.clock.advance(240_000 + 900_000)
    expect(await codeOf(initiate(at, 'bob@demo.test', {}, 'wrong'))).toBe('AUTH.INVALID_CREDENTIALS')
    expect((await refusalOf(initiate(at, 'bob@demo.test'))).detail.retryAfter).toBe(480)
    at.clock.advance(480_000 + 86_400_000)
    for (let failure = 0; failure < 9; failure++) await codeOf(initiate(at, 'bob@demo.test', {}, 'wrong'))
    expect((await initiate(at, 'bob@demo.test')).sessionId).toBeTypeOf('string')
  })

  test('429: pauses between lockouts allow fewer than 100 guesses of the second factor a day', async () => {
    await at.account('patient@demo.test')
    const start = at.clock.now()
    let guesses = 0
    while (at.clock.now() - start < 86_400_000) {
      const { sessionId } = await initiate(at, 'patient@demo.test')
      const guess = () => codeOf(complete(at, sessionId, '000000'))
      let code = 'AUTH.CODE_INVALID'
      for (let tried = 0; tried < 5 && code === 'AUTH.CODE_INVALID'; tried++) {
        code = await guess()
        if (code === 'AUTH.CODE_INVALID') guesses += 1
      }
      const wait = await initiate(at, 'patient@demo.test').then(
        () => 0,
        ({ detail }) => detail.retryAfter * 1_000,
      )
      if (wait > 0) at.clock.advance(wait + 900_000)
    }
    expect(guesses).toBeLessThan(100)
  })

  test('429: staying below the limit of every window allows 100 consecutive guesses, then about 20 a day', async () => {
    await at.account('steady@demo.test')
    const start = at.clock.now()
    let guesses = 0
    while (at.clock.now() - start < 86_400_000) {
      for (let attempt = 0; attempt < 9; attempt++) {
        const code = await codeOf(initiate(at, 'steady@demo.test', {}, 'wrong'))
        if (code === 'AUTH.INVALID_CREDENTIALS') guesses += 1
      }
      at.clock.advance(900_000)
    }
    expect(guesses).toBeGreaterThan(100)
    expect(guesses).toBeLessThan(140)
    at.clock.advance(3_600_000)
    await signIn(at, 'steady@demo.test')
    for (let failure = 0; failure < 9; failure++) await codeOf(initiate(at, 'steady@demo.test', {}, 'wrong'))
    expect((await initiate(at, 'steady@demo.test')).sessionId).toBeTypeOf('string')
  })

  test('429: ten of thirty parallel guesses are verified', async () => {
    const email = 'flood@demo.test'
    const codes = await Promise.all(Array.from({ length: 30 }, () => codeOf(initiate(at, email, {}, 'wrong'))))
    expect(codes.filter((code) => code === 'AUTH.INVALID_CREDENTIALS')).toHaveLength(10)
  })
})

describe('auth.mfaSend', () => {
  test('200: mails a six-digit code in the language of the request and returns the masked address', async () => {
    await at.account('carl@demo.test')
    const { sessionId } = await initiate(at, 'carl@demo.test', { locale: 'ja' })
    const reply = await send(at, sessionId, { locale: 'ja' })
    expect(reply).toMatchObject({ maskedDestination: 'c***@demo.test', expiresIn: 600, resendAfter: 30 })
    expect(reply.attemptsRemaining).toBe(5)
    expect(at.outbox.list()[0]).toMatchObject({ to: 'carl@demo.test', locale: 'ja', subject: 'ログイン用の確認コード' })
  })

  test('429 within 30 s of the last code; 200 after: the first code stays valid', async () => {
    await at.account('dora@demo.test')
    const { sessionId, code } = await begin(at, 'dora@demo.test')
    const early = await refusalOf(send(at, sessionId))
    expect([early.code, early.detail.retryAfter]).toEqual(['ACCESS.RATE_LIMITED', 30])
    at.clock.advance(30_000)
    await send(at, sessionId)
    expect((await complete(at, sessionId, code)).tokenType).toBe('Bearer')
  })

  test('404: for a sign-in without tries left', async () => {
    await at.account('spent@demo.test')
    const { sessionId, code } = await begin(at, 'spent@demo.test')
    const wrong = code === '000000' ? '000001' : '000000'
    for (let attempt = 0; attempt < 5; attempt++)
      expect(await codeOf(complete(at, sessionId, wrong))).toBe('AUTH.CODE_INVALID')
    at.clock.advance(30_000)
    expect(await codeOf(send(at, sessionId))).toBe('AUTH.SESSION_NOT_FOUND')
  })

  test('200: returns the remaining tries', async () => {
    await at.account('lea@demo.test')
    const { sessionId, code } = await begin(at, 'lea@demo.test')
    const wrong = code === '000000' ? '111111' : '000000'
    expect(await codeOf(complete(at, sessionId, wrong))).toBe('AUTH.CODE_INVALID')
    at.clock.advance(30_000)
    expect((await send(at, sessionId)).attemptsRemaining).toBe(4)
  })

  test.each([
    ['PENDING_APPROVAL', 'AUTH.PENDING_APPROVAL'],
    ['SUSPENDED', 'AUTH.SESSION_NOT_FOUND'],
  ] as const)(
    'for an account that became %s after the first step: %s, as in auth.loginComplete',
    async (status, refused) => {
      const email = `${status}@demo.test`
      await at.account(email)
      const { sessionId, code } = await begin(at, email)
      await at.ports.database
        .updateTable('accounts')
        .set({ accountStatus: status })
        .where('email', '=', email)
        .execute()
      at.clock.advance(30_000)
      expect(await codeOf(send(at, sessionId))).toBe(refused)
      expect(await codeOf(complete(at, sessionId, code))).toBe(refused)
    },
  )

  test('200: ten parallel requests send one mail', async () => {
    await at.account('pam@demo.test')
    const { sessionId } = await initiate(at, 'pam@demo.test')
    await Promise.allSettled(Array.from({ length: 10 }, () => send(at, sessionId)))
    expect(at.outbox.list().filter((mail) => mail.to === 'pam@demo.test')).toHaveLength(1)
  })

  test('429: after five codes in ten minutes to one account, across sign-ins', async () => {
    await at.account('eve@demo.test')
    for (let sent = 0; sent < 5; sent++) await begin(at, 'eve@demo.test')
    const { sessionId } = await initiate(at, 'eve@demo.test')
    expect(await codeOf(send(at, sessionId))).toBe('ACCESS.RATE_LIMITED')
  })

  test('429: the last mailed code stays valid', async () => {
    await at.account('ned@demo.test')
    const { sessionId } = await initiate(at, 'ned@demo.test')
    for (let sent = 0; sent < 5; sent++) {
      await send(at, sessionId)
      at.clock.advance(30_000)
    }
    expect(await codeOf(send(at, sessionId))).toBe('ACCESS.RATE_LIMITED')
    expect((await complete(at, sessionId, mailedCode(at, 'ned@demo.test'))).tokenType).toBe('Bearer')
  })

  test('200: counts the mail outside a transaction, as mfa.stepUpSend does', async () => {
    let counted = 0
    const held = await harness(undefined, (ports) => {
      const { cache, database } = ports
      const increment: typeof cache.increment = async (key, window) => {
        const isFree = database.selectFrom('accounts').select('bizId').execute()
        await Promise.race([
          isFree,
          pause(20_000, null, { ref: false }).then(() => Promise.reject(new Error('the connection is held'))),
        ])
        counted += 1
        return cache.increment(key, window)
      }
      ports.cache = { ...cache, increment }
    })
    await held.account('quo@demo.test')
    const caller = await signedIn(held, 'quo@demo.test')
    await call(held.identity, sendStepUpCode, createRequestContext(held.clock), { mfaMethod: 'EMAIL' }, caller)
    // The account's quota at sign-in and step-up, and the session's share of it.
    expect(counted).toBe(3)
    await held.close()
  })

  test('429: a request within 30 s does not count towards the quota, nor in mfa.stepUpSend', async () => {
    await at.account('soon@demo.test')
    const caller = await signedIn(at, 'soon@demo.test')
    const stepUp = () =>
      call(at.identity, sendStepUpCode, createRequestContext(at.clock), { mfaMethod: 'EMAIL' }, caller)
    const { sessionId } = await initiate(at, 'soon@demo.test')
    for (let round = 0; round < 2; round++) {
      await send(at, sessionId)
      await stepUp()
      at.clock.advance(10_000)
      const early = await Promise.all([refusalOf(send(at, sessionId)), refusalOf(stepUp())])
      expect(early.map(({ detail }) => detail.retryAfter)).toEqual([20, 20])
      at.clock.advance(20_000)
    }
    expect((await refusalOf(send(at, sessionId))).detail.retryAfter).toBe(540)
  })

  test('401 for another client; 404 for an unknown, malformed or expired session id', async () => {
    await at.account('fay@demo.test')
    const { sessionId } = await initiate(at, 'fay@demo.test')
    expect(await codeOf(send(at, sessionId, { clientHash: 'client-two' }))).toBe('AUTH.CLIENT_MISMATCH')
    expect(await codeOf(send(at, sessionId, { portal: 'SYSTEM' }))).toBe('AUTH.SESSION_NOT_FOUND')
    expect(await codeOf(send(at, 'A'.repeat(43)))).toBe('AUTH.SESSION_NOT_FOUND')
    expect(await codeOf(send(at, "' OR 1=1 --"))).toBe('AUTH.SESSION_NOT_FOUND')
    at.clock.advance(600_000)
    expect(await codeOf(send(at, sessionId))).toBe('AUTH.SESSION_NOT_FOUND')
  })
})

describe('auth.loginComplete', () => {
  test('200: returns tokens of a session without a step-up; a device is new once', async () => {
    const accountId = await at.account('gus@demo.test')
    const reply = await signIn(at, 'gus@demo.test')
    expect(reply).toMatchObject({ tokenType: 'Bearer', expiresIn: 900, refreshExpiresIn: 43_200, isNewDevice: true })
    const caller = await at.identity.authentication.accessToken(credential(reply.accessToken))
    expect(caller).toMatchObject({ accountId, sessionId: reply.sessionId, steppedUpAt: null, apiKeyId: null })
    expect((await signIn(at, 'gus@demo.test')).isNewDevice).toBe(false)
    expect((await signIn(at, 'gus@demo.test', { clientHash: 'client-two' })).isNewDevice).toBe(true)
  })

  test('404: for an attempt started before the clock was set back by more than its lifetime', async () => {
    await at.account('set@demo.test')
    at.clock.advance(3_600_000)
    const { sessionId, code } = await begin(at, 'set@demo.test')
    at.clock.advance(-3_600_000)
    expect(await codeOf(complete(at, sessionId, code))).toBe('AUTH.SESSION_NOT_FOUND')
    at.clock.advance(300_000)
    const login = await begin(at, 'set@demo.test')
    at.clock.advance(-300_000)
    await send(at, login.sessionId)
    expect((await complete(at, login.sessionId, mailedCode(at, 'set@demo.test'))).tokenType).toBe('Bearer')
  })

  test('404: code and session id work once', async () => {
    await at.account('hal@demo.test')
    const { sessionId, code } = await begin(at, 'hal@demo.test')
    await complete(at, sessionId, code)
    expect(await codeOf(complete(at, sessionId, code))).toBe('AUTH.SESSION_NOT_FOUND')
  })

  test('401 for a code of another sign-in or a method that is not enabled; 404 after ten minutes', async () => {
    await at.account('ida@demo.test')
    const first = await begin(at, 'ida@demo.test')
    const second = await begin(at, 'ida@demo.test')
    if (first.code !== second.code)
      expect(await codeOf(complete(at, first.sessionId, second.code))).toBe('AUTH.CODE_INVALID')
    for (const mfaMethod of ['OTP', 'BACKUP_CODE']) {
      const body = { sessionId: second.sessionId, mfaMethod, code: second.code }
      expect(await codeOf(call(at.identity, completeLogin, createRequestContext(at.clock), body))).toBe(
        'AUTH.CODE_INVALID',
      )
    }
    at.clock.advance(600_000)
    expect(await codeOf(complete(at, second.sessionId, second.code))).toBe('AUTH.SESSION_NOT_FOUND')
  })

  test('404: the correct code after five wrong ones', async () => {
    await at.account('jon@demo.test')
    const { sessionId, code } = await begin(at, 'jon@demo.test')
    const wrong = code === '000000' ? '111111' : '000000'
    for (let attempt = 0; attempt < 5; attempt++)
      expect(await codeOf(complete(at, sessionId, wrong))).toBe('AUTH.CODE_INVALID')
    expect(await codeOf(complete(at, sessionId, code))).toBe('AUTH.SESSION_NOT_FOUND')
  })

  test('429: wrong codes count per account, across sign-ins', async () => {
    await at.account('kim@demo.test')
    for (let login = 0; login < 2; login++) {
      const { sessionId, code } = await begin(at, 'kim@demo.test')
      const wrong = code === '000000' ? '111111' : '000000'
      for (let attempt = 0; attempt < 5; attempt++) await codeOf(complete(at, sessionId, wrong))
    }
    expect(await codeOf(initiate(at, 'kim@demo.test'))).toBe('ACCESS.RATE_LIMITED')
  })

  test('429: a lockout that others have caused uses up no try', async () => {
    await at.account('blocked@demo.test')
    const { sessionId, code } = await begin(at, 'blocked@demo.test')
    for (let turn = 0; turn < 10; turn++) await codeOf(initiate(at, 'blocked@demo.test', {}, 'wrong'))
    for (let turn = 0; turn < 6; turn++) expect(await codeOf(complete(at, sessionId, code))).toBe('ACCESS.RATE_LIMITED')
    at.clock.advance(60_000)
    expect((await complete(at, sessionId, code)).accessToken).toBeTypeOf('string')
  })

  test('a lockout ends on time, or if the clock is set back by more than its length', async () => {
    await at.account('back@demo.test')
    for (let turn = 0; turn < 10; turn++) await codeOf(initiate(at, 'back@demo.test', {}, 'wrong'))
    at.clock.advance(-60_000)
    expect(await codeOf(initiate(at, 'back@demo.test'))).toBe('ACCESS.RATE_LIMITED')
    at.clock.advance(-3_540_000)
    expect((await initiate(at, 'back@demo.test')).sessionId).toBeTypeOf('string')
    at.clock.advance(3_600_000)
  })

  test('writes history and audit rows for success and failure, with the factor and without secrets', async () => {
    const accountId = await at.account('mia@demo.test')
    await codeOf(initiate(at, 'mia@demo.test', {}, 'wrong'))
    const { sessionId, code } = await begin(at, 'mia@demo.test')
    await codeOf(complete(at, sessionId, code === '000000' ? '111111' : '000000'))
    await complete(at, sessionId, code)
    const { database } = at.ports
    const history = await database
      .selectFrom('login_history')
      .select(['loginResult', 'failureReason'])
      .where('accountBizId', '=', accountId)
      .orderBy('bizId')
      .execute()
    expect(history).toEqual([
      { loginResult: 0, failureReason: 'INVALID_CREDENTIALS' },
      { loginResult: 0, failureReason: 'CODE_INVALID' },
      { loginResult: 1, failureReason: null },
    ])
    const audit = await database.selectFrom('audit_log').selectAll().where('actorBizId', '=', accountId).execute()
    expect(audit.map(({ outcome, detail }) => ({ outcome, detail }))).toEqual(
      expect.arrayContaining([
        { outcome: 'REFUSED', detail: { reason: 'INVALID_CREDENTIALS' } },
        { outcome: 'REFUSED', detail: { reason: 'CODE_INVALID', method: 'EMAIL' } },
        { outcome: 'SUCCESS', detail: { method: 'EMAIL' } },
      ]),
    )
    expect(audit).toHaveLength(3)
    expect(JSON.stringify(audit)).not.toMatch(/mia@|wrong/)
  })
})
