import { inject } from 'vitest'
import type { Variables } from '../../src/config/env.ts'
import { type CommandResult, runCli } from './cli.ts'
import { startConfigured } from './configured.ts'
import { freePort } from './postgres.ts'
import { execute } from './prepared-postgres.ts'
import type { PorticoProcess } from './process.ts'
import { servingRights } from './rights.ts'
import { createStore } from './store.ts'

/** A deployment with extensions in the project's topology. */
export interface Extended {
  gateways: readonly PorticoProcess[]
  /** Includes the domain service. */
  processes: readonly PorticoProcess[]
  /** Only the distributed topology needs `portico migrate`, because its role cannot create tables. */
  migrated: readonly CommandResult[]
  stop(): Promise<void>
}

/** Runs `portico migrate` twice concurrently, and grants the new tables to the serving role. */
async function migrateTwice(configuration: object, owner: Variables): Promise<CommandResult[]> {
  const migrate = () => runCli(['migrate'], configuration, owner)
  const results = await Promise.all([migrate(), migrate()])
  await execute(owner.DATABASE_URL ?? '', ...servingRights.slice(1))
  return results
}

/** Without an entry in `backends`, the domain service serves each domain of the distributed topology. */
type Deployed = Record<string, unknown> & { backends?: Record<string, unknown> }

/** Starts two gateways and the domain service at the same time. */
async function startDistributed(configuration: Deployed, variables: Variables) {
  const [operationsPort, servicePort] = [await freePort(), await freePort()]
  const upstream = { url: `http://127.0.0.1:${servicePort}`, timeoutMs: 10_000 }
  const jwksUrl = `http://127.0.0.1:${operationsPort}/.well-known/jwks.json`
  const startGateway = (more: Variables) =>
    startConfigured(
      { ...variables, ...more },
      { ...configuration, backends: { default: upstream, ...configuration.backends } },
    )
  return Promise.all([
    startGateway({ OPS_PORT: String(operationsPort) }),
    startGateway({}),
    startConfigured(
      { ...variables, PORT: String(servicePort) },
      { ...configuration, assertion: { jwksUrl } },
      'domains',
    ),
  ])
}

export async function startExtended(configuration: Deployed, more: Variables = {}): Promise<Extended> {
  const isDistributed = inject('topology') === 'distributed'
  const store = await createStore()
  const variables = { ...store.variables, ...more }
  const migrated = isDistributed
    ? await migrateTwice(configuration, { ...variables, DATABASE_URL: store.databaseUrl })
    : []
  const processes = isDistributed
    ? await startDistributed(configuration, variables)
    : [await startConfigured(variables, configuration)]
  return {
    gateways: isDistributed ? processes.slice(0, 2) : processes,
    processes,
    migrated,
    stop: async () => {
      await Promise.all(processes.map((each) => each.stop()))
      await store.remove()
    },
  }
}
