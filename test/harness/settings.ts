import { hash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { z } from 'zod'
import { upstream } from '../../src/config/backends.ts'
import type { Variables } from '../../src/config/env.ts'
import { type Configuration, loadConfiguration, type UpstreamConfiguration } from '../../src/config/index.ts'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** Production accepts it. */
export const productionKey = hash('sha256', 'a secret key for tests', 'base64')

/** Of the database. A machine that stands still for a few seconds must not make it unavailable. */
export const longTimeouts = { connectTimeoutMs: 20_000, statementTimeoutMs: 20_000, lockTimeoutMs: 10_000 }

/** The development configuration with free ports, high limits and long timeouts. */
export const testSettings = (
  variables: Variables,
  adjust: (settings: Configuration) => void = () => undefined,
): Configuration => {
  const settings = loadConfiguration({ PORTICO_RATE_LIMIT_SCALE: '1000', LOG_LEVEL: 'info', ...variables })
  settings.listen = {
    host: '127.0.0.1',
    port: 0,
    operationsPort: 0,
    operationsHost: null,
    operationsAllowedHosts: ['localhost'],
  }
  Object.assign(settings.database, longTimeouts)
  Object.assign(settings.redis, { connectTimeoutMs: 20_000, commandTimeoutMs: 20_000 })
  adjust(settings)
  return settings
}

export const upstreamAt = (url: string, logged: Omit<z.input<typeof upstream>, 'url'> = {}): UpstreamConfiguration =>
  upstream.parse({ ...logged, url })
