import { Client } from 'pg'
import { inject } from 'vitest'
import type { Variables } from '../../src/config/env.ts'
import { type CommandResult, runCli } from './cli.ts'
import { startConfigured } from './configured.ts'
import { urlOf } from './global-setup.ts'
import { freePort } from './postgres.ts'
import type { PorticoProcess } from './process.ts'
import { servingRights } from './rights.ts'
import { createStore } from './store.ts'

/** A deployment with extensions in the project's topology. */
export interface Extended {
  gateways: readonly PorticoProcess[]
  /** Includes the domain service of the split topology. */
  processes: readonly PorticoProcess[]
  /** Only replicas need `portico migrate`, because their role cannot create tables. */
  migrated: readonly CommandResult[]
  stop(): Promise<void>
}

const execute = async (url: string, statements: readonly string[]): Promise<void> => {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(statements.join(';')).finally(() => client.end())
}

/** URL for the role that owns the database. */
const ownerUrl = ({ DATABASE_URL = '' }: Variables): string => {
  const server = inject('postgresUrl')
  if (!server) throw new Error('no PostgreSQL for this topology')
  return urlOf(server, new URL(DATABASE_URL).pathname.slice(1))
}

/** Runs `portico migrate` twice concurrently, and grants the new tables to the replicas. */
const migrateTwice = async (configuration: object, variables: Variables): Promise<CommandResult[]> => {
  const owner = { ...variables, DATABASE_URL: ownerUrl(variables) }
  const migrate = () => runCli(['migrate'], configuration, owner)
  const results = await Promise.all([migrate(), migrate()])
  await execute(owner.DATABASE_URL, servingRights.slice(1))
  return results
}

/** Starts the gateway and the domain service at the same time. Either can create the tables. */
const startSplit = async (configuration: object, variables: Variables) => {
  const [port, operationsPort] = [await freePort(), await freePort()]
  const [servicePort, serviceOperationsPort] = [await freePort(), await freePort()]
  const upstream = { url: `http://127.0.0.1:${servicePort}`, timeoutMs: 10_000 }
  const jwksUrl = `http://127.0.0.1:${operationsPort}/.well-known/jwks.json`
  return Promise.all([
    startConfigured(
      { ...variables, PORT: String(port), OPS_PORT: String(operationsPort) },
      { ...configuration, backends: { default: upstream } },
    ),
    startConfigured(
      { ...variables, PORT: String(servicePort), OPS_PORT: String(serviceOperationsPort) },
      { ...configuration, assertion: { jwksUrl } },
      'domains',
    ),
  ])
}

export const startExtended = async (configuration: object, more: Variables = {}): Promise<Extended> => {
  const topology = inject('topology')
  const store = await createStore()
  const variables = { ...store.variables, ...more }
  const migrated = topology === 'replicas' ? await migrateTwice(configuration, variables) : []
  const start = () => startConfigured(variables, configuration)
  const processes =
    topology === 'split'
      ? await startSplit(configuration, variables)
      : await Promise.all(topology === 'replicas' ? [start(), start()] : [start()])
  return {
    gateways: topology === 'split' ? processes.slice(0, 1) : processes,
    processes,
    migrated,
    stop: async () => {
      await Promise.all(processes.map((each) => each.stop()))
      await store.remove()
    },
  }
}
