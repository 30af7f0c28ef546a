import { hash, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { generateSync } from 'otplib'
import { afterAll, describe, expect, test } from 'vitest'
import { developmentKey } from '../../src/config/production.ts'
import { createSecretBox } from '../../src/platform/crypto/index.ts'
import { systemRandomness } from '../../src/platform/runtime/index.ts'
import { developmentIds, developmentPassword } from '../../src/seed/development.ts'
import { runCli } from '../harness/cli.ts'
import { type Answer, type Call, send } from '../harness/http.ts'
import { needsPostgres } from '../harness/needs.ts'
import { payoutAccount } from '../harness/payout-account.ts'
import { openServer, seededPostgres } from '../harness/prepared-postgres.ts'
import { type PorticoProcess, startProcess } from '../harness/process.ts'
import { outboxOf, type Session, signIn } from '../harness/sign-in.ts'

const postgres = await seededPostgres()
afterAll(() => postgres?.stop())

const secrets = 4_000
const variables = { DATABASE_URL: postgres?.url ?? '', PORTICO_RATE_LIMIT_SCALE: '1000', LOG_LEVEL: 'warn' }
const current = { ...variables, PORTICO_SECRET_KEY: hash('sha256', 'the next secret key', 'base64') }
const rotated = { ...current, PORTICO_SECRET_KEY_PREVIOUS: Buffer.from(developmentKey()).toString('base64') }

const credentials = { email: 'member@demo.test', password: developmentPassword }
const workspace = developmentIds.workspace
function otpOf(secret: string, step: number) {
  return generateSync({ secret, epoch: Math.floor(Date.now() / 1_000) + step * 30 })
}

/** Sends requests that must succeed. */
function clientOf(gateway: PorticoProcess) {
  const call = (method: string, path: string, more: Call) => send(gateway.url, method, path, more)
  const succeed = async (method: string, path: string, more: Call): Promise<Answer['body']> => {
    const answer = await call(method, path, more)
    expect(answer.status, `${path}: ${answer.text}`).toBe(200)
    return answer.body.data
  }
  const signInAs = (email: string) => signIn({ call, mailTo: outboxOf(gateway) }, email)
  return { succeed, signInAs, post: (path: string, more: Call) => succeed('POST', `/web/v1/consumer${path}`, more) }
}

/** Adds used refresh tokens with successors under the development key, so that a run takes long enough. */
async function insertSecrets({ sessionId }: Session): Promise<void> {
  const { database, close } = await openServer(variables.DATABASE_URL, 1)
  const box = createSecretBox({ current: developmentKey(), previous: [] }, systemRandomness)
  for (let batch = 0; batch < secrets / 500; batch++) {
    const rows = Array.from({ length: 500 }, () => {
      const digest = randomBytes(36)
      return sql`(${digest}::bytea, 'CONSUMER', ${sessionId}::uuid, now(), now() + interval '1 day', now(),
        ${box.seal('refresh-successor', digest.toString('base64url'), Buffer.from('a successor'))}::bytea)`
    })
    await sql`INSERT INTO refresh_tokens
      (token_digest, portal, session_biz_id, created_at, expires_at, used_at, successor)
      VALUES ${sql.join(rows)}`.execute(database)
  }
  await close()
}

/** The link in the mail about the new authenticator is valid for days. */
async function endLinks(): Promise<void> {
  const { database, close } = await openServer(variables.DATABASE_URL, 1)
  await sql`UPDATE password_tokens SET expires_at = now()`.execute(database)
  await close()
}

/** Creates the values under the development key: two sessions, an authenticator, an API key and a payout account. */
async function prepare(gateway: PorticoProcess) {
  const { post, signInAs } = clientOf(gateway)
  const owner = await signInAs('owner@demo.test')
  const member = await signInAs('member@demo.test')
  const { secret } = await post('/security/mfa/otp/setup', { token: member.accessToken })
  await post('/security/mfa/otp/verify', { token: member.accessToken, body: { code: otpOf(secret, -1) } })
  const key = { apiKeyName: 'Till', permissionCodes: ['wallet:read'] }
  const apiKey = await post('/api-keys', { token: owner.accessToken, workspace, body: key })
  await post('/withdrawal-channels', { token: owner.accessToken, workspace, body: payoutAccount() })
  await insertSecrets(owner)
  return { owner, member, otp: secret, apiKey: apiKey.secret }
}

describe('keys reseal while a gateway runs with both keys', needsPostgres(postgres), () => {
  test('no request fails, and afterwards no value needs the previous key', async () => {
    const before = await startProcess(variables)
    const { owner, member, otp, apiKey } = await prepare(before)
    await before.stop()

    const gateway = await startProcess(rotated)
    const { succeed, post, signInAs } = clientOf(gateway)
    let isRunning = true
    const repeat = async (work: () => Promise<unknown>): Promise<number> => {
      let times = 0
      for (; isRunning; times++) await work()
      return times
    }
    let { refreshToken } = owner
    const signInByOtp = async () => {
      const { sessionId } = await post('/auth/login/initiate', { body: credentials })
      await post('/auth/login/complete', { body: { sessionId, mfaMethod: 'OTP', code: otpOf(otp, 0) } })
    }
    const traffic = [
      repeat(() => succeed('GET', '/api/v1/consumer/wallets', { token: apiKey })),
      repeat(async () => {
        refreshToken = (await post('/auth/token/refresh', { body: { refreshToken } })).refreshToken
      }),
      // Another account, because its oldest sessions end.
      repeat(() => signInAs('operator@demo.test')),
      repeat(() => post('/security/mfa/otp/setup', { token: member.accessToken })),
    ]
    const done = Promise.all(traffic)
    done.catch(() => undefined)
    await signInByOtp()
    const reseal = await runCli(['keys', 'reseal', '--reason', 'a test'], {}, rotated)
    isRunning = false
    const counts = await done
    const factor = { mfaMethod: 'OTP', code: otpOf(otp, 1) }
    await post('/security/step-up', { token: member.accessToken, body: factor })
    await signInAs('owner@demo.test')
    await post('/auth/token/refresh', { body: { refreshToken: member.refreshToken } })
    expect([reseal.code, reseal.out]).toEqual([0, expect.stringMatching(/^\d{4} values sealed .*, 0 do not open\n$/)])
    for (const times of counts) expect(times).toBeGreaterThan(0)

    for (const { accessToken: token } of [owner, member]) await post('/auth/logout', { token })
    await endLinks()
    const status = await runCli(['keys', 'status'], {}, rotated)
    expect([status.code, status.out]).toEqual([0, expect.stringContaining('no value needs a previous key')])
    await gateway.stop()

    const after = await startProcess(current)
    const later = clientOf(after)
    await later.signInAs('owner@demo.test')
    await later.succeed('GET', '/api/v1/consumer/wallets', { token: apiKey })
    await after.stop()
  }, 240_000)
})
