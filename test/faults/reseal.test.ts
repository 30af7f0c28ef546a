import { spawn } from 'node:child_process'
import { hash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { sql } from 'kysely'
import { afterAll, describe, expect, test } from 'vitest'
import { developmentKey } from '../../src/config/production.ts'
import { openDatabase } from '../../src/database/index.ts'
import { createSecretBox } from '../../src/platform/crypto/index.ts'
import { systemRandomness } from '../../src/platform/runtime/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { runCli } from '../harness/cli.ts'
import { send } from '../harness/http.ts'
import { needsPostgres } from '../harness/needs.ts'
import { payoutAccount } from '../harness/payout-account.ts'
import type { TestPostgres } from '../harness/postgres.ts'
import { seededPostgres } from '../harness/prepared-postgres.ts'
import { startProcess } from '../harness/process.ts'
import { root } from '../harness/settings.ts'
import { type Session, signInAt } from '../harness/sign-in.ts'
import { seededDirectory } from '../harness/template.ts'
import { type Place, targetOf } from './invariants.ts'

const postgres: TestPostgres | undefined = await seededPostgres({ synchronous_commit: 'on' })
const { directory, remove } = await seededDirectory()

afterAll(async () => {
  await postgres?.stop()
  await remove()
})

const secrets = 3_000
const next = hash('sha256', 'the next secret key', 'buffer')
const rotated = {
  PORTICO_SECRET_KEY: next.toString('base64'),
  PORTICO_SECRET_KEY_PREVIOUS: Buffer.from(developmentKey()).toString('base64'),
}

async function withDatabase<T>(
  place: Place,
  work: (database: Awaited<ReturnType<typeof openDatabase>>['database']) => Promise<T>,
): Promise<T> {
  const store = await openDatabase(targetOf(place))
  try {
    return await work(store.database)
  } finally {
    await store.close()
  }
}

/** The successors are sealed under the development key. */
function insertSecrets(place: Place, sessionId: string): Promise<void> {
  return withDatabase(place, async (database) => {
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
  })
}

/** Uses only the new key. */
function openSecrets(place: Place): Promise<number> {
  return withDatabase(place, async (database) => {
    const box = createSecretBox({ current: next, previous: [] }, systemRandomness)
    const { rows } = await sql<{ tokenDigest: Uint8Array; successor: Uint8Array }>`
      SELECT token_digest, successor FROM refresh_tokens WHERE successor IS NOT NULL`.execute(database)
    const opened = rows.map(({ tokenDigest, successor }) =>
      box.open('refresh-successor', Buffer.from(tokenDigest).toString('base64url'), successor),
    )
    return opened.filter((bytes) => Buffer.from(bytes).toString() === 'a successor').length
  })
}

/** Kills the command after its first line of progress. */
async function killReseal(variables: Record<string, string>): Promise<string> {
  const child = spawn(process.execPath, ['bin/portico.js', 'keys', 'reseal', '--reason', 'a test'], {
    cwd: root,
    env: { ...process.env, ...variables, NODE_OPTIONS: '' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let progress = ''
  const exited = once(child, 'exit')
  child.stderr.on('data', (chunk: Buffer) => {
    progress += chunk.toString()
    if (progress.includes('resealed')) child.kill('SIGKILL')
  })
  await exited
  expect(child.signalCode, progress).toBe('SIGKILL')
  return progress
}

function numbersOf(line: string | undefined): number[] {
  return (line?.match(/\d+/g) ?? []).map(Number)
}

const places = [
  ['the embedded store', { PORTICO_DATA_DIR: directory }, { directory }],
  ['PostgreSQL', { DATABASE_URL: postgres?.url ?? '', PORTICO_DATA_DIR: directory }, { url: postgres?.url ?? '' }],
] as const

describe.each(places)('keys reseal is killed in the middle, on %s', (name, variables, place) => {
  const isSkipped = name === 'PostgreSQL' && !postgres
  const account = payoutAccount()
  const requestId = '0190a5b0-0000-7000-8000-00000000c0de'
  const consumer = '/web/v1/consumer'
  const workspace = developmentIds.workspace
  const createAccount = (url: string, { accessToken: token }: Session, id: string) =>
    send(url, 'POST', `${consumer}/withdrawal-channels`, {
      token,
      workspace,
      body: account,
      headers: { 'x-request-id': id },
    })

  test('the next run finishes; sessions, codes and payout accounts survive the rotation', {
    ...needsPostgres(!isSkipped),
    timeout: 240_000,
  }, async () => {
    const before = await startProcess({ ...variables, LOG_LEVEL: 'warn' })
    const session = await signInAt(before)
    expect((await createAccount(before.url, session, requestId)).status).toBe(200)
    await before.stop()
    await insertSecrets(place, session.sessionId)

    await killReseal({ ...variables, ...rotated })
    const status = async () => {
      const { out, code } = await runCli(['keys', 'status'], {}, { ...variables, ...rotated })
      const line = out.split('\n').find((each) => /sealed +refresh tokens/.test(each))
      return { code, numbers: numbersOf(line), out }
    }
    const [current = 0, previous = 0, unknown] = (await status()).numbers
    expect([current > 0, previous > 0, current + previous, unknown]).toEqual([true, true, secrets, 0])

    const { code, out } = await runCli(['keys', 'reseal', '--reason', 'a test'], {}, { ...variables, ...rotated })
    expect([code, out]).toEqual([0, expect.stringMatching(/^\d+ values sealed under the key [0-9a-f]{8}, 0 do not/)])
    expect((await status()).numbers).toEqual([secrets, 0, 0])
    expect((await status()).code).toBe(1)
    expect(await openSecrets(place)).toBe(secrets)
    const again = await runCli(['keys', 'reseal', '--reason', 'a test'], {}, { ...variables, ...rotated })
    expect([again.code, again.out]).toEqual([0, expect.stringMatching(/^0 values sealed/)])

    const during = await startProcess({ ...variables, ...rotated, LOG_LEVEL: 'warn' })
    const get = (url: string, token: string) => send(url, 'GET', `${consumer}/profile`, { token })
    expect((await get(during.url, session.accessToken)).status).toBe(200)
    const refreshed = await send(during.url, 'POST', `${consumer}/auth/token/refresh`, {
      body: { refreshToken: session.refreshToken },
    })
    expect(refreshed.status, refreshed.text).toBe(200)
    expect((await createAccount(during.url, session, requestId)).status).toBe(200)
    expect((await createAccount(during.url, session, requestId.replace('c0de', 'c0df'))).status).toBe(409)
    await during.stop()

    const after = await startProcess({
      ...variables,
      PORTICO_SECRET_KEY: rotated.PORTICO_SECRET_KEY,
      LOG_LEVEL: 'warn',
    })
    expect((await get(after.url, session.accessToken)).status).toBe(401)
    const later = await signInAt(after)
    expect((await createAccount(after.url, later, requestId.replace('c0de', 'c0e0'))).status).toBe(409)
    await after.stop()
  })
})
