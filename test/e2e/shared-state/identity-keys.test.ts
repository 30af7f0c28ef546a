import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeProtectedHeader } from 'jose'
import { dump } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { client, data, newcomer, register, signInAs } from '../../harness/identity.ts'
import { inTopology, needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { root } from '../../harness/settings.ts'

const tokens = { keyPublicationMs: 800, keyRefreshMs: 200 }

describe('portico keys rotate', needsStore(), () => {
  let portico: Portico
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portico-keys-'))
    await writeFile(join(folder, 'portico.yaml'), dump({ tokens }))
    portico = await startPortico({
      adjust: (settings) => {
        settings.tokens = { ...settings.tokens, ...tokens }
      },
    })
  })
  afterAll(async () => {
    await portico?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const rotate = (): Promise<{ code: number | null; out: string; err: string }> =>
    new Promise((resolve) => {
      const { databaseUrl, dataDirectory } = portico.settings
      const store = databaseUrl ? { DATABASE_URL: databaseUrl.reveal() } : { PORTICO_DATA_DIR: dataDirectory }
      const env = { ...process.env, ...store, PORTICO_CONFIG: join(folder, 'portico.yaml'), NODE_OPTIONS: '' }
      const child = spawn(process.execPath, ['bin/portico.js', 'keys', 'rotate', '--reason', 'a test'], {
        cwd: root,
        env,
      })
      let [out, err] = ['', '']
      child.stdout.on('data', (chunk) => {
        out += chunk
      })
      child.stderr.on('data', (chunk) => {
        err += chunk
      })
      child.on('exit', (code) => resolve({ code, out: out.trim(), err }))
    })

  const keyOf = (token: string) => decodeProtectedHeader(token).kid
  const published = async (): Promise<string[]> => {
    const response = await fetch(`${portico.operationsUrl}/.well-known/jwks.json`)
    const set: { keys: { kid: string; d?: string }[] } = await response.json()
    expect(set.keys.every(({ d }) => d === undefined)).toBe(true)
    return set.keys.map(({ kid }) => kid)
  }

  test(
    'a running gateway publishes the new key, then signs with it; sessions continue',
    inTopology('distributed'),
    async () => {
      const { token, by, session } = await newcomer(portico)
      // Each sign-in can displace a session.
      const { email } = await register(portico)
      const { code, out } = await rotate()
      expect(code).toBe(0)
      await expect.poll(published).toContain(out)
      expect(await published()).toContain(keyOf(token))
      const next = async () => keyOf((await signInAs(portico, client(portico), email)).accessToken)
      await expect.poll(next).toBe(out)
      expect((await by.get('/profile', token)).status).toBe(200)
      const refreshed = data(await by.post('/auth/token/refresh', { refreshToken: session.refreshToken }))
      expect(keyOf(refreshed.accessToken)).toBe(out)
      expect((await by.get('/profile', refreshed.accessToken)).status).toBe(200)
    },
  )

  test(
    'the embedded store belongs to one process: the command reports it and changes nothing',
    inTopology('embedded'),
    async () => {
      const before = await published()
      const { code, err } = await rotate()
      expect(code).toBe(1)
      expect(err).toMatch(/portico: /)
      expect(await published()).toEqual(before)
    },
  )
})
