import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { send } from '../../harness/http.ts'
import { begin, client, data, newcomer, refusal, signInAs, signInOnly } from '../../harness/identity.ts'
import { needsStore } from '../../harness/needs.ts'
import { otpOf } from '../../harness/otp.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { codeIn } from '../../harness/sign-in.ts'

const setup = '/security/mfa/otp/setup'
const verify = '/security/mfa/otp/verify'
const generate = '/security/mfa/backup-codes/generate'

/** Two clicks arrive at two replicas, if the topology has them. */
describe('a reply that is shown once, requested twice', needsStore(), () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico()
  })
  afterAll(() => portico?.stop())

  const click = (replica: number, path: string, by: { hash: string; ip: string }, token: string) =>
    send(portico.urls[replica % portico.urls.length] ?? '', 'POST', `/web/v1/consumer${path}`, {
      token,
      headers: { 'x-client-hash': by.hash, 'cf-connecting-ip': by.ip },
    }).then(data)

  const later = async (ms: number, task: () => Promise<void>) => {
    vi.useFakeTimers({ toFake: ['Date'] })
    vi.advanceTimersByTime(ms)
    await task().finally(() => vi.useRealTimers())
  }

  test('mfa.otpSetup 200: a second click shows the same secret, and its code activates it', async () => {
    const { by, token } = await newcomer(portico)
    const first = data(await by.post(setup, undefined, token))
    expect(data(await by.post(setup, undefined, token))).toEqual(first)
    expect((await by.post(verify, { code: otpOf(first.secret) }, token)).status).toBe(200)
    expect(data(await by.post(setup, undefined, token)).secret).not.toBe(first.secret)
  })

  test('mfa.otpSetup 200: parallel clicks on two replicas show one secret', async () => {
    const { by, token } = await newcomer(portico)
    const shown = await Promise.all([0, 1, 2, 3].map((replica) => click(replica, setup, by, token)))
    expect(new Set(shown.map(({ secret }) => secret)).size).toBe(1)
  })

  test('mfa.otpSetup 200: another session, and a request after two minutes, get another secret', async () => {
    const { by, email, token } = await newcomer(portico)
    const first = data(await by.post(setup, undefined, token))
    const other = client(portico)
    const { accessToken } = await signInAs(portico, other, email)
    const foreign = data(await other.post(setup, undefined, accessToken))
    expect(foreign.secret).not.toBe(first.secret)
    const own = data(await by.post(setup, undefined, token))
    expect([first.secret, foreign.secret]).not.toContain(own.secret)
    await later(121_000, async () => {
      expect(data(await by.post(setup, undefined, token)).secret).not.toBe(own.secret)
    })
  })

  test('mfa.generateBackupCodes 200: a second click shows the same codes, each valid once', async () => {
    const { by, email, token } = await newcomer(portico)
    const shown = await Promise.all([0, 1, 2].map((replica) => click(replica, generate, by, token)))
    const [first] = shown
    expect(shown).toEqual([first, first, first])
    const spend = async (code: string) => {
      const { sessionId } = await begin(portico, by, email)
      return (await by.post('/auth/login/complete', { sessionId, mfaMethod: 'BACKUP_CODE', code })).status
    }
    expect([await spend(first.codes[0]), await spend(first.codes[0])]).toEqual([200, 401])
    // Once a code is used, the person asks for a new set.
    const next = data(await by.post(generate, undefined, token))
    expect(next.codes).not.toContain(first.codes[1])
    expect([await spend(first.codes[1]), await spend(next.codes[1])]).toEqual([401, 200])
  })

  test('mfa.generateBackupCodes 200: another session, and a request after two minutes, get another set', async () => {
    const { by, email, token } = await newcomer(portico)
    const first = data(await by.post(generate, undefined, token))
    const other = client(portico)
    const { accessToken } = await signInAs(portico, other, email)
    const foreign = data(await other.post(generate, undefined, accessToken))
    expect(foreign.codes).not.toContain(first.codes[0])
    const own = data(await by.post(generate, undefined, token))
    expect([...first.codes, ...foreign.codes]).not.toContain(own.codes[0])
    await later(121_000, async () => {
      expect(data(await by.post(generate, undefined, token)).codes).not.toContain(own.codes[0])
    })
  })

  test('apiKeys.create 409 STATE.CONFLICT: a second click leaves the key of the first one valid', async () => {
    const { by, token } = await newcomer(portico)
    const workspace = { 'x-workspace-id': data(await by.get('/workspaces/current', token)).bizId }
    const body = { apiKeyName: 'Clicked twice', permissionCodes: ['wallet:read'] }
    const create = () => by.post('/api-keys', body, token, workspace)
    const replies = await Promise.all([create(), create()])
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 409])
    const { secret } = replies.find(({ status }) => status === 200)?.body.data ?? {}
    const used = await portico.call('GET', '/api/v1/consumer/wallets', { token: secret })
    expect(used.status).toBe(200)
  })

  test('auth.mfaSend 200: a second mail leaves the first code valid, and one of them can be used', async () => {
    const { by, email } = await newcomer(portico)
    const { sessionId, code } = await begin(portico, by, email)
    await later(31_000, async () => {
      data(await by.post('/auth/login/mfa/send', { sessionId, mfaMethod: 'EMAIL' }))
      const body = { sessionId, mfaMethod: 'EMAIL', code }
      expect((await by.post('/auth/login/complete', body)).status).toBe(200)
    })
  })

  test('mfa.stepUpSend 200: a second mail leaves the first code valid, and using one ends both', async () => {
    const { by, email, token } = await newcomer(portico, client(portico), signInOnly)
    const codes: string[] = []
    const mail = async () => {
      data(await by.post('/security/step-up/send', { mfaMethod: 'EMAIL' }, token))
      codes.push(codeIn((await portico.mailTo(email, 'step-up-code')).text))
    }
    await mail()
    await later(31_000, async () => {
      await mail()
      const [first, second] = codes
      const stepUp = (code: string | undefined) => by.post('/security/step-up', { mfaMethod: 'EMAIL', code }, token)
      expect((await stepUp(first)).status).toBe(200)
      expect(refusal(await stepUp(second))).toEqual([401, 'AUTH.CODE_INVALID'])
    })
  })
})
