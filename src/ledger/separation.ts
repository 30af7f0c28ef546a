import type { AuditedSetting } from '../platform/audit/index.ts'
import { parseConfiguredAmount } from './tariff.ts'

/**
 * Prevents one operator from taking consecutive decisions on an order. The creator can never decide, even if the rule
 * is off.
 */
export interface SeparationOfDuties {
  enabled: boolean
  /**
   * Minor units from which the rule applies. It applies to every amount of other currencies, and to orders whose data
   * has no `amount` and `currency`.
   */
  from: Readonly<Record<string, bigint>>
}

interface SeparationSettings {
  enabled: boolean
  /** Decimal strings by currency. */
  from: Readonly<Record<string, string>>
}

export function parseSeparation({ enabled, from }: SeparationSettings): SeparationOfDuties {
  return {
    enabled,
    from: Object.fromEntries(
      Object.entries(from).map(([currency, text]) => [currency, parseConfiguredAmount(text, currency).minor]),
    ),
  }
}

/** Switching the rule off must leave an audit entry. */
export function separationSetting({ enabled, from }: SeparationSettings): AuditedSetting {
  return {
    name: 'money.separationOfDuties',
    value: { enabled, ...from },
    initial: { enabled: true },
  }
}
