import type { Logger } from 'pino'
import { exchangeRatesIn } from '../banking/index.ts'
import { type Configuration, compareWithProduction, type SettingsOwner } from '../config/index.ts'
import type { Database } from '../database/index.ts'
import type { Clock, Ids } from '../kernel/index.ts'
import { recordSetting } from '../platform/audit/index.ts'

/**
 * Warns about each rule that is weaker than production's default. Records in the audit log when a rule becomes weaker,
 * and when it returns to its default.
 */
export async function reportWeakenedRules(
  settings: Configuration,
  domains: readonly SettingsOwner[],
  store: { database: Database; clock: Clock; ids: Ids },
  logger: Pick<Logger, 'warn'>,
): Promise<void> {
  for (const { setting, isWeakened, value, standard } of compareWithProduction(
    settings,
    domains,
    exchangeRatesIn(settings).rates,
  )) {
    const recorded = isWeakened ? { isWeakened, value, default: standard } : { isWeakened }
    await recordSetting(store, { name: setting, value: recorded, initial: { isWeakened: false } })
    if (isWeakened) logger.warn({ setting, value, default: standard }, 'weaker than the default of production')
  }
  if (settings.portals.CONSUMER.selfRegistration !== 'closed' && settings.turnstile.secret === null)
    logger.warn({ setting: 'turnstile.secret' }, 'registration is open without a CAPTCHA')
}
