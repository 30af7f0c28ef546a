import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  type Client,
  client,
  data,
  goodPassword,
  linkToken,
  newcomer,
  otherPassword,
  refusal,
} from '../harness/identity.ts'
import { otpOf, withPreviousOtp } from '../harness/otp.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { root } from '../harness/settings.ts'
import { codeIn, signIn } from '../harness/sign-in.ts'

const guide = readFileSync(join(root, 'docs/guides/after-a-theft.md'), 'utf8')
/** The operations of each step of the guide. */
const steps = [
  ...(/## If somebody else added[\s\S]*?(?=\n## )/.exec(guide)?.[0] ?? '').matchAll(/^\d+\. (.*(?:\n {3}.*)*)/gm),
].map(([, step = '']) => [...step.matchAll(/`([a-z]+\.[A-Za-z]+)`/gi)].map(([, id = '']) => id))

const factorResetDelayMs = 60_000

describe('after a theft', () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico({
      pace: { everyMs: { 'proposals.execute': 1_000 } },
      adjust: ({ portals, access }) => {
        portals.CONSUMER.mfa.mailCodes = 'untilAuthenticator'
        // Long enough for a sign-in on a busy machine.
        access.proposals.factorResetDelayMs = factorResetDelayMs
      },
    })
  })
  afterEach(() => void vi.useRealTimers())
  afterAll(() => portico?.stop())

  interface Victim {
    email: string
    accountId: string
    by: Client
    secret: string
  }

  /** A thief with a stepped-up session adds an authenticator and backup codes. */
  const steal = async (): Promise<Victim> => {
    const { email, accountId, by, token } = await newcomer(portico)
    const { secret } = data(await by.post('/security/mfa/otp/setup', undefined, token))
    data(await withPreviousOtp(secret, (code) => by.post('/security/mfa/otp/verify', { code }, token)))
    data(await by.post('/security/mfa/backup-codes/generate', undefined, token))
    return { email, accountId, by, secret }
  }
  const thiefSignsIn = async ({ email, secret }: Victim, password = goodPassword) => {
    const by = client(portico)
    const { sessionId } = data(await by.post('/auth/login/initiate', { email, password }))
    return by.post('/auth/login/complete', { sessionId, mfaMethod: 'OTP', code: otpOf(secret, 1) })
  }
  const newLink = async (email: string, by: Client): Promise<string> => {
    data(await by.post('/auth/password/forgot', { email, turnstileToken: '' }))
    return linkToken((await portico.mailTo(email, 'password-reset')).text)
  }

  /** Returns what performs the operations of the guide, in any order that works. */
  const owner = ({ email }: Victim) => {
    const by = client(portico)
    let [token, sessionId, resetToken] = ['', '', '']
    const perform: Record<string, () => Promise<unknown>> = {
      'password.undoFactors': async () => {
        const { text } = await portico.mailTo(email, 'factor-added')
        return data(await by.post('/auth/factors/undo', { token: linkToken(text) }))
      },
      'password.forgot': async () => {
        resetToken = await newLink(email, by)
      },
      'password.reset': async () =>
        data(await by.post('/auth/password/reset', { token: resetToken, newPassword: otherPassword })),
      'auth.loginInitiate': async () => {
        ;({ sessionId } = data(await by.post('/auth/login/initiate', { email, password: otherPassword })))
      },
      'auth.mfaSend': async () => data(await by.post('/auth/login/mfa/send', { sessionId, mfaMethod: 'EMAIL' })),
      'auth.loginComplete': async () => {
        const code = codeIn((await portico.mailTo(email, 'login-code')).text)
        const done = data(await by.post('/auth/login/complete', { sessionId, mfaMethod: 'EMAIL', code }))
        token = done.accessToken
        return done
      },
      'mfa.list': async () => data(await by.get('/security/mfa', token)),
    }
    return async (ids: readonly string[]): Promise<unknown[]> => {
      const replies = []
      for (const id of ids) {
        const step = perform[id]
        if (!step) throw new Error(`the guide has an unknown step: ${id}`)
        replies.push(await step())
      }
      return replies
    }
  }
  const enabled = (list: unknown): string[] =>
    (list as { isEnabled: boolean; mfaMethod: { code: string } }[])
      .filter(({ isEnabled }) => isEnabled)
      .map(({ mfaMethod }) => mfaMethod.code)

  test('docs/guides/after-a-theft.md: its steps, in their order, give the account back to its owner', async () => {
    const victim = await steal()
    expect((await thiefSignsIn(victim)).status).toBe(200)
    const by = client(portico)
    const { sessionId } = data(await by.post('/auth/login/initiate', { email: victim.email, password: goodPassword }))
    const mailed = await by.post('/auth/login/mfa/send', { sessionId, mfaMethod: 'EMAIL' })
    expect(refusal(mailed)).toEqual([403, 'AUTH.MFA_METHOD_NOT_ALLOWED'])

    const [undo = [], reset = [], enter = [], check = []] = steps
    const run = owner(victim)
    const [undone] = await run(undo)
    expect(undone).toMatchObject({ success: true, terminatedSessions: 2, suspendedCredentials: { apiKeys: 0 } })
    expect((undone as { removedFactors: { code: string }[] }).removedFactors.map(({ code }) => code)).toEqual([
      'OTP',
      'BACKUP_CODE',
    ])
    await run(reset)
    expect(
      refusal(await client(portico).post('/auth/login/initiate', { email: victim.email, password: goodPassword })),
    ).toEqual([401, 'AUTH.INVALID_CREDENTIALS'])
    const [, , entered] = await run(enter)
    expect(entered).toMatchObject({ isNewDevice: true })
    const [list] = await run(check)
    expect(enabled(list)).toEqual(['EMAIL'])
    expect(steps.flat()).toHaveLength(7)
  })

  test('docs/guides/after-a-theft.md: without the first step, the reset by link removes the factors', async () => {
    const victim = await steal()
    const replies = await owner(victim)(steps.slice(1).flat())
    expect(enabled(replies.at(-1))).toEqual(['EMAIL'])
  })

  test('password.undoFactors 404: of parallel requests with one link, one succeeds', async () => {
    const victim = await steal()
    const token = linkToken((await portico.mailTo(victim.email, 'factor-added')).text)
    const undo = () => client(portico).post('/auth/factors/undo', { token })
    const answers = await Promise.all([undo(), undo(), undo()])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 404, 404])
    expect(refusal(await client(portico, { chain: '/web/v1/system' }).post('/auth/factors/undo', { token }))).toEqual([
      404,
      'AUTH.SESSION_NOT_FOUND',
    ])
  })

  test('proposals.resetFactor 200: the thief’s sign-in with the new authenticator does not cancel it', async () => {
    const victim = await steal()
    const { accessToken: token } = await signIn(portico, 'operator@demo.test')
    const path = `/web/v1/system/accounts/${victim.accountId}/factors/reset`
    const proposal = data(await portico.call('POST', path, { token, body: { reason: 'reported as stolen' } }))
    expect(proposal.proposalStatus.code).toBe('SCHEDULED')
    expect((await thiefSignsIn(victim)).status).toBe(200)
    const status = async () => {
      const { items } = data(await portico.call('GET', '/web/v1/system/proposals', { token }))
      const found = items.find(({ bizId }: { bizId: string }) => bizId === proposal.bizId)
      return found?.proposalStatus.code
    }
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + factorResetDelayMs })
    await expect.poll(status, { interval: 200 }).not.toBe('SCHEDULED')
    expect(await status()).toBe('DONE')
    vi.useRealTimers()
    const replies = await owner(victim)(steps.slice(1).flat())
    expect(enabled(replies.at(-1))).toEqual(['EMAIL'])
  })
})
