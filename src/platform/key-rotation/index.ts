/**
 * Rotation of the secret key. Start with reseal.ts: `resealAll` seals values again under the current key, and
 * `readKeyUsage` counts those that need a previous key. Owners of tables declare their columns (columns.ts). Depends on
 * the kernel, the database and crypto.
 */

export { assertSecretKey } from './check.ts'
export { bytesOf, type KeyedColumns, type KeyedRow, textOf } from './columns.ts'
export { type KeyIds, type KeyUsage, readKeyUsage, resealAll } from './reseal.ts'
