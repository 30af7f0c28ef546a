import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scenarios } from '../../../src/load/scenarios.ts'
import { developmentIds } from '../../../src/seed/development.ts'
import { runCli } from '../../harness/cli.ts'
import { clientOf, signInAs } from '../../harness/client.ts'
import { data, goodPassword, newcomer } from '../../harness/identity.ts'
import { inTopology, needsStore } from '../../harness/needs.ts'
import { withPreviousOtp } from '../../harness/otp.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'

interface ProxiedRequest {
  method: string
  path: string
  headers: Record<string, string>
  body: string
}

interface ProxiedReply {
  status: number
  body: string
}

type Forward = (request: ProxiedRequest) => Promise<ProxiedReply>
/** The reply of a proxy. It may forward the request any number of times. */
type Script = (request: ProxiedRequest, forward: Forward) => Promise<ProxiedReply>

const hopByHop = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive'])

async function startProxy(target: string, script: Script): Promise<{ url: string; close(): void }> {
  const forward: Forward = async ({ method, path, headers, body }) => {
    const response = await fetch(target + path, { method, headers, ...(body !== '' && { body }) })
    return { status: response.status, body: await response.text() }
  }
  const server: Server = createServer(async (request, response) => {
    const headers = Object.fromEntries(
      Object.entries(request.headers).flatMap(([name, value]) =>
        hopByHop.has(name) || value === undefined ? [] : [[name, String(value)]],
      ),
    )
    const { method = '', url = '' } = request
    const reply = await script({ method, path: url, headers, body: await text(request) }, forward)
    response.writeHead(reply.status, { 'content-type': 'application/json' }).end(reply.body)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

function isTransfer({ path }: ProxiedRequest): boolean {
  return path.endsWith('/transfer/command/create')
}

/** The command judges responses, which the proxy has changed. It cannot see what answers behind the proxy. */
const onlyEmbedded = inTopology('embedded')

describe('portico load', needsStore(), () => {
  let portico: Portico
  let folder: string
  beforeAll(async () => {
    portico = await startPortico()
    folder = await mkdtemp(join(tmpdir(), 'portico-load-'))
  })
  afterAll(async () => {
    await portico?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const load = (url: string, ...args: string[]) =>
    runCli(['load', '--url', url, '--operations-url', portico.operationsUrl, ...args], {})
  // The machine may be too busy for a short run to reach its rate.
  const short = ['--duration', '2', '--rate', '10', '--min-rate-ratio', '0']
  const through = async (script: Script, ...args: string[]) => {
    const proxy = await startProxy(portico.url, script)
    const result = await load(proxy.url, ...short, ...args)
    proxy.close()
    return result
  }

  test('load exit 0: every scenario passes, its JSON adds up, and its page loads nothing', async () => {
    const html = join(folder, 'result.html')
    const names = Object.keys(scenarios)
    const chosen = names.flatMap((name) => ['--scenario', name])
    const { code, out, err } = await load(portico.url, ...short, ...chosen, '--json', '--html', html)
    expect(code, out + err).toBe(0)
    const result = JSON.parse(out)
    expect(result.passed).toBe(true)
    expect(result.scenarios.map(({ scenario }: { scenario: string }) => scenario)).toEqual(names)
    const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0)
    const requestsOf = (rows: { requests: number }[]): number => sum(rows.map(({ requests }) => requests))
    for (const { scenario, figures, gateway } of result.scenarios) {
      const { requests, errors, operations, intervals, outcomes, plannedRate, p50, p99, max } = figures
      expect(requests, scenario).toBeGreaterThan(0)
      expect([requestsOf(operations), requestsOf(intervals), sum(Object.values(outcomes))]).toEqual([
        requests,
        requests,
        requests,
      ])
      expect([errors, plannedRate]).toEqual([0, scenario === 'ramp' ? 7 : 10])
      expect(p50 <= p99 && p99 <= max).toBe(true)
      expect(gateway.end.residentBytes).toBeGreaterThan(1_000_000)
    }
    const page = await readFile(html, 'utf8')
    expect(page.match(/<svg /g)).toHaveLength(4 * names.length)
    expect(page).not.toMatch(/<script|<link|<img|\bsrc=|\bhref=|url\(|@import/)
    expect(err).toMatch(/^reads: \d+ of 2 s, 20 requests, 0 errors/m)
  })

  test('load exit 1: names a missed threshold', onlyEmbedded, async () => {
    const { code, out } = await load(portico.url, ...short, '--scenario', 'reads', '--max-p99', '0.1')
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(/^FAILED {2}p99 of the slowest operation: .+ at most 0.1 ms$/m),
    ])
  })

  test('load exit 1: finds a transfer that was executed twice', onlyEmbedded, async () => {
    const script: Script = async (request, forward) => {
      if (isTransfer(request)) {
        const again = { 'idempotency-key': randomUUID(), 'cf-ray': '8f2a1b3c4d5e6f70' }
        await forward({ ...request, headers: { ...request.headers, ...again } })
      }
      return forward(request)
    }
    const { code, out } = await through(script, '--scenario', 'transfers')
    expect([code, out]).toEqual([1, expect.stringContaining('2 orders exist')])
  })

  test('load exit 1: finds an acknowledged transfer that does not exist', onlyEmbedded, async () => {
    let acknowledgement: Promise<ProxiedReply> | null = null
    const script: Script = async (request, forward) => {
      if (!isTransfer(request)) return forward(request)
      if (acknowledgement === null) {
        acknowledgement = forward(request)
        return acknowledgement
      }
      const { data, ...envelope } = JSON.parse((await acknowledgement).body)
      const forged = { ...data, ...JSON.parse(request.body), bizId: randomUUID() }
      return { status: 200, body: JSON.stringify({ ...envelope, data: forged }) }
    }
    const { code, out } = await through(script, '--scenario', 'transfers')
    expect(code, out).toBe(1)
    expect(out).toContain('FAILED  every acknowledged order exists once: 20 orders; violations: 19')
    expect(out).toMatch(/the acknowledged order \S+ is missing/)
    expect(out).toMatch(/wallet \S+ has nothing OUT for order/)
  })

  test('load exit 1: finds a refused transfer that was executed', onlyEmbedded, async () => {
    const refusal = { success: false, code: 'WALLET.LIMIT_EXCEEDED', message: 'limit', data: null }
    let count = 0
    const script: Script = async (request, forward) => {
      const reply = await forward(request)
      if (!isTransfer(request) || ++count !== 1) return reply
      return { status: 422, body: JSON.stringify({ ...JSON.parse(reply.body), ...refusal }) }
    }
    const { code, out } = await through(script, '--scenario', 'transfers', '--max-error-rate', '20')
    expect([code, out]).toEqual([1, expect.stringMatching(/was refused, but order \S+ exists/)])
  })

  test('load exit 1: finds a balance that is wrong by one cent', onlyEmbedded, async () => {
    let hasTransfers = false
    const script: Script = async (request, forward) => {
      const reply = await forward(request)
      hasTransfers ||= isTransfer(request)
      if (!hasTransfers || !request.path.endsWith(`${developmentIds.mainUsd}/balance`)) return reply
      const { data, ...envelope } = JSON.parse(reply.body)
      const totalBalance = (Number(data.totalBalance) + 0.01).toFixed(2)
      return { status: 200, body: JSON.stringify({ ...envelope, data: { ...data, totalBalance } }) }
    }
    const { code, out } = await through(script, '--scenario', 'transfers')
    expect(code, out).toBe(1)
    expect(out).toMatch(/^FAILED {2}balances add up: 3 wallets, 40 flows; violations: 1$/m)
    expect(out).toContain(`wallet ${developmentIds.mainUsd}: `)
  })

  test('load exit 1: finds a reply that reached another account', onlyEmbedded, async () => {
    const profiles = new Map<string | undefined, ProxiedReply>()
    const script: Script = async (request, forward) => {
      const reply = await forward(request)
      if (!request.path.endsWith('/profile')) return reply
      const own = request.headers['x-client-hash']
      const [, other] = [...profiles].find(([hash]) => hash !== own) ?? []
      // Each account reads its profile once when it signs in.
      if (profiles.has(own) && other) return other
      profiles.set(own, reply)
      return reply
    }
    const { code, out } = await through(script, '--scenario', 'reads')
    expect(code, out).toBe(1)
    expect(out).toMatch(/^FAILED {2}no reply of one account reached another/m)
    expect(out).toMatch(/profile\.read of (owner|member)@demo\.test: account \S+ instead of/)
  })

  test('load exit 0: a transfer without a response is looked up afterwards', onlyEmbedded, async () => {
    let lost = 0
    const script: Script = async (request, forward) => {
      const reply = await forward(request)
      return isTransfer(request) && lost++ < 3 ? { status: 502, body: 'bad gateway' } : reply
    }
    const { code, out } = await through(script, '--scenario', 'transfers', '--max-error-rate', '20')
    expect(code, out).toBe(0)
    expect(out).toContain('502 CLIENT.INVALID_REPLY × 3')
    expect(out).toContain('17 orders, 3 without a response of which 3 were executed')
    expect(out).toMatch(/^ok {6}balances add up: 3 wallets, 40 flows$/m)
  })

  test('load exit 1: reports the measurements of a target that fails during the run', onlyEmbedded, async () => {
    let transfers = 0
    const script: Script = async (request, forward) => {
      if (isTransfer(request)) transfers += 1
      return transfers > 10 ? { status: 503, body: '{}' } : forward(request)
    }
    const { code, out } = await through(script, '--scenario', 'transfers', '--scenario', 'reads')
    expect(code, out).toBe(1)
    expect(out).toMatch(/^outcomes: 200 × 10, 503 CLIENT\.INVALID_REPLY × 10$/m)
    expect(out).toMatch(/^FAILED {2}orders and balances can be read: not checked/m)
    expect(out).toMatch(/^FAILED {2}error rate: 50\.00 %/m)
    expect(out).toMatch(/^reads did not run: /m)
  })

  test('load exit 0: runs with API keys', async () => {
    const owner = clientOf(portico, 'CONSUMER')
    await signInAs(portico, owner, 'owner@demo.test')
    const { secret } = await owner.createApiKey({
      workspaceId: developmentIds.workspace,
      body: { apiKeyName: 'Load', permissionCodes: ['wallet:read', 'transfer:read', 'transfer:create'] },
    })
    const file = join(folder, 'keys.txt')
    await writeFile(file, `# the key of the demo workspace\n${secret}\n`)
    const { code, out, err } = await load(portico.url, ...short, '--api-keys', file)
    expect(code, out + err).toBe(0)
    expect(out).toContain('wallets.')
    expect(out).not.toContain(secret)
    const refused = await load(portico.url, '--api-keys', file, '--scenario', 'sign-ins')
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('needs --accounts')])
  })

  test('load exit 0: signs in accounts of a file with an authenticator', async () => {
    const { by, email, token } = await newcomer(portico)
    const secret: string = data(await by.post('/security/mfa/otp/setup', undefined, token)).secret
    data(await withPreviousOtp(secret, (code) => by.post('/security/mfa/otp/verify', { code }, token)))
    const file = join(folder, 'accounts.yaml')
    await writeFile(file, `- email: ${email}\n  password: ${goodPassword}\n  totpSecret: ${secret}\n`)
    const { code, out, err } = await load(portico.url, ...short, '--scenario', 'reads', '--accounts', file)
    expect(code, out + err).toBe(0)
  })

  test(
    'load exit 2: refuses another machine without --yes-this-is-mine, before it connects',
    onlyEmbedded,
    async () => {
      let connections = 0
      const server = createTcpServer((socket) => {
        connections += 1
        socket.destroy()
      })
      await once(server.listen(0, '0.0.0.0'), 'listening')
      const foreign = `http://0.0.0.0:${(server.address() as AddressInfo).port}`
      const file = join(folder, 'foreign.json')
      await writeFile(file, JSON.stringify([{ email: 'a@b.test', password: goodPassword }]))
      const refused = await runCli(['load', '--url', foreign, '--accounts', file], {})
      const byOperations = await load(portico.url, '--operations-url', foreign)
      expect([refused.code, byOperations.code, connections]).toEqual([2, 2, 0])
      expect(refused.err).toContain('is not this machine. Add --yes-this-is-mine')
      const allowed = await runCli(['load', '--url', foreign, '--accounts', file, '--yes-this-is-mine'], {})
      server.close()
      expect([allowed.code, connections > 0]).toEqual([1, true])
    },
  )
})
