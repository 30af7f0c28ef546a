import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { chain } from '../load/people.ts'
import type { CheckName } from '../rig/checks.ts'
import type { LoggedGateway } from '../rig/gateway.ts'
import type { Rig } from '../rig/workspace.ts'
import { paths } from './proxied.ts'

type RequestHeaders = Record<string, string>

/** An upstream whose replies match no schema. */
export interface Recorder {
  url: string
  lastHeaders(): IncomingHttpHeaders
}

export async function startRecorder(rig: Rig): Promise<Recorder> {
  let last: IncomingHttpHeaders = {}
  const server = createServer((request, response) => {
    last = request.headers
    response.setHeader('content-type', 'application/json').end('{}')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  rig.stopAtEnd({
    stop: async () => {
      server.close()
      server.closeAllConnections()
    },
  })
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('the recorder has no port')
  return { url: `http://127.0.0.1:${address.port}`, lastHeaders: () => last }
}

export interface Probed {
  gateway: LoggedGateway
  recorder: Recorder
  owner: RequestHeaders
  member: RequestHeaders
}

/** Resolves with whether the gateway makes the check. */
type Probe = (probed: Probed) => Promise<boolean>

function readWallet({ gateway }: Probed, headers: RequestHeaders, query = ''): Promise<Response> {
  return fetch(gateway.url + paths.GET + query, { headers })
}

/** Throws for any other status. */
function isRefused({ status, url }: Response, refused: number, passed = 200): boolean {
  if (status !== refused && status !== passed) throw new Error(`${url} answers ${status}, not ${refused} or ${passed}`)
  return status === refused
}

function refuses(status: number, change: RequestHeaders, query = ''): Probe {
  return async (probed) => isRefused(await readWallet(probed, { ...probed.owner, ...change }, query), status)
}

const refusesMissingLocale: Probe = async (probed) => {
  const { 'x-locale': _, ...headers } = probed.owner
  return isRefused(await readWallet(probed, headers), 400)
}

/** The member cannot create wallets. The upstream's reply is not a wallet, which is a 502. */
const refusesWithoutPermission: Probe = async ({ gateway, member: headers }) => {
  const body = JSON.stringify({ walletName: 'Other', currency: 'USD' })
  return isRefused(await fetch(`${gateway.url}${chain}/wallets`, { method: 'POST', headers, body }), 403, 502)
}

function readTransfer({ gateway }: Probed, headers: RequestHeaders): Promise<Response> {
  return fetch(`${gateway.url}${chain}/transfer/query/orders/01990000-0000-7000-8000-0000000000aa`, { headers })
}

const forwardsAddress: Probe = async (probed) => {
  const address = '203.0.113.99'
  await readTransfer(probed, { ...probed.owner, 'cf-connecting-ip': address })
  return probed.recorder.lastHeaders()['x-client-ip'] === address
}

const signsEachCaller: Probe = async (probed) => {
  await readTransfer(probed, probed.member)
  const { authorization } = probed.recorder.lastHeaders()
  await readTransfer(probed, probed.owner)
  return probed.recorder.lastHeaders().authorization !== authorization
}

const countsRequests: Probe = async (probed) => {
  const first = await readWallet(probed, probed.owner)
  const second = await readWallet(probed, probed.owner)
  return first.headers.get('ratelimit') !== second.headers.get('ratelimit')
}

const logsRequests: Probe = async (probed) => {
  const requestId = crypto.randomUUID()
  await readWallet(probed, { ...probed.owner, 'x-request-id': requestId })
  for (let attempt = 0; attempt < 20; attempt++) {
    if (readFileSync(probed.gateway.log, 'utf8').includes(requestId)) return true
    await pause(50)
  }
  return false
}

/** With all checks, every probe is true. Without a check, its probes are false. */
export const probes: Record<CheckName, readonly Probe[]> = {
  'access-code': [refuses(403, { 'x-portal-access-code': 'wrong' })],
  'client-address': [forwardsAddress],
  'required-headers': [refusesMissingLocale],
  'client-hash': [refuses(400, { 'x-client-hash': 'two words' })],
  limits: [countsRequests],
  token: [refuses(401, { authorization: 'Bearer none' })],
  permission: [refuses(403, { 'x-workspace-id': crypto.randomUUID() }), refusesWithoutPermission],
  input: [refuses(400, {}, '?unknown=1')],
  'call-assertion': [signsEachCaller],
  'reply-schema': [async (probed) => isRefused(await readTransfer(probed, probed.owner), 502)],
  'security-headers': [async (probed) => (await readWallet(probed, probed.owner)).headers.has('x-frame-options')],
  'log-line': [logsRequests],
}
