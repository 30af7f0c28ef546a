import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { place as placeSchema } from '../../src/config/backends.ts'
import { clientOf, signInAs } from '../harness/client.ts'
import { paths, replyWith, startTrialWorld, storeOf, type TrialWorld, workspace } from './trial-world.ts'

describe('a canary', () => {
  let world: TrialWorld
  let [old, next] = [storeOf('old'), storeOf('new')]
  let urls = { backend: '', next: '' }

  /** The seed makes each canary a new one. */
  const at = (canary: object, url = urls.backend) =>
    placeSchema.parse({
      url,
      canary: {
        url: urls.next,
        audience: 'new',
        seed: randomUUID(),
        minRequests: 5,
        maxErrorShare: 0.5,
        breaker: { failures: 1_000, openMs: 1_000 },
        ...canary,
      },
    })

  beforeAll(async () => {
    world = await startTrialWorld((backend, service) => {
      urls = { backend, next: service }
      return at({ share: 0 })
    })
  })
  afterAll(() => world?.stop())
  beforeEach(() => {
    old = storeOf('old')
    next = storeOf('new')
    world.backend.respond(old.handle)
    world.next.respond(next.handle)
  })

  const noteOf = async (path: string): Promise<string> => (await world.get(path)).body.data.note

  test('share 0 and 1: the backend or the canary serves reads, commands and streams of a workspace', async () => {
    const serve = async (share: number) => {
      await world.reload(at({ share }))
      const { body } = await world.post(randomUUID())
      return [await noteOf(paths.read), body.data.note, (await world.get(paths.watch)).text]
    }
    expect(await serve(0)).toEqual(['old', 'old', 'data: old\n\n'])
    expect(await serve(1)).toEqual(['new', 'new', 'data: new\n\n'])
  })

  test('a named workspace: its requests are served by the canary, those without a workspace are not', async () => {
    await world.reload(at({ workspaces: [workspace] }))
    expect([await noteOf(paths.read), await noteOf(paths.own)]).toEqual(['new', 'old'])
  })

  test('a named account: only its requests without a workspace are served by the canary', async () => {
    await world.reload(at({ accounts: [world.account] }))
    expect([await noteOf(paths.read), await noteOf(paths.own)]).toEqual(['old', 'new'])
  })

  test('sticky account: a named account is served by the canary with and without a workspace', async () => {
    await world.reload(at({ sticky: 'account', accounts: [world.account] }))
    expect([await noteOf(paths.read), await noteOf(paths.own)]).toEqual(['new', 'new'])
  })

  test('a domain in this process: the canary serves the selected requests, and the process the others', async () => {
    const { shadow: _shadow, ...inProcess } = at({ workspaces: [workspace] })
    await world.reload({ ...inProcess, url: 'in-process' })
    expect([await noteOf(paths.read), await noteOf(paths.own)]).toEqual(['new', 'here'])
    expect(world.backend.requests).toEqual([])
  })

  test('anonymous requests stay at the backend, also with a share of 1', async () => {
    await world.reload(at({ share: 1 }))
    expect(await noteOf(paths.offer)).toBe('old')
  })

  test('the service gets the audience of the canary, and explain names the place and the rule', async () => {
    await world.reload(at({ share: 1 }))
    const requestId = randomUUID()
    await world.get(paths.read, { headers: { 'x-request-id': requestId } })
    const [, claims = ''] = String(world.next.requests[0]?.headers.authorization).split('.')
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({ aud: 'new' })
    expect(world.next.requests[0]?.url).toBe(`/new${paths.read}`)
    expect((await world.explain(requestId)).trial).toEqual({ servedBy: 'canary', rule: 'share', shadow: null })
  })

  test('503 above maxErrorShare: the canary returns once, and stays returned after a reload without a change', async () => {
    const canary = at({ share: 1 })
    await world.reload(canary)
    world.next.respond(replyWith('not a parcel'))
    const lines = () => world.portico.log.filter(({ msg }) => String(msg).startsWith('canary returned'))
    const before = lines().length
    // In parallel: the requests that are in progress when it returns can fail, too.
    const replies = await Promise.all(Array.from({ length: 12 }, () => world.get(paths.read)))
    expect(replies.filter(({ status }) => status === 502).length).toBeGreaterThanOrEqual(5)
    expect(lines().length - before).toBe(1)
    expect(lines().at(-1)).toMatchObject({ level: 'warn', upstream: urls.next, requests: 5, failures: 5 })
    world.next.respond(next.handle)
    expect(await noteOf(paths.read)).toBe('old')
    const operator = clientOf(world.portico, 'SYSTEM')
    await signInAs(world.portico, operator, 'operator@demo.test')
    const entries = async () => (await operator.listAuditLog({ query: { action: 'backends.returnCanary' } })).items
    await expect.poll(entries).toMatchObject([{ detail: { service: urls.next, requests: 5, failures: 5 } }])
    const { trials } = await operator.readOverview()
    expect(trials).toMatchObject([
      {
        domains: ['parcels'],
        backend: urls.backend,
        canary: { url: urls.next, isReturned: true, share: 1 },
        shadow: null,
      },
    ])
    await world.reload(canary)
    const requestId = randomUUID()
    await world.get(paths.read, { headers: { 'x-request-id': requestId } })
    expect((await world.explain(requestId)).trial).toMatchObject({ servedBy: 'backend', rule: 'returned' })
    expect(await world.metric('portico_canary_returned')).toEqual([
      `portico_canary_returned{upstream="${urls.next}"} 1`,
    ])
    await world.reload(at({ share: 1 }))
    expect(await noteOf(paths.read)).toBe('new')
    expect(await world.metric('portico_canary_returned')).toEqual([
      `portico_canary_returned{upstream="${urls.next}"} 0`,
    ])
  })

  test.each<[string, () => void]>([
    ['timeouts', () => world.next.respond(() => undefined)],
    ['resets', () => world.next.respond((_request, response) => void response.destroy())],
    ['500', () => world.next.respond(replyWith('x', 500))],
  ])('%s return a canary', async (_name, fail) => {
    await world.reload(at({ share: 1, timeoutMs: 300 }))
    fail()
    await Promise.all(Array.from({ length: 6 }, () => world.get(paths.read)))
    expect(await noteOf(paths.read)).toBe('old')
  })

  test('4xx and fewer failures than minRequests do not return a canary', async () => {
    await world.reload(at({ share: 1 }))
    world.next.respond(replyWith({ success: false, code: 'RESOURCE.NOT_FOUND', message: '', data: null }, 404))
    for (let times = 0; times < 8; times++) expect((await world.get(paths.read)).status).toBe(404)
    await world.reload(at({ share: 1 }))
    world.next.respond(replyWith('not a parcel'))
    for (let times = 0; times < 4; times++) expect((await world.get(paths.read)).status).toBe(502)
    world.next.respond(next.handle)
    expect(await noteOf(paths.read)).toBe('new')
  })

  const returnCanary = async (): Promise<void> => {
    world.next.respond(replyWith('not a parcel'))
    await Promise.all(Array.from({ length: 6 }, () => world.get(paths.read)))
    world.next.respond(next.handle)
    expect(await noteOf(paths.read)).toBe('old')
  }

  test('a retry of a command after the return goes to the canary, new commands to the backend', async () => {
    await world.reload(at({ share: 1 }))
    const [first, later] = [randomUUID(), randomUUID()]
    await world.post(first)
    await returnCanary()
    expect((await world.post(first)).body.data.note).toBe('new')
    expect((await world.post(later)).body.data.note).toBe('old')
    expect([next.executed, old.executed]).toEqual([[`"${first}"`], [`"${later}"`]])
  })

  test('retries in parallel with reloads of the share execute each command at one place', async () => {
    await world.reload(at({ share: 1 }))
    const keys = Array.from({ length: 20 }, () => randomUUID())
    const retry = () => Promise.all(keys.map((key) => world.post(key)))
    for (const share of [0, 1, 0, 1]) await Promise.all([retry(), world.reload(at({ share })), retry()])
    const executed = [...next.executed, ...old.executed]
    expect(executed.toSorted()).toEqual(keys.map((key) => `"${key}"`).toSorted())
  })

  test('a retry of a command from before the canary stays at the backend, if the canary began with share 0', async () => {
    await world.reload(at({ share: 0 }))
    const key = randomUUID()
    await world.post(key)
    await world.reload(at({ share: 1 }))
    expect((await world.post(key)).body.data.note).toBe('old')
    // The move is complete: the new service is the backend, and the old one the canary.
    await world.reload(at({ share: 0, url: urls.backend }, urls.next))
    expect((await world.post(key)).body.data.note).toBe('old')
    expect([next.executed, old.executed.length]).toEqual([[], 1])
  })

  test('503 SYSTEM.UNAVAILABLE: a retry is refused if `backends` no longer names the service of its command', async () => {
    await world.reload(at({ share: 1 }))
    const key = randomUUID()
    await world.post(key)
    await world.reload(at({ share: 1, url: `${urls.backend}/third` }))
    expect(await world.post(key)).toMatchObject({ status: 503, body: { code: 'SYSTEM.UNAVAILABLE' } })
    expect([next.executed.length, old.executed]).toEqual([1, []])
  })
})
