import { inTransaction } from '../database/index.ts'
import type { Money } from '../kernel/index.ts'
import { type LedgerPorts, post } from './execute.ts'
import { lockLiquidity } from './liquidity-store.ts'

/**
 * Brings what the house has put into its liquidity, per currency, up to the given amounts, out of CLEARING. Safe to
 * run at every start; a higher amount is put in when it is first seen, a lower one takes nothing out.
 */
export const provideLiquidity = async (ports: LedgerPorts, amounts: readonly Money[]): Promise<void> => {
  for (const { minor, currency } of amounts) {
    await inTransaction(ports.database, async (tx) => {
      const put = await lockLiquidity(tx, currency)
      if (put === undefined || put >= minor) return
      const missing = minor - put
      await post(
        { ...ports, database: tx },
        {
          actor: null,
          parties: [
            { label: 'outside', house: 'CLEARING', currency, short: 'SYSTEM.INTERNAL_ERROR' },
            { label: 'liquidity', house: 'LIQUIDITY', currency, short: 'SYSTEM.INTERNAL_ERROR' },
          ],
          entries: [
            { account: 'outside', amount: -missing, flowType: 'OPENING' },
            { account: 'liquidity', amount: missing, flowType: 'OPENING' },
          ],
        },
      )
    })
  }
}
