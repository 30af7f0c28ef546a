import { developmentIds } from '../../../src/seed/development.ts'
import { chain, perimeter, signIn } from '../load/people.ts'
import type { Shot } from '../load/spray.ts'
import type { Options } from '../options.ts'
import { transfer, transferRequest, wallet } from '../peers/bodies.ts'
import type { Outcome } from '../report/outcome.ts'
import { startGateway } from '../rig/gateway.ts'
import { startPeer, startProxies } from '../rig/peers.ts'
import type { Started } from '../rig/processes.ts'
import type { Rig } from '../rig/workspace.ts'
import { seededStore } from '../store/stores.ts'
import { type Contender, contest } from './contest.ts'

export function proxying(upstream: string): object {
  const place = { url: upstream, timeoutMs: 10_000, connections: 64 }
  // Of the production profile. With `session`, each transfer reads its session from the store.
  return { mfa: { binding: 'purpose' }, backends: { wallets: place, transfers: place } }
}

export const paths = {
  GET: `${chain}/wallets/${developmentIds.mainUsd}`,
  POST: `${chain}/transfer/command/create`,
}

/** Compares the data of the envelope with the upstream's response. */
export function envelopeOf(expected: string) {
  return (text: string, status: number) => {
    const { success, data }: { success: boolean; data: unknown } = JSON.parse(text)
    if (status !== 200 || success !== true || JSON.stringify(data) !== expected) throw new Error('not the answer')
  }
}
export function plain(expected: string) {
  return (text: string, status: number) => {
    if (status !== 200 || text !== expected) throw new Error('not the answer')
  }
}

/** These peers wrap replies like Portico. */
const enveloping = new Set(['express-composed', 'express-tuned'])

async function proxied(rig: Rig, options: Options, method: 'GET' | 'POST'): Promise<Outcome> {
  const upstream = await startPeer(rig, 'upstream', {}, 'load')
  const { variables } = await seededStore(options.store)
  const configuration = proxying(upstream.url)
  const [{ peers, token }, gateway] = await Promise.all([
    startProxies(rig, upstream.url),
    startGateway(rig, { variables, configuration, profile: options.profile }),
  ])
  const own = { ...(await signIn(gateway)), 'x-workspace-id': developmentIds.workspace }
  const theirs = { ...perimeter(), authorization: `Bearer ${token}`, 'x-workspace-id': developmentIds.workspace }
  const expected = method === 'GET' ? wallet : transfer
  const shot = (process: Started, headers: Record<string, string>): Shot => ({
    method,
    url: process.url + paths[method],
    headers,
    ...(method === 'POST' && { body: transferRequest }),
  })
  const others = peers.map(
    (peer): Contender => ({
      process: peer,
      shot: shot(peer, theirs),
      check: (enveloping.has(peer.name) ? envelopeOf : plain)(expected),
    }),
  )
  const first: Contender = { process: gateway, shot: shot(gateway, own), check: envelopeOf(expected) }
  return contest(`proxied-${method.toLowerCase()}`, [first, ...others], gateway, options)
}

export function proxiedGet(rig: Rig, options: Options): Promise<Outcome> {
  return proxied(rig, options, 'GET')
}
export function proxiedPost(rig: Rig, options: Options): Promise<Outcome> {
  return proxied(rig, options, 'POST')
}
