import { sql } from 'kysely'
import { z } from 'zod'
import type { LedgerTypeTable } from '../../contract/ledger/ledger-types.ts'
import { corrections, isLifeCycle } from '../../contract/ledger/life-cycle.ts'
import { type Database, inTransaction, type Tx } from '../../database/index.ts'
import type { LedgerPorts } from './execute-store.ts'

const storedFlags = z.record(z.string(), z.boolean())

/**
 * Never removes a type or status. Throws an Error if a type belongs to another domain, or if a status changes between
 * open and final.
 */
export async function registerTypes(ports: Pick<LedgerPorts, 'database' | 'types'>): Promise<void> {
  const { database } = ports
  const types = declaredTypes(ports.types)
  if ((await findUnregistered(database, types)).length === 0) return
  await inTransaction(database, async (tx) => {
    // Replicas that start at the same time check and register one after another.
    await sql`LOCK TABLE ledger_types IN SHARE ROW EXCLUSIVE MODE`.execute(tx)
    for (const declared of await findUnregistered(tx, types))
      await tx
        .insertInto('ledger_types')
        .values({
          ...declared,
          statuses: JSON.stringify(declared.statuses),
          corrections: JSON.stringify(declared.corrections),
        })
        .onConflict((conflict) =>
          conflict.columns(['kind', 'name']).doUpdateSet({
            statuses: sql<string>`ledger_types.statuses || excluded.statuses`,
            corrections: sql<string>`ledger_types.corrections || excluded.corrections`,
          }),
        )
        .execute()
  })
}

interface RegisteredType {
  kind: 'ORDER' | 'FLOW' | 'HOUSE_ACCOUNT'
  name: string
  owner: string
  /** Whether each status of an order type is final. */
  statuses: Readonly<Record<string, boolean>>
  corrections: Readonly<Record<string, boolean>>
}

const none = { statuses: {}, corrections: {} }

function declaredTypes({ orders, flowTypes, houseAccounts }: LedgerTypeTable): RegisteredType[] {
  return [
    ...[...orders].map(([name, type]) => ({
      kind: 'ORDER' as const,
      name,
      owner: type.owner,
      statuses: Object.fromEntries([
        ...type.open.map((status) => [status, false] as const),
        ...type.final.map((status) => [status, true] as const),
      ]),
      corrections: Object.fromEntries(
        (isLifeCycle(type) ? corrections(type) : []).map(({ from, to }) => [`${from} ${to}`, true] as const),
      ),
    })),
    ...[...flowTypes].map(([name, { owner }]) => ({ ...none, kind: 'FLOW' as const, name, owner })),
    ...[...houseAccounts].map(([name, { owner }]) => ({ ...none, kind: 'HOUSE_ACCOUNT' as const, name, owner })),
  ].filter(({ owner }) => owner !== 'ledger')
}

/** Returns the declared types that the store does not have in full. Throws as `registerTypes` does. */
async function findUnregistered(store: Database | Tx, types: readonly RegisteredType[]): Promise<RegisteredType[]> {
  const rows = await store.selectFrom('ledger_types').selectAll().execute()
  const registered = rows.map((row) => ({
    ...row,
    statuses: storedFlags.parse(row.statuses),
    corrections: storedFlags.parse(row.corrections),
  }))
  return types.filter((declared) => {
    const known = registered.find(({ kind, name }) => kind === declared.kind && name === declared.name)
    if (known) assertSameMeaning(declared, known)
    return (
      !known ||
      !Object.keys(declared.statuses).every((status) => status in known.statuses) ||
      !Object.keys(declared.corrections).every((change) => change in known.corrections)
    )
  })
}

function assertSameMeaning(declared: RegisteredType, registered: RegisteredType): void {
  const { name, owner } = declared
  if (registered.owner !== owner)
    throw new Error(`${owner} declares ${name}, which ${registered.owner} has used in this store`)
  for (const [status, isFinal] of Object.entries(declared.statuses))
    if ((registered.statuses[status] ?? isFinal) !== isFinal)
      throw new Error(`${owner} changes whether the status ${status} of ${name} is final`)
}
