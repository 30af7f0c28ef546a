import { developmentIds } from '../../../src/seed/development.ts'
import { startRedis } from '../../harness/redis.ts'
import { perimeter, signIn } from '../load/people.ts'
import type { Options } from '../options.ts'
import { transfer, transferRequest, wallet } from '../peers/bodies.ts'
import type { Outcome } from '../report/outcome.ts'
import { startGateway } from '../rig/gateway.ts'
import { peerKeys, startHaproxy, startNginx, startPeer } from '../rig/peers.ts'
import { onPath, type Started, unpinned } from '../rig/processes.ts'
import { canLimitCpu, limitCpu } from '../rig/quota.ts'
import { cpuSecondsOf, processTree } from '../rig/usage.ts'
import type { Rig } from '../rig/workspace.ts'
import { seededStore } from '../store/stores.ts'
import { type Contender, contest } from './contest.ts'
import { envelopeOf, paths, plain, proxying } from './proxied.ts'

const processes = 2
/** Of a core, for each process or thread of a contender. The rest is for the load, the service and Redis. */
const percent = 40

export function allCoresGet(rig: Rig, options: Options): Promise<Outcome> {
  return unpinned(() => allCores(rig, options, 'GET'))
}

export function allCoresPost(rig: Rig, options: Options): Promise<Outcome> {
  return unpinned(() => allCores(rig, options, 'POST'))
}

/**
 * Compares one process of Portico, two workers, and HAProxy and nginx with two. Portico uses PostgreSQL and Redis, because
 * workers need them. Where the CPU cannot be limited, the load generator distorts the result.
 */
async function allCores(rig: Rig, options: Options, method: 'GET' | 'POST'): Promise<Outcome> {
  const upstream = await startPeer(rig, 'upstream', {}, 'anywhere')
  const redis = await startRedis()
  if (!redis) throw new Error('Redis is not installed')
  rig.stopAtEnd(redis)
  const { variables } = await seededStore('postgres')
  const { token, pem } = await peerKeys()
  const gatewayOf = (workers: number) =>
    startGateway(rig, {
      name: workers === 1 ? 'portico, one process' : 'portico',
      place: 'anywhere',
      variables: { ...variables, REDIS_URL: redis.url },
      configuration: proxying(upstream.url),
      serveOptions: ['--workers', String(workers)],
    })
  const [gateway, single] = [await gatewayOf(processes), await gatewayOf(1)]
  const haproxy = onPath('haproxy') && (await startHaproxy(rig, upstream.url, pem, processes, 'anywhere'))
  const nginx = onPath('nginx') && (await startNginx(rig, upstream.url, processes, 'anywhere'))
  const expected = method === 'GET' ? wallet : transfer
  const contender = (process: Started, headers: Record<string, string>, check: Contender['check']): Contender => ({
    process: { ...process, cpuSeconds: () => sumOf(processTree(process.pid).map(cpuSecondsOf)) },
    shot: { method, url: process.url + paths[method], headers, ...(method === 'POST' && { body: transferRequest }) },
    check,
  })
  const theirs = { ...perimeter(), authorization: `Bearer ${token}`, 'x-workspace-id': developmentIds.workspace }
  const ownHeaders = async (each: typeof gateway) => ({
    ...(await signIn(each)),
    'x-workspace-id': developmentIds.workspace,
  })
  const contenders = [
    contender(gateway, await ownHeaders(gateway), envelopeOf(expected)),
    contender(single, await ownHeaders(single), envelopeOf(expected)),
    ...[haproxy, nginx].flatMap((peer) => (peer ? [contender(peer, theirs, plain(expected))] : [])),
  ]
  using limits = new DisposableStack()
  if (canLimitCpu())
    for (const { process } of contenders)
      limits.use(limitCpu(processTree(process.pid), percent * (process.pid === single.pid ? 1 : processes)))
  return await contest(`all-cores-${method.toLowerCase()}`, contenders, gateway, options)
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, each) => sum + each, 0)
}
