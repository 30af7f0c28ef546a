import { databaseTarget } from '../compose/store.ts'
import type { Configuration } from '../config/index.ts'
import { hasEmbeddedStore, hasSchema, type OpenDatabase, openDatabase } from '../database/index.ts'

/** Works on the store that the configuration names, and closes it whatever comes of the work. */
export const withStore = async <T>(settings: Configuration, work: (store: OpenDatabase) => Promise<T>): Promise<T> => {
  const store = await openDatabase(databaseTarget(settings, () => undefined))
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** The same for what needs a store that has been in use: where there is none it is told so, and none is made. */
export const withMadeStore = async <T>(
  settings: Configuration,
  work: (store: OpenDatabase) => Promise<T>,
): Promise<T> => {
  if (!settings.databaseUrl && !hasEmbeddedStore(settings.dataDirectory))
    throw new Error(`there is no store in ${settings.dataDirectory}`)
  return withStore(settings, async (store) => {
    if (!(await hasSchema(store.database))) throw new Error('the store is empty: `portico migrate` makes its tables')
    return work(store)
  })
}
