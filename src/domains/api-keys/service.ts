import { type Database, inTransaction, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  type Ids,
  type Instant,
  notFound,
  type Page,
  type Randomness,
  Refusal,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { type Act, recordAct } from '../../platform/audit/index.ts'
import type { KeyedDigest } from '../../platform/crypto/index.ts'
import { type ApiKeyQuery, listKeys } from './list-store.ts'
import { type ApiKeySettings, endOf, requireMayGive, statusAt } from './rules.ts'
import { makeKey } from './secret.ts'
import { type ApiKeyId, type ApiKeyRow, countKeys, insertKey, keyById, type StoredStatus, setStatus } from './store.ts'

export interface ServicePorts {
  database: Database
  ids: Ids
  randomness: Randomness
  digest: KeyedDigest
  /** Makes what changes a workspace take turns; refuses where the caller's rights have shrunk since they were read. */
  members: { holdFor(tx: Tx, accountId: AccountId, by: WorkspaceAccess): Promise<unknown> }
  settings: ApiKeySettings
}

export interface AskedKey {
  name: string
  permissionCodes: string[]
  ipAllowlist: string[]
  expiresAt: Instant | null
}

/** What a key may be when a command comes, and what the command makes of it. */
const commands = {
  enable: { from: ['DISABLED'], to: 'ACTIVE' },
  disable: { from: ['ACTIVE'], to: 'DISABLED' },
  delete: { from: ['ACTIVE', 'DISABLED', 'EXPIRED'], to: 'DELETED' },
} as const satisfies Record<string, { from: readonly string[]; to: StoredStatus }>

export type ApiKeyCommand = keyof typeof commands

const present = (key: ApiKeyRow | undefined): ApiKeyRow => {
  if (!key) throw notFound('no such API key in this workspace')
  return key
}

export const createService = ({ database, ids, randomness, digest, members, settings }: ServicePorts) => ({
  list: (query: ApiKeyQuery, at: Instant): Promise<Page<ApiKeyRow>> => listKeys(database, query, at),

  read: async (workspaceId: WorkspaceId, id: ApiKeyId): Promise<ApiKeyRow> =>
    present(await keyById(database, { workspaceId, id })),

  /** Answers the row and the key itself, which nobody will be told again. */
  create: (act: Act, by: WorkspaceAccess, asked: AskedKey): Promise<{ row: ApiKeyRow; key: string }> => {
    requireMayGive(by, asked.permissionCodes)
    const expiresAt = endOf(asked.expiresAt, act.at, settings)
    return inTransaction(database, async (tx) => {
      await members.holdFor(tx, act.accountId, by)
      if ((await countKeys(tx, by.id)) >= settings.maxPerWorkspace) {
        throw new Refusal('STATE.CONFLICT', { internal: 'the workspace has as many API keys as it may' })
      }
      const id = ids.next<'apiKey'>()
      const { key, ...made } = makeKey(randomness, digest)
      const row = await insertKey(
        tx,
        { ...asked, ...made, expiresAt, id, workspaceId: by.id, createdBy: act.accountId },
        act.at,
      )
      if (!row) throw new Refusal('STATE.CONFLICT', { internal: 'an API key has that name' })
      const detail = { permissions: asked.permissionCodes.join(',') }
      await recordAct(tx, act, { workspaceId: by.id, targetId: id, detail })
      return { row, key }
    })
  },

  command: (act: Act, by: WorkspaceAccess, id: ApiKeyId, command: ApiKeyCommand): Promise<ApiKeyRow> =>
    inTransaction(database, async (tx) => {
      // While the workspace is held nobody else changes its keys.
      await members.holdFor(tx, act.accountId, by)
      const key = present(await keyById(tx, { workspaceId: by.id, id }))
      // To wake a key is to give it its rights.
      if (command === 'enable') requireMayGive(by, key.permissionCodes)
      const status = statusAt(key, act.at)
      const { from, to } = commands[command]
      if (!from.some((one) => one === status)) {
        throw new Refusal('STATE.CONFLICT', { internal: `the API key is ${status}` })
      }
      const changed = await setStatus(tx, key, to, act.at)
      await recordAct(tx, act, { workspaceId: by.id, targetId: id })
      return changed
    }),
})

export type ApiKeyService = ReturnType<typeof createService>
