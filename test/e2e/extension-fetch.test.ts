import dns from 'node:dns'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { domain } from '../../src/api/domain.ts'
import { own } from '../../src/contract/policies.ts'
import { operation } from '../../src/kernel/index.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { signIn } from '../harness/sign-in.ts'
import { type Service, startService } from './pass-through-world.ts'

const host = 'partner.test'

describe('an extension that calls fetch', () => {
  let service: Service
  let portico: Portico
  beforeAll(async () => {
    service = await startService()
    const url = `http://${host}:${new URL(service.url).port}/`
    const partner = domain({
      name: 'partner',
      summary: 'A partner.',
      operations: {
        readPartner: operation({
          ...{ id: 'partner.read', method: 'GET', path: '/partner', chains: ['consumer'], summary: 'Read a partner' },
          ...{ policy: { ...own, channel: 'none' }, body: 'none', reply: z.string(), refuses: [] },
        }),
      },
      create: () => ({ handlers: { readPartner: async ({ signal }) => (await fetch(url, { signal })).text() } }),
    })
    portico = await startPortico({ domains: [partner] })
  })
  afterAll(async () => {
    await portico?.stop()
    service?.close()
  })

  test('partner.read 200: the shared resolver looks up the host once', async () => {
    const names: string[] = []
    const lookUp = async (name: string) => {
      names.push(name)
      return [{ address: '127.0.0.1', family: 4 }]
    }
    vi.spyOn(dns.promises, 'lookup').mockImplementation(lookUp as unknown as typeof dns.promises.lookup)
    const token = (await signIn(portico)).accessToken
    service.respond((_request, response) => void response.setHeader('connection', 'close').end('a partner'))
    for (const _ of [1, 2]) {
      const { body } = await portico.call('GET', '/web/v1/consumer/partner', { token })
      expect(body.data).toBe('a partner')
    }
    expect(names).toEqual([host])
    vi.restoreAllMocks()
  })
})
