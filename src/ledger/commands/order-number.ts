import { type Instant, type OrderId, toIso } from '../../kernel/index.ts'
import type { OrderType } from '../schema/tables.ts'

const prefixes: Record<OrderType, string> = { TRANSFER: 'TRF', EXCHANGE: 'EXC', RECHARGE: 'RCH', WITHDRAWAL: 'WDR' }

/** Crockford's Base32 alphabet: no two digits look or sound alike. */
const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** Such as `TRF-20260801-` and twelve digits from the id's low 60 random bits, so that no shared counter is needed. */
export const orderNumber = (type: OrderType, id: OrderId, at: Instant): string => {
  let rest = BigInt(`0x${id.replaceAll('-', '').slice(-15)}`)
  let text = ''
  for (let place = 0; place < 12; place++) {
    text = digits.charAt(Number(rest & 31n)) + text
    rest >>= 5n
  }
  return `${prefixes[type]}-${toIso(at).slice(0, 10).replaceAll('-', '')}-${text}`
}
