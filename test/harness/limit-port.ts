import type { LimitPort, Spend, SpendResult } from '../../src/gateway/pipeline/ports.ts'
import type { MaybePromise } from '../../src/kernel/index.ts'

type SpendOne = (name: string, key: string, rule: Spend['rule']) => MaybePromise<SpendResult>

/** Spends one after the other, like `Limits.spendAll`. Admits every address. */
export function limitPort(spend: SpendOne): LimitPort {
  return {
    addressKey: (address) => address,
    networkKey: (address) => `${address}/24`,
    admit: ({ rule: { limit, windowMs } }) => ({ allowed: true, limit, remaining: limit, resetMs: windowMs }),
    spendAll: async (spends) => {
      const results: SpendResult[] = []
      for (const { name, key, rule } of spends) {
        const result = await spend(name, key, rule)
        results.push(result)
        if (!result.allowed) break
      }
      return results
    },
  }
}
