import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startConfigured } from '../harness/configured.ts'
import { send } from '../harness/http.ts'
import { freePort } from '../harness/postgres.ts'
import { root } from '../harness/settings.ts'
import { signInAt } from '../harness/sign-in.ts'
import { createStore, type TestStore } from '../harness/store.ts'

const guide = 'docs/guides/move-a-domain.md'
const text = readFileSync(join(root, guide), 'utf8')
const steps = [...text.matchAll(/^```yaml\n# portico.yaml\n(.*?)^```$/gms)].map(([, yaml = '']) => yaml)
const profilePath = '/web/v1/consumer/profile'
const named = '00000000-0000-7000-8000-000000000001'

describe(guide, () => {
  let store: TestStore
  let gateway: Awaited<ReturnType<typeof startConfigured>>
  let service: ReturnType<typeof spawn>
  let port = 0
  let token = ''
  let account = ''

  const settingsOf = (step: number) =>
    (steps[step] ?? '').replaceAll('127.0.0.1:8081', `127.0.0.1:${port}`).replaceAll(named, account || named)

  beforeAll(async () => {
    port = await freePort()
    store = await createStore()
    const settings = load(settingsOf(0))
    if (typeof settings !== 'object' || settings === null) throw new Error('the guide has no settings')
    gateway = await startConfigured(store.variables, settings, 'gateway')
    service = spawn(process.execPath, ['node.mjs'], {
      cwd: join(root, 'examples/services'),
      env: {
        ...{ PATH: process.env.PATH, PORT: String(port) },
        PORTICO_JWKS: `${gateway.operationsUrl}/.well-known/jwks.json`,
      },
      stdio: 'ignore',
    })
    await vi.waitFor(async () => expect((await fetch(`http://127.0.0.1:${port}${profilePath}`)).status).toBe(401), {
      timeout: 60_000,
      interval: 100,
    })
    token = (await signInAt(gateway, 'owner@demo.test')).accessToken
    account = (await send(gateway.url, 'GET', profilePath, { token })).body.data.bizId
  })
  afterAll(async () => {
    service?.kill()
    if (service && service.exitCode === null) await once(service, 'exit')
    await gateway?.stop()
    await store?.remove()
  })

  let number = 0
  const read = async () => {
    const requestId = `read-${number++}`
    const { status, body } = await send(gateway.url, 'GET', profilePath, {
      token,
      headers: { 'x-request-id': requestId },
    })
    const explain = async () => (await (await fetch(`${gateway.operationsUrl}/explain/${requestId}`)).json())[0].trial
    return { status, name: body.data.accountName, explain }
  }
  const apply = async (step: number, name: string) => {
    await writeFile(gateway.file, settingsOf(step))
    gateway.child.kill('SIGHUP')
    await expect.poll(async () => (await read()).name).toBe(name)
  }

  test('has four steps', () => {
    expect(steps).toHaveLength(4)
  })

  test('1: the client gets the old reply, and the console has the difference that the guide shows', async () => {
    const { status, name, explain } = await read()
    expect([status, name]).toEqual([200, 'Demo Owner'])
    await expect.poll(async () => (await explain()).shadow).toBe('different')
    const { replicas } = await (await fetch(`${gateway.operationsUrl}/status`)).json()
    const found: object[] = replicas[0].trials[0].shadow.differences
    const { count: _count, ...shown } = JSON.parse(/^\{ "operation": "profile.read".*$/m.exec(text)?.[0] ?? '{}')
    expect(found).toContainEqual(expect.objectContaining(shown))
    expect(JSON.stringify(found)).not.toMatch(/Demo Owner|Someone|createdAt|updatedAt/)
  })

  test('2 to 4: a share of 0, a named account, and the service as the backend', async () => {
    await writeFile(gateway.file, settingsOf(1))
    gateway.child.kill('SIGHUP')
    await expect.poll(async () => (await (await read()).explain())?.rule).toBe('share')
    expect((await read()).name).toBe('Demo Owner')
    await apply(2, 'Someone')
    expect(await (await read()).explain()).toEqual({ servedBy: 'canary', rule: 'named', shadow: null })
    await apply(3, 'Someone')
    expect(await (await read()).explain()).toBeUndefined()
  })
})
