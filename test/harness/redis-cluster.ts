import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from './postgres.ts'
import { startRedis, type TestRedis } from './redis.ts'

const slots = 16_384

async function startMaster(): Promise<{ node: TestRedis; busPort: number } | undefined> {
  const busPort = await freePort()
  const cluster = ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1', '--cluster-port', String(busPort)]
  const node = await startRedis(cluster)
  return node && { node, busPort }
}

/** Until a master knows the slots of the others, it rejects keys with CLUSTERDOWN. */
async function hasSettled(node: TestRedis): Promise<void> {
  for (let attempt = 1; !/^(\+OK|-MOVED)/.test(await node.sendRequest('SET probe 1')); attempt++) {
    if (attempt >= 1_000) throw new Error('the Redis cluster did not form')
    await pause(50)
  }
}

/** The masters share the slots. Empty if Redis is not installed. */
export async function startRedisCluster(masters = 3): Promise<TestRedis[]> {
  const started = await Promise.all(Array.from({ length: masters }, startMaster))
  const all = started.filter((each) => each !== undefined)
  const [first] = all
  for (const [place, { node, busPort }] of all.entries()) {
    const [from, to] = [place, place + 1].map((each) => Math.ceil((each * slots) / masters))
    await node.sendRequest(`CLUSTER SET-CONFIG-EPOCH ${place + 1}`)
    await node.sendRequest(`CLUSTER ADDSLOTSRANGE ${from} ${(to ?? 0) - 1}`)
    await first?.node.sendRequest(`CLUSTER MEET 127.0.0.1 ${new URL(node.url).port} ${busPort}`)
  }
  const nodes = all.map(({ node }) => node)
  await Promise.all(nodes.map(hasSettled))
  return nodes
}
