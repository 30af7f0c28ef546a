import { hash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { z } from 'zod'
import type { apiKeySettings } from '../../src/banking/api-keys/rules.ts'
import type { exchangeSettings } from '../../src/banking/exchanges/settings.ts'
import type { exportSettings } from '../../src/banking/exports/index.ts'
import type { fileSettings } from '../../src/banking/files/rules.ts'
import { bankingDomains } from '../../src/banking/index.ts'
import type { invitationSettings } from '../../src/banking/invitations/rules.ts'
import type { memberSettings } from '../../src/banking/members/index.ts'
import type { proposalSettings } from '../../src/banking/proposals/rules.ts'
import type { rechargeSettings } from '../../src/banking/recharges/rules.ts'
import type { transferSettings } from '../../src/banking/transfers/rules.ts'
import type { Network } from '../../src/banking/withdrawal-channels/networks.ts'
import type { withdrawalSettings } from '../../src/banking/withdrawals/rules.ts'
import { upstream } from '../../src/config/backends.ts'
import type { Variables } from '../../src/config/env.ts'
import { type Configuration, loadConfiguration, type UpstreamConfiguration } from '../../src/config/index.ts'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** Production accepts it. */
export const productionKey = hash('sha256', 'a secret key for tests', 'base64')

/** Of the database. A machine that stands still for a few seconds must not make it unavailable. */
export const longTimeouts = { connectTimeoutMs: 20_000, statementTimeoutMs: 20_000, lockTimeoutMs: 10_000 }

/** With the settings of Portico's own domains at their places. */
export interface WholeSettings extends Configuration {
  access: Configuration['access'] &
    z.output<typeof memberSettings> & {
      apiKeys: z.output<typeof apiKeySettings>
      invitations: z.output<typeof invitationSettings>
      proposals: z.output<typeof proposalSettings>
      roles: { maxPerWorkspace: number }
    }
  money: Configuration['money'] &
    z.output<typeof transferSettings> & {
      exchange: z.output<typeof exchangeSettings>
      recharge: z.output<typeof rechargeSettings>
      withdrawal: z.output<typeof withdrawalSettings> & { maxChannelsPerWorkspace: number; networks: Network[] }
    }
  files: Configuration['files'] & z.output<typeof fileSettings>
  exports: z.output<typeof exportSettings>
}

/** The loader adds the settings of the domains, which `Configuration` does not show. */
export function loadSettings(variables: Variables): WholeSettings {
  return loadConfiguration(variables, bankingDomains) as WholeSettings
}

/** The development configuration with free ports, high limits and long timeouts. */
export function testSettings(
  variables: Variables,
  adjust: (settings: WholeSettings) => void = () => undefined,
): WholeSettings {
  const settings = loadSettings({ PORTICO_RATE_LIMIT_SCALE: '1000', LOG_LEVEL: 'info', ...variables })
  settings.listen = {
    host: '127.0.0.1',
    port: 0,
    operationsPort: 0,
    operationsHost: null,
    operationsAllowedHosts: ['localhost'],
  }
  // Tests of the applications serve them. The others start faster without.
  for (const portal of Object.values(settings.portals)) portal.app = null
  Object.assign(settings.database, longTimeouts)
  Object.assign(settings.redis, { connectTimeoutMs: 20_000, commandTimeoutMs: 20_000 })
  adjust(settings)
  return settings
}

export function upstreamAt(url: string, logged: Omit<z.input<typeof upstream>, 'url'> = {}): UpstreamConfiguration {
  return upstream.parse({ ...logged, url })
}
