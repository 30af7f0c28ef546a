import * as z from 'zod'
import { addressRange } from '../../contract/account-fields.ts'
import { bizId, nothing, timestamp, uniqueList } from '../../contract/fields.ts'

import { everyPortal, own } from '../../contract/policies.ts'
import { operation } from '../../kernel/index.ts'

export const summary = 'The addresses from which an account can be used.'

const IpWhitelist = z.object({
  enabled: z.boolean(),
  entries: z.array(
    z.object({
      bizId,
      address: z.string(),
      ipVersion: z.int().meta({ description: '4 or 6' }),
      remark: z.string().nullable(),
      createdAt: timestamp,
      lastMatchedAt: timestamp.nullable(),
    }),
  ),
})

const common = { chains: everyPortal } as const
const change = { ...common, method: 'POST', policy: { ...own, stepUp: true } } as const

export const readIpWhitelist = operation({
  ...common,
  id: 'ipWhitelist.read',
  method: 'GET',
  path: '/security/ip-whitelist',
  summary: 'Get the IP whitelist of the account',
  policy: own,
  body: 'none',
  reply: IpWhitelist,
  refuses: [],
})

export const replaceIpWhitelist = operation({
  ...change,
  id: 'ipWhitelist.replace',
  path: '/security/ip-whitelist',
  summary: 'Replace the IP whitelist',
  confirms: ['addresses'],
  body: z.strictObject({ addresses: uniqueList(addressRange, 256) }),
  reply: IpWhitelist,
  refuses: ['STATE.CONFLICT'],
})

export const enableIpWhitelist = operation({
  ...change,
  id: 'ipWhitelist.enable',
  path: '/security/ip-whitelist/enable',
  summary: 'Enable the IP whitelist',
  body: z.strictObject({ force: z.boolean().optional() }).optional(),
  reply: nothing,
  refuses: ['STATE.CONFLICT'],
})

export const disableIpWhitelist = operation({
  ...change,
  id: 'ipWhitelist.disable',
  path: '/security/ip-whitelist/disable',
  summary: 'Disable the IP whitelist',
  body: 'none',
  reply: nothing,
  refuses: [],
})
