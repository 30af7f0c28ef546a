import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { place } from '../../src/config/backends.ts'
import { clientOf, signInAs } from '../harness/client.ts'
import { type Parcel, parcel, paths, replyWith, startTrialWorld, storeOf, type TrialWorld } from './trial-world.ts'

const huge = JSON.stringify(parcel('x'.repeat(40_000_000)))

describe('a shadow', () => {
  let world: TrialWorld
  let urls = { backend: '', next: '' }

  /** `ignore` makes each shadow a new one, with a new sample. */
  const at = (shadow: object = {}, url = urls.backend) =>
    place.parse({
      url,
      shadow: {
        url: urls.next,
        audience: 'new',
        share: 1,
        ignore: [`no-such-field-${randomUUID()}`],
        timeoutMs: 10_000,
        breaker: { failures: 1_000, openMs: 1_000 },
        ...shadow,
      },
    })

  beforeAll(async () => {
    world = await startTrialWorld((backend, next) => {
      urls = { backend, next }
      return at()
    })
  })
  afterAll(() => world?.stop())
  beforeEach(async () => {
    world.backend.respond(replyWith(parcel('same')))
    world.next.respond(replyWith(parcel('same')))
    await world.reload(at())
  })

  /** The request, and the verdict that follows it. */
  const read = async (path: string = paths.read) => {
    const requestId = randomUUID()
    const answer = await world.get(path, { headers: { 'x-request-id': requestId } })
    const verdict = async () => (await world.explain(requestId))?.trial?.shadow
    return { answer, verdict }
  }
  const settled = async (path?: string) => {
    const { answer, verdict } = await read(path)
    await expect.poll(verdict).not.toBe('pending')
    return [answer.status, await verdict()]
  }
  const differences = async () => {
    const { replicas } = await (await fetch(`${world.portico.operationsUrl}/status`)).json()
    const found = replicas[0].trials[0].shadow.differences
    return found.map(({ kind, path }: Record<string, string>) => `${kind} ${path}`)
  }

  test('equal replies: 200, with the same request, and an assertion for the shadow', async () => {
    expect(await settled()).toEqual([200, 'equal'])
    const [[copied], [original]] = [world.next.requests, world.backend.requests]
    expect(copied?.url).toBe(`/new${paths.read}`)
    expect(original?.url).toBe(`/old${paths.read}`)
    const headersOf = ({ host: _host, authorization: _token, ...headers }: NonNullable<typeof copied>['headers']) =>
      headers
    if (!copied || !original) expect.fail()
    expect(headersOf(copied.headers)).toEqual(headersOf(original.headers))
    const [, claims = ''] = String(copied.headers.authorization).split('.')
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({ aud: 'new', sub: world.account })
    expect(await differences()).toEqual([])
  })

  test.each<[string, Partial<Parcel> | object, string[]]>([
    ['a value', { weight: 2 }, ['value weight']],
    ['a value in a list', { items: [{ name: 'pen', at: '2026-01-01T00:00:00Z' }] }, ['value items.name']],
    ['a longer list', { items: [] }, ['length items']],
    ['a value of a map, whose key can be an id', { prices: { USD: '2.00' } }, ['value prices.*']],
    ['other keys of a map', { prices: { EUR: '1.00' } }, ['added prices.*', 'missing prices.*']],
    ['the schema', { weight: '1' }, ['schema weight']],
  ])('different replies: %s is found by its path, without a value', async (_name, changed, found) => {
    world.next.respond(replyWith(parcel('same', changed)))
    expect(await settled()).toEqual([200, 'different'])
    expect((await differences()).toSorted()).toEqual(found)
  })

  test('undeclared fields and ignored fields are equal', async () => {
    await world.reload(at({ ignore: ['items.at', 'prices', 'weight'] }))
    const items = [{ name: 'book', at: 'later' }]
    world.next.respond(replyWith({ ...parcel('same'), items, prices: {}, more: 1 }))
    expect(await settled()).toEqual([200, 'equal'])
    world.next.respond(replyWith({ ...parcel('same'), items, weight: 'heavy' }))
    expect(await settled()).toEqual([200, 'equal'])
  })

  test('refusals are compared by their code', async () => {
    const notFound = replyWith({ success: false, code: 'RESOURCE.NOT_FOUND', message: '', data: null }, 404)
    world.next.respond(notFound)
    expect(await settled()).toEqual([200, 'different'])
    expect(await differences()).toEqual(['refusal $'])
    world.backend.respond(notFound)
    expect(await settled()).toEqual([404, 'equal'])
    world.next.respond(replyWith(parcel('same')))
    expect(await settled()).toEqual([404, 'different'])
  })

  test.each<[string, (response: ServerResponse) => void, string]>([
    ['sends garbage', (response) => void response.end('<html>'), 'different'],
    ['sends an unexpected status', (response) => void response.writeHead(500).end(), 'different'],
    [
      'is huge',
      (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(huge),
      'different',
    ],
    ['resets', (response) => void response.destroy(), 'failed'],
    [
      'breaks off',
      (response) => void response.writeHead(200, { 'content-length': 9 }).write('{', () => response.destroy()),
      'failed',
    ],
  ])('a shadow that %s: 200 for the client', async (_name, fail, verdict) => {
    world.next.respond((_request, response) => fail(response))
    expect(await settled()).toEqual([200, verdict])
  })

  test('a shadow that hangs: clients wait for none of 30 reads, and further ones are skipped', async () => {
    await world.reload(at({ concurrency: 2, queue: 3, timeoutMs: 1_000_000 }))
    const held: ServerResponse[] = []
    world.next.respond((_request, response) => void held.push(response))
    const reads = await Promise.all(Array.from({ length: 30 }, () => read()))
    expect(new Set(reads.map(({ answer }) => answer.status))).toEqual(new Set([200]))
    const verdicts = await Promise.all(reads.map(({ verdict }) => verdict()))
    expect(verdicts.filter((verdict) => verdict === 'pending')).toHaveLength(5)
    expect(verdicts.filter((verdict) => verdict === 'skipped')).toHaveLength(25)
    expect(world.next.requests.length).toBeLessThanOrEqual(2)
    expect(await world.metric('portico_shadow_requests_total')).toContainEqual(
      expect.stringMatching(/\{operation="parcels.read",outcome="skipped"\} \d+$/),
    )
    world.next.destroyConnections()
  })

  test('a shadow that is too slow fails, and the client has its reply', async () => {
    await world.reload(at({ timeoutMs: 50 }))
    world.next.respond(() => undefined)
    expect(await settled()).toEqual([200, 'failed'])
  })

  test('a reply above maxReplyBytes is not copied', async () => {
    await world.reload(at({ maxReplyBytes: 1_024 }))
    world.backend.respond(replyWith(parcel('x'.repeat(2_000))))
    expect(await settled()).toEqual([200, 'skipped'])
    expect(world.next.requests).toEqual([])
  })

  test('commands, event streams, HEAD, refused requests and failures of the backend are not copied', async () => {
    const old = storeOf('old')
    world.backend.respond(old.handle)
    await world.post(randomUUID())
    await world.get(paths.watch)
    await fetch(`${world.portico.urls[0]}${paths.read}`, { method: 'HEAD' })
    expect((await world.get(paths.read, { headers: { authorization: null } })).status).toBe(401)
    world.backend.respond(replyWith('not a parcel'))
    expect(await settled()).toEqual([502, null])
    // A read that is copied shows that no earlier copy is still on its way.
    world.backend.respond(replyWith(parcel('same')))
    expect(await settled()).toEqual([200, 'equal'])
    expect(world.next.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([`GET /new${paths.read}`])
  })

  test('share 0 copies nothing', async () => {
    await world.reload(at({ share: 0 }))
    expect(await settled()).toEqual([200, null])
    expect(world.next.requests).toEqual([])
  })

  test('a domain in this process is compared with a service', async () => {
    const { backend: _backend, ...settings } = { backend: '', ...at() }
    await world.reload({ ...settings, url: 'in-process' })
    world.next.respond(replyWith(parcel('here')))
    expect(await settled()).toEqual([200, 'equal'])
    world.next.respond(replyWith(parcel('there')))
    expect(await settled()).toEqual([200, 'different'])
    expect(await differences()).toEqual(['value note'])
    expect(world.backend.requests).toEqual([])
  })

  test('observations 200: operators see the difference and the verdict, without a value', async () => {
    const operator = clientOf(world.portico, 'SYSTEM')
    await signInAs(world.portico, operator, 'operator@demo.test')
    world.next.respond(replyWith(parcel('a planted value')))
    const { verdict, answer } = await read()
    await expect.poll(verdict).toBe('different')
    await expect
      .poll(async () => (await operator.readOverview()).trials)
      .toMatchObject([
        {
          domains: ['parcels'],
          backend: urls.backend,
          canary: null,
          shadow: {
            url: urls.next,
            share: 1,
            differences: [{ operation: 'parcels.read', kind: 'value', path: 'note', count: 1 }],
          },
        },
      ])
    expect(JSON.stringify(await operator.readOverview())).not.toContain('a planted value')
    const requestId = String(answer.headers.get('x-request-id'))
    const { decisions } = await operator.readRequest({ query: { requestId } })
    expect(decisions[0]?.trial).toEqual({ servedBy: 'backend', rule: 'none', shadow: 'different' })
  })
})
