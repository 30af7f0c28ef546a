import { z } from 'zod'
import { isCurrency, parseMoney } from '../kernel/index.ts'
import { areDistinct, decimalByCurrency, knownCurrency, lifetimeMs, unlistedCurrencies } from './values.ts'

/** Each change of a rate compares the conversions between all currencies. */
const maxCurrencies = 64

/** The settings of the ledger in `money`. Domains add those of their orders. */
export const moneySettings = z
  .strictObject({
    currencies: z
      .array(knownCurrency)
      .min(1)
      .max(maxCurrencies)
      .refine(areDistinct, 'each currency once')
      .describe(
        'Currencies of this deployment, at most 64. A new workspace gets a wallet in each currency. If you add a currency, existing workspaces do not get a wallet automatically: their members open it, or you run `portico wallet open`. Before you remove a currency, empty its wallets, because their money cannot be paid out afterwards.',
      ),
    separationOfDuties: z
      .strictObject({
        enabled: z
          .boolean()
          .describe(
            'Whether consecutive decisions on an order require different operators, and whether the operator who verified a payout account cannot approve payouts to it. Violations get 403. Nobody decides on their own orders, even with `false`. When a gateway starts, it records a change of `separationOfDuties` in the audit log.',
          ),
        from: decimalByCurrency.describe(
          'Minimum order amount that requires different operators, by currency. Below it, one operator can take consecutive decisions. For a currency without a value, every amount requires different operators.',
        ),
      })
      .describe('Separation of duties between the operators who decide on an order.'),
    stepUpAbove: z
      .strictObject({
        currency: knownCurrency.describe(
          'Currency of `amount`. Amounts in other currencies are converted at the highest exchange rate in force: direct, inverse, or over one other currency. An amount without a rate counts as above the sum. With `exchanges: off`, only `exchange.rates` apply. After a change of this setting, amounts of the last 24 hours count as above the sum.',
        ),
        amount: z
          .string()
          .describe(
            'Total value that a person can move out of their workspaces within 24 hours without step-up: transfers to other workspaces, withdrawals and outgoing orders of extensions, in all currencies. Above it, each such order requires step-up. `unlimited` requires none.',
          ),
        apiKeys: z
          .enum(['refuse', 'allow'])
          .describe(
            'How step-up limits apply to API keys, which cannot step up. With `refuse`, a command above the limit of the person who created the key gets 422. With `allow`, these limits do not apply to API keys.',
          ),
      })
      .refine(
        ({ currency: code, amount }) =>
          amount === 'unlimited' || !isCurrency(code) || parseMoney(amount, code) !== undefined,
        {
          path: ['amount'],
          message: 'a decimal string with no more places than its currency has, or `unlimited`',
        },
      ),
    background: z.strictObject({
      ledgerCheckMs: lifetimeMs(1_000).describe(
        'Interval in milliseconds between ledger checks. A check reads what changed since the last one. One replica runs it for all replicas.',
      ),
      wholeLedgerCheckMs: lifetimeMs(1_000).describe(
        'Interval in milliseconds after which a ledger check reads the whole ledger.',
      ),
    }),
  })
  .superRefine(({ currencies, separationOfDuties, stepUpAbove }, context) => {
    const errors = unlistedCurrencies(currencies, {
      'separationOfDuties.from': Object.keys(separationOfDuties.from),
      stepUpAbove: stepUpAbove.amount === 'unlimited' ? [] : [stepUpAbove.currency],
    })
    for (const message of errors) context.addIssue({ code: 'custom', path: ['currencies'], message })
  })
