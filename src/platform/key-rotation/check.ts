import type { Database } from '../../database/index.ts'
import { type SecretKeys, secretKeyId } from '../crypto/index.ts'
import type { SealedColumn } from './columns.ts'
import { countSealed, hasTable } from './store.ts'

/** Throws if the store has sealed values, and none of them under these keys. */
export async function assertSecretKey(database: Database, column: SealedColumn, keys: SecretKeys): Promise<void> {
  if (!(await hasTable(database, column))) return
  const stored = [...(await countSealed(database, column)).keys()]
  const known = [keys.current, ...keys.previous].map((key) => Buffer.from(secretKeyId(key)).toString('hex'))
  if (stored.length > 0 && !stored.some((id) => known.includes(id)))
    throw new Error(
      `the ${column.label} of this store have the key id ${stored.join(', ')}: neither PORTICO_SECRET_KEY nor PORTICO_SECRET_KEY_PREVIOUS has it; nothing was changed`,
    )
}
