import { createHandlerTable, type HandlerTable, toIso, toIsoOrNull } from '../../kernel/index.ts'
import { ownAccount } from '../accounts/own-account.ts'
import type { IdentityPorts } from '../ports.ts'
import type { Whitelist, whitelistChanges } from './change.ts'
import * as contract from './contract.ts'
import { whitelistOf } from './store.ts'

const render = ({ enabled, entries }: Whitelist) => ({
  enabled,
  entries: entries.map(({ id, createdAt, lastMatchedAt, ...entry }) => ({
    bizId: id,
    ...entry,
    createdAt: toIso(createdAt),
    lastMatchedAt: toIsoOrNull(lastMatchedAt),
  })),
})

/** The addresses that an account may be used from: interface.md 2.11 and 4.4. */
export const ipWhitelistHandlers = (
  { database }: IdentityPorts,
  changes: ReturnType<typeof whitelistChanges>,
): HandlerTable =>
  createHandlerTable(contract, {
    readIpWhitelist: async ({ caller }) => {
      const { portal, id, ipWhitelistEnabled } = await ownAccount(database, caller)
      return render({ enabled: ipWhitelistEnabled, entries: await whitelistOf(database, portal, id) })
    },
    replaceIpWhitelist: async (request) => render(await changes.replace(request, request.body.addresses)),
    enableIpWhitelist: async (request) => {
      await changes.enable(request, request.body?.force ?? false)
      return null
    },
    disableIpWhitelist: async (request) => {
      await changes.disable(request)
      return null
    },
  })
