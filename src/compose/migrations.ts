import type { Configuration } from '../config/index.ts'
import type { OpenDatabase, SchemaOwner } from '../database/index.ts'
import { identityColumns } from '../identity/index.ts'
import { migrations as identity } from '../identity/schema.ts'
import { migrations as ledger } from '../ledger/schema/index.ts'
import { migrations as audit } from '../platform/audit/schema.ts'
import { migrations as blobs } from '../platform/blobs/schema.ts'
import { migrations as outbox } from '../platform/events/schema.ts'
import { migrations as jobs } from '../platform/jobs/schema.ts'
import { assertSecretKey } from '../platform/key-rotation/index.ts'
import { migrations as mail } from '../platform/mail/schema.ts'
import { migrations as partitions } from '../platform/partitions/schema.ts'
import { migrations as serviceCommands } from '../platform/service-commands/schema.ts'

const platformOwners: readonly SchemaOwner[] = [
  { owner: 'partitions', migrations: partitions },
  { owner: 'audit', migrations: audit },
  { owner: 'blobs', migrations: blobs },
  { owner: 'outbox', migrations: outbox },
  { owner: 'jobs', migrations: jobs },
  { owner: 'mail', migrations: mail },
  { owner: 'serviceCommands', migrations: serviceCommands },
  { owner: 'identity', migrations: identity },
]

export const sharedOwners: readonly string[] = [...platformOwners.map(({ owner }) => owner), 'ledger']

/** The ledger references the tables of these owners, in this order. */
const beforeLedger = ['workspaces', 'roles', 'members']

/** An owner follows those whose tables it references, by foreign keys or by triggers on `orders`. */
export function orderOwners(domains: readonly SchemaOwner[]): readonly SchemaOwner[] {
  return [
    ...platformOwners,
    ...beforeLedger.flatMap((name) => domains.filter(({ owner }) => owner === name)),
    { owner: 'ledger', migrations: ledger },
    ...domains.filter(({ owner }) => !beforeLedger.includes(owner)),
  ]
}

/** Returns the names of the migrations that it ran. A process with another secret key must change nothing. */
export async function migrateStore(
  { database, migrate }: Pick<OpenDatabase, 'database' | 'migrate'>,
  owners: readonly SchemaOwner[],
  { secretKeys }: Pick<Configuration, 'secretKeys'>,
): Promise<string[]> {
  for (const column of identityColumns.sealed.filter(({ purpose }) => purpose === 'signing-key'))
    await assertSecretKey(database, column, secretKeys.reveal())
  return migrate(owners)
}
