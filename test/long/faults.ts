import { setTimeout as pause } from 'node:timers/promises'
import type { Deployment } from './deployment.ts'
import type { Random } from './random.ts'

const kinds = [
  'kill a gateway',
  'restart a gateway',
  'pause a gateway',
  'shift the clock of a gateway',
  'cut a gateway off from PostgreSQL',
  'cut a gateway off from Redis',
  'restart Redis',
  'crash PostgreSQL',
  'fill the disk of PostgreSQL',
] as const
type FaultKind = (typeof kinds)[number]

/** `after` counts finished orders. `gateway` is 0 or 1. */
export interface Fault {
  after: number
  kind: FaultKind
  gateway: 0 | 1
  ms: number
}

/** The same seed and number of orders give the same schedule. Each kind occurs before any occurs twice. */
export function scheduleFaults(random: Random, orders: number, count: number): Fault[] {
  const waiting: FaultKind[] = []
  return Array.from({ length: count }, (_, index) => {
    if (waiting.length === 0) waiting.push(...kinds)
    const [kind = kinds[0]] = waiting.splice(random.between(0, waiting.length - 1), 1)
    const gateway = random.pick([0, 1] as const)
    return { after: Math.floor((orders * (index + 0.5)) / count), kind, gateway, ms: random.between(100, 4_000) }
  })
}

/** Resolves when the fault has ended. */
export async function apply(fault: Fault, { gateways, postgres, redis, disk }: Deployment): Promise<void> {
  const gateway = gateways[fault.gateway]
  const { child } = gateway.process ?? {}
  switch (fault.kind) {
    case 'kill a gateway':
      await gateway.kill()
      await pause(fault.ms)
      return gateway.start()
    case 'restart a gateway':
      await gateway.stop()
      return gateway.start()
    case 'pause a gateway':
      child?.kill('SIGSTOP')
      await pause(fault.ms)
      child?.kill('SIGCONT')
      return
    case 'shift the clock of a gateway':
      child?.kill('SIGUSR2')
      await pause(fault.ms)
      child?.kill('SIGUSR2')
      return
    case 'cut a gateway off from PostgreSQL':
    case 'cut a gateway off from Redis': {
      const link = fault.kind === 'cut a gateway off from Redis' ? gateway.toRedis : gateway.toPostgres
      link.silence()
      await pause(fault.ms)
      return link.cut()
    }
    case 'restart Redis':
      return redis.restart()
    case 'crash PostgreSQL':
      await postgres.crash()
      await pause(fault.ms)
      return postgres.resume()
    case 'fill the disk of PostgreSQL':
      await disk?.fill()
      await pause(fault.ms)
      await disk?.empty()
      // PostgreSQL may have ended, because it could not write its log.
      await postgres.crash()
      return postgres.resume()
  }
}
