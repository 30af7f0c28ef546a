import type { DomainPorts } from '../api/domain.ts'
import { databaseTarget } from '../compose/store.ts'
import type { Configuration } from '../config/index.ts'
import {
  type Database,
  hasEmbeddedStore,
  hasSchema,
  inTransaction,
  isServerAway,
  type OpenDatabase,
  openDatabase,
  type Tx,
} from '../database/index.ts'
import type { WorkspaceId } from '../kernel/index.ts'
import { insertAuditEntry } from '../platform/audit/index.ts'
import { systemClock, systemIds } from '../platform/runtime/index.ts'
import { openWhenBack, type StoreWait } from '../platform/store-wait.ts'

/** Opens the configured store for `work`, and closes it afterwards. Without `wait`, rejects if its server is away. */
export async function withStore<T>(
  settings: Configuration,
  work: (store: OpenDatabase) => Promise<T>,
  wait: StoreWait | null = null,
): Promise<T> {
  const open = () => openDatabase(databaseTarget(settings, () => undefined))
  const store = await openWhenBack('database', open, isServerAway, wait)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** Like `withStore`, but rejects if the store does not exist or has no schema. Does not create a store. */
export async function withExistingStore<T>(
  settings: Configuration,
  work: (store: OpenDatabase) => Promise<T>,
): Promise<T> {
  if (!settings.databaseUrl && !hasEmbeddedStore(settings.dataDirectory))
    throw new Error(`there is no store in ${settings.dataDirectory}`)
  return withStore(settings, async (store) => {
    if (!(await hasSchema(store.database))) throw new Error('the store has no tables: run `portico migrate`')
    return work(store)
  })
}

/** The ports of domain functions that a command calls. */
export function storePorts(database: Database): Pick<DomainPorts, 'database' | 'clock' | 'ids' | 'transaction'> {
  return {
    database,
    clock: systemClock,
    ids: systemIds,
    transaction: (work) => inTransaction(database, work),
  }
}

/** The entry has no account and no address. */
export function auditCommand(
  tx: Tx,
  { command, reason }: { command: string; reason: string },
  {
    targetId,
    workspaceId = null,
    detail = {},
  }: { targetId: string; workspaceId?: WorkspaceId | null; detail?: Record<string, string> },
): Promise<void> {
  return insertAuditEntry(tx, {
    at: systemClock.now(),
    portal: 'SYSTEM',
    actorId: null,
    workspaceId,
    action: command,
    targetId,
    outcome: 'SUCCESS',
    requestId: systemIds.next(),
    clientIp: '',
    detail: { ...detail, reason },
  })
}
