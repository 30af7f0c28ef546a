import { afterEach, describe, expect, it } from 'vitest'
import { createApiClient } from '../../src/client/index.ts'
import { order, transfer, wallet } from './fixtures.ts'
import { hangUp, ok, refuse, type Step, scriptedGateway } from './scripted-gateway.ts'

const create = 'POST /api/v1/consumer/transfer/command/create'
const list = 'GET /api/v1/consumer/wallets'

/** Sets headers of the response. */
function withHeaders(step: Step, headers: (seen: Parameters<Step>[0]) => Record<string, string>): Step {
  return (seen, response) => {
    response.setHeaders(new Map(Object.entries(headers(seen))))
    return step(seen, response)
  }
}

const replaced = (step: Step): Step => withHeaders(step, () => ({ 'x-request-id': 'of-the-proxy' }))
const confirmed = (step: Step): Step =>
  withHeaders(step, ({ headers }) => ({
    'x-request-id': 'of-the-proxy',
    'idempotency-key': String(headers['idempotency-key']),
  }))
const kept = (step: Step): Step =>
  withHeaders(step, ({ headers }) => ({ 'x-request-id': `${headers['x-request-id']}, of-the-proxy` }))

describe('a command of the client', () => {
  let gateway: Awaited<ReturnType<typeof scriptedGateway>>
  afterEach(() => gateway?.close())
  const start = async (commands: Step[], reads: Step = ok([wallet])) => {
    gateway = await scriptedGateway({ [create]: commands, [list]: reads })
    const retry = { attempts: 3, firstDelayMs: 0, maxDelayMs: 0 }
    return createApiClient({ baseUrl: gateway.baseUrl, apiKey: 'key', retry })
  }
  const sent = () => gateway.seen.filter(({ method }) => method === 'POST')

  it('sends its request id as Idempotency-Key, too, at each attempt; a read does not', async () => {
    const client = await start([hangUp, ok(order)])
    await client.listWallets()
    await client.createTransfer({ body: transfer, requestId: 'one' })
    expect(gateway.seen[0]?.headers).not.toHaveProperty('idempotency-key')
    expect(sent().map(({ headers }) => [headers['x-request-id'], headers['idempotency-key']])).toEqual([
      ['one', '"one"'],
      ['one', '"one"'],
    ])
  })

  it.each([
    ['a response to a read', [hangUp, ok(order)], replaced(ok([wallet]))],
    ['its own response', [replaced(refuse(503, 'SYSTEM.UNAVAILABLE')), ok(order)], ok([wallet])],
  ])('is not repeated if %s has another X-Request-Id', async (_, commands, reads) => {
    const client = await start(commands, reads)
    await client.listWallets()
    const call = client.createTransfer({ body: transfer })
    await expect(call).rejects.toMatchObject({
      code: 'CLIENT.REQUEST_ID_REPLACED',
      message: expect.stringContaining('docs/guides/tls-and-edges.md'),
      cause: { name: 'PorticoError' },
    })
    expect(sent()).toHaveLength(1)
  })

  it.each([
    ['an earlier response has repeated Idempotency-Key', [confirmed(ok(order)), hangUp, ok(order)]],
    ['the response has repeated it', [ok(order), confirmed(refuse(503, 'SYSTEM.UNAVAILABLE')), ok(order)]],
    ['the proxy adds a second X-Request-Id', [ok(order), kept(refuse(503, 'SYSTEM.UNAVAILABLE')), ok(order)]],
    ['no response has an X-Request-Id', [ok(order), hangUp, ok(order)]],
  ])('is repeated if %s', async (_, commands) => {
    const client = await start(commands)
    await client.createTransfer({ body: transfer })
    expect(await client.createTransfer({ body: transfer })).toMatchObject({ bizId: order.bizId })
    expect(sent()).toHaveLength(3)
  })

  it('has its own request id in an error, and not the one of the proxy', async () => {
    const client = await start([confirmed(refuse(422, 'WALLET.INSUFFICIENT_FUNDS'))])
    const call = client.createTransfer({ body: transfer, requestId: 'one' })
    await expect(call).rejects.toMatchObject({ code: 'WALLET.INSUFFICIENT_FUNDS', requestId: 'one' })
  })

  it('is not repeated if the response repeats another key', async () => {
    const other = withHeaders(refuse(503, 'SYSTEM.UNAVAILABLE'), () => ({
      'x-request-id': 'of-the-proxy',
      'idempotency-key': '"another"',
    }))
    const client = await start([other, ok(order)])
    await expect(client.createTransfer({ body: transfer })).rejects.toHaveProperty('code', 'CLIENT.REQUEST_ID_REPLACED')
    expect(sent()).toHaveLength(1)
  })
})
