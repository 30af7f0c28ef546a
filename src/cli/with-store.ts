import { databaseTarget } from '../compose/store.ts'
import type { Configuration } from '../config/index.ts'
import { type OpenDatabase, openDatabase } from '../platform/database/index.ts'

/** Works on the store that the configuration names, and closes it whatever comes of the work. */
export const withStore = async <T>(settings: Configuration, work: (store: OpenDatabase) => Promise<T>): Promise<T> => {
  const store = await openDatabase(databaseTarget(settings, () => undefined))
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}
