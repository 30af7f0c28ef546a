import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Client, type ClientOptions, createClient } from '../../../src/client/index.ts'
import { developmentIds } from '../../../src/seed/development.ts'
import { runCli } from '../../harness/cli.ts'
import { signInAs } from '../../harness/client.ts'
import { haproxyIsInstalled, startHaproxy } from '../../harness/haproxy.ts'
import { send } from '../../harness/http.ts'
import { needs, needsStore } from '../../harness/needs.ts'
import { nginxIsInstalled, startNginx } from '../../harness/nginx.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { signIn } from '../../harness/sign-in.ts'

const guide = readFileSync(new URL('../../../docs/guides/tls-and-edges.md', import.meta.url), 'utf8')
const section = guide.split(/^## /m).find((each) => each.startsWith('Keep X-Request-Id\n')) ?? ''
const nginxSetting = /^```nginx\n(.*?)^```$/ms.exec(section)?.[1] ?? ''
const haproxySetting = /^```text\n(.*?)^```$/ms.exec(section)?.[1] ?? ''

const { mainUsd, savingsUsd, workspace: workspaceId } = developmentIds
const body = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '3.00', currency: 'USD' }

interface Edge {
  url: string
  stop(): Promise<void>
}

/** Uses the replicas in turn, so that a retry reaches another one. */
function nginx({ urls }: Portico, http: string): Promise<Edge> {
  const servers = urls.map((url) => `server ${new URL(url).host};`).join(' ')
  return startNginx({ '/': 'http://replicas' }, `upstream replicas { ${servers} }\n${http}`)
}

function haproxy({ urls }: Portico, setting: string): Promise<Edge> {
  const servers = urls.map((url, index) => `server r${index} ${new URL(url).host}`)
  return startHaproxy([...setting.trim().split('\n'), ...servers])
}

describe('an edge', { ...needsStore(), ...needs(nginxIsInstalled(), 'nginx is not installed') }, () => {
  let portico: Portico
  let edge: Edge
  beforeAll(async () => {
    portico = await startPortico()
    // The line that many guides show.
    edge = await nginx(portico, 'proxy_set_header X-Request-Id $request_id;')
  })
  afterAll(async () => {
    await edge?.stop()
    await portico?.stop()
  })

  /** The client's channel would reject replies under another id. */
  const connect = (baseUrl: string, options: Partial<ClientOptions<'CONSUMER'>> = {}): Client<'CONSUMER'> =>
    createClient({
      baseUrl,
      portal: 'CONSUMER',
      accessCode: 'consumer-dev',
      edgeHeaders: true,
      seal: 'none',
      retry: { firstDelayMs: 1 },
      ...options,
    })

  describe('that replaces X-Request-Id', () => {
    let client: Client<'CONSUMER'>
    let ids: [requestId: string | null, key: string | null][]
    let losesReply = false
    /** Loses the reply to one transfer, after the gateway has sent it. */
    const lossy: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      if (!response.url.endsWith('/transfer/command/create')) return response
      ids.push([response.headers.get('x-request-id'), response.headers.get('idempotency-key')])
      if (!losesReply) return response
      losesReply = false
      throw new TypeError('the reply was lost')
    }
    beforeEach(async () => {
      ids = []
      losesReply = false
      client = connect(edge.url, { fetch: lossy })
      await signInAs(portico, client, 'owner@demo.test')
    })
    const funds = async () => {
      const wallet = { params: { wallet_id: mainUsd }, workspaceId }
      return Number((await client.readBalance(wallet)).totalBalance)
    }

    test.each([false, true])('transfers.create 200: a retry pays once (sealed: %s)', async (seal) => {
      const requestId = crypto.randomUUID()
      await client.createTransfer({ body, workspaceId })
      const before = await funds()
      losesReply = true
      const order = await client.createTransfer({ body, workspaceId, requestId, seal })
      expect(before - (await funds())).toBe(3)
      const [, first, second] = ids
      expect([first?.[1], second?.[1]]).toEqual([`"${requestId}"`, `"${requestId}"`])
      expect(new Set([first?.[0], second?.[0], requestId])).toHaveProperty('size', 3)
      expect(order.amount).toBe('3.00')

      const line = portico.log.find((each) => each.requestId === first?.[0])
      expect(line).toMatchObject({ operation: 'transfers.create', idempotencyKey: requestId })
      const { accessToken: token } = await signIn(portico, 'operator@demo.test')
      const path = `/web/v1/system/audit-log?action=transfers.create&targetId=${order.bizId}`
      const { data } = (await send(portico.url, 'GET', path, { token })).body
      expect(data.items).toMatchObject([{ requestId: first?.[0], detail: { idempotencyKey: requestId } }])
    })

    test('transfers.create: without a confirmed key, the client does not retry, and names the proxy', async () => {
      const before = await funds()
      losesReply = true
      const requestId = crypto.randomUUID()
      await expect(client.createTransfer({ body, workspaceId, requestId })).rejects.toMatchObject({
        code: 'CLIENT.REQUEST_ID_REPLACED',
        requestId,
        message: expect.stringContaining('see docs/guides/tls-and-edges.md#keep-x-request-id'),
      })
      expect(ids).toHaveLength(1)
      // The caller decides to repeat it.
      await client.createTransfer({ body, workspaceId, requestId })
      expect(before - (await funds())).toBe(3)
    })

    test('wallets.list: a sealed reply under another id is rejected, and the error names the proxy', async () => {
      await expect(client.listWallets({ workspaceId, seal: true })).rejects.toMatchObject({
        code: 'CLIENT.INVALID_REPLY',
        message: expect.stringContaining('a proxy in front of the gateway replaces X-Request-Id'),
      })
    })

    test('portico conformance: reports the proxy and the fix, exit code 1', async () => {
      const { code, out } = await runCli(['conformance', '--target', edge.url], {})
      expect(code).toBe(1)
      expect(out).toMatch(/^X-Request-Id reaches the gateway +\d+ {2}\d+ failed$/m)
      expect(out).toContain(
        'expected the same X-Request-Id, got a proxy in front of the gateway replaces X-Request-Id (see docs/guides/tls-and-edges.md#keep-x-request-id)',
      )
      expect(out).toMatch(/^Idempotency-Key reaches the gateway +\d+ {2}ok$/m)
    })
  })

  describe('portico load', () => {
    const short = ['--duration', '1', '--rate', '10', '--min-rate-ratio', '0']
    let folder: string
    let keys: string
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'portico-edge-'))
      keys = join(folder, 'keys')
      const { accessToken: token } = await signIn(portico)
      const { data } = await portico
        .call('POST', '/web/v1/consumer/api-keys', {
          token,
          workspace: workspaceId,
          body: { apiKeyName: 'Load', permissionCodes: ['wallet:read', 'transfer:read', 'transfer:create'] },
        })
        .then((answer) => answer.body)
      await writeFile(keys, data.secret)
    })
    afterAll(() => rm(folder, { recursive: true, force: true }))
    const load = (url: string, ...args: string[]) =>
      runCli(['load', '--url', url, '--operations-url', portico.operationsUrl, ...short, ...args], {})

    test('load exit 1: names the proxy if encrypted sign-ins fail', async () => {
      const { code, err } = await load(edge.url)
      expect([code, err]).toEqual([1, expect.stringContaining('a proxy in front of the gateway replaces X-Request-Id')])
    })

    test('load exit 1: reports a proxy that replaces X-Request-Id', async () => {
      const { code, out, err } = await load(edge.url, '--api-keys', keys)
      expect(code, out + err).toBe(1)
      expect(out).toMatch(/^FAILED +X-Request-Id and Idempotency-Key reach the gateway: \d+ responses; violations: 1$/m)
      expect(out).toContain('a proxy in front of the gateway replaces X-Request-Id (see docs/guides/tls-and-edges.md')
    })
  })

  test('portico conformance: a proxy that drops Idempotency-Key is reported, exit code 1', async () => {
    const dropping = await nginx(portico, 'proxy_set_header Idempotency-Key "";')
    const { code, out } = await runCli(['conformance', '--target', dropping.url], {}).finally(() => dropping.stop())
    expect(code).toBe(1)
    expect(out).toMatch(/^Idempotency-Key reaches the gateway +\d+ {2}\d+ failed$/m)
    expect(out).toContain(
      'got a proxy in front of the gateway drops Idempotency-Key (see docs/guides/tls-and-edges.md#keep-x-request-id)',
    )
  })

  /** The ids of a request with an id and of one without. */
  const echoes = async (url: string) => {
    const read = async (id: string | null) =>
      (await send(url, 'GET', '/web/v1/consumer/countries', { headers: { 'x-request-id': id } })).headers.get(
        'x-request-id',
      )
    return [await read('of-the-client'), await read(null)]
  }
  const generated = expect.stringMatching(/^[0-9a-f-]{32,36}$/)

  test.each([
    ['nginx', nginx, 'proxy_set_header X-Request-Id $request_id;', nginxSetting],
    ['HAProxy', haproxy, 'http-request set-header X-Request-Id %[uuid()]', haproxySetting],
  ])('%s with the setting of the guide keeps the id of the client', async (name, start, wrong, right) => {
    if (name === 'HAProxy' && !haproxyIsInstalled()) return
    expect(right).not.toBe('')
    for (const [setting, expected] of [
      [wrong, [generated, generated]],
      [right, ['of-the-client', generated]],
    ] as const) {
      const tested = await start(portico, setting)
      try {
        await expect.poll(() => fetch(tested.url).then(Boolean, () => false)).toBe(true)
        expect(await echoes(tested.url)).toEqual(expected)
      } finally {
        await tested.stop()
      }
    }
  })
})
