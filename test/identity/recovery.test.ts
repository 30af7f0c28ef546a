import { hash } from '@node-rs/argon2'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { refreshToken as refreshOperation } from '../../src/identity/login/contract.ts'
import { forgotPassword, initPassword, resetPassword } from '../../src/identity/passwords/contract.ts'
import { passwordRule } from '../../src/identity/passwords/rule.ts'
import {
  completeRegistration,
  initiateRegistration,
  verifyRegistrationEmail,
} from '../../src/identity/registration/contract.ts'
import { noBreachCheck } from '../../src/platform/breached-passwords.ts'
import { keptPlainly } from '../harness/rows.ts'
import {
  begin as beginLogin,
  call,
  codeOf,
  complete,
  facts,
  type Harness,
  harness,
  initiate,
  mailedCode,
  settingsAsDelivered,
  signIn,
} from './harness.ts'
import { type Meanwhile, meanwhileIn } from './meanwhile.ts'

const newPassword = 'violet-Anchor-Tundra-58'
let at: Harness
let opened: unknown[]
let meanwhile: Meanwhile
beforeAll(async () => {
  opened = []
  at = await harness(
    (settings) => {
      settings.portals.CONSUMER.selfRegistration = 'open'
      settings.portals.CONSUMER.codeSends.limit = 3
    },
    (ports) => {
      ports.openWorkspace = async (_tx, opening) => void opened.push(opening)
      meanwhile = meanwhileIn(ports)
    },
  )
})
afterAll(async () => {
  expect(at.faults).toEqual([])
  await at.close()
})

const ask = <O extends Parameters<typeof call>[1]>(operation: O, body: unknown) =>
  call(at.identity, operation, facts(at.clock), body)
const forgot = async (email: string) => {
  await ask(forgotPassword, { email, turnstileToken: '' })
  await at.background.idle()
}
const linkOf = (email: string): string | undefined =>
  /#token=([\w-]+)/.exec(at.outbox.list().find((mail) => mail.to === email)?.text ?? '')?.[1]
const begin = async (email: string) => {
  const { sessionId } = await ask(initiateRegistration, { email, turnstileToken: '' })
  await at.background.idle()
  return { sessionId, code: mailedCode(at, email) }
}

describe('a reset link', () => {
  test('is good for half an hour, to the millisecond, and kept as a digest alone', async () => {
    await at.account('link@demo.test')
    await forgot('link@demo.test')
    const token = linkOf('link@demo.test') ?? ''
    expect(token).toMatch(/^[\w-]{43}$/)
    expect(await keptPlainly(at.ports.database, token)).toEqual([])
    at.clock.advance(1_800_000)
    expect(await codeOf(ask(resetPassword, { token, newPassword }))).toBe('AUTH.SESSION_NOT_FOUND')
    await forgot('link@demo.test')
    at.clock.advance(1_799_999)
    const done = await ask(resetPassword, { token: linkOf('link@demo.test'), newPassword })
    expect(done).toEqual({ success: true, terminatedSessions: 0 })
  })

  test('is good no longer for a clock that was set back, nor is a registration', async () => {
    await at.account('back@demo.test')
    await forgot('back@demo.test')
    const { sessionId, code } = await begin('backwards@demo.test')
    at.clock.advance(-3_600_000)
    const token = linkOf('back@demo.test')
    expect(await codeOf(ask(resetPassword, { token, newPassword }))).toBe('AUTH.SESSION_NOT_FOUND')
    expect(await codeOf(ask(verifyRegistrationEmail, { sessionId, code }))).toBe('AUTH.SESSION_NOT_FOUND')
    at.clock.advance(3_600_000)
  })

  test('is sent to no suspended account, and one that was sent before is of no use to it', async () => {
    const id = await at.account('out@demo.test')
    await forgot('out@demo.test')
    const suspend = at.ports.database.updateTable('accounts').set({ account_status: 'SUSPENDED' })
    await suspend.where('biz_id', '=', id).execute()
    const mails = at.outbox.list().length
    await forgot('out@demo.test')
    expect(at.outbox.list()).toHaveLength(mails)
    const token = linkOf('out@demo.test')
    expect(await codeOf(ask(resetPassword, { token, newPassword }))).toBe('AUTH.SESSION_NOT_FOUND')
  })

  test('ends the logins that the old password began, which are found by their account', async () => {
    const id = await at.account('begun@demo.test')
    const login = await beginLogin(at, 'begun@demo.test')
    await forgot('begun@demo.test')
    await ask(resetPassword, { token: linkOf('begun@demo.test'), newPassword })
    expect(await codeOf(complete(at, login.sessionId, login.code))).toBe('AUTH.SESSION_NOT_FOUND')
    const { rows } = await sql`EXPLAIN UPDATE login_sessions SET spent_at = now() WHERE portal = 'CONSUMER'
      AND kind = 'LOGIN' AND account_biz_id = ${id} AND spent_at IS NULL`.execute(at.ports.database)
    expect(JSON.stringify(rows)).toContain('login_sessions_under_way')
  })

  test('password.reset 200 ends what had run out by a clock that was ahead: set right, it brings nothing back', async () => {
    await at.account('ahead@demo.test')
    const { refreshToken } = await signIn(at, 'ahead@demo.test')
    at.clock.advance(30_000)
    const login = await beginLogin(at, 'ahead@demo.test')
    at.clock.advance(3_600_000)
    await forgot('ahead@demo.test')
    const done = await ask(resetPassword, { token: linkOf('ahead@demo.test'), newPassword })
    expect(done).toEqual({ success: true, terminatedSessions: 0 })
    at.clock.advance(-3_600_000)
    expect(await codeOf(ask(refreshOperation, { refreshToken }))).toBe('AUTH.SESSION_NOT_FOUND')
    expect(await codeOf(complete(at, login.sessionId, login.code))).toBe('AUTH.SESSION_NOT_FOUND')
  })

  test('auth.loginInitiate 401 AUTH.INVALID_CREDENTIALS where it sets another password while the old one is looked at', async () => {
    const id = await at.account('crossing@demo.test')
    await forgot('crossing@demo.test')
    meanwhile(() => ask(resetPassword, { token: linkOf('crossing@demo.test'), newPassword }))
    expect(await codeOf(initiate(at, 'crossing@demo.test'))).toBe('AUTH.INVALID_CREDENTIALS')
    const logins = at.ports.database.selectFrom('login_sessions').selectAll().where('account_biz_id', '=', id)
    expect(await logins.execute()).toEqual([])
  })

  test('lifts the wait that wrong passwords brought', async () => {
    await at.account('wait@demo.test')
    for (let failure = 0; failure < 11; failure++) await codeOf(initiate(at, 'wait@demo.test', {}, 'wrong'))
    expect(await codeOf(initiate(at, 'wait@demo.test'))).toBe('ACCESS.RATE_LIMITED')
    await forgot('wait@demo.test')
    await ask(resetPassword, { token: linkOf('wait@demo.test'), newPassword })
    expect((await initiate(at, 'wait@demo.test', {}, newPassword)).sessionId).toBeTypeOf('string')
  })
})

describe('a registration', () => {
  test('lasts ten minutes, and its code as long', async () => {
    const { sessionId, code } = await begin('slow@demo.test')
    at.clock.advance(600_000)
    expect(await codeOf(ask(verifyRegistrationEmail, { sessionId, code }))).toBe('AUTH.SESSION_NOT_FOUND')
  })

  test('registration.verifyEmail 401 AUTH.CODE_INVALID stands in the audit log', async () => {
    const { sessionId, code } = await begin('guess@demo.test')
    await codeOf(ask(verifyRegistrationEmail, { sessionId, code: code === '000000' ? '111111' : '000000' }))
    const rows = at.ports.database.selectFrom('audit_log').selectAll().where('action', '=', verifyRegistrationEmail.id)
    expect(await rows.execute()).toMatchObject([
      { actor_biz_id: null, outcome: 'REFUSED', detail: { reason: 'CODE_INVALID' } },
    ])
  })

  test('ends in a token that sets a password for an hour', async () => {
    const { sessionId, code } = await begin('new@demo.test')
    await ask(verifyRegistrationEmail, { sessionId, code })
    const { passwordInitToken: token } = await ask(completeRegistration, { sessionId, accountName: 'New' })
    expect(opened).toEqual([
      expect.objectContaining({ name: 'New', kind: 'LIVE', joinSource: 'REGISTRATION', at: at.clock.now() }),
    ])
    expect(await codeOf(initiate(at, 'new@demo.test', {}, 'anything at all'))).toBe('AUTH.INVALID_CREDENTIALS')
    at.clock.advance(3_600_000)
    expect(await codeOf(ask(initPassword, { token, newPassword }))).toBe('AUTH.SESSION_NOT_FOUND')
    await forgot('new@demo.test')
    await ask(resetPassword, { token: linkOf('new@demo.test'), newPassword })
    expect((await initiate(at, 'new@demo.test', {}, newPassword)).sessionId).toBeTypeOf('string')
  })

  test('password.reset 404 for the token that it ends with, and password.init 404 for a reset link: each is for its own', async () => {
    await at.account('mixed@demo.test')
    await forgot('mixed@demo.test')
    const token = linkOf('mixed@demo.test')
    expect(await codeOf(ask(initPassword, { token, newPassword }))).toBe('AUTH.SESSION_NOT_FOUND')
    const { sessionId, code } = await begin('unmixed@demo.test')
    await ask(verifyRegistrationEmail, { sessionId, code })
    const { passwordInitToken } = await ask(completeRegistration, { sessionId, accountName: 'New' })
    const wrong = { token: passwordInitToken, newPassword }
    expect(await codeOf(ask(resetPassword, wrong))).toBe('AUTH.SESSION_NOT_FOUND')
  })

  test('that cannot open its workspace makes no account, and can be tried again', async () => {
    const { sessionId, code } = await begin('torn@demo.test')
    await ask(verifyRegistrationEmail, { sessionId, code })
    const open = at.ports.openWorkspace
    at.ports.openWorkspace = async () => {
      throw new Error('no room')
    }
    const torn = await at.replica()
    at.ports.openWorkspace = open
    const body = { sessionId, accountName: 'Torn' }
    await expect(call(torn, completeRegistration, facts(at.clock), body)).rejects.toThrow('no room')
    expect((await ask(completeRegistration, body)).pendingApproval).toBe(false)
  })

  test('mails go to one address three times in ten minutes, account or not', async () => {
    await at.account('have@demo.test')
    for (const email of ['have@demo.test', 'havenot@demo.test']) {
      for (let mail = 0; mail < 3; mail++) await ask(initiateRegistration, { email, turnstileToken: '' })
      expect(await codeOf(ask(initiateRegistration, { email: email.toUpperCase(), turnstileToken: '' }))).toBe(
        'ACCESS.RATE_LIMITED',
      )
    }
    await at.background.idle()
  })
})

describe('the password rule', () => {
  const rule = passwordRule({ breaches: noBreachCheck }, settingsAsDelivered().passwords)
  const about = { email: 'nora.newcomer@people.test', name: 'Nora Newcomer' }

  test.each([
    ['seven characters', 'q7!Kd9z'],
    ['257 characters', `${'vQ9~'.repeat(64)}x`],
    ['a common password', 'iloveyou'],
    ['a common password, decorated', 'Passw0rd!'],
    ['a keyboard row', 'qwertyuiop'],
    ['a season and a year', 'Summer2026'],
    ['one character', 'zzzzzzzzzzzzzzzz'],
    ['the address', 'nora.newcomer@people.test'],
    ['the name, twice', 'NoraNewcomerNora'],
    ['the product’s name', 'Portico-Portico-1'],
    ['one character that NFKC makes long', '\ufdfa'.repeat(20)],
  ])('refuses %s', async (_, password) => {
    expect(await codeOf(rule(password, about))).toBe('VALIDATION.INVALID_PARAMETER')
  })

  test.each([
    ['a passphrase without capitals, digits and signs', 'correct horse battery staple'],
    ['eight random characters', '7fK!q2Lm'],
    ['256 characters', 'vQ9~tangerine-lamp'.repeat(15).slice(0, 256)],
    ['another script', '夜明け前のコーヒーは苦い'],
  ])('takes %s', async (_, password) => {
    await expect(rule(password, about)).resolves.toBeUndefined()
  })
})

test('a hash of another cost is made anew at the next sign-in, and nobody notices, two at once neither', async () => {
  const id = await at.account('old@demo.test')
  const old = await hash('an old password of mine', { memoryCost: 4_096, timeCost: 3, parallelism: 1 })
  const of = at.ports.database.updateTable('accounts').set({ password_hash: old }).where('biz_id', '=', id)
  await of.execute()
  const signIn = () => initiate(at, 'old@demo.test', {}, 'an old password of mine')
  meanwhile(async () => {
    expect((await signIn()).sessionId).toBeTypeOf('string')
    await at.background.idle()
  })
  expect((await signIn()).sessionId).toBeTypeOf('string')
  const row = await at.ports.database
    .selectFrom('accounts')
    .select('password_hash')
    .where('biz_id', '=', id)
    .executeTakeFirstOrThrow()
  expect(row.password_hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect((await initiate(at, 'old@demo.test', {}, 'an old password of mine')).sessionId).toBeTypeOf('string')
})

test('password.reset 200 stands, whatever hash of the password before is being made anew', async () => {
  const email = 'upgraded@demo.test'
  const id = await at.account(email)
  const old = 'an old password of mine'
  const password_hash = await hash(old, { memoryCost: 4_096, timeCost: 3, parallelism: 1 })
  await at.ports.database.updateTable('accounts').set({ password_hash }).where('biz_id', '=', id).execute()
  await forgot(email)
  const { passwords } = at.ports
  at.ports.passwords = {
    ...passwords,
    hash: async (password) => {
      at.ports.passwords = passwords
      const made = await passwords.hash(password)
      await ask(resetPassword, { token: linkOf(email), newPassword })
      return made
    },
  }
  await initiate(at, email, {}, old)
  await at.background.idle()
  expect(at.ports.passwords).toBe(passwords)
  expect(await codeOf(initiate(at, email, {}, old))).toBe('AUTH.INVALID_CREDENTIALS')
  expect((await initiate(at, email, {}, newPassword)).sessionId).toBeTypeOf('string')
})
