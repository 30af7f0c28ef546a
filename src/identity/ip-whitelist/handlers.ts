import * as contract from '../../contract/ip-whitelist.ts'
import { type HandlerTable, handlerTable, Refusal, toIso } from '../../kernel/index.ts'
import { accountById } from '../accounts/store.ts'
import type { IdentityPorts } from '../ports.ts'
import type { Whitelist, whitelistChanges } from './change.ts'
import { whitelistOf } from './store.ts'

const render = ({ enabled, entries }: Whitelist) => ({
  enabled,
  entries: entries.map(({ id, createdAt, lastMatchedAt, ...entry }) => ({
    bizId: id,
    ...entry,
    createdAt: toIso(createdAt),
    lastMatchedAt: lastMatchedAt === null ? null : toIso(lastMatchedAt),
  })),
})

/** The addresses that an account may be used from: interface.md 2.11 and 4.4. */
export const ipWhitelistHandlers = (
  { database }: IdentityPorts,
  changes: ReturnType<typeof whitelistChanges>,
): HandlerTable =>
  handlerTable(contract, {
    readIpWhitelist: async ({ caller: { portal, accountId } }) => {
      const account = await accountById(database, portal, accountId)
      if (!account) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'the account is gone' })
      const entries = await whitelistOf(database, portal, accountId)
      return render({ enabled: account.ipWhitelistEnabled, entries })
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
